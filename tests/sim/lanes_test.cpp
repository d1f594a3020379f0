// Which lane a message takes, however lanes were asked for before.
#include "sim/engine/lanes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "models/stack.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {
namespace {

// Peers on the same socket, the other one and two other nodes; sizes on both sides of every rule.
TEST(Lanes, OfAPairChangeWithTheSizeThatIsAskedFor) {
  const Platform platform = load_platform("kesch");
  const Stack stack = load_stack("mvapich2-gdr");
  const Lanes lanes(platform, stack);
  std::set<const Lane*> found;
  for (const int to : {1, 8, 16, 33})
    for (const std::int64_t bytes : {4LL, 1LL << 28, 1LL << 14, 0LL, 1LL << 20, 4LL, 1LL << 16}) {
      const Lane& lane = lanes.lane(0, to, BufferPlace::kGpu, bytes);
      const Lanes fresh(platform, stack);
      EXPECT_EQ(lane.rule, fresh.lane(0, to, BufferPlace::kGpu, bytes).rule)
          << bytes << " to " << to;
      EXPECT_EQ(&lane, &lanes.lane(0, to, BufferPlace::kGpu, bytes));
      EXPECT_NE(&lane, &lanes.lane(to, 0, BufferPlace::kGpu, bytes));
      EXPECT_NE(&lane, &lanes.lane(0, to, BufferPlace::kHost, bytes));
      found.insert(&lane);
    }
  EXPECT_GT(found.size(), 4U);
}

}  // namespace
}  // namespace forescale::testing
