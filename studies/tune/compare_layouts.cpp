#include "studies/tune/compare_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "studies/predict/compare.hpp"

namespace forescale {
namespace {

constexpr std::size_t kCompared = 4;
constexpr double kAsFast = 1.01;  // times the fastest one's time

std::size_t field_count(const LayoutPrediction& each) {
  return fields_named(to_text(as_asked(each.layout)), kLayoutOption).size();
}

// Of those as fast as the fastest that surely fits, the one that names fewest fields: nobody would
// add a parallelism for half a percent. Where none surely fits, the fastest.
LayoutPrediction plainest(LayoutTuning tuning) {
  const LayoutPrediction* fastest = nullptr;
  for (const LayoutPrediction& each : tuning.best)
    if (fastest == nullptr && each.surely_fits()) fastest = &each;
  if (fastest == nullptr)
    return tuning.surely_fitting ? std::move(*tuning.surely_fitting)
                                 : std::move(tuning.best.front());
  const LayoutPrediction* plain = fastest;
  for (const LayoutPrediction& each : tuning.best)
    if (each.surely_fits() && each.iteration_s <= kAsFast * fastest->iteration_s &&
        field_count(each) < field_count(*plain))
      plain = &each;
  return *plain;
}

LayoutOffer offer_of(const LayoutCompareSettings& settings, const Question& question,
                     std::int64_t gpus, Asker& asker) {
  LayoutOffer offer{.platform = question.platform, .gpus = gpus};
  const int slots = load_platform(question.platform).slot_count();
  if (gpus > slots) {
    offer.failure = fmt::format("has {} GPUs", slots);
    const std::vector<std::string> presets = catalogue("topologies/presets");
    const Platform platform = load_platform(question.platform);
    const std::int64_t of_node = slots / std::max(1, platform.node_count);
    if (std::find(presets.begin(), presets.end(), question.platform) != presets.end())
      offer.failure += fmt::format("; {}:nodes={} has so many", question.platform,
                                   (gpus + of_node - 1) / of_node);
    return offer;
  }
  try {
    offer.best = plainest(tune_layout(
        {.question = question, .gpus = gpus, .only = settings.only, .best = kCompared}, asker));
    if (settings.has_interval) {
      LayoutCase about{.question = question, .gpus = gpus};
      about.question.layout = to_text(offer.best.layout);
      about.question.gpus = {gpus};
      offer.best = predict_layout_ranges({about}, asker).front();
    }
  } catch (const InputError& error) {
    offer.failure = error.what();
  }
  return offer;
}

// Of the same layouts.
void add_network_gains(std::vector<LayoutOffer>& offers, const Question& question, Asker& asker) {
  std::vector<LayoutOffer*> several;
  std::vector<LayoutCase> cases;
  for (LayoutOffer& offer : offers) {
    if (!offer.failure.empty() || offer.best.nodes < 2) continue;
    several.push_back(&offer);
    cases.push_back({.question = question, .gpus = offer.gpus});
    cases.back().question.platform = offer.platform;
    cases.back().question.layout = to_text(offer.best.layout);
    cases.back().question.network_scale *= kFastest;
  }
  const std::vector<LayoutPrediction> faster = predict_layouts(cases, asker);
  for (std::size_t i = 0; i < several.size(); ++i)
    several[i]->network_gain = 1 - faster[i].iteration_s / several[i]->best.iteration_s;
}

void add_efficiencies(std::vector<LayoutOffer>& offers) {
  const LayoutOffer* first = nullptr;
  for (LayoutOffer& offer : offers) {
    if (!offer.failure.empty()) continue;
    if (first == nullptr || first->platform != offer.platform) first = &offer;
    offer.efficiency = offer.best.tokens_per_s_gpu / first->best.tokens_per_s_gpu;
  }
}

}  // namespace

std::vector<LayoutOffer> compare_layouts(const LayoutCompareSettings& settings) {
  check_layout_question(settings.question);
  transformer_of(settings.question);
  Asker asker;
  std::vector<LayoutOffer> offers;
  std::size_t failed = 0;
  for (const std::string& platform : settings.platforms) {
    if (std::count(settings.platforms.begin(), settings.platforms.end(), platform) > 1)
      refuse("--platform", platform, "is named twice");
    Question question = settings.question;
    question.platform = platform;
    for (const std::int64_t gpus : question.gpus) {
      offers.push_back(offer_of(settings, question, gpus, asker));
      if (!offers.back().failure.empty()) ++failed;
    }
  }
  if (failed == offers.size())
    refuse(kLayoutOption, settings.question.layout,
           fmt::format("has no layout on {} with {} GPUs{}: {}", offers.front().platform,
                       offers.front().gpus, failed > 1 ? ", the first of the offers" : "",
                       offers.front().failure));
  add_efficiencies(offers);
  if (settings.network) add_network_gains(offers, settings.question, asker);
  return offers;
}

}  // namespace forescale
