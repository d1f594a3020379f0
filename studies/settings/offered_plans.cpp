#include "studies/settings/offered_plans.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "models/plan_options.hpp"
#include "topologies/placement.hpp"

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

LibraryAlgorithm TunedLibrary::algorithm(const TuneQuestion& question,
                                         const std::string& plan) const {
  if (format->algorithms == nullptr) return own_algorithm(parse_plan(plan, "--emit"));
  for (const LibraryAlgorithm& one : algorithms(question))
    if (plan_text(one.plan) == plan) return one;
  FORESCALE_CHECK(false, "a plan that was offered is one of the library's: " + plan);
}

std::vector<LibraryAlgorithm> TunedLibrary::algorithms(const TuneQuestion& question) const {
  std::vector<LibraryAlgorithm> some;
  for (const LibraryAlgorithm& one : format->algorithms(question.op)) {
    const CollectiveQuestion asked{
        .plan = one.plan, .ranks = question.ranks, .bytes = question.bytes};
    if (one.refuse(question.ranks, question.bytes, nodes_of(*platform, question.ranks)).empty() &&
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
