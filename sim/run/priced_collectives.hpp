// Collectives that are not simulated, but take what they take alone, as long as what all that are
// under way use of their busiest link is not more than the link has; else all go as much slower.
#pragma once

#include <cstdint>
#include <functional>
#include <list>

#include "sim/engine/world.hpp"

namespace forescale {

struct CollectivePrice {
  double time_s = 0;  // alone, > 0
  double share = 0;   // of the busiest link's bandwidth meanwhile, 0 to 1
};

class PricedCollectives {
 public:
  explicit PricedCollectives(World& world) : world_(world) {}
  // In kernel context, where `done` runs too.
  void start(const CollectivePrice& price, std::function<void()> done);

 private:
  struct UnderWay {
    CollectivePrice price;
    double left_s = 0;  // alone
    std::function<void()> done;
  };
  double speed() const;  // of all: 1 where nothing is too much
  void advance();        // to now
  void await_next();

  World& world_;
  std::list<UnderWay> under_way_;
  double since_s_ = 0;
  std::uint64_t changes_ = 0;  // what was awaited before the last one does not count any more
};

}  // namespace forescale
