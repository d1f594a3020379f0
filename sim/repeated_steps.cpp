#include "sim/repeated_steps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "sim/engine/world.hpp"
#include "sim/isolate.hpp"
#include "sim/ring_call.hpp"
#include "sim/simulated_call.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr int kFew = 3;        // steps of each pass
constexpr int kRanksMin = 64;  // of fewer all steps are few
constexpr double kInStep = 1e-9;
constexpr double kMostRounded = 0.01;

std::int64_t smaller_block(const ResolvedCall& resolved) {
  const std::int64_t blocks =
      static_cast<std::int64_t>(resolved.parts().size()) * resolved.group->shape.ranks;
  const std::int64_t element = resolved.call.element_bytes;
  return resolved.call.bytes / element / blocks * element;
}

// A few steps of each pass first, then twice as many of one of them, thrice as many of all last.
std::vector<std::vector<int>> steps_simulated(int passes) {
  const std::vector<int> few(static_cast<size_t>(passes), kFew);
  std::vector<std::vector<int>> all = {few};
  for (size_t pass = 0; pass < few.size(); ++pass) {
    all.push_back(few);
    all.back()[pass] = 2 * kFew;
  }
  all.emplace_back(few.size(), 3 * kFew);
  return all;
}

// Of what they gave, by steps_simulated().
class Grown {
 public:
  Grown(std::vector<json> found, double steps_a_pass)
      : found_(std::move(found)), times_(steps_a_pass / kFew - 1) {}

  double of_all(const std::function<double(const json&)>& value) const {
    return value(found_.front()) + times_ * of_few_more(value);
  }
  bool is_even(const std::function<double(const json&)>& value) const {
    const double grown = value(found_.back()) - value(found_.front());
    return std::abs(grown - 2 * of_few_more(value)) <= kInStep * grown;
  }

 private:
  double of_few_more(const std::function<double(const json&)>& value) const {
    double more = 0;
    for (size_t i = 1; i + 1 < found_.size(); ++i) more += value(found_[i]) - value(found_.front());
    return more;
  }

  std::vector<json> found_;
  double times_;
};

bool ends_at_once(const json& found) {
  const double time_s = found.at("time_s").get<double>();
  return time_s - found.at("first_done_s").get<double>() <= kInStep * time_s;
}

}  // namespace

std::string why_not_repeated(const ResolvedCall& resolved) {
  if (!is_ring(*resolved.collective)) return resolved.collective->name + " is not a ring";
  const auto ranks = static_cast<std::int64_t>(resolved.group->slots.size());
  if (ranks < kRanksMin) return "there are few ranks";
  if (resolved.through_host) return "buffers are copied through the host";
  if (resolved.lanes->platform().has_bursts()) return "a link lets more pass at first";
  const auto parts = static_cast<std::int64_t>(resolved.parts().size());
  if (resolved.call.bytes < ranks * parts * resolved.call.element_bytes)
    return "some blocks are empty";
  if (blocks_rounded(resolved) > kMostRounded) return "blocks are of two sizes";
  return "";
}

std::optional<RepeatedSteps> simulate_few_steps(const ResolvedCall& resolved) {
  const PlanChoice plan = plan_of(resolved);
  const ResolvedCall even = with_bytes(
      resolved, plan,
      bytes_of_even_blocks(resolved, static_cast<std::int64_t>(resolved.group->slots.size())));
  const int passes = ring_passes(resolved.collective->op);
  FoundAlike alike(even);
  alike.get();  // once for all of these
  std::vector<std::function<std::string()>> tasks;
  for (const std::vector<int>& steps : steps_simulated(passes))
    tasks.emplace_back([&resolved, &even, &plan, &alike, steps] {
      return simulated_text(even, plan, rules_of(resolved), alike, steps).dump();
    });
  load_simgrid();
  std::vector<json> found;
  for (const std::string& text : run_isolated(tasks, available_cores(), [](size_t) {})) {
    found.push_back(parse_json(text));
    if (!ends_at_once(found.back())) return std::nullopt;
  }
  RepeatedSteps repeated{.outcome = collective_outcome(found.back())};
  CollectiveOutcome& outcome = repeated.outcome;
  repeated.error = found.back().at("error").get<double>();
  const double last_steps = 3.0 * kFew * passes;
  const double steps_a_pass = static_cast<double>(resolved.group->slots.size()) - 1;
  const Grown grown(std::move(found), steps_a_pass);
  const auto time_s = [](const json& each) { return each.at("time_s").get<double>(); };
  if (!grown.is_even(time_s)) return std::nullopt;
  outcome.time_s = grown.of_all(time_s);
  outcome.first_done_s = outcome.time_s;
  outcome.busiest.busy_s =
      grown.of_all([](const json& each) { return each.at("busy_s").get<double>(); });
  for (auto& [name, root_s] : outcome.root_s)
    root_s = std::max(0.0, grown.of_all([&name](const json& each) {
      return each.at("root_s").value(name, 0.0);  // 0: rounding may leave less
    }));
  const double times = steps_a_pass * passes / last_steps;
  outcome.messages =
      static_cast<std::uint64_t>(std::llround(times * static_cast<double>(outcome.messages)));
  outcome.bytes_sent *= times / (1 + blocks_rounded(resolved));
  outcome.sizes.least = smaller_block(resolved);
  repeated.error += blocks_rounded(resolved);
  return repeated;
}

}  // namespace forescale
