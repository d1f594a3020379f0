#include "studies/tune/tune_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "algorithms/common_options.hpp"
#include "algorithms/pieces/levels.hpp"
#include "base/error.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/engine/world.hpp"
#include "studies/tune/plan_bounds.hpp"
#include "studies/tune/tune_alternatives.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kChunkBytesMin = 16 * 1024;

// 0, for one chunk, and what gives kChunksMax chunks at most and two at least.
std::vector<OptionValue> chunk_sizes(std::int64_t bytes) {
  std::vector<OptionValue> sizes{std::int64_t{0}};
  for (std::int64_t chunk = kChunkBytesMin; chunk < bytes; chunk *= 2)
    if (bytes / chunk <= kChunksMax) sizes.emplace_back(chunk);
  return sizes;
}

std::vector<int> chain_sizes(int ranks) {
  std::vector<int> sizes;
  for (int size = 2; size < ranks; size *= 2) sizes.push_back(size);
  return sizes;
}

// Two and three levels of chains and binomial trees.
std::vector<OptionValue> level_texts(int ranks) {
  std::vector<OptionValue> texts;
  const std::vector<std::string> kinds = {"chain", "binomial"};
  for (const int low : chain_sizes(ranks))
    for (const std::string& lower : kinds)
      for (const std::string& top : kinds) {
        texts.emplace_back(fmt::format("{}:{},{}", lower, low, top));
        for (int middle = 2; low * middle < ranks; middle *= 2)
          texts.emplace_back(fmt::format("{}:{},chain:{},{}", lower, low, middle, top));
      }
  return texts;
}

// What is tried of an option; nothing: its default only, also of what other values stand for.
std::optional<std::vector<OptionValue>> tried_values(const Collective& collective,
                                                     const Option& option,
                                                     const TuneQuestion& question) {
  if (option.name == kChunkBytes.name) return chunk_sizes(question.bytes);
  if (option.name == kLevels.name) return level_texts(question.ranks);
  std::vector<OptionValue> values;
  if (option.name == kChainSize.name) {
    if (find_option(collective, kLevels.name) != nullptr) return std::nullopt;
    for (const int size : chain_sizes(question.ranks)) values.emplace_back(std::int64_t{size});
    return values;
  }
  if (option.tried.empty()) return std::nullopt;
  values.emplace_back(static_cast<std::int64_t>(option.fallback));
  for (const double value : option.tried) values.emplace_back(static_cast<std::int64_t>(value));
  return values;
}

// How far its bound was looked for, cheapest first.
enum class Bounded { kByBytes, kByPorts, kByMessages };

struct Candidate {
  const PlanChoice* plan = nullptr;
  size_t index = 0;    // in the order of the candidates
  double bound_s = 0;  // not less than that
  Bounded bounded = Bounded::kByBytes;
  double time_s = std::numeric_limits<double>::infinity();  // not simulated
  std::uint64_t fingerprint = 0;                            // of what was simulated
};

bool bounded_lower(const Candidate* a, const Candidate* b) {
  return std::tie(a->bound_s, a->index) < std::tie(b->bound_s, b->index);
}

bool is_of_chunks(const Candidate& candidate, std::int64_t bytes, std::int64_t most) {
  const std::int64_t chunk = candidate.plan->options.number(kChunkBytes);
  return chunk == 0 || bytes / chunk <= most;
}

// Whether nothing but the size of their chunks tells them apart.
bool differ_in_chunks(const PlanChoice& a, const PlanChoice& b) {
  if (a.collective != b.collective) return false;
  for (const Option& option : a.collective->options) {
    if (option.name == kChunkBytes.name) continue;
    const bool same = option.unit == OptionUnit::kText
                          ? a.options.text(option) == b.options.text(option)
                          : a.options.number(option) == b.options.number(option);
    if (!same) return false;
  }
  return true;
}

class CollectiveSearch {
 public:
  CollectiveSearch(const TuneQuestion& question, const MachineScenarios& machine, double tolerance)
      : question_(question), machine_(machine), asker_(machine), tolerance_(tolerance) {}

  TunedChoice best_of(const std::vector<PlanChoice>& plans) {
    best_of_kind_s_.clear();
    PlanBounds bounds(question_, machine_.front());
    std::vector<Candidate> candidates;
    for (const PlanChoice& plan : plans)
      candidates.push_back(
          {.plan = &plan, .index = candidates.size(), .bound_s = bounds.of_bytes(plan)});
    // What is simulated at once spares most of the others their walk to the end.
    for (Candidate* likely : likely_ones(candidates, bounds)) simulate(*likely, bounds);
    std::vector<Candidate*> open;
    for (Candidate& candidate : candidates)
      if (candidate.time_s == kNotSimulated) open.push_back(&candidate);
    const auto higher = [](const Candidate* a, const Candidate* b) { return bounded_lower(b, a); };
    std::make_heap(open.begin(), open.end(), higher);
    while (!open.empty()) {
      std::pop_heap(open.begin(), open.end(), higher);
      Candidate& candidate = *open.back();
      const double limit_s = limit_of(candidate);
      if (candidate.bound_s < limit_s && candidate.bounded != Bounded::kByMessages) {
        raise(candidate, bounds, limit_s);
        std::push_heap(open.begin(), open.end(), higher);
        continue;
      }
      open.pop_back();
      if (candidate.bound_s < limit_s) simulate(candidate, bounds);
    }
    return choice_of(candidates);
  }

  // Of the stack's own choice; nothing where it has none.
  std::optional<TunedPlan> stack_default() {
    if (machine_.front().stack.selection.count(name_of(question_.op)) == 0) return std::nullopt;
    return with_ends("");
  }

  int simulations() const { return static_cast<int>(simulated_s_.size()); }

 private:
  static constexpr double kNotSimulated = std::numeric_limits<double>::infinity();

  // By what costs more to know.
  static void raise(Candidate& candidate, PlanBounds& bounds, double limit_s) {
    const bool by_ports = candidate.bounded == Bounded::kByBytes;
    candidate.bound_s =
        std::max(candidate.bound_s, by_ports ? bounds.of_ports(*candidate.plan)
                                             : bounds.of_messages(*candidate.plan, limit_s));
    candidate.bounded = by_ports ? Bounded::kByPorts : Bounded::kByMessages;
  }

  // In place of `least`, whose messages are looked at, or of nothing; looked at no longer than that
  // is open.
  static void take_if_lower(Candidate& candidate, PlanBounds& bounds, Candidate*& least) {
    const auto may_be_lower = [&] { return least == nullptr || bounded_lower(&candidate, least); };
    while (candidate.bounded != Bounded::kByMessages && may_be_lower())
      raise(candidate, bounds, kNotSimulated);
    if (may_be_lower()) least = &candidate;
  }

  // Of the two algorithms that the cost engine likes best in a few chunks, the best chunks.
  std::vector<Candidate*> likely_ones(std::vector<Candidate>& candidates,
                                      PlanBounds& bounds) const {
    constexpr std::int64_t kFewChunks = 16;
    std::map<const Collective*, Candidate*> of_kind;
    for (Candidate& candidate : candidates) {
      if (!is_of_chunks(candidate, question_.bytes, kFewChunks)) continue;
      Candidate*& likely = of_kind[candidate.plan->collective];
      take_if_lower(candidate, bounds, likely);
    }
    std::vector<Candidate*> likely;
    for (const auto& [kind, candidate] : of_kind) likely.push_back(candidate);
    std::sort(likely.begin(), likely.end(), bounded_lower);
    if (likely.size() > 2) likely.resize(2);
    for (Candidate*& best : likely) {
      const PlanChoice& plan = *best->plan;
      for (Candidate& candidate : candidates)
        if (differ_in_chunks(*candidate.plan, plan)) take_if_lower(candidate, bounds, best);
    }
    return likely;
  }

  // What takes as long or longer is neither the best, nor near it, nor the best of its algorithm
  // beside it.
  double limit_of(const Candidate& candidate) const {
    double best_s = kNotSimulated;
    for (const auto& [kind, time_s] : best_of_kind_s_) best_s = std::min(best_s, time_s);
    double next_s = kNotSimulated;  // of the algorithms that have not the best
    bool is_best_kind = false;
    for (const auto& [kind, time_s] : best_of_kind_s_) {
      if (time_s == best_s && kind == candidate.plan->collective) is_best_kind = true;
      if (time_s > best_s) next_s = std::min(next_s, time_s);
    }
    return std::max(is_best_kind ? best_s : next_s, (1 + tolerance_) * best_s);
  }

  // Unless another name of the same plan was.
  void simulate(Candidate& candidate, const PlanBounds& bounds) {
    candidate.fingerprint = bounds.fingerprint(*candidate.plan);
    const auto [known, is_new] = simulated_s_.try_emplace(candidate.fingerprint, kNotSimulated);
    if (is_new)
      known->second =
          asker_.ask({question_.asked(plan_text(*candidate.plan))}, {.label = "simulating"})
              .front()
              .nominal.collective.time_s;
    candidate.time_s = known->second;
    double& best_s =
        best_of_kind_s_.try_emplace(candidate.plan->collective, candidate.time_s).first->second;
    best_s = std::min(best_s, candidate.time_s);
  }

  // Of equal times the one that is bounded lowest.
  TunedChoice choice_of(const std::vector<Candidate>& candidates) {
    std::vector<const Candidate*> simulated;
    for (const Candidate& candidate : candidates)
      if (candidate.time_s != kNotSimulated) simulated.push_back(&candidate);
    FORESCALE_CHECK(!simulated.empty(), "there are plans to choose from");
    std::sort(simulated.begin(), simulated.end(), [](const Candidate* a, const Candidate* b) {
      return std::tie(a->time_s, a->bound_s, a->index) < std::tie(b->time_s, b->bound_s, b->index);
    });
    const Candidate& best = *simulated.front();
    TunedChoice choice{.best = with_ends(plan_text(*best.plan))};
    // Algorithms that have the best, under whatever name.
    std::set<const Collective*> have_it;
    for (const Candidate* candidate : simulated)
      if (candidate->fingerprint == best.fingerprint) have_it.insert(candidate->plan->collective);
    const auto next =
        std::find_if(simulated.begin(), simulated.end(), [&](const Candidate* candidate) {
          return have_it.count(candidate->plan->collective) == 0;
        });
    if (next != simulated.end()) choice.next = with_ends(plan_text(*(*next)->plan));
    for (const Candidate* candidate : simulated)
      if (candidate->time_s <= (1 + tolerance_) * best.time_s)
        choice.near[plan_text(*candidate->plan)] = candidate->time_s;
    return choice;
  }

  TunedPlan with_ends(const std::string& plan) {
    const RangedAnswer answer =
        asker_.ask({question_.asked(plan)}, {.label = "simulating", .draws = draws_of(machine_)})
            .front();
    return {.plan = plan, .time = answer.time()};
  }

  const TuneQuestion& question_;
  const MachineScenarios& machine_;
  Asker asker_;  // what it was asked once is not simulated again
  const double tolerance_;
  std::map<std::uint64_t, double> simulated_s_;         // by fingerprint
  std::map<const Collective*, double> best_of_kind_s_;  // by algorithm, of what was simulated
};

json to_json(const TunedPlan& plan) {
  return {{"plan", plan.plan},
          {"time_s", plan.time.time_s},
          {"low_s", plan.time.low_s},
          {"high_s", plan.time.high_s}};
}

TunedPlan tuned_plan(const json& text) {
  return {.plan = text.at("plan"),
          .time = {
              .time_s = text.at("time_s"), .low_s = text.at("low_s"), .high_s = text.at("high_s")}};
}

json to_json(const TunedChoice& choice) {
  json text{{"best", to_json(choice.best)}, {"near", choice.near}};
  if (choice.next) {
    text["next"] = to_json(*choice.next);
    text["next"]["margin"] = choice.margin(*choice.next);
    text["next"]["tie"] = choice.is_tie(*choice.next);
  }
  return text;
}

TunedChoice tuned_choice(const json& text) {
  TunedChoice choice{.best = tuned_plan(text.at("best")), .near = text.at("near")};
  if (text.contains("next")) choice.next = tuned_plan(text.at("next"));
  return choice;
}

}  // namespace

Question TuneQuestion::asked(const std::string& plan) const {
  Question question{.about = Question::About::kCollective,
                    .plan = plan.empty() ? name_of(op) : plan,
                    .ranks = {std::int64_t{ranks} * groups},
                    .bytes = {bytes}};
  if (groups > 1) question.split = fmt::format("div{}", ranks);
  return question;
}

void place_groups(MachineScenarios& machine, const std::vector<std::vector<int>>& groups) {
  for (QuestionMachine& each : machine) {
    std::vector<int>& slots = each.platform.endpoints;
    const std::vector<int> before = slots;
    std::size_t next = 0;
    for (const std::vector<int>& group : groups)
      for (const int rank : group) slots[next++] = before[static_cast<std::size_t>(rank)];
  }
}

std::vector<PlanChoice> tune_candidates(const TuneQuestion& question) {
  std::vector<PlanChoice> candidates;
  for (const Collective* collective : all_collectives()) {
    if (collective->op != question.op) continue;
    std::vector<OptionValues> options{{}};
    for (const Option& option : collective->options) {
      const auto values = tried_values(*collective, option, question);
      if (!values) continue;
      std::vector<OptionValues> more;
      for (const OptionValues& base : options)
        for (const OptionValue& value : *values) {
          more.push_back(base);
          if (value != OptionValue(static_cast<std::int64_t>(option.fallback)))
            more.back().set(option.name, value);
        }
      options = std::move(more);
    }
    for (const OptionValues& each : options) {
      const PlanChoice plan{.collective = collective, .options = each};
      const CollectiveQuestion asked{
          .plan = plan, .ranks = question.ranks, .bytes = question.bytes};
      if (collective->refuse == nullptr || collective->refuse(asked.call()).empty())
        candidates.push_back(plan);
    }
  }
  return candidates;
}

bool TunedChoice::is_tie(const TunedPlan& other) const {
  constexpr double kEqual = 1 + 1e-9;  // plans that are the same under two names
  return other.time.low_s <= kEqual * best.time.low_s ||
         other.time.high_s <= kEqual * best.time.high_s;
}

TunedPoint tune_point(const TuneQuestion& question, const MachineScenarios& machine,
                      const OfferedPlans& offered, double tolerance) {
  CollectiveSearch search(question, machine, tolerance);
  TunedPoint point;
  if (has_alternatives(question, machine.front())) {
    point = tune_alternatives(question, machine, tolerance);
  } else {
    const std::vector<PlanChoice> plans = tune_candidates(question);
    point = {.question = question,
             .known = search.best_of(plans),
             .stack_default = search.stack_default(),
             .candidates = static_cast<int>(plans.size()),
             .simulated = search.simulations()};
  }
  if (offered)
    if (const std::vector<PlanChoice> choices = offered(question); !choices.empty())
      point.offered = search.best_of(choices);
  return point;
}

void to_json(json& text, const TunedPoint& point) {
  text = json{{"op", name_of(point.question.op)}, {"ranks", point.question.ranks},
              {"bytes", point.question.bytes},    {"known", to_json(point.known)},
              {"candidates", point.candidates},   {"simulated", point.simulated}};
  if (point.offered) {
    text["offered"] = to_json(*point.offered);
    text["offered"]["loss"] = point.known.margin(point.offered->best);
  }
  if (point.stack_default) {
    text["default"] = to_json(*point.stack_default);
    text["default"]["margin"] = point.known.margin(*point.stack_default);
  }
  if (!point.own.empty()) text["own"] = point.own;
  if (point.question.groups > 1) text["groups"] = point.question.groups;
}

void from_json(const json& text, TunedPoint& point) {
  point = TunedPoint{.question = {.op = parse_collective_op(text.at("op"), "op"),
                                  .ranks = text.at("ranks"),
                                  .bytes = text.at("bytes"),
                                  .groups = text.value("groups", 1)},
                     .known = tuned_choice(text.at("known")),
                     .candidates = text.at("candidates"),
                     .simulated = text.at("simulated")};
  if (text.contains("offered")) point.offered = tuned_choice(text.at("offered"));
  if (text.contains("default")) point.stack_default = tuned_plan(text.at("default"));
  point.own = text.value("own", "");
}

std::vector<TunedPoint> tune_collective(const std::vector<TuneQuestion>& questions,
                                        const MachineScenarios& machine,
                                        const OfferedPlans& offered, double tolerance,
                                        const std::vector<TunedPoint>& answered,
                                        const std::function<void(const TunedPoint&)>& on_point) {
  std::vector<TunedPoint> points(questions.size());
  std::vector<size_t> open;
  for (size_t i = 0; i < questions.size(); ++i) {
    const auto found = std::find_if(answered.begin(), answered.end(), [&](const TunedPoint& point) {
      return point.question == questions[i];
    });
    if (found != answered.end())
      points[i] = *found;
    else
      open.push_back(i);
  }
  // The longest first, so that no core is left alone with one at the end.
  std::stable_sort(open.begin(), open.end(), [&](size_t a, size_t b) {
    return questions[a].bytes * questions[a].ranks > questions[b].bytes * questions[b].ranks;
  });
  std::vector<std::function<TunedPoint()>> tasks;
  for (const size_t i : open)
    tasks.push_back([&questions, &machine, &offered, &on_point, tolerance, i] {
      TunedPoint point = tune_point(questions[i], machine, offered, tolerance);
      on_point(point);
      return point;
    });
  load_simgrid();
  std::vector<TunedPoint> tuned = isolated(tasks, "tuning");
  for (size_t i = 0; i < open.size(); ++i) points[open[i]] = std::move(tuned[i]);
  return points;
}

namespace {

// What is told to libraries has names of its own.
bool is_plan(const TunedPoint& point, const std::string& text) {
  return text.starts_with(std::string(name_of(point.question.op)) + "/");
}

bool is_near(const TunedChoice& choice, const std::string& plan, double tolerance) {
  const auto found = choice.near.find(plan);
  return found != choice.near.end() && found->second <= (1 + tolerance) * choice.best.time.time_s;
}

// The alternative near the best of the first point that is so of the most points after it: what the
// model cannot tell apart shall not make rules flip.
std::string lasting_plan(const std::vector<const TunedPoint*>& points, size_t first,
                         double tolerance) {
  const TunedPoint& begin = *points[first];
  std::string lasting = begin.known.best.plan;
  size_t most = 0;
  for (const auto& [plan, time_s] : begin.known.near) {
    size_t end = first;
    while (end < points.size() && points[end]->question.op == begin.question.op &&
           points[end]->question.ranks == begin.question.ranks &&
           is_near(points[end]->known, plan, tolerance))
      ++end;
    const bool is_best = plan == begin.known.best.plan;
    if (end - first < most || (end - first == most && !is_best)) continue;
    most = end - first;
    lasting = plan;
  }
  return lasting;
}

}  // namespace

std::vector<TunedRegion> tuned_regions(const std::vector<TunedPoint>& points, TunedOf of,
                                       double tolerance) {
  std::vector<const TunedPoint*> sorted;
  for (const TunedPoint& point : points) sorted.push_back(&point);
  std::stable_sort(sorted.begin(), sorted.end(), [](const TunedPoint* a, const TunedPoint* b) {
    return std::tuple(a->question.op, a->question.ranks, a->question.bytes) <
           std::tuple(b->question.op, b->question.ranks, b->question.bytes);
  });
  std::vector<TunedRegion> regions;
  const TunedPoint* before = nullptr;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const TunedPoint* const point = sorted[i];
    const TuneQuestion& asked = point->question;
    const bool is_first = before == nullptr || before->question.op != asked.op ||
                          before->question.ranks != asked.ranks;
    const bool is_last_of_region =
        !is_first && !regions.empty() && regions.back().to_bytes == before->question.bytes &&
        regions.back().op == asked.op && regions.back().ranks == asked.ranks;
    // Halfway, by ratio, between two sizes.
    const std::int64_t halfway =
        is_first ? asked.bytes - 1
                 : std::llround(std::sqrt(static_cast<double>(before->question.bytes) *
                                          static_cast<double>(asked.bytes)));
    if (is_last_of_region) regions.back().to_bytes = halfway;
    before = point;
    const TunedChoice* choice = of == TunedOf::kKnown ? &point->known
                                : point->offered      ? &*point->offered
                                                      : nullptr;
    if (choice == nullptr) continue;
    const auto loss = [&](double time_s) { return time_s / point->known.best.time.time_s - 1; };
    if (is_last_of_region && is_near(*choice, regions.back().plan, tolerance)) {
      regions.back().loss_max =
          std::max(regions.back().loss_max, loss(choice->near.at(regions.back().plan)));
      regions.back().to_bytes = asked.bytes;
      continue;
    }
    const std::string& best = choice->best.plan;
    const bool is_told = of == TunedOf::kKnown && !is_plan(*point, best);
    const std::string plan = is_told ? lasting_plan(sorted, i, tolerance) : best;
    regions.push_back(
        {.op = asked.op,
         .ranks = asked.ranks,
         .groups = asked.groups,
         .from_bytes = halfway + 1,
         .to_bytes = asked.bytes,
         .plan = plan,
         .asked_bytes = asked.bytes,
         .loss_max = loss(plan == best ? choice->best.time.time_s : choice->near.at(plan))});
  }
  return regions;
}

}  // namespace forescale
