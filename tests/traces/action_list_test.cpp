#include "traces/program/action_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forescale {
namespace {

using Kind = Action::Kind;
using ::testing::ElementsAre;

TEST(ActionList, GivesBackWhatWasPutIn) {
  ActionList list;
  EXPECT_TRUE(list.empty());
  list.push_back(
      {.kind = Kind::kKernel,
       .id = 7,
       .what =
           Kernel{.stream = 5, .duration_s = 2e-3, .phase = Phase::kUpdate, .label = "update"}});
  list.push_back({.kind = Kind::kKernel, .id = 8, .what = Kernel{.label = "another"}});
  list.push_back(
      {.kind = Kind::kHostWork,
       .id = 9,
       .what = HostWork{
           .duration_s = 1, .memory_bytes = 3, .phase = Phase::kInput, .label = "update"}});
  list.push_back({.kind = Kind::kTimer, .id = 10, .what = Timer{4}});
  list.push_back({.kind = Kind::kSpawn, .id = 11, .what = ThreadStart{2}});
  list.push_back({.kind = Kind::kPut,
                  .id = 12,
                  .what = MessageStep{.peer = 3, .bytes = 1 << 20, .label = ""}});
  list.push_back({.kind = Kind::kHostCopy, .id = 13, .what = HostCopy{.bytes = 4, .label = ""}});
  list.push_back(
      {.kind = Kind::kCollective, .id = 14, .what = CollectiveStep{.root = 6, .label = ""}});
  list.push_back({.kind = Kind::kWait, .requests = {7}});
  list.push_back({.kind = Kind::kWaitAny, .requests = {8, 9, 10}});
  list.push_back({.kind = Kind::kEndIteration});

  ASSERT_EQ(list.size(), 11U);
  const Action first = list[0];
  EXPECT_EQ(first.id, 7);
  const auto kernel = std::get<Kernel>(first.what);
  EXPECT_EQ(kernel.stream, 5);
  EXPECT_EQ(kernel.duration_s, 2e-3);
  EXPECT_EQ(kernel.phase, Phase::kUpdate);
  EXPECT_EQ(kernel.label, "update");
  EXPECT_EQ(std::get<Kernel>(list[1].what).label, "another");
  const auto work = std::get<HostWork>(list[2].what);
  EXPECT_EQ(work.duration_s, 1);
  EXPECT_EQ(work.memory_bytes, 3);
  EXPECT_EQ(work.phase, Phase::kInput);
  EXPECT_EQ(work.label, "update");
  EXPECT_EQ(std::get<Timer>(list[3].what).delay_s, 4);
  EXPECT_EQ(std::get<ThreadStart>(list[4].what).thread, 2);
  EXPECT_EQ(list[5].kind, Kind::kPut);
  EXPECT_EQ(std::get<MessageStep>(list[5].what).peer, 3);
  EXPECT_EQ(std::get<HostCopy>(list[6].what).bytes, 4);
  EXPECT_EQ(std::get<CollectiveStep>(list[7].what).root, 6);
  EXPECT_THAT(list[8].requests, ElementsAre(7));
  EXPECT_EQ(list[8].id, -1);
  EXPECT_THAT(list[9].requests, ElementsAre(8, 9, 10));
  EXPECT_EQ(list.back().kind, Kind::kEndIteration);
  EXPECT_TRUE(list.back().requests.empty());
}

TEST(ActionList, CopiesShareUntilOneIsChanged) {
  ActionList list;
  list.push_back({.kind = Kind::kKernel, .id = 0, .what = Kernel{.duration_s = 1, .label = "k"}});
  list.push_back(
      {.kind = Kind::kHostWork, .id = 1, .what = HostWork{.duration_s = 1, .label = "h"}});
  ActionList scaled = list;
  EXPECT_EQ(scaled.identity(), list.identity());
  scaled.scale_kernels(
      [](const LabelledKernel& kernel) { return kernel.label == "k" ? kernel.duration_s / 2 : 0; });
  EXPECT_NE(scaled.identity(), list.identity());
  EXPECT_EQ(std::get<Kernel>(scaled[0].what).duration_s, 0.5);
  EXPECT_EQ(std::get<Kernel>(list[0].what).duration_s, 1);
  EXPECT_EQ(std::get<HostWork>(scaled[1].what).duration_s, 1);
  scaled.push_back({.kind = Kind::kEndIteration});
  EXPECT_EQ(list.size(), 2U);
  EXPECT_EQ(scaled.size(), 3U);
}

}  // namespace
}  // namespace forescale
