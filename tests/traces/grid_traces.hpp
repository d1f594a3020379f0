// Timelines of all ranks of a training run on a grid of tensor, expert and data parallelism, as
// PyTorch's profiler would write them: process groups said in one of the ways that it has.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace forescale::testing {

struct GridShape {
  int tensor = 1;
  int expert = 1;
  int data = 1;  // of experts
  int world() const { return tensor * expert * data; }
};

// How the arguments of a collective name its group.
enum class GroupsAs { kLists, kCutLists, kNames, kStrides };

class GridTraces {
 public:
  explicit GridTraces(GridShape shape, GroupsAs as = GroupsAs::kLists) : shape_(shape), as_(as) {}

  // Three steps of two layers.
  std::string timeline(int rank) {
    events_.clear();
    now_us_ = 0;
    const std::vector<Group> groups = groups_of(rank);
    for (int step = 0; step < 3; ++step) {
      const double begin_us = now_us_;
      for (int layer = 0; layer < 2; ++layer) {
        kernel(rank);
        for (const Group& group : groups)
          if (group.in_layer) collective(group);
      }
      for (const Group& group : groups)
        if (!group.in_layer) collective(group);
      call("cudaDeviceSynchronize", -1, gpu_us_ + 5 - now_us_);
      event("user_annotation", fmt::format("ProfilerStep#{}", step), begin_us, now_us_ - begin_us,
            "");
    }
    std::string config;
    for (const Group& group : groups)
      config += fmt::format(R"({}{{"pg_name":"{}","pg_desc":"{}","pg_size":{},"ranks":[{}]}})",
                            config.empty() ? "" : ",", group.name, group.about, group.ranks.size(),
                            fmt::join(group.ranks, ","));
    return fmt::format(R"({{"distributedInfo":{{"backend":"nccl","rank":{},"world_size":{},)"
                       R"("pg_config":[{}]}},"traceEvents":[{}]}})",
                       rank, shape_.world(), as_ == GroupsAs::kStrides ? "" : config,
                       fmt::join(events_, ",\n"));
  }

 private:
  struct Group {
    std::string name;
    std::string about;
    std::string op;
    int stride = 1;
    std::vector<int> ranks = {};
    bool in_layer = false;
  };

  std::vector<Group> groups_of(int rank) const {
    const int experts = shape_.tensor * shape_.expert;
    std::vector<Group> groups;
    const auto add = [&](const char* about, const char* op, int stride, int size, bool in_layer) {
      if (size < 2) return;
      Group group{.name = std::to_string(groups.size() + 1),
                  .about = about,
                  .op = op,
                  .stride = stride,
                  .in_layer = in_layer};
      const int first = rank / (stride * size) * stride * size + rank % stride;
      for (int i = 0; i < size; ++i) group.ranks.push_back(first + i * stride);
      groups.push_back(group);
    };
    add("tensor", "allreduce", 1, shape_.tensor, true);
    add("expert", "all_to_all", shape_.tensor, shape_.expert, true);
    add("expert data", "_reduce_scatter_base", experts, shape_.data, false);
    add("data", "_allgather_base", shape_.tensor, shape_.expert * shape_.data, false);
    return groups;
  }

  void event(const std::string& category, const std::string& name, double begin_us,
             double length_us, const std::string& args) {
    events_.push_back(fmt::format(
        R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{{}}}}})",
        category, name, begin_us, length_us, args));
  }
  void call(const char* name, int correlation, double length_us) {
    event("cuda_runtime", name, now_us_, length_us,
          correlation < 0 ? "" : fmt::format(R"("correlation":{})", correlation));
    now_us_ += length_us;
  }
  void queue(const std::string& name, double length_us, int stream, const std::string& args) {
    call("cudaLaunchKernel", ++correlation_, 5);
    gpu_us_ = std::max(gpu_us_ + 1, now_us_);
    event("kernel", name, gpu_us_, length_us,
          fmt::format(R"("stream":{},"correlation":{}{})", stream, correlation_, args));
    gpu_us_ += length_us;
  }

  // Ranks differ by up to 2 %.
  void kernel(int rank) { queue("ampere_gemm", 500 * (1 + 0.005 * (rank * 3 % 5)), 7, ""); }

  void collective(const Group& group) {
    const auto size = static_cast<int>(group.ranks.size());
    const int part = 100'000;
    const int in = group.op == "_allgather_base" ? part : part * size;
    const int out = group.op == "_reduce_scatter_base" ? part : part * size;
    std::string args = fmt::format(
        R"(,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"dtype":"BFloat16",)"
        R"("Group size":{},"Process Group Name":"{}")",
        group.op, in, out, size, group.name);
    if (as_ == GroupsAs::kLists)
      args += fmt::format(R"(,"Process Group Ranks":"[{}]")", fmt::join(group.ranks, ", "));
    if (as_ == GroupsAs::kCutLists)
      args += fmt::format(R"(,"Process Group Ranks":"[{}, ..., {}]")", group.ranks.front(),
                          group.ranks.back());
    if (as_ == GroupsAs::kStrides)
      args += fmt::format(R"(,"Global rank start":{},"Global rank stride":{})", group.ranks.front(),
                          group.stride);
    queue(group.op == "all_to_all" ? "ncclDevKernel_SendRecv(int)" : "ncclDevKernel_Generic(int)",
          60, 20 + std::stoi(group.name), args);
  }

  const GridShape shape_;
  const GroupsAs as_;
  std::vector<std::string> events_;
  double now_us_ = 0;
  double gpu_us_ = 0;
  int correlation_ = 0;
};

}  // namespace forescale::testing
