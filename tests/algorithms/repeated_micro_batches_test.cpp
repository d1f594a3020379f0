// A few micro-batches against all of them, for every schedule of the registry, with stages that
// take different times and copies that do; and where all are walked.
#include "algorithms/layout/repeated_micro_batches.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/seeded_random.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

// Tells with how many micro-batches it was asked.
struct Watched {
  explicit Watched(const PipelineSchedule& watched) : schedule(watched) {
    schedule.orders = [this, orders = watched.orders](const PipelineShape& shape) {
      most = std::max(most, shape.micro_batches);
      return orders(shape);
    };
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  PipelineSchedule schedule;
  int most = 0;
};

// Up to `uneven` longer than the shortest.
std::vector<StageCost> stages_of(const PipelineShape& shape, double uneven, std::uint64_t seed) {
  std::vector<StageCost> stages;
  for (int stage = 0; stage < shape.stages(); ++stage) {
    const auto longer = [&](int what) {
      const auto number = static_cast<std::uint64_t>(100 * stage + what);
      return 1 + uneven * std::abs(seeded_normal(mixed(seed + number)));
    };
    stages.push_back({.forward_s = longer(0),
                      .backward_s = 1.5 * longer(1),
                      .weights_s = 0.5 * longer(2),
                      .parameters = {.time_s = 3, .parts = 4, .slows_s = 0.1},
                      .gradients = {.time_s = 2, .parts = 2, .slows_s = 0.2}});
  }
  return stages;
}

void expect_as_all(const PipelineTotals& few, const PipelineTotals& all) {
  EXPECT_NEAR(few.end_s / all.end_s, 1, 1e-9);
  EXPECT_NEAR(few.passes_end_s / all.passes_end_s, 1, 1e-9);
  ASSERT_EQ(few.forward_s.size(), all.forward_s.size());
  for (size_t rank = 0; rank < all.forward_s.size(); ++rank) {
    EXPECT_NEAR(few.forward_s[rank] / all.forward_s[rank], 1, 1e-9);
    EXPECT_NEAR(few.backward_s[rank] / all.backward_s[rank], 1, 1e-9);
  }
}

TEST(RepeatedMicroBatches, TakeAsLongAsAllForEverySchedule) {
  std::set<std::string> repeat;
  for (const auto& [name, schedule] : Registry<PipelineSchedule>::all())
    for (const int ranks : {1, 2, 4, 8})
      for (const int each : {1, 2, 3})
        for (const int micro_batches : {54 * ranks, 61 * ranks, 80 * ranks + 3}) {
          const PipelineShape shape{ranks, each, micro_batches};
          if (refusal([&] { check_shape(schedule, shape, "x"); }) != "accepted") continue;
          for (const double uneven : {0.0, 0.002, 0.1, 1.0}) {
            SCOPED_TRACE(fmt::format("{}: {} ranks of {}, {} micro-batches, uneven {}", name, ranks,
                                     each, micro_batches, uneven));
            const Watched watched(schedule);
            const std::vector<PipelineCopy> copy = {
                {.stages = stages_of(shape, uneven, 7), .transfer_s = 0.1}};
            const PipelineTotals few = pipeline_totals(watched.schedule, shape, copy).front();
            if (watched.most < micro_batches) repeat.insert(name);
            expect_as_all(few, totals_of(pipeline_times(schedule, shape, copy).front()));
          }
        }
  EXPECT_EQ(repeat, (std::set<std::string>{"1f1b", "dualpipe", "dualpipev", "interleaved", "zb-h1",
                                           "zbv"}));
}

// The slower copy decides when gradients are reduced.
TEST(RepeatedMicroBatches, OfCopiesThatDifferTakeAsLongAsAll) {
  const PipelineShape shape{4, 1, 400};
  const PipelineSchedule& schedule = Registry<PipelineSchedule>::find("1f1b", "test");
  const Watched watched(schedule);
  for (const bool reduces : {false, true}) {
    std::vector<PipelineCopy> copies;
    for (const double slowness : {1.0, 1.2}) {
      copies.push_back({.stages = stages_of(shape, 0.1, 7), .transfer_s = 0.1});
      for (StageCost& stage : copies.back().stages) {
        stage.forward_s *= slowness;
        stage.backward_s *= slowness;
        if (!reduces) stage.gradients = {};
      }
    }
    const std::vector<PipelineTotals> few = pipeline_totals(watched.schedule, shape, copies);
    EXPECT_LT(watched.most, 100);
    const std::vector<PipelineTimes> all = pipeline_times(schedule, shape, copies);
    for (size_t copy = 0; copy < copies.size(); ++copy)
      expect_as_all(few[copy], totals_of(all[copy]));
  }
}

// A rank that is slower than those before it by a little is late by ever more: nobody goes on as
// before until it holds them up.
TEST(RepeatedMicroBatches, AreAllWalkedWhereRanksDriftApart) {
  const PipelineShape shape{2, 1, 500};
  const Watched watched(Registry<PipelineSchedule>::find("gpipe", "test"));
  const std::vector<PipelineCopy> copy = {
      {.stages = {{.forward_s = 1, .backward_s = 1}, {.forward_s = 1.01, .backward_s = 1}}}};
  const PipelineTotals found = pipeline_totals(watched.schedule, shape, copy).front();
  EXPECT_EQ(watched.most, 500);
  expect_as_all(found, totals_of(pipeline_times(watched.schedule, shape, copy).front()));
}

TEST(RepeatedMicroBatches, HoldAsManyActivationsAsAll) {
  for (const auto& [name, schedule] : Registry<PipelineSchedule>::all())
    for (const int each : {1, 2, 3}) {
      const PipelineShape shape{4, each, 300};
      if (refusal([&] { check_shape(schedule, shape, "x"); }) != "accepted") continue;
      const PipelineShape few = holding_as_many(schedule, shape);
      EXPECT_EQ(few.micro_batches < 300, name != "gpipe") << name;
      EXPECT_EQ(activations_held(schedule.orders(few)), activations_held(schedule.orders(shape)))
          << name;
    }
}

}  // namespace
}  // namespace forescale
