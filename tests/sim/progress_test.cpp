// Who moves a collective on while its ranks compute: hardware, or only their own calls.
#include <gtest/gtest.h>

#include "tests/sim/patterns.hpp"

namespace forescale::testing {
namespace {

constexpr double kHop_s = kAlpha_s + kMiB / kStarBytesPerS;
constexpr double kKernel_s = 1;  // far longer than the whole broadcast

const CollectiveStep kBroadcast = {.op = CollectiveOp::kBroadcast,
                                   .bytes = kMiB,
                                   .root = 0,
                                   .communicator = 0,
                                   .phase = Phase::kPropagation,
                                   .label = "weights"};

void compute(Worker& worker) {
  worker.run(
      Kernel{.stream = 0, .duration_s = kKernel_s, .phase = Phase::kForward, .label = "layer"});
}

std::vector<double> broadcast_ends_s(Progress progress, const std::string& algorithm,
                                     int rank_count, const std::function<void(Worker&)>& program) {
  return numbers_in_child([&] {
    const Platform platform = load_platform(star_of(rank_count));
    Stack stack = load_stack("ideal");
    stack.progress = progress;
    SessionOptions options;
    options.choices[CollectiveOp::kBroadcast] =
        parse_plan("broadcast/" + std::string(algorithm), "test");
    return program_ends_s(platform, stack, rank_count, options, program);
  });
}

void expect_ends(const std::vector<double>& actual_s, const std::vector<double>& expected_s) {
  ASSERT_EQ(actual_s.size(), expected_s.size());
  for (size_t rank = 0; rank < actual_s.size(); ++rank)
    EXPECT_NEAR(actual_s[rank], expected_s[rank], 1e-9 * expected_s[rank]) << "rank " << rank;
}

void post_compute_wait(Worker& worker) {
  const Request weights = worker.start(kBroadcast);
  compute(worker);
  worker.wait(weights);
}

TEST(Progress, HardwareHidesAPostedBroadcastUnderAKernel) {
  expect_ends(broadcast_ends_s(Progress::kHardware, "chain", 4, post_compute_wait),
              {kKernel_s, kKernel_s, kKernel_s, kKernel_s});
}

// Starting is a call, so the first hop is under way before the kernels; rank 1 forwards only when
// it waits, and so on down the chain.
TEST(Progress, InsideCallsOnlyTheFirstHopHides) {
  expect_ends(broadcast_ends_s(Progress::kInsideCalls, "chain", 4, post_compute_wait),
              {kKernel_s, kKernel_s + kHop_s, kKernel_s + 2 * kHop_s, kKernel_s + 2 * kHop_s});
}

// Root 0 sends to 2 and then to 1; 2 forwards to 3. Only the first of the root's sends hides.
TEST(Progress, InsideCallsATreeWaitsToo) {
  const auto ends = broadcast_ends_s(Progress::kInsideCalls, "binomial", 4, post_compute_wait);
  expect_ends(ends,
              {kKernel_s + kHop_s, kKernel_s + kHop_s, kKernel_s + kHop_s, kKernel_s + kHop_s});
}

// The helper thread computes, the main thread stays inside the call: full overlap without help.
TEST(Progress, HelperThreadKeepsTheMainThreadInsideTheCall) {
  const auto program = [](Worker& worker) {
    const Request helper = worker.spawn([](Worker& thread) { compute(thread); });
    worker.run(kBroadcast);
    // When the broadcast was over, not when the rank was.
    if (worker.now_s() >= kKernel_s) worker.wait(worker.make_signal());
    worker.wait(helper);
  };
  expect_ends(broadcast_ends_s(Progress::kInsideCalls, "chain", 4, program),
              {kKernel_s, kKernel_s, kKernel_s, kKernel_s});
}

TEST(Progress, BlockingBroadcastTakesAsLongEitherWay) {
  const auto blocking = [](Worker& worker) { worker.run(kBroadcast); };
  for (const Progress progress : {Progress::kHardware, Progress::kInsideCalls})
    expect_ends(broadcast_ends_s(progress, "chain", 4, blocking),
                {kHop_s, 2 * kHop_s, 3 * kHop_s, 3 * kHop_s});
}

// Waiting for a kernel or a signal is no communication call; waiting for another collective is.
TEST(Progress, AnyCommunicationCallProgressesAllCollectives) {
  const auto program = [](Worker& worker) {
    const Request weights = worker.start(kBroadcast);
    compute(worker);
    CollectiveStep loss = kBroadcast;
    loss.bytes = 0;
    loss.communicator = 1;
    worker.run(loss);  // of no bytes: over at once, but it calls
    compute(worker);
    worker.wait(weights);
  };
  const auto inside = broadcast_ends_s(Progress::kInsideCalls, "chain", 4, program);
  const auto hardware = broadcast_ends_s(Progress::kHardware, "chain", 4, program);
  for (const double end_s : hardware) EXPECT_NEAR(end_s, 2 * kKernel_s, 1e-3);
  EXPECT_GT(inside[3], 2 * kKernel_s);
  EXPECT_LT(inside[3], 2 * kKernel_s + 3 * kHop_s);
}

}  // namespace
}  // namespace forescale::testing
