// Traces made by hand, whose replayed time is known by adding up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/scratch_folder.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/isolate.hpp"
#include "studies/replay/replay.hpp"
#include "tests/traces/grid_traces.hpp"

namespace forescale {
namespace {

constexpr const char* kStar = "star:hosts=2,bandwidth=1GB/s,latency=5us";
constexpr std::int64_t kBytes = 4'000'000;

std::string file_with(const std::string& file, const std::string& text) {
  std::ofstream(file) << text;
  return file;
}

double all_reduce_s(std::int64_t bytes = kBytes) {
  const Platform platform = load_platform(kStar);
  const Stack stack = stack_for(platform, "", Scenario::kNominal);
  const auto task = [&] {
    return std::to_string(std::llround(
        1e12 * simulate_collective(platform, stack,
                                   {.op = CollectiveOp::kAllReduce, .bytes = bytes, .label = "it"},
                                   2, {})
                   .time_s));
  };
  return std::stod(run_isolated({task}, 1, [](size_t) {}).front()) * 1e-12;
}

double replayed_s(const std::vector<std::string>& files, const ImportOptions& import = {}) {
  return replay({.files = files, .import = import, .platform = kStar, .range = false})
      .iteration.time_s;
}

std::string event(const std::string& category, const std::string& name, double begin_us,
                  double length_us, const std::string& args = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{{}}}}},)",
      category, name, begin_us, length_us, args);
}

// Kernel A from 20 us on, launched at 10; an all-reduce that needs it; kernel B of 100 us behind a
// wait of its stream; the host waits for all and goes on for 10 us.
std::string gpu_timeline(int rank = 0, double a_us = 100, double all_reduced_us = 220) {
  const std::string kernel = R"("stream":7,"correlation":)";
  return fmt::format(R"({{"distributedInfo":{{"rank":{},"world_size":2}},"traceEvents":[)", rank) +
         event("user_annotation", "ProfilerStep#1", 0, all_reduced_us + 110) +
         event("cuda_runtime", "cudaLaunchKernel", 10, 5, R"("correlation":1)") +
         event("kernel", "A", 20, a_us, kernel + "1") +
         event("cuda_runtime", "cudaLaunchKernelExC", 30, 5, R"("correlation":2)") +
         event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 20 + a_us,
               all_reduced_us - 20 - a_us,
               R"("stream":9,"correlation":2,"In msg nelems":1000000,"dtype":"Float")") +
         event("cuda_runtime", "cudaStreamWaitEvent", 50, 1, R"("correlation":3)") +
         event("cuda_runtime", "cudaLaunchKernel", 60, 5, R"("correlation":4)") +
         event("kernel", "B", all_reduced_us, 100, kernel + "4") +
         event("cuda_runtime", "cudaDeviceSynchronize", 70, all_reduced_us + 30,
               R"("correlation":5)") +
         R"({"ph":"M","name":"end"}]})";
}

TEST(TraceReplay, KernelsWaitForCollectivesAsTheyDid) {
  const ScratchFolder folder("gpu");
  const std::string file = file_with(folder.file("t.json"), gpu_timeline());
  // To A's launch and its beginning, A, the all-reduce, B, the host.
  const double expected_s = 10e-6 + 10e-6 + 100e-6 + all_reduce_s() + 100e-6 + 10e-6;
  EXPECT_NEAR(replayed_s({file}), expected_s, 1e-9);
}

// Main thread: works to 500 us but for the launch at 300, waits to 802, works to 1000. The
// all-reduce began 5 us after its launch and ended 2 us before the wait did.
std::string host_timeline() {
  const auto on = [](const char* thread, const std::string& name, double begin_us,
                     double length_us) {
    return fmt::format(
        R"({{"name":"{}","ph":"X","ts":{},"dur":{},"tid":{},"pid":"CPU functions","args":{{}}}},)",
        name, begin_us, length_us, thread);
  };
  return "[" + on("1", "ProfilerStep#1", 0, 1000) + on("1", "aten::a", 0, 300) +
         on("1", "torch::autograd::AccumulateGrad", 100, 10) +
         on("1", "torch::autograd::AccumulateGrad", 280, 10) +
         on("1", "c10d::allreduce_", 300, 10) + on("2", "gloo:all_reduce", 305, 495) +
         on("1", "aten::b", 310, 190) + on("1", "aten::c", 802, 48) +
         on("1", "Optimizer.step#SGD.step", 850, 150) + on("1", "aten::d", 850, 140) +
         R"({"ph":"M","name":"end"}])";
}

// The all-reduce carries both gradients, of 1 and 3 MB.
std::string execution_trace() {
  const auto node = [](int id, const std::string& name, const std::string& shapes) {
    return fmt::format(R"({{"name":"{}","id":{},"input_shapes":[{}],"input_types":["{}"]}},)", name,
                       id, shapes, name[0] == 'c' ? "GenericList[Tensor(float)]" : "Tensor(float)");
  };
  return R"({"schema":"1.0.1","nodes":[)" + node(3, "torch::autograd::AccumulateGrad", "[250000]") +
         node(4, "torch::autograd::AccumulateGrad", "[750000]") +
         node(9, "c10d::allreduce_", "[[1000000]]") + R"({"name":"end","id":10}]})";
}

TEST(TraceReplay, AHostWaitsInTheGapBeforeItsOptimizer) {
  const ScratchFolder folder("host");
  const std::string timeline = file_with(folder.file("t.json"), host_timeline());
  const std::string execution = file_with(folder.file("e.json"), execution_trace());
  const double all_reduce = all_reduce_s();
  ASSERT_GT(all_reduce, 200e-6);
  const double expected_s = 305e-6 + all_reduce + 200e-6;
  EXPECT_NEAR(replayed_s({timeline, execution}, {.ranks = 2}), expected_s, 1e-9);
}

// The wait is within the operator that launched the all-reduce, from 310 to 802 us.
TEST(TraceReplay, AHostWaitsWithinAnOperator) {
  const ScratchFolder folder("within");
  std::string text = host_timeline();
  const std::string beside = R"({"name":"aten::b","ph":"X","ts":310,"dur":190,)";
  const size_t at = text.find(beside);
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, beside.size(), R"({"name":"AddBackwardBackward","ph":"X","ts":290,"dur":511,)");
  const std::string timeline = file_with(folder.file("t.json"), text);
  const std::string execution = file_with(folder.file("e.json"), execution_trace());
  EXPECT_NEAR(replayed_s({timeline, execution}, {.ranks = 2}), 305e-6 + all_reduce_s() + 200e-6,
              1e-9);
}

// The profiler stopped before gloo's thread had written down its end: it was waited for all the
// same.
TEST(TraceReplay, ACollectiveThatIsNotSeenEndingEndsWithItsWait) {
  const ScratchFolder folder("unseen");
  std::string text = host_timeline();
  const size_t at = text.find("gloo:all_reduce");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 4, "lost");
  const std::string timeline = file_with(folder.file("t.json"), text);
  const std::string execution = file_with(folder.file("e.json"), execution_trace());
  EXPECT_NEAR(replayed_s({timeline, execution}, {.ranks = 2}), 300e-6 + all_reduce_s() + 198e-6,
              1e-9);
}

// A second all-reduce ends at 830 us, behind another wait; the first one's end is noted late, just
// when that wait has begun.
TEST(TraceReplay, AnEndThatIsNotedLateBelongsToTheWaitBeforeIt) {
  const ScratchFolder folder("late");
  std::string text = host_timeline();
  const auto change = [&](const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  // Waits from 500 to 600 and from 602 to 850, works from 600 to 602.
  change(R"("ts":305,"dur":495)", R"("ts":305,"dur":298)");
  change(R"("name":"aten::c","ph":"X","ts":802,"dur":48)",
         R"("name":"aten::c","ph":"X","ts":600,"dur":2)");
  change(R"({"name":"aten::b","ph":"X","ts":310,"dur":190)",
         R"({"name":"c10d::allreduce_","ph":"X","ts":312,"dur":1,"tid":1,"pid":"CPU functions",)"
         R"("args":{}},{"name":"gloo:all_reduce","ph":"X","ts":604,"dur":240,"tid":2,)"
         R"("pid":"CPU functions","args":{}},{"name":"aten::b","ph":"X","ts":314,"dur":186)");
  const std::string timeline = file_with(folder.file("t.json"), text);
  const std::string nodes = execution_trace();
  const std::string one = R"({"name":"c10d::allreduce_")";
  const size_t at = nodes.find(one);
  std::string two = nodes.substr(at, nodes.find("},", at) + 2 - at);
  two.replace(two.find(R"("id":9)"), 6, R"("id":8)");
  const std::string execution =
      file_with(folder.file("e.json"), nodes.substr(0, at) + two + nodes.substr(at));
  // All-reduces that take no time are waited for no longer: work to 500 us, 2 us, from 850 us on.
  const ReplayText text_of_both{.files = {timeline, execution},
                                .import = {.ranks = 2},
                                .platform = "star:hosts=2,bandwidth=1TB/s,latency=100ns",
                                .range = false};
  EXPECT_NEAR(replay(text_of_both).iteration.time_s, 652e-6, 10e-6);
}

TEST(TraceReplay, OtherBucketsStartWhenTheirGradientsAreReady) {
  const ScratchFolder folder("bucket");
  const std::string timeline = file_with(folder.file("t.json"), host_timeline());
  const std::string execution = file_with(folder.file("e.json"), execution_trace());
  // One gradient a bucket: 1 MB from 110 us on, 3 MB from 290 us on.
  const double split_s = replayed_s({timeline, execution}, {.ranks = 2, .bucket_bytes = 250'000});
  // One after the other on the thread that had the one.
  const double expected_s = 110e-6 + all_reduce_s(1'000'000) + all_reduce_s(3'000'000) + 200e-6;
  EXPECT_NEAR(split_s, expected_s, 1e-9);
}

constexpr const char* kEnd = R"({"ph":"M","name":"end"}]})";

// 1500 kernels of 10 us. The host launches one every 2 us, waits in its launches once 1022 are
// under way, and goes on for 5 ms behind the last one.
std::string full_queue() {
  constexpr int kKernels = 1500;
  constexpr int kQueue = 1022;
  std::string text = R"({"traceEvents":[)" + event("user_annotation", "ProfilerStep#1", 0, 2e4);
  double now_us = 0;
  for (int i = 0; i < kKernels; ++i) {
    const double begin_us = now_us;
    now_us += 1;
    if (i >= kQueue) now_us = std::max(now_us, 5 + 10.0 * (i - kQueue + 1));
    text += event("cuda_runtime", "cudaLaunchKernel", begin_us, now_us - begin_us,
                  fmt::format(R"("correlation":{})", i));
    text +=
        event("kernel", "k", 5 + 10.0 * i, 10, fmt::format(R"("stream":7,"correlation":{})", i));
    now_us += 1;
  }
  return text + kEnd;
}

TEST(TraceReplay, ALaunchWaitsWhereTheQueueIsFull) {
  const ScratchFolder folder("queue");
  const std::string file = file_with(folder.file("t.json"), full_queue());
  // The host: 15 ms behind the last launch, which waited for kernel 477, at 4785 us. All are done
  // by then.
  EXPECT_NEAR(replayed_s({file}), 2e-2, 1e-9);
  // Kernels take half as long: the host no longer waits, and is earlier by what it did. Its last
  // launch was at 4785 us and could have been at 2998, less the 1 us that each of the 223 launches
  // which waited is taken to have done nothing else.
  const double faster_s =
      replay({.files = {file}, .platform = kStar, .compute_scale = 0.5, .range = false})
          .iteration.time_s;
  EXPECT_NEAR(faster_s, 2e-2 - 4785e-6 + 2998e-6 - 223e-6, 5e-6);
}

TEST(TraceReplay, ACopyOfMemoryThatIsNotPinnedHoldsTheHost) {
  const ScratchFolder folder("copy");
  const auto timeline = [](const char* kind) {
    return R"({"traceEvents":[)" + event("user_annotation", "ProfilerStep#1", 0, 600) +
           event("cuda_runtime", "cudaLaunchKernel", 10, 5, R"("correlation":1)") +
           event("kernel", "A", 20, 200, R"("stream":7,"correlation":1)") +
           event("cuda_runtime", "cudaMemcpyAsync", 20, 15, R"("correlation":2)") +
           event("gpu_memcpy", fmt::format("Memcpy DtoH (Device -> {})", kind), 22, 10,
                 R"("stream":8,"correlation":2)") +
           kEnd;
  };
  const auto doubled_s = [&](const char* kind) {
    const std::string file = file_with(folder.file("t.json"), timeline(kind));
    EXPECT_NEAR(replayed_s({file}), 600e-6, 1e-9);
    Program program = import_trace({file}, {}).program;
    double host_s = 0;  // before it waits for the first time
    int waits = 0;
    for (const Action& action : program.ranks[0].threads[0].actions) {
      if (action.kind == Action::Kind::kHostWork)
        host_s += std::get<HostWork>(action.what).duration_s;
      if (action.kind == Action::Kind::kWait) ++waits;
    }
    return std::pair(host_s, waits);
  };
  // The host has 10 us less of its own work, and one wait more.
  const auto [pinned_s, pinned_waits] = doubled_s("Pinned");
  const auto [pageable_s, pageable_waits] = doubled_s("Pageable");
  EXPECT_NEAR(pinned_s - pageable_s, 12e-6, 1e-9);
  EXPECT_EQ(pageable_waits, pinned_waits + 1);
}

// What was traced gives itself back: public traces, without calibration, against the step that the
// trace holds. In these the host is what takes longest.
TEST(TraceReplay, PublicTracesGiveThemselvesBack) {
  const std::string data = std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/";
  for (const auto& [name, platform] :
       {std::pair("nccl_data.json.gz", "dgx-a100"), std::pair("h100_qwen.json.gz", "dgx-h100"),
        std::pair("b200_eager.json.gz", "dgx-b200")}) {
    const Replay replayed = replay({.files = {data + name}, .platform = platform, .range = false});
    EXPECT_GT(replayed.measured_s, 0) << name;
    EXPECT_NEAR(replayed.iteration.time_s, replayed.measured_s, 0.01 * replayed.measured_s) << name;
    double path_s = 0;
    for (const auto& [cause, time_s] : replayed.critical_path) {
      path_s += time_s;
      EXPECT_NE(cause, "timer") << name;
    }
    EXPECT_LT(path_s, replayed.iteration.time_s * (1 + 1e-9)) << name;
  }
}

TEST(TraceReplay, SaysWhereThePlatformHasOtherGpus) {
  const std::string data = std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/";
  const auto says = [&](const std::string& platform, const std::string& gpu) {
    const Replay replayed = replay(
        {.files = {data + "h100_qwen.json.gz"}, .platform = platform, .gpu = gpu, .range = false});
    return std::any_of(replayed.notes.begin(), replayed.notes.end(), [](const auto& note) {
      return note.find("kernels keep what they took there, --gpu") != std::string::npos;
    });
  };
  EXPECT_TRUE(says("dgx-a100", ""));
  EXPECT_FALSE(says("dgx-a100", "a100"));
  EXPECT_FALSE(says("dgx-h100", ""));
}

// The all-reduce takes 100 us in the trace of two ranks of which the second one is 50 us later, so
// 150 us on the first one.
std::vector<std::string> traced_all_reduce(const ScratchFolder& folder) {
  return {file_with(folder.file("a.json"), gpu_timeline(0, 100, 270)),
          file_with(folder.file("b.json"), gpu_timeline(1, 150, 270))};
}

TEST(TraceReplay, CalibratedCollectivesTakeWhatTheyTook) {
  const ScratchFolder folder("calibrated");
  const std::vector<std::string> files = traced_all_reduce(folder);
  ReplayText text{.files = files, .platform = kStar, .range = false};
  const double plain_s = replay(text).iteration.time_s;
  ASSERT_GT(all_reduce_s(), 100e-6);  // the stack's: far longer than in the trace
  EXPECT_NEAR(plain_s, 170e-6 + all_reduce_s() + 110e-6, 1e-9);
  text.calibrate = true;
  const Replay calibrated = replay(text);
  EXPECT_NEAR(calibrated.measured_s, 380e-6, 1e-9);
  EXPECT_NEAR(calibrated.iteration.time_s, 380e-6, 0.01 * 380e-6);
  EXPECT_NE(calibrated.notes.back().find("all-reduce, 2 ranks x 0.0"), std::string::npos)
      << calibrated.notes.back();
  // Twice the bandwidth: the stack's time halves, and with it what is left of it; by the difference
  // nothing would be left.
  text.traced_platform = kStar;
  text.platform = "star:hosts=2,bandwidth=2GB/s,latency=2500ns";
  text.range = true;
  const Replay elsewhere = replay(text);
  EXPECT_NEAR(elsewhere.iteration.time_s, 170e-6 + 50e-6 + 110e-6, 10e-6);
  EXPECT_LT(elsewhere.iteration.low_s, 170e-6 + 20e-6 + 110e-6);
}

TEST(TraceReplay, LongerCollectivesAreWaitedForBehindThem) {
  const ScratchFolder folder("longer");
  const std::string fast = "star:hosts=2,bandwidth=1TB/s,latency=1us";
  ReplayText text{.files = traced_all_reduce(folder), .platform = fast, .calibrate = true};
  text.range = false;
  const Replay calibrated = replay(text);
  EXPECT_NEAR(calibrated.iteration.time_s, 380e-6, 1e-9);
  double path_s = 0;
  double beyond_s = 0;
  for (const auto& [cause, time_s] : calibrated.critical_path) {
    path_s += time_s;
    if (cause == "collective beyond the prediction") beyond_s += time_s;
  }
  EXPECT_NEAR(path_s, 380e-6, 1e-9);
  EXPECT_GT(beyond_s, 50e-6);
  EXPECT_NEAR(calibrated.overlap.communication_s, calibrated.measured_overlap.communication_s,
              5e-6);
}

// Of two ranks one was traced, whose all-reduce took 150 us: on this network, where its stack says
// 20 times less, it waited for the other one.
TEST(TraceReplay, WaitsForRanksNotTracedAreKeptWhereTheTracedPlatformIsKnown) {
  const ScratchFolder folder("waits");
  const std::string fast = "star:hosts=2,bandwidth=1TB/s,latency=100ns";
  const std::vector<std::string> files = {traced_all_reduce(folder).front()};
  ReplayText text{.files = files, .platform = fast, .range = false};
  const double plain_s = replay(text).iteration.time_s;
  const double all_reduce_fast_s = plain_s - 230e-6;
  ASSERT_LT(all_reduce_fast_s, 15e-6);
  text.traced_platform = fast;
  const Replay kept = replay(text);
  EXPECT_NEAR(kept.iteration.time_s, kept.measured_s, 1e-9);
  EXPECT_NE(kept.notes.back().find("1 of 1 collectives took more than 10 times"), std::string::npos)
      << kept.notes.back();
  const auto on_path =
      std::find_if(kept.critical_path.begin(), kept.critical_path.end(),
                   [](const auto& cause) { return cause.first == "wait for ranks not traced"; });
  ASSERT_NE(on_path, kept.critical_path.end());
  EXPECT_NEAR(on_path->second, 150e-6 - all_reduce_fast_s, 1e-9);
  // Nothing is left to attribute.
  text.against_measured = true;
  EXPECT_NEAR(replay(text).against->with_all_s, kept.measured_s, 1e-9);
  text.against_measured = false;
  // Elsewhere the wait stays and the collective takes what it takes there.
  text.platform = kStar;
  EXPECT_NEAR(replay(text).iteration.time_s, 230e-6 + 150e-6 - all_reduce_fast_s + all_reduce_s(),
              1e-9);
  // Where it was traced in a slow network, what it took is the stack's to explain.
  text.platform = fast;
  text.traced_platform = kStar;
  EXPECT_NEAR(replay(text).iteration.time_s, plain_s, 1e-9);
}

// Three times what the stack says may be the stack's error: it is predicted, and the range has
// both.
TEST(TraceReplay, WhatMayHaveBeenAWaitIsInTheRange) {
  const ScratchFolder folder("either");
  const std::string network = "star:hosts=2,bandwidth=100GB/s,latency=5us";
  const std::vector<std::string> files = {traced_all_reduce(folder).front()};
  ReplayText text{.files = files, .platform = network, .traced_platform = network};
  const Replay replayed = replay(text);
  ASSERT_GT(replayed.iteration.time_s, 230e-6 + 15e-6);  // not a tenth of what was traced
  ASSERT_LT(replayed.iteration.time_s, 230e-6 + 75e-6);
  EXPECT_GE(replayed.iteration.high_s, replayed.measured_s - 1e-9);
}

// Each all-reduce takes 6.6 to 9.2 ms for 6 and 18 MB, whatever the links can do.
TEST(TraceReplay, AnMi300xThatWaitedGivesItsTraceBack) {
  const std::string file =
      std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/mi300x_resnet.json.gz";
  ReplayText text{.files = {file}, .platform = "azure-nd-mi300x", .range = false};
  const Replay kept = replay(text);
  EXPECT_NEAR(kept.iteration.time_s, kept.measured_s, 0.01 * kept.measured_s);
  text.traced_platform = text.platform;
  EXPECT_EQ(replay(text).iteration.time_s, kept.iteration.time_s);
  text.import.without_stragglers = true;
  EXPECT_LT(replay(text).iteration.time_s, 0.5 * kept.measured_s);
  // Nothing says where it was traced: not on the H100s of the replay.
  text = {.files = {file}, .platform = "dgx-h100", .range = false};
  EXPECT_LT(replay(text).iteration.time_s, 0.5 * kept.measured_s);
  // Nor how long its network takes, where its eight ranks are on eight nodes.
  text.platform = "azure-nd-mi300x:nodes=8";
  text.placement = "linear:per_node=1";
  EXPECT_LT(replay(text).iteration.time_s, 0.5 * kept.measured_s);
}

TEST(TraceReplay, DifferencesFromTheMeasurementAreAttributed) {
  const ScratchFolder folder("against");
  ReplayText text{.files = traced_all_reduce(folder), .platform = kStar, .range = false};
  text.against_measured = true;
  const Replay replayed = replay(text);
  ASSERT_TRUE(replayed.against.has_value());
  ASSERT_EQ(replayed.against->collectives.size(), 1U);
  const ReplayDifference& all_reduce = replayed.against->collectives.front();
  EXPECT_EQ(all_reduce.what, "all-reduce, 2 ranks");
  EXPECT_EQ(all_reduce.calls, 1);
  EXPECT_NEAR(all_reduce.measured_s, 100e-6, 1e-12);
  EXPECT_NEAR(all_reduce.predicted_s, all_reduce_s(), 1e-9);
  EXPECT_NEAR(all_reduce.iteration_s, 380e-6, 0.01 * 380e-6);
  EXPECT_EQ(all_reduce.iteration_s, replayed.against->with_all_s);
  // The replay itself stays as the stack says.
  EXPECT_NEAR(replayed.iteration.time_s, 170e-6 + all_reduce_s() + 110e-6, 1e-9);
}

// Ranks on a grid of tensor and data parallelism that differ by up to 2 %.
TEST(TraceReplay, AnyOneRankOfEightStandsForAll) {
  const ScratchFolder folder("grid");
  for (const testing::GridShape& shape :
       {testing::GridShape{.tensor = 2, .data = 4},
        testing::GridShape{.tensor = 2, .expert = 2, .data = 2}, testing::GridShape{.data = 8}}) {
    std::vector<std::string> files;
    for (int rank = 0; rank < 8; ++rank)
      files.push_back(file_with(folder.file(fmt::format("r{}.json", rank)),
                                testing::GridTraces(shape).timeline(rank)));
    const auto grid_s = [](const std::vector<std::string>& some) {
      return replay({.files = some, .platform = "dgx-a100", .range = false}).iteration.time_s;
    };
    const double all_s = grid_s(files);
    EXPECT_GT(all_s, 1e-3);
    for (const std::string& file : files)
      EXPECT_NEAR(grid_s({file}), all_s, 0.05 * all_s) << file << " tp " << shape.tensor;
  }
}

TEST(TraceReplay, AStragglersExcessIsTakenAway) {
  const ScratchFolder folder("straggler");
  const std::vector<std::string> files = {
      file_with(folder.file("a.json"), gpu_timeline(0, 100, 420)),
      file_with(folder.file("b.json"), gpu_timeline(1, 300, 420))};
  EXPECT_NEAR(replayed_s(files), 10e-6 + 10e-6 + 300e-6 + all_reduce_s() + 110e-6, 1e-9);
  // Rank 1 computes for 400 us and the other one for 200: each of its kernels takes half as long.
  EXPECT_NEAR(replayed_s(files, {.without_stragglers = true}),
              10e-6 + 10e-6 + 150e-6 + all_reduce_s() + 110e-6, 1e-9);
}

}  // namespace
}  // namespace forescale
