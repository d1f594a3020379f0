#include "studies/crossover/crossover_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "sim/cost_engine.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::optional<ModelCrossing> model_crossing(const Contest& contest, const Crossing& crossing,
                                            const ContestTimes& times) {
  return ModelCrossing{.crossing = crossing,
                       .at_bytes = crossing.chunks * contest.chunk_bytes,
                       .first_s = times.first_s,
                       .second_s = times.second_s};
}

// Nothing where `times_at` has no answer.
template <class TimesAt>
std::optional<ModelCrossing> crossing_of(const Contest& contest, const TimesAt& times_at) {
  if (!times_at(contest.range.first)) return std::nullopt;
  const Crossing crossing = find_crossing(
      contest.range, [&](std::int64_t chunks) { return times_at(chunks)->first_beats_second(); });
  return model_crossing(contest, crossing, *times_at(crossing.chunks));
}

std::optional<ModelCrossing> equations(const Contest& contest, const Lanes& lanes, StepTerm last) {
  return crossing_of(
      contest, [&](std::int64_t chunks) { return equation_times(contest, lanes, chunks, last); });
}

// The step of the equations: common to all pairs of ranks, or built from the narrowest lane term by
// term, with the crossing after each.
struct EquationStep {
  struct Term {
    StepTerm term = StepTerm::kWire;
    double chunk_s = 0;
    std::optional<ModelCrossing> crossing;
  };
  std::optional<StepCost> common;
  StepTimes lane = {};
  std::vector<Term> terms = {};
};

EquationStep step_of(const Contest& contest, const Lanes& lanes) {
  EquationStep step{.common = uniform_step(lanes, contest.slots(), lanes.default_place())};
  if (step.common) return step;
  step.lane = neighbour_step(contest, lanes, contest.chunk_bytes);
  for (int i = 0; i < kStepTermCount; ++i) {
    const auto term = static_cast<StepTerm>(i);
    step.terms.push_back({.term = term,
                          .chunk_s = step.lane.terms_s[i],
                          .crossing = equations(contest, lanes, term)});
  }
  return step;
}

// What one algorithm takes at the simulator's crossing, without contention and with it.
struct Contention {
  std::string algorithm;
  std::optional<double> cost_engine_s;
  double simulated_s = 0;
  std::string busiest;
  double busiest_share = 0;
};

std::vector<Contention> contention_of(const Contest& contest, const Lanes& lanes,
                                      std::int64_t chunks, const SimulatedTimes& simulated) {
  const auto cost = cost_engine_times(contest, lanes, chunks);
  std::vector<Contention> both;
  for (const size_t i : {0U, 1U}) {
    both.push_back({.algorithm = contest.plan(i).collective->algorithm,
                    .cost_engine_s = std::nullopt,
                    .simulated_s = i == 0 ? simulated.first_s : simulated.second_s,
                    .busiest = simulated.busiest[i],
                    .busiest_share = simulated.busiest_share[i]});
    if (cost) both.back().cost_engine_s = i == 0 ? cost->first_s : cost->second_s;
  }
  return both;
}

// ---- in words ----

std::string moved(const ModelCrossing& from, const ModelCrossing& to) {
  return crossing_cell(from) + " -> " + crossing_cell(to);
}

const char* mechanism_of(const LaneUse& use) { return use.rule->staged ? "staged" : "direct"; }

// "inter-node staged 12 %, peer direct 88 %".
std::string rules_text(const PlanUse& use) {
  const auto messages = [](const LaneUse& lane) {
    return static_cast<double>(lane.first_messages + lane.second_messages);
  };
  double total = 0;
  for (const LaneUse& lane : use.lanes) total += messages(lane);
  std::vector<std::string> parts;
  for (const LaneUse& lane : use.lanes)
    parts.push_back(fmt::format("{} {} {:.0f} %", lane.rule->where, mechanism_of(lane),
                                100 * messages(lane) / total));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string contention_text(const std::vector<Contention>& contention) {
  std::vector<std::string> parts;
  for (const Contention& one : contention) {
    const std::string ratio =
        one.cost_engine_s ? fmt::format(" x{:.3g}", one.simulated_s / *one.cost_engine_s) : "";
    parts.push_back(fmt::format("{}{} ({} busy {:.0f} %)", one.algorithm, ratio, one.busiest,
                                100 * one.busiest_share));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string explanation(const CrossoverAnswer& answer, const EquationStep& step, const PlanUse& use,
                        const std::vector<Contention>& contention) {
  std::vector<std::string> parts;
  std::optional<ModelCrossing> last = answer.equations;
  if (last && !step.common) {
    parts.push_back(fmt::format("equations: narrowest lane {} -> {}, {}", step.lane.from,
                                step.lane.to,
                                to_text(BytesPerSecond{step.lane.bandwidth_bytes_per_s})));
    for (const EquationStep::Term& term : step.terms) {
      if (!term.crossing || last->is_at(*term.crossing)) continue;
      parts.push_back(fmt::format("{} ({} a chunk) {}", name_of(term.term),
                                  to_text(Seconds{term.chunk_s}), moved(*last, *term.crossing)));
      last = term.crossing;
    }
  }
  if (answer.cost_engine) {
    if (last && !last->is_at(*answer.cost_engine))
      parts.push_back(fmt::format("each message on its own lane ({}) {}", rules_text(use),
                                  moved(*last, *answer.cost_engine)));
    last = answer.cost_engine;
  }
  if (answer.simulator && last) {
    if (!last->is_at(*answer.simulator))
      parts.push_back(fmt::format("contention {}: {}", moved(*last, *answer.simulator),
                                  contention_text(contention)));
    else if (!step.common)
      parts.push_back("contention does not move it: " + contention_text(contention));
  }
  if (parts.empty()) return "one cost for every message and no contention: the models agree";
  return fmt::format("{}", fmt::join(parts, "; "));
}

// ---- as JSON ----

json crossing_json(const std::optional<ModelCrossing>& at) {
  if (!at) return nullptr;
  return {{"verdict", name_of(at->crossing.verdict)},
          {"chunks", at->crosses() ? json(at->crossing.chunks) : json()},
          {"bytes", at->crosses() ? json(at->at_bytes) : json()},
          {"at_chunks", at->crossing.chunks},
          {"at_bytes", at->at_bytes},
          {"first_s", at->first_s},
          {"second_s", at->second_s}};
}

std::optional<ModelCrossing> crossing_from(const json& text) {
  if (text.is_null()) return std::nullopt;
  return ModelCrossing{
      .crossing = {.verdict = verdict_of(text.at("verdict")), .chunks = text.at("at_chunks")},
      .at_bytes = text.at("at_bytes"),
      .first_s = text.at("first_s"),
      .second_s = text.at("second_s")};
}

json step_json(const EquationStep& step) {
  if (step.common)
    return {{"common", true},
            {"alpha_s", step.common->alpha_s},
            {"beta_s_per_byte", step.common->beta_s_per_byte},
            {"reduce_alpha_s", step.common->reduce_alpha_s},
            {"gamma_s_per_byte", step.common->gamma_s_per_byte}};
  json terms = json::array();
  for (const EquationStep::Term& term : step.terms)
    terms.push_back({{"term", name_of(term.term)},
                     {"chunk_s", term.chunk_s},
                     {"crossing", crossing_json(term.crossing)}});
  return {{"common", false},
          {"from", step.lane.from},
          {"to", step.lane.to},
          {"bandwidth_bytes_per_s", step.lane.bandwidth_bytes_per_s},
          {"terms", terms}};
}

json lane_rules_json(const PlanUse& use) {
  json rules = json::array();
  for (const LaneUse& lane : use.lanes)
    rules.push_back({{"where", lane.rule->where},
                     {"buffers", name_of(lane.rule->buffers)},
                     {"mechanism", mechanism_of(lane)},
                     {"o_send_s", lane.rule->o_send.value},
                     {"o_recv_s", lane.rule->o_recv.value},
                     {"segment_bytes", lane.rule->segment.value},
                     {"segment_overhead_s", lane.rule->segment_overhead.value},
                     {"first_messages", lane.first_messages},
                     {"second_messages", lane.second_messages}});
  return rules;
}

json contention_json(const std::vector<Contention>& contention, std::int64_t bytes) {
  json both = json::array();
  for (const Contention& one : contention)
    both.push_back({{"algorithm", one.algorithm},
                    {"bytes", bytes},
                    {"cost_engine_s", optional_json(one.cost_engine_s)},
                    {"simulated_s", one.simulated_s},
                    {"busiest", one.busiest},
                    {"busiest_share", one.busiest_share}});
  return both;
}

}  // namespace

void to_json(json& text, const CrossoverAnswer& answer) {
  text = answer.evidence;
  text["ranks"] = answer.ranks;
  text["chunk_bytes"] = answer.chunk_bytes;
  text["equations"] = crossing_json(answer.equations);
  text["cost_engine"] = crossing_json(answer.cost_engine);
  text["simulator"] = crossing_json(answer.simulator);
  text["explanation"] = answer.explanation;
}

void from_json(const json& text, CrossoverAnswer& answer) {
  text.at("ranks").get_to(answer.ranks);
  text.at("chunk_bytes").get_to(answer.chunk_bytes);
  answer.equations = crossing_from(text.at("equations"));
  answer.cost_engine = crossing_from(text.at("cost_engine"));
  answer.simulator = crossing_from(text.at("simulator"));
  text.at("explanation").get_to(answer.explanation);
  answer.evidence = text;
}

std::vector<const std::optional<ModelCrossing>*> CrossoverAnswer::models() const {
  return {&equations, &cost_engine, &simulator};
}

double CrossoverAnswer::spread() const {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  bool is_mixed = false;
  const ModelCrossing* before = nullptr;
  for (const std::optional<ModelCrossing>* model : models()) {
    if (!*model) continue;
    const ModelCrossing& at = **model;
    is_mixed = is_mixed || (before != nullptr && at.crossing.verdict != before->crossing.verdict);
    before = &at;
    low = std::min(low, static_cast<double>(at.at_bytes));
    high = std::max(high, static_cast<double>(at.at_bytes));
  }
  if (before == nullptr) return 1;
  return is_mixed ? std::numeric_limits<double>::infinity() : high / low;
}

CrossoverAnswer answer(const Contest& contest, Depth depth) {
  const Lanes lanes(contest.machine->platform, contest.machine->stack);
  CrossoverAnswer answer{.ranks = contest.ranks, .chunk_bytes = contest.chunk_bytes};
  answer.equations = equations(contest, lanes, StepTerm::kWire);
  if (depth >= Depth::kCostEngine)
    answer.cost_engine = crossing_of(
        contest, [&](std::int64_t chunks) { return cost_engine_times(contest, lanes, chunks); });
  Crossing near{.verdict = Verdict::kNever, .chunks = contest.range.last};
  for (const std::optional<ModelCrossing>* model : answer.models())
    if (*model) near = (*model)->crossing;
  std::vector<Contention> contention;
  if (depth >= Depth::kSimulator) {
    SimulatedContest simulated(contest);
    near = find_crossing_near(contest.range, near, [&](std::int64_t chunks) {
      return simulated.times(chunks).first_beats_second();
    });
    const SimulatedTimes times = simulated.times(near.chunks);
    answer.simulator = model_crossing(contest, near, times);
    contention = contention_of(contest, lanes, near.chunks, times);
  }
  const EquationStep step = step_of(contest, lanes);
  const PlanUse use = plan_use(contest, lanes, near.chunks);
  answer.explanation = explanation(answer, step, use, contention);
  answer.evidence = {
      {"step", step_json(step)},
      {"lane_rules", lane_rules_json(use)},
      {"reduce_s_per_chunk",
       use.reduces ? json(lanes.reduce_s(contest.chunk_bytes, lanes.default_place())) : json()},
      {"contention", contention_json(contention, near.chunks * contest.chunk_bytes)}};
  return answer;
}

std::string crossing_cell(const std::optional<ModelCrossing>& crossing) {
  if (!crossing) return "-";
  if (!crossing->crosses()) return name_of(crossing->crossing.verdict);
  return fmt::format("{}{} ({})", crossing->crossing.verdict == Verdict::kStops ? "until " : "",
                     to_text(Bytes{crossing->at_bytes}), crossing->crossing.chunks);
}

}  // namespace forescale
