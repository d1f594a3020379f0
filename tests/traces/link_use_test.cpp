#include "traces/timeline/link_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forescale {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr double kExactShare = 1e-12;

TEST(LinkUse, SpreadsAFlowOverItsTime) {
  LinkUse use;
  const int slow = use.add_link("slow", 100);
  const int fast = use.add_link("fast", 1000);
  use.add_link("idle", 1);
  use.add_flow(slow, 0.5, 2.5, 100);  // 50 bytes/s
  use.add_flow(fast, 1, 2, 1000);
  use.add_flow(slow, 1, 2, 50);
  const LinkUse::Curves curves = use.curves(0, 4, 4);
  ASSERT_THAT(curves.links, SizeIs(2));
  EXPECT_EQ(curves.links[0].link, "slow");  // 150 of 400 bytes; fast: 1000 of 4000
  EXPECT_NEAR(curves.links[0].mean, 0.375, kExactShare);
  EXPECT_THAT(curves.links[0].shares,
              ElementsAre(DoubleNear(0.25, kExactShare), DoubleNear(1, kExactShare),
                          DoubleNear(0.25, kExactShare), DoubleNear(0, kExactShare)));
  EXPECT_EQ(curves.links[1].link, "fast");
  EXPECT_NEAR(curves.links[1].mean, 0.25, kExactShare);
}

TEST(LinkUse, IsNeverAboveWhatTheLinkCarries) {
  LinkUse use;
  const int link = use.add_link("link", 100);
  use.add_flow(link, 0, 4, 300);  // alone but from 1 to 2, when the other one has the whole link
  use.add_flow(link, 1, 2, 100);
  const LinkUse::Curves curves = use.curves(0, 4, 8);
  ASSERT_THAT(curves.links, SizeIs(1));
  for (const double share : curves.links[0].shares) EXPECT_NEAR(share, 1, kExactShare);
}

TEST(LinkUse, CountsOnlyWhatLiesWithinTheTimeAskedFor) {
  LinkUse use;
  const int link = use.add_link("link", 10);
  use.add_flow(link, 0, 10, 100);
  use.add_flow(link, 0, 2, 100);
  const LinkUse::Curves curves = use.curves(5, 6, 2);
  ASSERT_THAT(curves.links, SizeIs(1));
  EXPECT_NEAR(curves.links[0].mean, 1, kExactShare);
  use.keep_from(5);
  EXPECT_NEAR(use.curves(0, 10, 1).links[0].mean, 1, kExactShare);
  EXPECT_TRUE(use.curves(11, 12, 2).links.empty());
  EXPECT_TRUE(use.curves(5, 5, 2).links.empty());
}

}  // namespace
}  // namespace forescale
