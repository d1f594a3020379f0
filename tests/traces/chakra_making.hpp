// Chakra traces made for tests, and what their programs do.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/scratch_folder.hpp"
#include "tests/traces/programs.hpp"
#include "traces/formats/chakra/chakra.pb.h"
#include "traces/formats/trace_format.hpp"

namespace forescale::chakra_test {

inline constexpr int kMetadata = 1, kLoad = 2, kCompute = 4, kSend = 5, kReceive = 6,
                     kCollective = 7;
inline constexpr int kAllReduce = 0, kAllGather = 2, kBroadcast = 5, kBarrier = 9;

struct NodeText {
  std::uint64_t id = 0;
  int type = kCompute;
  std::uint64_t duration_us = 0;
  std::vector<std::uint64_t> needs = {};
  std::map<std::string, std::int64_t> numbers = {};  // attributes; is_cpu_op too
  std::string group = {};
  std::string name = {};
};

inline void delimited(const google::protobuf::MessageLite& message, std::string& file) {
  const std::string text = message.SerializeAsString();
  std::size_t length = text.size();
  for (; length >= 0x80; length >>= 7) file += static_cast<char>((length & 0x7f) | 0x80);
  file += static_cast<char>(length);
  file += text;
}

inline chakra::Node message(const NodeText& text) {
  chakra::Node node;
  node.set_id(text.id);
  node.set_name(text.name.empty() ? "n" + std::to_string(text.id) : text.name);
  node.set_type(text.type);
  node.set_duration_micros(text.duration_us);
  for (const std::uint64_t needed : text.needs) node.add_data_deps(needed);
  for (const auto& [name, value] : text.numbers) {
    chakra::Attribute& attribute = *node.add_attr();
    attribute.set_name(name);
    if (name == "is_cpu_op")
      attribute.set_bool_val(value != 0);
    else
      attribute.set_int64_val(value);
  }
  if (!text.group.empty()) {
    node.add_attr()->set_name("pg_name");
    node.mutable_attr()->rbegin()->set_string_val(text.group);
  }
  return node;
}

inline std::string trace(const std::vector<NodeText>& nodes) {
  std::string file;
  chakra::GlobalMetadata metadata;
  metadata.add_version_or_attr("0.0.4");
  delimited(metadata, file);
  for (const NodeText& node : nodes) delimited(message(node), file);
  return file;
}

inline NodeText kernel(std::uint64_t id, std::uint64_t duration_us,
                       std::vector<std::uint64_t> needs = {}) {
  return {.id = id,
          .duration_us = duration_us,
          .needs = std::move(needs),
          .numbers = {{"is_cpu_op", 0}}};
}

inline NodeText collective(std::uint64_t id, int type, std::int64_t bytes,
                           std::vector<std::uint64_t> needs = {}, std::string group = "") {
  return {.id = id,
          .type = kCollective,
          .needs = std::move(needs),
          .numbers = {{"comm_type", type}, {"comm_size", bytes}, {"is_cpu_op", 0}},
          .group = std::move(group)};
}

// In a folder of this process: ctest runs tests side by side.
inline std::string path_of(const std::string& name) {
  static const ScratchFolder folder("chakra");
  return folder.file(name);
}

inline std::string write(const std::string& name, const std::string& text) {
  std::string file = path_of(name);
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

inline std::vector<std::string> write_all(const std::vector<std::string>& texts) {
  std::vector<std::string> files;
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    files.push_back(write(std::to_string(rank) + ".et", texts[rank]));
  return files;
}

// Imports, and holds the program against what is read back of its file.
inline ImportedTrace import_files(const std::vector<std::string>& files,
                                  ImportOptions options = {}) {
  const TraceFormat& format = trace_format_of(files.front());
  EXPECT_EQ(format.name, "chakra");
  ImportedTrace imported = format.import(files, options);
  const std::string text = testing::program_text(imported.program);
  std::istringstream in(text);
  EXPECT_EQ(testing::program_text(read_program(in, "program")), text);
  return imported;
}

inline ImportedTrace import(const std::vector<std::string>& texts, ImportOptions options = {}) {
  return import_files(write_all(texts), options);
}

inline std::string error_of(const std::vector<std::string>& files, ImportOptions options = {}) {
  try {
    Registry<TraceFormat>::find("chakra", "").import(files, options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

inline std::string error_of_trace(const std::string& text, ImportOptions options = {}) {
  return error_of({write("wrong.et", text)}, options);
}

// When each label of one rank ends, where kernels do not share the GPU: threads, signals and
// streams alone order them.
class Clock {
 public:
  explicit Clock(ProgramRank rank) : rank_(std::move(rank)), next_(rank_.threads.size()) {
    time_s_.resize(next_.size());
    is_started_.resize(next_.size());
    is_started_[0] = true;
    for (bool advanced = true; advanced;) {
      advanced = false;
      for (std::size_t thread = 0; thread < next_.size(); ++thread)
        while (is_started_[thread] && step(thread)) advanced = true;
    }
  }

  double end_s(const std::string& label) const { return ends_s_.at(label); }
  bool is_finished() const {
    for (std::size_t thread = 0; thread < next_.size(); ++thread)
      if (next_[thread] < rank_.threads[thread].actions.size()) return false;
    return true;
  }

 private:
  bool step(std::size_t thread) {
    const ActionList& actions = rank_.threads[thread].actions;
    if (next_[thread] == actions.size()) {
      const auto id = ends_.find(thread);
      return id != ends_.end() && done_s_.try_emplace(id->second, time_s_[thread]).second;
    }
    const Action& action = actions[next_[thread]];
    double& now_s = time_s_[thread];
    if (action.kind == Action::Kind::kWait) {
      const auto done = done_s_.find(action.requests.front());
      if (done == done_s_.end()) return false;
      now_s = std::max(now_s, done->second);
    } else if (action.kind == Action::Kind::kSet) {
      done_s_[action.requests.front()] = now_s;
    } else if (const auto* kernel = std::get_if<Kernel>(&action.what)) {
      double& stream_s = stream_s_[kernel->stream];
      stream_s = std::max(stream_s, now_s) + kernel->duration_s;
      done_s_[action.id] = ends_s_[kernel->label] = stream_s;
    } else if (const auto* work = std::get_if<HostWork>(&action.what)) {
      done_s_[action.id] = ends_s_[work->label] = now_s + work->duration_s;
    } else if (const auto* call = std::get_if<CollectiveStep>(&action.what)) {
      done_s_[action.id] = ends_s_[call->label] = now_s;
    } else if (const auto* start = std::get_if<ThreadStart>(&action.what)) {
      const auto started = static_cast<std::size_t>(start->thread);
      is_started_[started] = true;
      time_s_[started] = now_s;
      ends_[started] = action.id;
    } else if (action.kind == Action::Kind::kNextBatch) {
      done_s_[action.id] = now_s;
    }
    ++next_[thread];
    return true;
  }

  ProgramRank rank_;
  std::vector<std::size_t> next_;
  std::vector<double> time_s_;
  std::vector<bool> is_started_;
  std::map<int, double> done_s_, stream_s_;
  std::map<std::string, double> ends_s_;
  std::map<std::size_t, int> ends_;
};

inline std::vector<CollectiveStep> collectives_of(const ProgramRank& rank) {
  std::vector<CollectiveStep> found;
  for (const ProgramThread& thread : rank.threads)
    for (const Action& action : thread.actions)
      if (const auto* step = std::get_if<CollectiveStep>(&action.what)) found.push_back(*step);
  return found;
}

inline std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace forescale::chakra_test
