#include "studies/predict/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/what_if.hpp"
#include "sim/isolate.hpp"
#include "studies/predict/progress.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kOnePercent = 1.01;
constexpr double kSlowest = 1.0 / 16;  // of the network's factors that are looked at
constexpr int kBisections = 7;         // of a factor: to (64 * 16)^(1/128), 6 %

// Of one GPU count, in a process of its own.
double iteration_s(const PredictionInputs& inputs, int gpus) {
  return predict_point(inputs, gpus, nullptr).iteration_s;
}

std::vector<double> iterations_s(const std::vector<std::function<double()>>& questions,
                                 const std::string& label) {
  std::vector<std::function<std::string()>> tasks;
  for (const auto& question : questions)
    tasks.push_back([&question] { return json(question()).dump(); });
  ProgressLine progress(label, tasks.size());
  std::vector<double> answers;
  for (const std::string& text :
       run_isolated(tasks, available_cores(), [&](size_t finished) { progress.done(finished); }))
    answers.push_back(parse_json(text).get<double>());
  return answers;
}

std::vector<int> node_links(const Platform& platform) {
  std::set<int> classes;
  for (const Link& link : platform.links) {
    const Device& from = platform.devices[static_cast<size_t>(link.from)];
    const Device& to = platform.devices[static_cast<size_t>(link.to)];
    if (from.node != to.node) classes.insert(link.link_class);
  }
  return {classes.begin(), classes.end()};
}

std::optional<NetworkNeed> network_need(const PredictionInputs& inputs, int gpus) {
  const std::vector<int> classes = node_links(inputs.platform);
  if (classes.empty()) return std::nullopt;
  NetworkNeed need{.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity()};
  for (const int index : classes)
    need.bandwidth_bytes_per_s =
        std::min(need.bandwidth_bytes_per_s,
                 inputs.platform.link_classes[static_cast<size_t>(index)].bandwidth.value);
  const auto with = [&](double factor) {
    return [&, factor] {
      PredictionInputs changed = inputs;
      for (const int index : classes)
        changed.platform.link_classes[static_cast<size_t>(index)].bandwidth.value *= factor;
      return iteration_s(changed, gpus);
    };
  };
  const std::vector<double> ends_s =
      iterations_s({with(kFastest), with(1), with(kSlowest)}, "network speeds");
  const double wanted_s = kNetworkFree * ends_s[0];
  need.gain_fastest = ends_s[1] / ends_s[0] - 1;
  if (ends_s[2] <= wanted_s) {
    need.factor = kSlowest;
    return need;
  }
  double low = kSlowest;  // too slow
  double high = kFastest;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::sqrt(low * high);
    (iterations_s({with(middle)}, "network speeds").front() <= wanted_s ? high : low) = middle;
  }
  need.factor = high;
  return need;
}

enum class Direction { kMore, kLess, kNone };  // of a number that is 1 % faster
Direction faster(const std::string& path) {
  const std::string key = path.substr(path.rfind('/') + 1);
  for (const char* rate : {"per_s", "bandwidth", "flops"})
    if (key.find(rate) != std::string::npos) return Direction::kMore;
  if (key.ends_with("_s") || key.find("latency") != std::string::npos) return Direction::kLess;
  return Direction::kNone;
}

std::vector<Sensitivity> sensitivities_of(const PredictionText& text,
                                          const PredictionInputs& inputs, int gpus) {
  std::vector<Sensitivity> found{{.what = "GPU compute"}};
  std::vector<std::function<double()>> questions{
      [&] { return iteration_s(inputs, gpus); },
      [&] {
        PredictionText changed = text;
        changed.compute_scale /= kOnePercent;
        return iteration_s(load_inputs(changed, Scenario::kNominal), gpus);
      }};
  std::set<std::pair<std::string, std::string>> seen;
  for (const Provenance* provenance : {&inputs.platform.provenance, &inputs.stack.provenance})
    for (const NumberSource& number : provenance->numbers) {
      const Direction direction = faster(number.path);
      if (direction == Direction::kNone || number.value == 0 ||
          !seen.insert({number.file, number.path}).second)
        continue;
      const std::string file = number.file.starts_with(data_path(""))
                                   ? number.file.substr(data_path("").size())
                                   : number.file;
      found.push_back(
          {.what = file + " " + number.path, .value = number.value, .assumed = number.assumed});
      const double factor = direction == Direction::kMore ? kOnePercent : 1 / kOnePercent;
      questions.push_back([&text, gpus, factor, file = number.file, path = number.path] {
        scale_number(file, path, factor);
        return iteration_s(load_inputs(text, Scenario::kNominal), gpus);
      });
    }
  const std::vector<double> times_s = iterations_s(questions, "1 % faster");
  for (size_t i = 0; i < found.size(); ++i)
    found[i].gain_percent = 100 * (1 - times_s[i + 1] / times_s[0]);
  std::stable_sort(found.begin(), found.end(), [](const Sensitivity& a, const Sensitivity& b) {
    return a.gain_percent > b.gain_percent;
  });
  return found;
}

// GPUs of whole nodes, and the nodes of a count.
struct Nodes {
  int per_node = 1;
  int of(int gpus) const { return (gpus + per_node - 1) / per_node; }
};

Nodes nodes_of(const Platform& platform) {
  return {.per_node = std::max(1, platform.slot_count() / std::max(1, platform.node_count))};
}

// Predictions of more counts as they are asked for.
class Rows {
 public:
  Rows(const PredictionText& text, const Prediction& prediction) : text_(text) {
    for (const Row& row : prediction.rows)
      if (row.point.fits) keep(row.point.gpus, row);
    if (!rows_.empty()) first_ = rows_.begin()->second;
  }
  bool empty() const { return rows_.empty(); }
  std::vector<int> counts() const {
    std::vector<int> counts;
    for (const auto& [gpus, row] : rows_) counts.push_back(gpus);
    return counts;
  }
  double efficiency(int gpus) {
    return at(gpus).point.images_per_s / first_.point.images_per_s * first_.point.gpus / gpus;
  }
  double epoch_s(int gpus) {
    return first_.epoch_s * first_.point.images_per_s / at(gpus).point.images_per_s;
  }

 private:
  void keep(int gpus, const Row& row) { rows_.emplace(gpus, row); }
  const Row& at(int gpus) {
    if (rows_.find(gpus) == rows_.end()) {
      PredictionText one = text_;
      one.gpus = std::to_string(gpus);
      one.range = false;
      one.trace.clear();
      keep(gpus, run_prediction(one).rows.front());
    }
    return rows_.at(gpus);
  }
  const PredictionText& text_;
  std::map<int, Row> rows_;
  Row first_;
};

void find_where_it_pays(Contender& contender, const CompareText& text,
                        const PredictionText& prediction, const Nodes& nodes) {
  Rows rows(prediction, contender.prediction);
  if (rows.empty()) return;
  const std::vector<int> counts = rows.counts();
  int good = 0;
  int bad = 0;
  for (const int gpus : counts)
    if (rows.efficiency(gpus) >= text.efficiency_min)
      good = gpus;
    else if (good > 0 && bad <= good)
      bad = gpus;
  contender.pays_to_the_end = good == counts.back();
  if (!contender.pays_to_the_end && good > 0 && bad > good) {
    // Whole nodes between the last count that does and the next that does not.
    int low = good / nodes.per_node;
    int high = nodes.of(bad);
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (rows.efficiency(middle * nodes.per_node) >= text.efficiency_min ? low : high) = middle;
    }
    good = std::max(good, low * nodes.per_node);
  }
  contender.pays_up_to_gpus = good;
  contender.pays_up_to_nodes = nodes.of(good);
  if (text.node_price_per_h <= 0) return;
  constexpr double kHour_s = 3600;
  const auto cost = [&](int gpus) {
    return rows.epoch_s(gpus) / kHour_s *
           (nodes.of(gpus) * text.node_price_per_h + text.time_value_per_h);
  };
  int best = counts.front();
  for (const int gpus : counts)
    if (cost(gpus) < cost(best)) best = gpus;
  // Between its neighbours, to the node.
  const auto at = std::find(counts.begin(), counts.end(), best);
  int low = nodes.of(at == counts.begin() ? best : *(at - 1));
  int high = nodes.of(at + 1 == counts.end() ? best : *(at + 1));
  while (high - low > 2) {
    const int left = low + (high - low) / 3;
    const int right = high - (high - low) / 3;
    if (cost(left * nodes.per_node) <= cost(right * nodes.per_node))
      high = right;
    else
      low = left;
  }
  for (int node = low; node <= high; ++node)
    if (const int gpus = node * nodes.per_node; gpus <= counts.back() && cost(gpus) < cost(best))
      best = gpus;
  contender.cheapest_gpus = best;
  contender.cheapest_epoch_cost = cost(best);
}

// One contender's prediction: the counts that its platform holds. InputError when it holds none.
PredictionText prediction_text(const CompareText& text, const std::string& platform,
                               const std::string& system) {
  PredictionText prediction = text.prediction;
  prediction.platform = platform;
  prediction.system = system;
  if (prediction.gpus.empty()) return prediction;
  const int slots = load_platform(platform, Scenario::kNominal).slot_count();
  std::vector<std::int64_t> counts = parse_integers(prediction.gpus, "--gpus");
  std::erase_if(counts, [&](std::int64_t count) { return count > slots; });
  if (counts.empty())
    throw InputError({.source = "--gpus",
                      .path = "",
                      .value = prediction.gpus,
                      .constraint = fmt::format("must name a count that {} holds: at most {}",
                                                platform, slots)});
  prediction.gpus = fmt::format("{}", fmt::join(counts, ","));
  return prediction;
}

Contender contender_of(const CompareText& text, const std::string& platform,
                       const std::string& system) {
  const PredictionText prediction = prediction_text(text, platform, system);
  const PredictionInputs inputs = load_inputs(prediction, Scenario::kNominal);
  Contender contender{.platform = platform,
                      .system = system.empty() ? inputs.schedule->name : system,
                      .prediction = run_prediction(prediction)};
  find_where_it_pays(contender, text, prediction, nodes_of(inputs.platform));
  for (const Row& row : contender.prediction.rows)
    if (row.point.fits) contender.at_gpus = std::max(contender.at_gpus, row.point.gpus);
  if (contender.at_gpus == 0) return contender;
  if (text.network && nodes_of(inputs.platform).of(contender.at_gpus) > 1)
    contender.network = network_need(inputs, contender.at_gpus);
  if (text.sensitivity)
    contender.sensitivities = sensitivities_of(prediction, inputs, contender.at_gpus);
  return contender;
}

}  // namespace

Comparison compare(const CompareText& text) {
  if (text.efficiency_min <= 0 || text.efficiency_min > 1)
    throw InputError({.source = "--efficiency",
                      .path = "",
                      .value = fmt::format("{}", text.efficiency_min),
                      .constraint = "must be above 0 and at most 1"});
  if (text.time_value_per_h > 0 && text.node_price_per_h <= 0)
    throw InputError({.source = "--time-value",
                      .path = "",
                      .value = fmt::format("{}", text.time_value_per_h),
                      .constraint = "is weighed against --node-price: give that too"});
  Comparison comparison{.efficiency_min = text.efficiency_min};
  const std::vector<std::string> systems =
      text.systems.empty() ? std::vector<std::string>{""} : text.systems;
  // All that was typed is looked at before the first simulation.
  for (const std::string& platform : text.platforms)
    for (const std::string& system : systems) {
      const PredictionText prediction = prediction_text(text, platform, system);
      const PredictionInputs inputs = load_inputs(prediction, Scenario::kNominal);
      gpu_counts(prediction, inputs);
      comparison.title = fmt::format("{}, batch {} {}", inputs.network.name, inputs.batch,
                                     inputs.scaling == Scaling::kStrong ? "in all" : "a GPU");
    }
  for (const std::string& platform : text.platforms)
    for (const std::string& system : systems)
      comparison.contenders.push_back(contender_of(text, platform, system));
  return comparison;
}

json to_json(const Comparison& comparison) {
  json contenders = json::array();
  for (const Contender& one : comparison.contenders) {
    json sensitivities = json::array();
    for (const Sensitivity& each : one.sensitivities)
      sensitivities.push_back({{"what", each.what},
                               {"value", each.value},
                               {"assumed", each.assumed},
                               {"gain_percent", each.gain_percent}});
    json text{{"platform", one.platform},
              {"system", one.system},
              {"prediction", to_json(one.prediction)},
              {"pays_up_to_gpus", one.pays_up_to_gpus},
              {"pays_up_to_nodes", one.pays_up_to_nodes},
              {"pays_to_the_end", one.pays_to_the_end},
              {"at_gpus", one.at_gpus},
              {"sensitivities", sensitivities}};
    if (one.cheapest_gpus > 0)
      text["cheapest"] = {{"gpus", one.cheapest_gpus}, {"epoch_cost", one.cheapest_epoch_cost}};
    if (one.network)
      text["network"] = {{"factor", one.network->factor},
                         {"bandwidth_bytes_per_s", one.network->bandwidth_bytes_per_s},
                         {"gain_fastest", one.network->gain_fastest}};
    contenders.push_back(std::move(text));
  }
  return {{"format", "forescale-comparison-1"},
          {"title", comparison.title},
          {"efficiency_min", comparison.efficiency_min},
          {"contenders", contenders}};
}

}  // namespace forescale
