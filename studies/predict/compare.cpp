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

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kOnePercent = 1.01;
constexpr double kSlowest = 1.0 / 16;  // of the network's factors that are looked at
constexpr int kBisections = 7;         // of a factor: to (64 * 16)^(1/128), 6 %

std::vector<double> iterations_s(Asker& asker, const std::vector<Question>& questions,
                                 const std::string& label) {
  std::vector<double> times_s;
  for (const RangedAnswer& answer : asker.ask(questions, {.label = label}))
    times_s.push_back(answer.nominal.training.iteration_s);
  return times_s;
}

std::optional<NetworkNeed> network_need(Asker& asker, const Question& question) {
  const Platform& platform = asker.inputs(question).platform;
  const std::vector<int> classes = node_link_classes(platform);
  if (classes.empty()) return std::nullopt;
  NetworkNeed need{.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity()};
  for (const int index : classes)
    need.bandwidth_bytes_per_s =
        std::min(need.bandwidth_bytes_per_s,
                 platform.link_classes[static_cast<size_t>(index)].bandwidth.value);
  const auto with = [&](double factor) {
    Question changed = question;
    changed.network_scale *= factor;
    return changed;
  };
  const std::vector<double> ends_s =
      iterations_s(asker, {with(kFastest), with(1), with(kSlowest)}, "network speeds");
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
    const double time_s = iterations_s(asker, {with(middle)}, "network speeds").front();
    (time_s <= wanted_s ? high : low) = middle;
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

// A number whose sensitivity is asked for.
struct AskedNumber {
  std::string file;
  std::string path;
  double factor = 1;  // what makes it 1 % faster
};

// The first `depth` steps of a JSON pointer, all of it at most.
std::string begin_of(const std::string& path, int depth) {
  std::size_t end = 0;
  for (int step = 0; step < depth && end != std::string::npos; ++step)
    end = path.find('/', end + 1);
  return path.substr(0, end);
}

// Numbers of a file, by where their paths part.
std::vector<std::vector<std::size_t>> parted(const std::vector<AskedNumber>& numbers,
                                             const std::vector<std::size_t>& group) {
  std::map<std::string, std::vector<std::size_t>> parts;
  for (int depth = 1; parts.size() < 2; ++depth) {
    parts.clear();
    for (const std::size_t number : group)
      parts[begin_of(numbers[number].path, depth)].push_back(number);
  }
  std::vector<std::vector<std::size_t>> all;
  for (auto& [begin, members] : parts) all.push_back(std::move(members));
  return all;
}

Question with_faster(Question question, const std::vector<AskedNumber>& numbers,
                     const std::vector<std::size_t>& group) {
  for (const std::size_t number : group) {
    const AskedNumber& one = numbers[number];
    question.number_scales.emplace(one.file + ":" + one.path, 1).first->second *= one.factor;
  }
  return question;
}

// Percent, by number. Those that gain nothing together are not asked apart: a stack has hundreds
// of numbers, of which a few matter.
std::vector<double> gains_of(Asker& asker, const Question& question, double base_s,
                             const std::vector<AskedNumber>& numbers) {
  std::vector<double> gains_percent(numbers.size(), 0);
  std::map<std::string, std::vector<std::size_t>> by_file;
  for (std::size_t i = 0; i < numbers.size(); ++i) by_file[numbers[i].file].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [file, members] : by_file) groups.push_back(std::move(members));
  while (!groups.empty()) {
    std::vector<Question> questions;
    for (const auto& group : groups) questions.push_back(with_faster(question, numbers, group));
    const std::vector<double> times_s = iterations_s(asker, questions, "1 % faster");
    std::vector<std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double gain_percent = 100 * (1 - times_s[i] / base_s);
      if (groups[i].size() == 1)
        gains_percent[groups[i].front()] = gain_percent;
      else if (std::abs(gain_percent) >= kNegligible_percent)
        for (auto& part : parted(numbers, groups[i])) parts.push_back(std::move(part));
    }
    groups = std::move(parts);
  }
  return gains_percent;
}

std::vector<Sensitivity> sensitivities_of(Asker& asker, const Question& question) {
  std::vector<Sensitivity> found{{.what = "GPU compute"}};
  std::vector<AskedNumber> numbers;
  std::set<std::pair<std::string, std::string>> seen;
  const PredictionInputs& inputs = asker.inputs(question);
  for (const Provenance* provenance : {&inputs.platform.provenance, &inputs.stack.provenance})
    for (const NumberSource& number : provenance->numbers) {
      const std::string file = project_path(number.file);
      const Direction direction = faster(number.path);
      if (direction == Direction::kNone || number.value == 0 ||
          !seen.insert({file, number.path}).second)
        continue;
      found.push_back(
          {.what = file + " " + number.path, .value = number.value, .assumed = number.assumed});
      numbers.push_back({.file = file,
                         .path = number.path,
                         .factor = direction == Direction::kMore ? kOnePercent : 1 / kOnePercent});
    }
  Question faster_gpu = question;
  faster_gpu.compute_scale /= kOnePercent;
  const std::vector<double> times_s = iterations_s(asker, {question, faster_gpu}, "1 % faster");
  found.front().gain_percent = 100 * (1 - times_s[1] / times_s[0]);
  const std::vector<double> gains_percent = gains_of(asker, question, times_s[0], numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) found[i + 1].gain_percent = gains_percent[i];
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

Nodes nodes_by_gpus(const Platform& platform) {
  return {.per_node = std::max(1, platform.slot_count() / std::max(1, platform.node_count))};
}

// Predictions of more counts as they are asked for.
class Rows {
 public:
  Rows(Asker& asker, const Prediction& prediction) : asker_(asker), question_(prediction.question) {
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
  double epoch_s(int gpus) { return at(gpus).epoch_s; }

 private:
  void keep(int gpus, const Row& row) { rows_.emplace(gpus, row); }
  const Row& at(int gpus) {
    if (rows_.find(gpus) == rows_.end()) {
      Question one = question_;
      one.gpus = {gpus};
      keep(gpus, run_prediction(one, {.draws = Draws::kNominal}, asker_).rows.front());
    }
    return rows_.at(gpus);
  }
  Asker& asker_;
  const Question& question_;
  std::map<int, Row> rows_;
  Row first_;
};

void find_where_it_pays(Contender& contender, const CompareSettings& settings,
                        double node_price_per_h, Asker& asker, const Nodes& nodes) {
  Rows rows(asker, contender.prediction);
  if (rows.empty()) return;
  const std::vector<int> counts = rows.counts();
  int good = 0;
  int bad = 0;
  for (const int gpus : counts)
    if (rows.efficiency(gpus) >= settings.efficiency_min)
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
      (rows.efficiency(middle * nodes.per_node) >= settings.efficiency_min ? low : high) = middle;
    }
    good = std::max(good, low * nodes.per_node);
  }
  contender.pays_up_to_gpus = good;
  contender.pays_up_to_nodes = nodes.of(good);
  if (node_price_per_h <= 0) return;
  constexpr double kHour_s = 3600;
  const auto cost = [&](int gpus) {
    return rows.epoch_s(gpus) / kHour_s *
           (nodes.of(gpus) * node_price_per_h + settings.time_value_per_h);
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

// The question on one of several platforms, with the counts that it holds. InputError when it holds
// none.
Question on_platform(Question question, const std::string& platform) {
  question.platform = platform;
  if (question.gpus.empty()) return question;
  const std::string asked = question_field("gpus").print(question).front();
  const int slots = load_platform(platform).slot_count();
  std::erase_if(question.gpus, [&](std::int64_t count) { return count > slots; });
  if (question.gpus.empty())
    refuse("--gpus", asked,
           fmt::format("must name a count that {} holds: at most {}", platform, slots));
  return question;
}

void check_some_platform_holds(const CompareSettings& settings) {
  int most = 0;
  for (const std::string& platform : settings.platforms)
    most = std::max(most, load_platform(platform).slot_count());
  for (const std::int64_t count : settings.question.gpus)
    if (count > most)
      refuse("--gpus", std::to_string(count),
             fmt::format("is more than each of the platforms holds: at most {}", most));
}

Contender contender_of(const CompareSettings& settings, const Question& question,
                       double node_price_per_h, Asker& asker) {
  const PredictionInputs& inputs = asker.inputs(question);
  Contender contender{.platform = question.platform,
                      .system = question.system.empty() ? inputs.schedule->name : question.system,
                      .prediction = run_prediction(question, {.draws = settings.draws}, asker)};
  find_where_it_pays(contender, settings, node_price_per_h, asker, nodes_by_gpus(inputs.platform));
  for (const Row& row : contender.prediction.rows)
    if (row.point.fits) contender.at_gpus = std::max(contender.at_gpus, row.point.gpus);
  if (contender.at_gpus == 0) return contender;
  Question largest = question;
  largest.gpus = {contender.at_gpus};
  if (settings.network && nodes_by_gpus(inputs.platform).of(contender.at_gpus) > 1)
    contender.network = network_need(asker, largest);
  if (settings.sensitivity) contender.sensitivities = sensitivities_of(asker, largest);
  return contender;
}

}  // namespace

double of_platform(const std::vector<double>& values, std::size_t platform, std::size_t platforms,
                   const std::string& option) {
  if (values.empty()) return 0;
  const std::string text = fmt::format("{}", fmt::join(values, ","));
  if (values.size() != 1 && values.size() != platforms)
    refuse(option, text, fmt::format("must be one for all, or one for each of {}", platforms));
  for (const double value : values)
    if (!std::isfinite(value) || value < 0) refuse(option, text, "must be numbers >= 0");
  return values.size() == 1 ? values.front() : values[platform];
}

void check_efficiency(double efficiency_min) {
  if (!(efficiency_min > 0) || efficiency_min > 1)
    refuse("--efficiency", fmt::format("{}", efficiency_min), "must be above 0 and at most 1");
}

Comparison compare(const CompareSettings& settings) {
  check_efficiency(settings.efficiency_min);
  if (settings.time_value_per_h > 0 && settings.node_prices_per_h.empty())
    throw InputError({.source = "--time-value",
                      .path = "",
                      .value = fmt::format("{}", settings.time_value_per_h),
                      .constraint = "is weighed against --node-price: give that too"});
  Comparison comparison{.efficiency_min = settings.efficiency_min};
  const std::vector<std::string> systems =
      settings.systems.empty() ? std::vector<std::string>{""} : settings.systems;
  // All that was asked is looked at before the first simulation.
  check_some_platform_holds(settings);
  struct Asked {
    Question question;
    double node_price_per_h = 0;
  };
  Asker asker;
  std::vector<Asked> all;
  for (std::size_t i = 0; i < settings.platforms.size(); ++i)
    for (const std::string& system : systems) {
      all.push_back({.question = on_platform(settings.question, settings.platforms[i]),
                     .node_price_per_h = of_platform(settings.node_prices_per_h, i,
                                                     settings.platforms.size(), "--node-price")});
      Question& question = all.back().question;
      question.system = system;
      const PredictionInputs& inputs = asker.inputs(question);
      gpu_counts(question, inputs);
      comparison.title = fmt::format("{}, batch {} {}", inputs.network.name, inputs.batch,
                                     inputs.scaling == Scaling::kStrong ? "in all" : "a GPU");
    }
  for (const auto& [question, node_price_per_h] : all)
    comparison.contenders.push_back(contender_of(settings, question, node_price_per_h, asker));
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
