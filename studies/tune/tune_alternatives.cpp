#include "studies/tune/tune_alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/bounds.hpp"
#include "sim/engine/world.hpp"

namespace forescale {
namespace {

constexpr double kNotSimulated = std::numeric_limits<double>::infinity();
// Other chunks are tried of those that are so near to the best with the library's own.
constexpr double kNear = 1.2;
// Chunks behind each other, in each of two trees: filling the pipe takes a few of so many.
constexpr double kManyChunks = 64;
constexpr double kTrees = 2;
// With so many a tree takes minutes to simulate, and is told no more.
constexpr double kMostChunks = 512;
constexpr std::int64_t kFp32Bytes = 4;

// Of the messages of a protocol, on any way that has a rule of its own for it.
double least_wire_factor_of(const Stack& stack, int protocol) {
  double least = std::numeric_limits<double>::infinity();
  for (const PathRule& rule : stack.paths)
    if (rule.buffers == BufferPlace::kGpu && rule.protocol == protocol)
      least = std::min(least, rule.wire_factor);
  return std::isinf(least) ? 1 : least;
}

MachineScenarios taking(const MachineScenarios& machine, const AlternativeChoice& choice) {
  MachineScenarios told = machine;
  for (QuestionMachine& each : told) each.stack.take(choice, "tune");
  return told;
}

double nominal_s(const TuneQuestion& question, Asker& asker) {
  return asker.ask({question.asked()}, {.label = "simulating"}).front().nominal.collective.time_s;
}

class AlternativeSearch {
 public:
  AlternativeSearch(const TuneQuestion& question, const MachineScenarios& machine, double tolerance)
      : question_(question), machine_(machine), tolerance_(tolerance) {
    const Platform& platform = machine.front().platform;
    group_ = shared_first_slots(platform, question.ranks);
  }

  TunedPoint point() {
    Told own{.choice = {.name = kOwnChoice}, .asker = std::make_shared<Asker>(machine_)};
    simulate(own);
    told_.push_back(std::move(own));
    simulate_better(with_own_chunks());
    search_chunks();
    const TunedChoice choice = chosen();
    return {.question = question_,
            .known = choice,
            .stack_default = with_ends(told_.front()),
            .own = own_name(),
            .candidates = candidates_,
            .simulated = simulated_};
  }

 private:
  struct Told {
    AlternativeChoice choice;
    std::shared_ptr<const MachineScenarios> machine = nullptr;  // null: as it is
    // Of that machine; what it was asked once is not simulated again.
    std::shared_ptr<Asker> asker = nullptr;
    double bound_s = 0;
    double time_s = kNotSimulated;
  };

  const Stack& stack() const { return machine_.front().stack; }

  std::string own_name() const {
    return stack().own_choice(name_of(question_.op), group_->shape, question_.bytes);
  }

  const SelectionRule* rule_of(const Alternative& alternative) const {
    return find_rule(alternative.rules, name_of(question_.op), group_->shape, question_.bytes);
  }

  Told told(const AlternativeChoice& choice) const {
    auto machine = std::make_shared<const MachineScenarios>(taking(machine_, choice));
    const QuestionMachine& nominal = machine->front();
    const Lanes lanes(nominal.platform, nominal.stack);
    const ResolvedCall call =
        resolve(lanes, group_, {.op = question_.op, .bytes = question_.bytes, .root = 0});
    const double wire =
        least_wire_factor_of(nominal.stack, call.protocol) / least_wire_factor(nominal.stack);
    return {.choice = choice,
            .machine = machine,
            .asker = std::make_shared<Asker>(*machine),
            .bound_s = wire * collective_bound(call).time_s};
  }

  std::vector<Told> with_own_chunks() const {
    std::vector<Told> all;
    for (const auto& [name, alternative] : stack().alternatives)
      if (const SelectionRule* rule = rule_of(alternative);
          rule != nullptr && stack().is_allowed(name_of(question_.op), name))
        if (chunks_in_a_row(*rule, rule->options.number(kChunkBytes)) <= kMostChunks)
          all.push_back(told({.name = name}));
    return all;
  }

  // Smaller and larger chunks of those near the best, step by step as long as that helps.
  void search_chunks() {
    std::vector<Told> near;
    for (const Told& each : told_)
      if (each.machine != nullptr && each.time_s <= kNear * fastest().time_s) near.push_back(each);
    for (const Told& each : near) {
      const Alternative& alternative = stack().alternatives.at(each.choice.name);
      if (alternative.chunk_factor == 0) continue;
      const SelectionRule& own = *rule_of(alternative);
      std::set<std::int64_t> sizes;
      for (const SelectionRule& rule : alternative.rules.at(name_of(question_.op)))
        sizes.insert(rule.options.number(kChunkBytes));
      const auto at = sizes.find(own.options.number(kChunkBytes));
      double time_s = each.time_s;
      for (auto smaller = at;
           smaller != sizes.begin() && chunks_in_a_row(own, *smaller) <= kManyChunks;)
        if (!is_better_in(alternative, each.choice.name, *--smaller, time_s)) break;
      time_s = each.time_s;
      for (auto larger = std::next(at); larger != sizes.end(); ++larger)
        if (!is_better_in(alternative, each.choice.name, *larger, time_s)) break;
    }
  }

  // Behind each other in one of a part's trees; 0 where a plan is not cut into chunks.
  double chunks_in_a_row(const SelectionRule& rule, std::int64_t chunk_bytes) const {
    const auto parts = static_cast<double>(std::max<size_t>(1, rule.orders.size()));
    return chunk_bytes == 0 ? 0
                            : static_cast<double>(question_.bytes) / parts / kTrees /
                                  static_cast<double>(chunk_bytes);
  }

  bool is_better_in(const Alternative& alternative, const std::string& name,
                    std::int64_t chunk_bytes, double& time_s) {
    Told each = told(
        {.name = name,
         .chunk_bytes = std::llround(static_cast<double>(chunk_bytes) / alternative.chunk_factor)});
    ++candidates_;
    simulate(each);
    const bool is_better = each.time_s < time_s;
    time_s = each.time_s;
    told_.push_back(std::move(each));
    return is_better;
  }

  const Told& fastest() const {
    return *std::min_element(told_.begin(), told_.end(), [](const Told& one, const Told& other) {
      return one.time_s < other.time_s;
    });
  }

  // By growing bound, those that can be faster than the best.
  void simulate_better(std::vector<Told> all) {
    candidates_ += static_cast<int>(all.size());
    std::stable_sort(all.begin(), all.end(), [](const Told& one, const Told& other) {
      return one.bound_s < other.bound_s;
    });
    for (Told& each : all) {
      if (each.bound_s >= fastest().time_s) continue;
      simulate(each);
      told_.push_back(std::move(each));
    }
  }

  void simulate(Told& each) {
    each.time_s = nominal_s(question_, *each.asker);
    ++simulated_;
  }

  RangedAnswer at_ends(const Told& each) const {
    return each.asker
        ->ask({question_.asked()}, {.label = "simulating", .draws = draws_of(machine_)})
        .front();
  }

  TunedPlan with_ends(const Told& each) const {
    return {.plan = each.choice.text(), .time = at_ends(each).time()};
  }

  // By more than the tolerance, and at all where uncertain numbers are at their ends.
  bool is_faster_for_sure(const Told& one, const Told& other) const {
    if (one.time_s * (1 + tolerance_) >= other.time_s) return false;
    const RangedAnswer of_one = at_ends(one);
    const RangedAnswer of_other = at_ends(other);
    const auto is_faster = [](const std::optional<Answer>& a, const std::optional<Answer>& b) {
      return !a || !b || a->collective.time_s < b->collective.time_s;
    };
    return is_faster(of_one.fast, of_other.fast) && is_faster(of_one.slow, of_other.slow);
  }

  TunedChoice chosen() const {
    const Told& own = told_.front();
    std::vector<const Told*> sorted;
    for (const Told& each : told_) sorted.push_back(&each);
    std::stable_sort(sorted.begin(), sorted.end(), [](const Told* one, const Told* other) {
      return one->time_s < other->time_s;
    });
    const Told& best = is_faster_for_sure(*sorted.front(), own) ? *sorted.front() : own;
    TunedChoice choice{.best = with_ends(best)};
    const std::string same_as_own = own_name();
    const auto is_other = [&](const Told* each) {
      const std::string text = each->choice.text();
      const bool is_own = text == kOwnChoice || text == same_as_own;
      return is_own != (choice.best.plan == kOwnChoice) || (!is_own && text != choice.best.plan);
    };
    const auto next = std::find_if(sorted.begin(), sorted.end(), is_other);
    if (next != sorted.end()) choice.next = with_ends(**next);
    // A neighbouring size's goes on where it is near the best, and faster than the own one for
    // sure.
    for (const Told* each : sorted)
      if (each->choice.text() == choice.best.plan ||
          (choice.best.plan != kOwnChoice && each != &own &&
           each->time_s <= (1 + tolerance_) * choice.best.time.time_s &&
           is_faster_for_sure(*each, own)))
        choice.near[each->choice.text()] = each->time_s;
    return choice;
  }

  const TuneQuestion& question_;
  const MachineScenarios& machine_;
  const double tolerance_;
  SharedGroup group_;
  std::vector<Told> told_;  // those that were simulated, the library's own choice first
  int candidates_ = 1;
  int simulated_ = 0;
};

}  // namespace

bool has_alternatives(const TuneQuestion& question, const QuestionMachine& machine) {
  const GroupShape shape = shared_first_slots(machine.platform, question.ranks)->shape;
  return std::any_of(machine.stack.alternatives.begin(), machine.stack.alternatives.end(),
                     [&](const auto& alternative) {
                       return find_rule(alternative.second.rules, name_of(question.op), shape,
                                        question.bytes) != nullptr;
                     });
}

std::vector<TunedRegion> faster_to_their_ends(std::vector<TunedRegion> regions,
                                              const std::vector<TunedPoint>& points,
                                              const MachineScenarios& machine) {
  // An end, and the size that was asked next to it.
  struct End {
    size_t region = 0;
    bool is_last = false;
    std::int64_t bytes = 0;
    std::int64_t asked_bytes = 0;
  };
  std::vector<End> ends;
  for (size_t i = 0; i < regions.size(); ++i) {
    const TunedRegion& region = regions[i];
    if (region.plan == kOwnChoice ||
        !has_alternatives(region.question(region.asked_bytes), machine.front()))
      continue;
    std::int64_t last_asked = region.asked_bytes;
    for (const TunedPoint& point : points)
      if (point.question.op == region.op && point.question.ranks == region.ranks &&
          point.question.bytes <= region.to_bytes)
        last_asked = std::max(last_asked, point.question.bytes);
    // Whole elements.
    ends.push_back({.region = i,
                    .bytes = (region.from_bytes + kFp32Bytes - 1) / kFp32Bytes * kFp32Bytes,
                    .asked_bytes = region.asked_bytes});
    ends.push_back({.region = i,
                    .is_last = true,
                    .bytes = region.to_bytes / kFp32Bytes * kFp32Bytes,
                    .asked_bytes = last_asked});
  }
  std::erase_if(ends, [](const End& end) { return end.bytes == end.asked_bytes; });
  std::vector<std::function<bool()>> tasks;
  for (const End& end : ends)
    tasks.push_back([&] {
      const TunedRegion& region = regions[end.region];
      const TuneQuestion question = region.question(end.bytes);
      if (!has_alternatives(question, machine.front())) return false;
      const MachineScenarios told =
          taking(machine, AlternativeChoice::parse(region.plan, "a region"));
      Asker of_told(told);
      Asker of_own(machine);
      return nominal_s(question, of_told) < nominal_s(question, of_own);
    });
  load_simgrid();
  const std::vector<bool> are_faster = isolated(tasks, "checking");
  for (size_t i = 0; i < ends.size(); ++i) {
    if (are_faster[i]) continue;
    TunedRegion& region = regions[ends[i].region];
    (ends[i].is_last ? region.to_bytes : region.from_bytes) = ends[i].asked_bytes;
  }
  return regions;
}

TunedPoint tune_alternatives(const TuneQuestion& question, const MachineScenarios& machine,
                             double tolerance) {
  return AlternativeSearch(question, machine, tolerance).point();
}

}  // namespace forescale
