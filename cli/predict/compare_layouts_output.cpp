#include "cli/predict/compare_layouts_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/predict/layout_output.hpp"
#include "cli/text.hpp"
#include "studies/predict/compare.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kPercent = 100;
constexpr double kEqual = 1.01;  // times as fast

bool has_layout(const LayoutOffer& offer) { return offer.failure.empty(); }

// An offer with what its training takes.
struct PricedOffer {
  const LayoutOffer* offer = nullptr;
  TrainingCost cost;
};

TrainingPlan plan_of(const OfferQuestions& asked, std::size_t offer) {
  TrainingPlan plan = asked.plan;
  if (!asked.hour_prices.empty()) plan.hour_price = asked.hour_prices[offer];
  return plan;
}

std::vector<PricedOffer> priced(const std::vector<LayoutOffer>& offers,
                                const OfferQuestions& asked) {
  std::vector<PricedOffer> all;
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (has_layout(offers[i]))
      all.push_back({.offer = &offers[i],
                     .cost = asked.plan.tokens == 0
                                 ? TrainingCost()
                                 : training_cost(offers[i].best, plan_of(asked, i))});
  return all;
}

std::string end_cell(const LayoutPrediction& best, double TimeRange::*end) {
  return best.iteration ? to_text(Seconds{(*best.iteration).*end}) : "-";
}

// Columns of all offers alike.
std::string offers_text(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked) {
  const bool has_plan = asked.plan.tokens > 0;
  const bool has_range = std::any_of(offers.begin(), offers.end(), [](const LayoutOffer& offer) {
    return offer.best.iteration.has_value();
  });
  const bool has_price = has_plan && !asked.hour_prices.empty();
  std::vector<std::string> heads = {"<platform", "GPUs", "iteration"};
  const auto add = [&](std::initializer_list<const char*> more) {
    heads.insert(heads.end(), more.begin(), more.end());
  };
  if (has_range) add({"from", "to"});
  add({"tokens/s/GPU", "MFU %", "efficiency %", "network %"});
  if (has_plan) add({"days"});
  if (has_plan && has_range) add({"from", "to"});
  if (has_price) add({"cost"});
  add({"<layout"});
  Table table(heads);
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const LayoutOffer& offer = offers[i];
    std::vector<std::string> cells = {offer.platform, std::to_string(offer.gpus)};
    if (!has_layout(offer)) {
      cells.resize(heads.size(), "-");
      cells.back() = "none: see the note";
      table.add(cells);
      continue;
    }
    const LayoutPrediction& best = offer.best;
    cells.push_back(to_text(Seconds{best.iteration_s}));
    if (has_range) {
      cells.push_back(end_cell(best, &TimeRange::low_s));
      cells.push_back(end_cell(best, &TimeRange::high_s));
    }
    for (const std::string& cell :
         {fmt::format("{:.0f}", best.tokens_per_s_gpu),
          fmt::format("{:.1f}", kPercent * best.model_flops_share()),
          fmt::format("{:.1f}", kPercent * offer.efficiency),
          best.nodes < 2 ? "-" : fmt::format("{:.1f}", kPercent * offer.network_gain)})
      cells.push_back(cell);
    if (has_plan) {
      const TrainingCost cost = training_cost(best, plan_of(asked, i));
      cells.push_back(fmt::format("{:.2f}", cost.days));
      if (has_range) {
        cells.push_back(fmt::format("{:.2f}", cost.days_low));
        cells.push_back(fmt::format("{:.2f}", cost.days_high));
      }
      if (has_price) cells.push_back(fmt::format("{:.0f}", cost.money));
    }
    cells.push_back(to_text(as_asked(best.layout)) +
                    (best.surely_fits() ? "" : " (may not fit in memory)"));
    table.add(cells);
  }
  return table.text();
}

std::string failures_text(const std::vector<LayoutOffer>& offers) {
  std::string text;
  for (const LayoutOffer& offer : offers)
    if (!has_layout(offer))
      text += fmt::format("note: {}, {} GPUs: {}\n", offer.platform, offer.gpus, offer.failure);
  return text;
}

std::string notes_text(const std::vector<LayoutOffer>& offers, const Question& question) {
  std::string text;
  std::vector<Layout> layouts;
  for (const LayoutOffer& offer : offers) {
    if (!has_layout(offer)) continue;
    layouts.push_back(offer.best.layout);
    if (const std::string full = full_memory_text(offer.best); !full.empty())
      text += fmt::format("{}, {} GPUs: {}", offer.platform, offer.gpus, full);
  }
  return text + support_text(layouts, question);
}

// How many times as fast, with what the two intervals make of it as independent causes do: their
// deviations, on a logarithmic scale, add up as squares. Common causes make it narrower.
Spread ratio_of(const LayoutPrediction& fast, const LayoutPrediction& slow) {
  const double ratio = slow.iteration_s / fast.iteration_s;
  if (!fast.iteration || !slow.iteration) return {.value = ratio, .low = ratio, .high = ratio};
  const auto deviation = [](double above, double below) { return std::log(above / below); };
  const double less = std::hypot(deviation(slow.iteration_s, slow.iteration->low_s),
                                 deviation(fast.iteration->high_s, fast.iteration_s));
  const double more = std::hypot(deviation(slow.iteration->high_s, slow.iteration_s),
                                 deviation(fast.iteration_s, fast.iteration->low_s));
  return {.value = ratio, .low = ratio * std::exp(-less), .high = ratio * std::exp(more)};
}

// Of each count that several offers have: which is fastest, and how sure that is.
std::string fastest_text(const std::vector<PricedOffer>& all) {
  std::map<std::int64_t, std::vector<const LayoutOffer*>> by_count;
  for (const PricedOffer& each : all) by_count[each.offer->gpus].push_back(each.offer);
  std::string text;
  for (auto& [gpus, offers] : by_count) {
    if (offers.size() < 2) continue;
    std::stable_sort(offers.begin(), offers.end(), [](const auto* a, const auto* b) {
      return a->best.iteration_s < b->best.iteration_s;
    });
    const Spread ratio = ratio_of(offers[0]->best, offers[1]->best);
    if (ratio.value < kEqual) {
      text += fmt::format("{} GPUs: {} and {} are equally fast\n", gpus, offers[0]->platform,
                          offers[1]->platform);
      continue;
    }
    const std::string sure = ratio.low == ratio.high
                                 ? ""
                                 : fmt::format(" ({:.2f} to {:.2f}){}", ratio.low, ratio.high,
                                               ratio.low < 1 ? ": it may be the other" : "");
    text += fmt::format("{} GPUs: {} is fastest, {:.2f} times as fast as {}{}\n", gpus,
                        offers[0]->platform, ratio.value, offers[1]->platform, sure);
  }
  return text;
}

// Of each platform with several counts: up to which one the next GPUs pay.
std::string pays_text(const std::vector<PricedOffer>& all, double efficiency_min) {
  std::vector<std::string> platforms;
  std::map<std::string, std::vector<const LayoutOffer*>> by_platform;
  for (const PricedOffer& each : all) {
    if (!by_platform.contains(each.offer->platform)) platforms.push_back(each.offer->platform);
    by_platform[each.offer->platform].push_back(each.offer);
  }
  std::string text;
  for (const std::string& platform : platforms) {
    const std::vector<const LayoutOffer*>& offers = by_platform[platform];
    if (offers.size() < 2) continue;
    std::int64_t good = 0;
    std::int64_t last = 0;
    for (const LayoutOffer* offer : offers) {
      last = std::max(last, offer->gpus);
      if (offer->efficiency >= efficiency_min) good = std::max(good, offer->gpus);
    }
    text += fmt::format("{}: {:.0f} % efficiency and more up to {}{} GPUs{}\n", platform,
                        kPercent * efficiency_min, good == last ? "the " : "", good,
                        good == last ? " that were asked for" : ", of those that were asked for");
  }
  return text;
}

std::string offer_text(const PricedOffer& each, bool has_price) {
  return fmt::format(
      "{} with {} GPUs: {}{:.2f} days{}", each.offer->platform, each.offer->gpus,
      has_price ? fmt::format("{:.0f}, ", each.cost.money) : "", each.cost.days,
      each.offer->best.iteration
          ? fmt::format(" ({:.2f} to {:.2f})", each.cost.days_low, each.cost.days_high)
          : "");
}

// By money; without prices by GPU hours.
const PricedOffer* cheapest(const std::vector<PricedOffer>& all, bool has_price,
                            const std::function<bool(const TrainingCost&)>& counts) {
  const PricedOffer* best = nullptr;
  const auto cost = [&](const PricedOffer& each) {
    return has_price ? each.cost.money : each.cost.gpu_hours;
  };
  for (const PricedOffer& each : all)
    if (counts(each.cost) && (best == nullptr || cost(each) < cost(*best))) best = &each;
  return best;
}

// How much the cheapest of the other platforms costs more.
std::string next_text(const std::vector<PricedOffer>& all, const PricedOffer& best,
                      bool has_price) {
  std::vector<PricedOffer> others;
  for (const PricedOffer& each : all)
    if (each.offer->platform != best.offer->platform) others.push_back(each);
  const PricedOffer* next = cheapest(others, has_price, [](const TrainingCost&) { return true; });
  if (next == nullptr) return "";
  const double ratio =
      has_price ? next->cost.money / best.cost.money : next->cost.gpu_hours / best.cost.gpu_hours;
  return fmt::format("  of the other platforms: {}, {:.0f} % more\n", offer_text(*next, has_price),
                     kPercent * (ratio - 1));
}

std::string training_text(const std::vector<PricedOffer>& all, const OfferQuestions& asked) {
  if (asked.plan.tokens == 0) return "";
  const bool has_price = !asked.hour_prices.empty();
  const char* least = has_price ? "costs least" : "takes fewest GPU hours";
  std::string text = fmt::format(
      "{:g} tokens {}: {}\n", asked.plan.tokens, has_price ? "cost least" : "take fewest GPU hours",
      offer_text(*cheapest(all, has_price, [](const TrainingCost&) { return true; }), has_price));
  text += next_text(all, *cheapest(all, has_price, [](const TrainingCost&) { return true; }),
                    has_price);
  if (asked.within_days == 0) return text;
  const PricedOffer* predicted = cheapest(
      all, has_price, [&](const TrainingCost& cost) { return cost.days <= asked.within_days; });
  if (predicted == nullptr)
    return text + fmt::format("no offer is done within {:g} days\n", asked.within_days);
  text += fmt::format("within {:g} days {}: {}\n", asked.within_days, least,
                      offer_text(*predicted, has_price));
  if (!predicted->offer->best.iteration) return text;
  const PricedOffer* sure = cheapest(all, has_price, [&](const TrainingCost& cost) {
    return cost.days_high <= asked.within_days;
  });
  if (sure == nullptr)
    text += "  of none the interval ends by then\n";
  else if (sure != predicted)
    text +=
        fmt::format("  its interval does not end by then; the cheapest whose interval does: {}\n",
                    offer_text(*sure, has_price));
  return text;
}

}  // namespace

std::string to_table(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked) {
  const std::vector<PricedOffer> all = priced(offers, asked);
  const LayoutPrediction& first = all.front().offer->best;
  return fmt::format(
             "{} ({} parameters), {}, sequences of {} tokens, {} an iteration: on each platform "
             "the fastest layout that surely fits, or a plainer one within 1 % of it\n\n",
             first.model, count_cell(first.parameters), name_of(first.precision), first.tokens,
             first.layout.global_batch) +
         offers_text(offers, asked) +
         fmt::format(
             "efficiency: tokens/s/GPU over those of the platform's first count; network: what "
             "{:.0f} times the bandwidth between nodes would take off the iteration\n",
             kFastest) +
         (first.iteration ? "from, to: 90 % interval, each offer's own (docs/llm.md)\n" : "") +
         failures_text(offers) + notes_text(offers, asked.question) + "\n" + fastest_text(all) +
         pays_text(all, asked.efficiency_min) + training_text(all, asked);
}

json to_json(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked) {
  json document = {{"format", "forescale-layouts-1"},
                   {"question", to_json(asked.question)},
                   {"predictions", json::array()},
                   {"refused", json::array()}};
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const LayoutOffer& offer = offers[i];
    if (!has_layout(offer)) {
      document["refused"].push_back(
          {{"platform", offer.platform}, {"gpus", offer.gpus}, {"why", offer.failure}});
      continue;
    }
    json one = to_json(offer.best, plan_of(asked, i));
    one["platform"] = offer.platform;
    one["layout"] = to_text(as_asked(offer.best.layout));
    one["efficiency"] = offer.efficiency;
    one["network_gain"] = offer.network_gain;
    document["predictions"].push_back(std::move(one));
  }
  return document;
}

std::string to_csv(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked) {
  std::string text =
      csv_line({"platform", "gpus", "fits", "iteration_s", "iteration_low_s", "iteration_high_s",
                "tokens_per_s_gpu", "model_flops_share", "efficiency", "network_gain", "days",
                "days_low", "days_high", "gpu_hours", "cost", "layout"});
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const LayoutOffer& offer = offers[i];
    std::vector<std::string> cells = {offer.platform, std::to_string(offer.gpus)};
    const auto add = [&](bool is_known, double value) {
      cells.push_back(is_known ? fmt::format("{}", value) : "");
    };
    const LayoutPrediction& best = offer.best;
    const bool has = has_layout(offer);
    const bool has_range = best.iteration.has_value();
    const bool has_plan = has && asked.plan.tokens > 0;
    const TrainingCost cost = has_plan ? training_cost(best, plan_of(asked, i)) : TrainingCost();
    cells.emplace_back(!has ? "false" : best.surely_fits() ? "true" : "perhaps");
    add(has, best.iteration_s);
    add(has_range, has_range ? best.iteration->low_s : 0);
    add(has_range, has_range ? best.iteration->high_s : 0);
    add(has, best.tokens_per_s_gpu);
    add(has, has ? best.model_flops_share() : 0);
    add(has, offer.efficiency);
    add(has && best.nodes > 1, offer.network_gain);
    add(has_plan, cost.days);
    add(has_plan && has_range, cost.days_low);
    add(has_plan && has_range, cost.days_high);
    add(has_plan, cost.gpu_hours);
    add(has_plan && !asked.hour_prices.empty(), cost.money);
    cells.push_back(has ? to_text(as_asked(best.layout)) : "");
    text += csv_line(cells);
  }
  return text;
}

}  // namespace forescale
