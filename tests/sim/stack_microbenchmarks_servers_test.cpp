// The stacks of the parameter servers against published transfer rates. What a test calibrates on
// is said there; everything else in those files is assumed.
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/schedule.hpp"
#include "sim/engine/lanes.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

// Bytes a second of one tensor that a worker pulls from a server on another host, and a server from
// it, with nothing else to do: benchmark_grpc_recv.py of tensorflow/tensorflow issue 6116.
double tensor_rate(const std::string& name, std::int64_t bytes) {
  return in_child([&] {
    const Stack stack = load_stack(name);
    const Schedule& schedule = Registry<Schedule>::find("grpc-pull", "test");
    TrainingJob job;
    job.stages.push_back({.name = "tensor", .parameter_bytes = bytes});
    job.iterations = 2;
    job.options = ScheduleOptions::parse(schedule.options, {{"servers", "1"}}, "test");
    job.host.stages_through_host = false;  // CPU tensors
    job.host.request_bytes = stack.service.request.value;
    job.host.request_s = stack.service.request_time.value;
    if (stack.service.encode.value > 0) job.host.encode_s_per_byte = 1 / stack.service.encode.value;
    if (stack.service.decode.value > 0) job.host.decode_s_per_byte = 1 / stack.service.decode.value;
    job.host.threads = stack.service.threads;
    SessionOptions options;
    options.workers = 1;
    const TrainingOutcome outcome =
        simulate_training(load_platform(star_of(2)), stack, schedule, jobs_of(2, job), options);
    return 2 * static_cast<double>(bytes) / outcome.iteration_s;
  });
}

constexpr std::int64_t kTensorBytes = 100 * 1000 * 1000;  // the benchmark's default

// Calibrated, not independent: the connection's cap, from another benchmark, was chosen knowing
// that with the copy of decoding it meets TensorFlow's own 800 MB/s. 15 %: the figure is rounded.
TEST(GrpcMicrobenchmark, ATensorMovesAt800MBPerS) {
  EXPECT_NEAR(tensor_rate("grpc-ipoib", kTensorBytes), 800e6, 0.15 * 800e6);
}

// Calibrated on this figure of the same issue, which is rounded: 10 %. GPU to GPU across nodes.
TEST(GrpcMicrobenchmark, ATensorMovesAt3400MBPerSWithGdr) {
  const Platform platform = load_platform("owens");
  const Stack stack = load_stack("grpc-gdr");
  const Lanes lanes(platform, stack);
  const LaneCost cost = lanes.cost(lanes.lane(0, 1, BufferPlace::kGpu, kTensorBytes), kTensorBytes);
  const double time_s = cost.hold_s + kTensorBytes / cost.bandwidth_bytes_per_s + cost.deliver_s;
  EXPECT_NEAR(kTensorBytes / time_s, 3.4e9, 0.1 * 3.4e9);
}

// "Up to 4.1 times" (HiPC 2018): calibrated on it; the copies that it saves come on top.
TEST(GrpcMicrobenchmark, AcceleratedGrpcIsAboutFourTimesAsFast) {
  const double gain =
      tensor_rate("accelerated-grpc", kTensorBytes) / tensor_rate("grpc-ipoib", kTensorBytes);
  EXPECT_GT(gain, 3.5);
  EXPECT_LT(gain, 5);
}

// ufo-kit/ufo-filters pull request 147, ZeroMQ's own test: 1770 MB/s at 8 MB, 1309 at 32 MB, 1049
// at 128 MB. Rates that fall with the size are not modelled: the nominal one is the middle's (10 %)
// and the assumed range spans the others.
TEST(ZeroMqMicrobenchmark, LiesWithinTheMeasuredRates) {
  const auto rate = [](Scenario scenario, double bytes) {
    const Stack stack = load_stack("ps-lite", scenario);
    const Platform platform = load_platform(star_of(2));
    const Lanes lanes(platform, stack);
    const auto size = static_cast<std::int64_t>(bytes);
    const LaneCost cost = lanes.cost(lanes.lane(0, 1, BufferPlace::kHost, size), size);
    return bytes / (cost.hold_s + bytes / cost.bandwidth_bytes_per_s);
  };
  EXPECT_NEAR(rate(Scenario::kNominal, 32e6), 1309e6, 0.1 * 1309e6);
  EXPECT_GE(rate(Scenario::kFast, 8e6), 1770e6);
  EXPECT_LE(rate(Scenario::kSlow, 128e6), 1049e6);
}

// osu_bw and osu_latency between hosts of daint:gpu, Cray MPICH: 9607 MB/s and 1.30 us
// (reframe-hpc/reframe, cscs-checks/microbenchmarks/osu/osu_tests.py, commit 099e1c31). The
// platform's link is assumed from Aries' design: 5 %. Latency: between the nearest of 64 nodes
// drawn from the whole machine, the sum of assumed parts, 30 %.
TEST(CrayMpichMicrobenchmark, HostsOfPizDaint) {
  const Platform platform = load_platform("piz-daint");
  const Stack stack = load_stack("grpc-mpi-aries");
  const Lanes lanes(platform, stack);
  constexpr std::int64_t kLarge = 4 << 20;
  const LaneCost large = lanes.cost(lanes.lane(0, 1, BufferPlace::kHost, kLarge), kLarge);
  EXPECT_NEAR(large.bandwidth_bytes_per_s, 9.607e9, 0.05 * 9.607e9);
  double latency_s = 1;
  for (int slot = 1; slot < 64; ++slot) {
    const LaneCost small = lanes.cost(lanes.lane(0, slot, BufferPlace::kHost, 8), 8);
    latency_s = std::min(latency_s, small.hold_s + small.o_recv_s + small.deliver_s);
  }
  EXPECT_NEAR(latency_s, 1.30e-6, 0.3 * 1.30e-6);
}

}  // namespace
}  // namespace forescale::testing
