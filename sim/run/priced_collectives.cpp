#include "sim/run/priced_collectives.hpp"

#include <algorithm>

namespace forescale {

void PricedCollectives::start(const CollectivePrice& price, std::function<void()> done) {
  advance();
  under_way_.push_back({.price = price, .left_s = price.time_s, .done = std::move(done)});
  await_next();
}

double PricedCollectives::speed() const {
  double share = 0;
  for (const UnderWay& one : under_way_) share += one.price.share;
  return share > 1 ? 1 / share : 1;
}

void PricedCollectives::advance() {
  const double done_s = (world_.now_s() - since_s_) * speed();
  for (UnderWay& one : under_way_) one.left_s -= done_s;
  since_s_ = world_.now_s();
}

void PricedCollectives::await_next() {
  ++changes_;
  if (under_way_.empty()) return;
  const auto next =
      std::min_element(under_way_.begin(), under_way_.end(),
                       [](const UnderWay& a, const UnderWay& b) { return a.left_s < b.left_s; });
  world_.after(std::max(0.0, next->left_s) / speed(), [this, next, change = changes_] {
    if (change != changes_) return;
    advance();
    const std::function<void()> done = std::move(next->done);
    under_way_.erase(next);
    await_next();
    done();
  });
}

}  // namespace forescale
