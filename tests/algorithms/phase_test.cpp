#include "algorithms/phase.hpp"

#include <gtest/gtest.h>

#include <set>

namespace forescale::testing {
namespace {

// 1, 2, 4, ... s in the order of the table: a sum says which phases it is of.
PhaseTimes powers_of_two() {
  std::array<double, kPhases.size()> phase_s{};
  double time_s = 1;
  for (double& of_phase : phase_s) {
    of_phase = time_s;
    time_s *= 2;
  }
  return by_name(phase_s, 1000);
}

TEST(Phases, KindsAreSumsOverTheTable) {
  const PhaseTimes times = powers_of_two();
  double all_s = 0;
  for (const TimeKind kind :
       {TimeKind::kCompute, TimeKind::kCommunication, TimeKind::kInput, TimeKind::kWaiting})
    all_s += time_of(times, kind);
  EXPECT_EQ(all_s, (1 << kPhaseCount) - 1);  // each phase is of one kind
  EXPECT_EQ(time_of(times, TimeKind::kCompute), time_of(times, Phase::kForward) +
                                                    time_of(times, Phase::kBackward) +
                                                    time_of(times, Phase::kUpdate));
  EXPECT_EQ(time_of(times, TimeKind::kCommunication),
            time_of(times, Phase::kPropagation) + time_of(times, Phase::kAggregation));
  EXPECT_EQ(times.at("idle"), 1000);
}

TEST(Phases, WhatIsMissingTakesNoTime) {
  EXPECT_EQ(time_of({{"forward", 3}}, TimeKind::kCompute), 3);
  EXPECT_EQ(time_of({{"forward", 3}}, Phase::kInput), 0);
}

TEST(Phases, HaveNamesOfTheirOwn) {
  std::set<std::string> names = {"idle"};
  std::set<std::string> titles;
  for (const PhaseEntry& phase : kPhases) {
    EXPECT_TRUE(names.insert(phase.name).second) << phase.name;
    EXPECT_TRUE(titles.insert(phase.title).second) << phase.title;
    EXPECT_NE(std::string(phase.verb), "");
  }
}

}  // namespace
}  // namespace forescale::testing
