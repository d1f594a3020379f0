#include "base/noted_signals.hpp"

#include <gtest/gtest.h>

namespace forescale::testing {
namespace {

TEST(NotedSignals, AreNotedAndEndItAfterwards) {
  EXPECT_EXIT(
      {
        NotedSignals signals;
        std::raise(SIGTERM);
        if (NotedSignals::received() == SIGTERM) signals.raise_received();
      },
      ::testing::KilledBySignal(SIGTERM), "");
  NotedSignals signals;
  EXPECT_EQ(NotedSignals::received(), 0);
  signals.raise_received();  // there is nothing to end by
}

TEST(NotedSignals, OneInsideAnotherKnowsOfItAndGivesItBack) {
  const NotedSignals outer;
  std::raise(SIGINT);
  NotedSignals inner;
  EXPECT_EQ(NotedSignals::received(), SIGINT);
  inner.raise_received();  // the outer one notes it
  EXPECT_EQ(NotedSignals::received(), SIGINT);
}

TEST(NotedSignals, IgnoredOnesStayIgnored) {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const NotedSignals signals;
    std::raise(SIGHUP);
    EXPECT_EQ(NotedSignals::received(), 0);
  }
  EXPECT_EQ(std::signal(SIGHUP, before), SIG_IGN);
}

}  // namespace
}  // namespace forescale::testing
