// Gradients in other buckets.
#include "traces/measured/rebucket.hpp"

#include <gmock/gmock.h>

#include "base/units.hpp"
#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<MeasuredGradient> gradients(const std::vector<std::int64_t>& sizes) {
  std::vector<MeasuredGradient> made;
  for (const std::int64_t size : sizes)
    made.push_back({.ready_ns = 1000 * static_cast<std::int64_t>(made.size() + 1), .bytes = size});
  return made;
}

TEST(Buckets, CloseAtTheCapAndTheFirstAtOneMebibyte) {
  const auto list = gradients({kMiB / 2, kMiB, 2 * kMiB, 2 * kMiB, 2 * kMiB, kMiB});
  EXPECT_THAT(bucket_sizes(list, 4 * kMiB), ElementsAre(3 * kMiB / 2, 4 * kMiB, 3 * kMiB));
  EXPECT_THAT(bucket_sizes(list, 100 * kMiB), ElementsAre(3 * kMiB / 2, 7 * kMiB));
  // A cap below it holds for the first too.
  EXPECT_THAT(bucket_sizes(list, kMiB / 2),
              ElementsAre(kMiB / 2, kMiB, 2 * kMiB, 2 * kMiB, 2 * kMiB, kMiB));
}

// One step: gradients of 1, 2 and 3 MiB ready at 1, 2 and 3 us; one all-reduce of all at 3 us that
// takes 5 us and is waited for from 4 us to 8 us.
MeasuredRank one_step() {
  MeasuredRank rank{.file = "made", .rank = 0, .world_size = 2};
  rank.gradients = gradients({kMiB, 2 * kMiB, 3 * kMiB});
  rank.steps = {{.begin_ns = 0, .end_ns = 9000}};
  rank.labels = {"all-reduce"};
  rank.calls = {{.span = {3000, 3100}, .kind = HostCall::Kind::kLaunch},
                {.span = {4000, 8000}, .kind = HostCall::Kind::kWaitFor},
                {.span = {9000, 9000}, .kind = HostCall::Kind::kStepEnd}};
  rank.tasks = {{.span = {3000, 8000}, .call = 0, .collective = 0}};
  rank.collectives = {{.op = CollectiveOp::kAllReduce, .bytes = 6 * kMiB}};
  return rank;
}

TEST(Rebucket, LaunchesEachBucketWhenItsLastGradientIsReady) {
  MeasuredRank rank = one_step();
  rebucket(rank, 2 * kMiB);
  ASSERT_EQ(rank.collectives.size(), 3U);
  std::vector<std::int64_t> launched_ns;
  std::vector<std::int64_t> bytes;
  for (const MeasuredTask& task : rank.tasks) {
    launched_ns.push_back(rank.calls[static_cast<size_t>(task.call)].span.begin_ns);
    bytes.push_back(rank.collectives[static_cast<size_t>(task.collective)].bytes);
  }
  EXPECT_THAT(launched_ns, ElementsAre(1000, 2000, 3000));
  EXPECT_THAT(bytes, ElementsAre(kMiB, 2 * kMiB, 3 * kMiB));
  // The host went on at 8 us because what it waited for was done then: that stays.
  for (const HostCall& call : rank.calls)
    if (call.kind == HostCall::Kind::kWaitFor) {
      EXPECT_EQ(call.resumes_ns, 8000);
    }
}

TEST(Rebucket, RefusesWhatItCannotKnow) {
  MeasuredRank without_sizes = one_step();
  without_sizes.gradients[1].bytes = -1;
  EXPECT_THAT(refusal([&] { rebucket(without_sizes, kMiB); }), HasSubstr("sizes of gradients"));
  MeasuredRank without_gradients = one_step();
  without_gradients.gradients.clear();
  EXPECT_THAT(refusal([&] { rebucket(without_gradients, kMiB); }),
              HasSubstr("when gradients were ready"));
  MeasuredRank with_more = one_step();
  with_more.collectives[0].bytes += 4;
  EXPECT_THAT(refusal([&] { rebucket(with_more, kMiB); }),
              HasSubstr("carry the gradients and nothing else"));
}

}  // namespace
}  // namespace forescale::testing
