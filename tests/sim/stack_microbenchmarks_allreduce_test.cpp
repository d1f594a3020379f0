// Stacks of the all-reduce family against published size-to-time tables of others.
#include <gtest/gtest.h>

#include "algorithms/steps/all_reduce_steps.hpp"
#include "tests/sim/simulations.hpp"
#include "topologies/placement.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {
namespace {

struct MeasuredAllReduce {
  int ranks;
  std::int64_t bytes;
  double measured_s;
};

// gloo README (facebookincubator/gloo, commit 000ff376): allreduce_ring_chunked, 4 machines, 40
// GbE, median of FP32 elements. One element and 5 million calibrate; what lies between is
// predicted. Chunks of half a block, twice the messages of our ring, make the middle a little
// slower: 25 %. Its row of 200,000 elements (1450 us) is slower than that of 500,000 and is left
// out.
TEST(Microbenchmark, Gloo) {
  const Platform platform = load_platform("star:hosts=4,bandwidth=4.746GB/s,latency=5us");
  const Stack stack = load_stack("gloo");
  for (const MeasuredAllReduce& row :
       {MeasuredAllReduce{4, 4, 263e-6}, MeasuredAllReduce{4, 40'000, 346e-6},
        MeasuredAllReduce{4, 80'000, 358e-6}, MeasuredAllReduce{4, 200'000, 438e-6},
        MeasuredAllReduce{4, 400'000, 487e-6}, MeasuredAllReduce{4, 2'000'000, 1294e-6},
        MeasuredAllReduce{4, 4'000'000, 2286e-6}, MeasuredAllReduce{4, 8'000'000, 3993e-6},
        MeasuredAllReduce{4, 20'000'000, 10608e-6}})
    EXPECT_NEAR(alone_s(platform, stack, all_reduce(row.bytes, "microbenchmark"), row.ranks),
                row.measured_s, 0.25 * row.measured_s)
        << row.bytes;
}

// DeepBench (baidu-research/DeepBench, results/train/DeepBench_NV_P100.xlsx): NCCL 2.0 on P100 over
// PCIe. How they are connected is not said: the links' rate is calibrated at two GPUs and 258 MB,
// 5.88 GB/s; all else is predicted with NCCL's own constants. 20 %: NCCL 2.0 for 2.3.
TEST(Microbenchmark, Nccl) {
  constexpr double kLink = 258e6 / 43.845e-3;
  const Platform platform = load_platform("pcie:gpu=p100,sockets=1,switches=1,cards=8");
  Stack stack = load_stack("nccl-2.3");
  for (PathRule& path : stack.paths)
    if (path.where == "peer" && path.connection_cap.value == 0)
      path.connection_cap = BytesPerSecond{kLink};
  for (const MeasuredAllReduce& row :
       {MeasuredAllReduce{2, 400'000, 0.1019e-3}, MeasuredAllReduce{4, 400'000, 0.1672e-3},
        MeasuredAllReduce{8, 400'000, 0.2353e-3}, MeasuredAllReduce{2, 12'390'400, 2.081e-3},
        MeasuredAllReduce{4, 12'390'400, 3.249e-3}, MeasuredAllReduce{8, 12'390'400, 3.781e-3},
        MeasuredAllReduce{2, 258'000'000, 43.85e-3}, MeasuredAllReduce{4, 258'000'000, 67.21e-3},
        MeasuredAllReduce{8, 258'000'000, 76.63e-3}})
    EXPECT_NEAR(alone_s(platform, stack, all_reduce(row.bytes, "microbenchmark"), row.ranks),
                row.measured_s, 0.2 * row.measured_s)
        << row.ranks << " x " << row.bytes;
}

double message_s(const Platform& platform, const Stack& stack, std::int64_t bytes, bool on_host) {
  const CollectiveStep step{
      .op = CollectiveOp::kBroadcast, .bytes = bytes, .label = "message", .on_host = on_host};
  return alone_s(platform, stack, step, 2);  // a broadcast to one rank is one message
}

// Reference values of CSCS's checks of Piz Daint (reframe-hpc/reframe, commit 099e1c31,
// cscs-checks/microbenchmarks/osu/osu_tests.py, daint:gpu): 8 bytes in 1.30 us between hosts and
// 5.73 us between GPUs, 9607 and 8766 MB/s at 4 MiB. They calibrate. The bandwidth there keeps 64
// messages in flight, here one pays its own fill: 15 %.
TEST(Microbenchmark, CrayMpichMessages) {
  const Platform platform = one_rank_a_node("piz-daint");
  const Stack stack = load_stack("cray-mpich-aries");
  EXPECT_NEAR(message_s(platform, stack, 8, true), 1.30e-6, 0.15 * 1.30e-6);
  EXPECT_NEAR(message_s(platform, stack, 8, false), 5.73e-6, 0.15 * 5.73e-6);
  const double host_s = 4194304 / 9607e6;
  EXPECT_NEAR(message_s(platform, stack, 4194304, true), host_s, 0.15 * host_s);
  const double gpu_s = 4194304 / 8766e6;
  EXPECT_NEAR(message_s(platform, stack, 4194304, false), gpu_s, 0.15 * gpu_s);
}

// The same checks: osu_allreduce of 8 bytes in host memory, 7.81 us on 6 nodes and 16.87 us on 16
// (10.85 us on the multicore partition of the same network, taken here). Predicted from the
// messages above, whose 1.30 us is the best of an idle machine: CSCS itself lets messages take 70 %
// more and the all-reduce 40 %, a factor of 2.4 together. What the stack charges for copies of
// GPU buffers is not charged for these.
TEST(Microbenchmark, CrayMpichAllReduce) {
  const Platform platform = one_rank_a_node("piz-daint");
  const Stack stack = load_stack("cray-mpich-aries");
  for (const MeasuredAllReduce& row :
       {MeasuredAllReduce{6, 8, 7.81e-6}, MeasuredAllReduce{16, 8, 10.85e-6}}) {
    const double time_s = in_child([&] {
      CollectiveStep step = all_reduce(row.bytes, "microbenchmark");
      step.on_host = true;
      SessionOptions options;
      options.choices[step.op] = parse_plan("all-reduce/recursive-doubling", "test");
      return simulate_collective(platform, stack, step, row.ranks, options).time_s;
    });
    EXPECT_GT(time_s, row.measured_s / 2.4) << row.ranks;
    EXPECT_LT(time_s, row.measured_s * 2.4) << row.ranks;
  }
}

// The same checks on KESCH with MVAPICH2: 8 bytes in 1.17 us between hosts, 6311 MB/s between hosts
// and 6289 between GPUs at 4 MiB, through one of the adapter's two ports. The bandwidth test keeps
// 64 messages in flight, so what 4 MiB more take is compared, without handshake and fill: within
// 5 %, less than the check's own 10 and 15.
TEST(Microbenchmark, Mvapich2Messages) {
  const Platform platform = one_rank_a_node("kesch");
  constexpr std::int64_t kBytes = 4 << 20;
  EXPECT_NEAR(message_s(platform, load_stack("mvapich2-gdr-opt"), 8, true), 1.17e-6,
              0.25 * 1.17e-6);
  for (const char* name : {"mvapich2-gdr", "mvapich2-gdr-opt"}) {
    const Stack stack = load_stack(name);
    const auto more_s = [&](bool on_host) {
      return message_s(platform, stack, 2 * kBytes, on_host) -
             message_s(platform, stack, kBytes, on_host);
    };
    EXPECT_NEAR(kBytes / more_s(true), 6311e6, 0.05 * 6311e6) << name;
    EXPECT_NEAR(kBytes / more_s(false), 6289e6, 0.05 * 6289e6) << name;
  }
}

// 23.09 us for 8 bytes between GPUs: measured there without GPUDirect RDMA switched on, so the slow
// end. What S-Caffe had was faster.
TEST(Microbenchmark, Mvapich2SmallGpuMessages) {
  const Platform platform = one_rank_a_node("kesch");
  constexpr double kMeasured = 23.09e-6;
  EXPECT_LT(message_s(platform, load_stack("mvapich2-gdr"), 8, false), kMeasured);
  EXPECT_NEAR(message_s(platform, load_stack("mvapich2-gdr", Scenario::kSlow), 8, false), kMeasured,
              0.15 * kMeasured);
}

// Awan et al., section V-C, 16 nodes of RI2. The factor 4.1 below 128 KB calibrates the driver's
// query; the factor 17 over NCCL at 8 bytes is predicted, within a third.
TEST(Microbenchmark, PointerCacheAndNccl) {
  const Platform platform = one_rank_a_node("ri2");
  const MeasuredAllReduce row{16, 8, 0};
  const double optimised_s = alone_s(platform, load_stack("mvapich2-gdr-opt"),
                                     all_reduce(row.bytes, "microbenchmark"), row.ranks);
  const double default_s = alone_s(platform, load_stack("mvapich2-2.3"),
                                   all_reduce(row.bytes, "microbenchmark"), row.ranks);
  const double nccl_s =
      alone_s(platform, load_stack("nccl-2.3"), all_reduce(row.bytes, "microbenchmark"), row.ranks);
  EXPECT_NEAR(default_s / optimised_s, 4.1, 0.05 * 4.1);
  EXPECT_NEAR(nccl_s / optimised_s, 17, 17.0 / 3);
}

}  // namespace
}  // namespace forescale::testing
