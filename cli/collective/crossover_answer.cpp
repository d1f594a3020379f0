#include "cli/collective/crossover_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "sim/cost_engine.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kModels[] = {"equations", "cost_engine", "simulator"};

json crossing_json(const Contest& contest, const Crossing& crossing, const ContestTimes& times) {
  const bool crosses = crossing.verdict == Verdict::kStarts || crossing.verdict == Verdict::kStops;
  return {{"verdict", name_of(crossing.verdict)},
          {"chunks", crosses ? json(crossing.chunks) : json()},
          {"bytes", crosses ? json(crossing.chunks * contest.chunk_bytes) : json()},
          {"at_bytes", crossing.chunks * contest.chunk_bytes},
          {"first_s", times.first_s},
          {"second_s", times.second_s}};
}

// Null where `times_at` has no answer.
template <class TimesAt>
json crossing_of(const Contest& contest, const TimesAt& times_at, Crossing* found = nullptr) {
  if (!times_at(contest.range.first)) return nullptr;
  const Crossing crossing = find_crossing(
      contest.range, [&](std::int64_t chunks) { return times_at(chunks)->first_beats_second(); });
  if (found != nullptr) *found = crossing;
  return crossing_json(contest, crossing, *times_at(crossing.chunks));
}

json equations(const Contest& contest, const Lanes& lanes, StepTerm last, Crossing* found) {
  return crossing_of(
      contest, [&](std::int64_t chunks) { return equation_times(contest, lanes, chunks, last); },
      found);
}

// The equations' step: common to all pairs, or built from the narrowest lane term by term, with
// the crossing after each.
json step_json(const Contest& contest, const Lanes& lanes) {
  if (const auto step = uniform_step(lanes, first_slots(*contest.platform, contest.ranks).slots,
                                     lanes.default_place()))
    return {{"common", true},
            {"alpha_s", step->alpha_s},
            {"beta_s_per_byte", step->beta_s_per_byte},
            {"reduce_alpha_s", step->reduce_alpha_s},
            {"gamma_s_per_byte", step->gamma_s_per_byte}};
  const StepTimes chunk = neighbour_step(contest, lanes, contest.chunk_bytes);
  json terms = json::array();
  for (int term = 0; term < kStepTermCount; ++term)
    terms.push_back(
        {{"term", name_of(static_cast<StepTerm>(term))},
         {"chunk_s", chunk.terms_s[term]},
         {"crossing", equations(contest, lanes, static_cast<StepTerm>(term), nullptr)}});
  return {{"common", false},
          {"from", chunk.from},
          {"to", chunk.to},
          {"bandwidth_bytes_per_s", chunk.bandwidth_bytes_per_s},
          {"terms", terms}};
}

json lane_rules_json(const PlanUse& use) {
  json rules = json::array();
  for (const LaneUse& lane : use.lanes)
    rules.push_back({{"where", lane.rule->where},
                     {"buffers", name_of(lane.rule->buffers)},
                     {"mechanism", lane.rule->staged ? "staged" : "direct"},
                     {"o_send_s", lane.rule->o_send.value},
                     {"o_recv_s", lane.rule->o_recv.value},
                     {"segment_bytes", lane.rule->segment.value},
                     {"segment_overhead_s", lane.rule->segment_overhead.value},
                     {"first_messages", lane.first_messages},
                     {"second_messages", lane.second_messages}});
  return rules;
}

json contention_json(const Contest& contest, const Lanes& lanes, std::int64_t chunks,
                     const SimulatedTimes& simulated) {
  const auto cost = cost_engine_times(contest, lanes, chunks);
  const auto one = [&](const PlanChoice& plan, size_t i) {
    const double simulated_s = i == 0 ? simulated.first_s : simulated.second_s;
    const json cost_s = cost ? json(i == 0 ? cost->first_s : cost->second_s) : json();
    return json{{"algorithm", plan.collective->algorithm},
                {"bytes", chunks * contest.chunk_bytes},
                {"cost_engine_s", cost_s},
                {"simulated_s", simulated_s},
                {"busiest", simulated.busiest[i]},
                {"busiest_share", simulated.busiest_share[i]}};
  };
  return json::array({one(contest.first, 0), one(contest.second, 1)});
}

std::string moved(const json& from, const json& to) {
  return crossing_cell(from) + " -> " + crossing_cell(to);
}

bool is_same(const json& a, const json& b) {
  return a["verdict"] == b["verdict"] && a["chunks"] == b["chunks"];
}

// "inter-node staged 12 %, peer direct 88 %".
std::string rules_text(const json& rules) {
  double total = 0;
  for (const json& rule : rules)
    total += rule["first_messages"].get<double>() + rule["second_messages"].get<double>();
  std::string text;
  for (const json& rule : rules)
    text += fmt::format(
        "{}{} {} {:.0f} %", text.empty() ? "" : ", ", rule["where"].get<std::string>(),
        rule["mechanism"].get<std::string>(),
        100 * (rule["first_messages"].get<double>() + rule["second_messages"].get<double>()) /
            total);
  return text;
}

std::string contention_text(const json& contention) {
  std::string text;
  for (const json& one : contention) {
    const double simulated_s = one["simulated_s"];
    if (!text.empty()) text += ", ";
    text += one["algorithm"];
    if (!one["cost_engine_s"].is_null())
      text += fmt::format(" x{:.3g}", simulated_s / one["cost_engine_s"].get<double>());
    text += fmt::format(" ({} busy {:.0f} %)", one["busiest"].get<std::string>(),
                        100 * one["busiest_share"].get<double>());
  }
  return text;
}

std::string explanation(const json& point) {
  std::vector<std::string> parts;
  json last = point["equations"];
  const json& step = point["step"];
  if (!last.is_null() && !step["common"].get<bool>()) {
    parts.push_back(fmt::format("equations: narrowest lane {} -> {}, {}",
                                step["from"].get<std::string>(), step["to"].get<std::string>(),
                                to_text(BytesPerSecond{step["bandwidth_bytes_per_s"]})));
    for (const json& term : step["terms"]) {
      if (is_same(last, term["crossing"])) continue;
      parts.push_back(fmt::format("{} ({} a chunk) {}", term["term"].get<std::string>(),
                                  to_text(Seconds{term["chunk_s"]}),
                                  moved(last, term["crossing"])));
      last = term["crossing"];
    }
  }
  const json& cost = point["cost_engine"];
  if (!cost.is_null()) {
    if (!last.is_null() && !is_same(last, cost))
      parts.push_back(fmt::format("each message on its own lane ({}) {}",
                                  rules_text(point["lane_rules"]), moved(last, cost)));
    last = cost;
  }
  const json& simulator = point["simulator"];
  if (!simulator.is_null() && !last.is_null()) {
    if (!is_same(last, simulator))
      parts.push_back(fmt::format("contention {}: {}", moved(last, simulator),
                                  contention_text(point["contention"])));
    else if (!step["common"].get<bool>())
      parts.push_back("contention does not move it: " + contention_text(point["contention"]));
  }
  if (parts.empty()) return "one cost for every message and no contention: the models agree";
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

json answer(const Contest& contest, Depth depth, int parallel) {
  const Lanes lanes(*contest.platform, *contest.stack);
  json point = {{"ranks", contest.ranks},
                {"chunk_bytes", contest.chunk_bytes},
                {"cost_engine", nullptr},
                {"simulator", nullptr},
                {"contention", json::array()}};
  Crossing near{.verdict = Verdict::kNever, .chunks = contest.range.last};
  point["equations"] = equations(contest, lanes, StepTerm::kWire, &near);
  point["step"] = step_json(contest, lanes);
  if (depth >= Depth::kCostEngine)
    point["cost_engine"] = crossing_of(
        contest, [&](std::int64_t chunks) { return cost_engine_times(contest, lanes, chunks); },
        &near);
  if (depth >= Depth::kSimulator) {
    std::map<std::int64_t, SimulatedTimes> known;
    near = find_crossing_near(contest.range, near, [&](std::int64_t chunks) {
      return (known[chunks] = simulated_times(contest, chunks, parallel)).first_beats_second();
    });
    if (!known.contains(near.chunks))
      known[near.chunks] = simulated_times(contest, near.chunks, parallel);
    point["simulator"] = crossing_json(contest, near, known[near.chunks]);
    point["contention"] = contention_json(contest, lanes, near.chunks, known[near.chunks]);
  }
  const PlanUse use = plan_use(contest, lanes, near.chunks);
  point["lane_rules"] = lane_rules_json(use);
  point["reduce_s_per_chunk"] =
      use.reduces ? json(lanes.reduce_s(contest.chunk_bytes, lanes.default_place())) : json();
  point["explanation"] = explanation(point);
  return point;
}

std::string crossing_cell(const json& crossing) {
  if (crossing.is_null()) return "-";
  std::string verdict = crossing["verdict"];
  if (crossing["chunks"].is_null()) return verdict;
  return fmt::format("{}{} ({})", verdict == "stops" ? "until " : "",
                     to_text(Bytes{crossing["bytes"].get<std::int64_t>()}),
                     crossing["chunks"].get<std::int64_t>());
}

double spread(const json& point) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  bool is_mixed = false;
  const json* before = nullptr;
  for (const char* model : kModels) {
    const json& crossing = point[model];
    if (crossing.is_null()) continue;
    is_mixed = is_mixed || (before != nullptr && crossing["verdict"] != (*before)["verdict"]);
    before = &crossing;
    low = std::min(low, crossing["at_bytes"].get<double>());
    high = std::max(high, crossing["at_bytes"].get<double>());
  }
  if (before == nullptr) return 1;
  return is_mixed ? std::numeric_limits<double>::infinity() : high / low;
}

}  // namespace forescale
