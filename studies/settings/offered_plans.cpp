#include "studies/settings/offered_plans.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"
#include "models/plan_options.hpp"
#include "studies/tune/tune_alternatives.hpp"

namespace forescale {
namespace {

bool is_among(const PlanChoice& plan, const OptionsText& wanted) {
  if (plan.collective->algorithm != wanted.name()) return false;
  const std::map<std::string, std::string> has =
      OptionsText::parse(plan_text(plan), "--among").values();
  return std::all_of(wanted.values().begin(), wanted.values().end(), [&](const auto& option) {
    const auto found = has.find(option.first);
    return found != has.end() && found->second == option.second;
  });
}

// Where anything can change: the last sizes of the stack's choices and of regions.
std::set<std::int64_t> last_bytes(std::set<std::int64_t> of_stack,
                                  const std::vector<SettingsRegion>& regions) {
  for (const SettingsRegion& region : regions) {
    of_stack.insert(region.to_bytes);
    if (region.from_bytes > 0) of_stack.insert(region.from_bytes - 1);
  }
  return of_stack;
}

// That `span` lies in; null: none.
const SettingsRegion* region_of(const std::vector<SettingsRegion>& regions,
                                const SettingsRegion& span) {
  for (const SettingsRegion& region : regions)
    if (region.op == span.op && region.ranks == span.ranks &&
        region.from_bytes <= span.from_bytes && span.to_bytes <= region.to_bytes)
      return &region;
  return nullptr;
}

}  // namespace

OfferedPlans TunedLibrary::offered() const {
  if (format == nullptr || format->algorithms == nullptr) return nullptr;
  return [this](const TuneQuestion& question) {
    std::vector<PlanChoice> plans;
    std::set<std::string> texts;
    for (const LibraryAlgorithm& algorithm : algorithms(question))
      if (texts.insert(plan_text(algorithm.plan)).second) plans.push_back(algorithm.plan);
    return plans;
  };
}

TunedOf TunedLibrary::tuned_of() const {
  return format->algorithms == nullptr ? TunedOf::kKnown : TunedOf::kOffered;
}

void TunedLibrary::check() const {
  if (!format->takes_alternatives || !machine->stack.alternatives.empty()) return;
  std::vector<std::string> able;
  for (const std::string& name : catalogue("models/stacks"))
    if (!load_stack(name).alternatives.empty()) able.push_back(name);
  throw InputError({.source = "--emit",
                    .path = "",
                    .value = format->name,
                    .constraint = fmt::format(
                        "needs a stack that says what {} can be told to take (--stack {}), and {} "
                        "does not",
                        format->library, fmt::join(able, ", "), machine->stack.name)});
}

std::optional<LibraryAlgorithm> TunedLibrary::algorithm(const TuneQuestion& question,
                                                        const std::string& tuned) const {
  if (tuned == kOwnChoice) return std::nullopt;
  if (format->algorithms == nullptr) {
    if (has_alternatives(question, *machine))
      return told_algorithm(question.op, AlternativeChoice::parse(tuned, "--emit"));
    return own_algorithm(parse_plan(tuned, "--emit"));
  }
  for (const LibraryAlgorithm& one : algorithms(question))
    if (plan_text(one.plan) == tuned) return one;
  FORESCALE_CHECK(false, "a plan that was offered is one of the library's: " + tuned);
}

bool TunedLibrary::says_own_choice() const {
  return format->says_own_choice ||
         (format->replaces_tuner && !machine->stack.tuner.choices.empty());
}

std::vector<SettingsRegion> TunedLibrary::with_own_choice(
    const std::vector<SettingsRegion>& regions) const {
  std::map<int, int> nodes_of_ranks;
  for (const SettingsRegion& region : regions) nodes_of_ranks[region.ranks] = region.nodes;
  std::vector<SettingsRegion> all;
  for (const auto& [op, rules] : machine->stack.selection)
    for (const auto& [ranks, nodes] : nodes_of_ranks) {
      const GroupShape shape = shared_first_slots(machine->platform, ranks)->shape;
      SettingsRegion span{
          .op = parse_collective_op(op, "selection"), .ranks = ranks, .nodes = nodes};
      for (const std::int64_t last : last_bytes(machine->stack.choice_ends(op), regions)) {
        span.to_bytes = last;
        const SettingsRegion* tuned = region_of(regions, span);
        const std::string own = format->says_own_choice
                                    ? machine->stack.own_choice(op, shape, last)
                                    : machine->stack.tuner_choice(op, shape, last);
        if (tuned != nullptr && tuned->chosen)
          span.chosen = tuned->chosen;
        else if (!own.empty())
          span.chosen = told_algorithm(span.op, {.name = own});
        else
          span.chosen.reset();
        if (span.chosen) all.push_back(span);
        if (last < std::numeric_limits<std::int64_t>::max()) span.from_bytes = last + 1;
      }
    }
  return all;
}

std::vector<LibraryAlgorithm> TunedLibrary::algorithms(const TuneQuestion& question) const {
  std::vector<LibraryAlgorithm> some;
  for (const LibraryAlgorithm& one : format->algorithms(question.op)) {
    const CollectiveQuestion asked{
        .plan = one.plan, .ranks = question.ranks, .bytes = question.bytes};
    if (one.refuse(question.ranks, question.bytes).empty() &&
        (one.plan.collective->refuse == nullptr ||
         one.plan.collective->refuse(asked.call()).empty()))
      some.push_back(one);
  }
  return some;
}

OfferedPlans plans_among(CollectiveOp op, const std::vector<std::string>& texts) {
  std::vector<OptionsText> wanted;
  for (const std::string& text : texts) {
    // The operation may stand before it: "reduce/cb".
    const std::string prefix = std::string(name_of(op)) + "/";
    const size_t begin = text.starts_with(prefix) ? prefix.size() : 0;
    wanted.push_back(OptionsText::parse(text.substr(begin), "--among"));
    find_collective(op, wanted.back().name(), "--among");
    wanted.back().allow_only(with_plan_options({}));
  }
  return [wanted](const TuneQuestion& question) {
    std::vector<PlanChoice> plans = tune_candidates(question);
    std::erase_if(plans, [&](const PlanChoice& plan) {
      return std::none_of(wanted.begin(), wanted.end(),
                          [&](const OptionsText& one) { return is_among(plan, one); });
    });
    return plans;
  };
}

}  // namespace forescale
