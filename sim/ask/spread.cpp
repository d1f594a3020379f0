#include "sim/ask/spread.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/data_files.hpp"
#include "base/json_input.hpp"

namespace forescale {
namespace {

constexpr double kOneSided = 1.6449;  // standard deviations to the 95th percentile of a normal

// At the ends: the busiest resource of the network is never in use, or all the time.
struct UnmodelledEnds {
  Unmodelled idle;
  Unmodelled busy;
};

struct UnmodelledFile {
  UnmodelledEnds training_synthetic;
  UnmodelledEnds training_reading;
  UnmodelledEnds training_kernels;
  UnmodelledEnds collective_one_node;
  UnmodelledEnds collective_several_nodes;
};

const UnmodelledFile& unmodelled_file() {
  static const UnmodelledFile kRead = [] {
    Provenance provenance;
    const JsonInput in = JsonInput::from_file(data_path("models/unmodelled.json"), &provenance);
    in.allow_only({"format", "training", "collective"});
    in.at("format").one_of({"forescale-unmodelled-2"});
    const auto read = [&](const JsonInput& at, const char* end) {
      const JsonInput of = at.at(end);
      of.allow_only({"faster", "slower"});
      return Unmodelled{.faster = of.at("faster").factor(0, 0.9),
                        .slower = of.at("slower").factor(0, 9)};
    };
    const auto read_ends = [&](const char* about, const char* kind) {
      const JsonInput at = in.at(about).at(kind);
      at.allow_only({"idle", "busy"});
      return UnmodelledEnds{.idle = read(at, "idle"), .busy = read(at, "busy")};
    };
    return UnmodelledFile{.training_synthetic = read_ends("training", "synthetic"),
                          .training_reading = read_ends("training", "reading"),
                          .training_kernels = read_ends("training", "kernels"),
                          .collective_one_node = read_ends("collective", "one_node"),
                          .collective_several_nodes = read_ends("collective", "several_nodes")};
  }();
  return kRead;
}

const UnmodelledEnds& unmodelled_ends(const Answer& answer) {
  const UnmodelledFile& all = unmodelled_file();
  if (answer.about == Question::About::kTraining)
    return answer.reads_images   ? all.training_reading
           : answer.from_kernels ? all.training_kernels
                                 : all.training_synthetic;
  return answer.nodes > 1 ? all.collective_several_nodes : all.collective_one_node;
}

// Deviations of independent influences, in logarithms where all values are above 0.
class Deviations {
 public:
  Deviations(double value, bool logarithmic) : value_(value), logarithmic_(logarithmic) {}

  // Of one influence: what the value would be at its two ends, and how far towards them it goes.
  void add(const std::string& influence, double one, double other, double share) {
    const auto [low, high] = std::minmax({away(one), away(other), 0.0});
    below_ += std::pow(share * low, 2);
    above_ += std::pow(share * high, 2);
    parts_[influence] += std::pow(share * low, 2) + std::pow(share * high, 2);
  }

  Spread spread() const {
    Spread spread{.value = value_,
                  .low = back(-std::sqrt(below_)),
                  .high = back(std::sqrt(above_)),
                  .shares = {}};
    for (const auto& [influence, part] : parts_)
      if (below_ + above_ > 0) spread.shares[influence] = part / (below_ + above_);
    return spread;
  }

 private:
  double away(double other) const {
    return logarithmic_ ? std::log(other / value_) : other - value_;
  }
  double back(double deviation) const {
    return logarithmic_ ? value_ * std::exp(deviation) : value_ + deviation;
  }
  double value_;
  bool logarithmic_;
  double below_ = 0;
  double above_ = 0;
  std::map<std::string, double> parts_;
};

std::vector<Answer> nominal_of(const std::vector<const RangedAnswer*>& answers) {
  std::vector<Answer> nominal;
  for (const RangedAnswer* answer : answers) nominal.push_back(answer->nominal);
  return nominal;
}

// The q-quantile of sorted values, between neighbours.
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

// A standard normal number that follows from a draw and a name.
double normal(int draw, const std::string& name) {
  const Scenario scenario = Scenario::drawn(draw);
  // Twelve triangular numbers, of variance 1/6 each, add up to one of variance 2.
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += scenario.position("unmodelled", name + std::to_string(i));
  return sum / std::sqrt(2.0);
}

Spread spread_of_draws(const std::vector<const RangedAnswer*>& answers,
                       const std::function<double(const std::vector<Answer>&)>& value) {
  Spread spread{.value = value(nominal_of(answers)), .shares = {}};
  spread.low = spread.high = spread.value;
  std::vector<double> values;
  for (size_t draw = 0; draw < answers.front()->drawn.size(); ++draw) {
    std::vector<Answer> drawn;
    for (size_t i = 0; i < answers.size(); ++i) {
      const Answer& answer = answers[i]->drawn.at(draw);
      if (!answer.is_there()) {
        spread.is_known = false;
        return spread;
      }
      const Unmodelled left_out = unmodelled(answer);
      const double drawn_at = normal(static_cast<int>(draw), std::to_string(i));
      const double end = drawn_at < 0 ? -std::log1p(-left_out.faster) : std::log1p(left_out.slower);
      drawn.push_back(with_time(answer, std::exp(end * drawn_at / kOneSided)));
    }
    values.push_back(value(drawn));
  }
  std::sort(values.begin(), values.end());
  spread.low = std::min(spread.value, quantile(values, 0.05));
  spread.high = std::max(spread.value, quantile(values, 0.95));
  return spread;
}

}  // namespace

Unmodelled unmodelled(const Answer& answer) {
  if (answer.unmodelled) return *answer.unmodelled;
  const UnmodelledEnds& ends = unmodelled_ends(answer);
  const double share = std::clamp(answer.busiest_share(), 0.0, 1.0);
  const auto between = [&](double idle, double busy) {
    return std::expm1(std::lerp(std::log1p(idle), std::log1p(busy), share));
  };
  return {.faster = -between(-ends.idle.faster, -ends.busy.faster),
          .slower = between(ends.idle.slower, ends.busy.slower)};
}

std::vector<NumberShare> shares_of(const std::vector<NumberSource>& numbers,
                                   const std::vector<double>& drawn) {
  const auto count = static_cast<double>(drawn.size());
  const auto centred = [&](std::vector<double> values) {
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    for (double& value : values) value -= mean;
    return values;
  };
  const auto product = [](const std::vector<double>& one, const std::vector<double>& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
  };
  std::vector<double> logarithms;
  for (const double value : drawn) logarithms.push_back(std::log(value));
  logarithms = centred(std::move(logarithms));
  // What chance alone gives one number in a hundred: the 99th percentile of a squared correlation
  // of so many pairs that have nothing to do with each other, chi squared with one degree of
  // freedom.
  const double by_chance = 6.63 / std::max(1.0, count - 1);
  std::vector<NumberShare> shares;
  for (const NumberSource& number : numbers) {
    if (number.fast == number.slow) continue;
    std::vector<double> positions;
    for (size_t draw = 0; draw < drawn.size(); ++draw)
      positions.push_back(
          Scenario::drawn(static_cast<int>(draw)).position(number.file, number.path));
    positions = centred(std::move(positions));
    const double scatter = product(positions, positions) * product(logarithms, logarithms);
    const double share = scatter > 0 ? std::pow(product(positions, logarithms), 2) / scatter : 0;
    if (share > by_chance) shares.push_back({number, share});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const NumberShare& a, const NumberShare& b) { return a.share > b.share; });
  return shares;
}

Answer with_compute(Answer answer, double ratio) {
  if (answer.about != Question::About::kTraining || ratio == 1) return answer;
  PredictionPoint& point = answer.training;
  double passes_s = 0;
  for (const char* pass : {"forward", "backward"}) {
    const auto found = point.root_s.find(pass);
    if (found == point.root_s.end()) continue;
    passes_s += found->second;
    found->second *= ratio;
  }
  point.compute_s += (ratio - 1) * passes_s;
  point.iteration_s += (ratio - 1) * passes_s;
  point.images_per_s = static_cast<double>(point.images_per_iteration) / point.iteration_s;
  return answer;
}

Answer with_time(Answer answer, double factor) {
  answer.collective.time_s *= factor;
  PredictionPoint& point = answer.training;
  point.iteration_s *= factor;
  point.images_per_s /= factor;
  point.exposed_communication_s *= factor;
  for (auto& [phase, time_s] : point.root_s) time_s *= factor;
  return answer;
}

Spread spread_of(const std::vector<const RangedAnswer*>& answers,
                 const std::function<double(const std::vector<Answer>&)>& value) {
  const std::vector<Answer> nominal = nominal_of(answers);
  if (answers.empty()) {
    const double alone = value(nominal);
    return {.value = alone, .low = alone, .high = alone};
  }
  if (!answers.front()->drawn.empty()) return spread_of_draws(answers, value);
  const double middle = value(nominal);
  Spread none{.value = middle, .low = middle, .high = middle, .is_known = false};
  std::vector<std::array<double, 2>> ends;  // by influence: machine, compute, then unmodelled
  std::vector<Answer> fast, slow, fast_compute, slow_compute;
  for (const RangedAnswer* answer : answers) {
    for (const std::optional<Answer>* end : {&answer->fast, &answer->slow})
      if (!*end || !(*end)->is_there()) return none;
    fast.push_back(*answer->fast);
    slow.push_back(*answer->slow);
    fast_compute.push_back(with_compute(answer->nominal, answer->fast->compute_ratio));
    slow_compute.push_back(with_compute(answer->nominal, answer->slow->compute_ratio));
  }
  ends.push_back({value(fast), value(slow)});
  ends.push_back({value(fast_compute), value(slow_compute)});
  for (size_t i = 0; i < answers.size(); ++i) {
    const Unmodelled left_out = unmodelled(nominal[i]);
    std::vector<Answer> quicker = nominal;
    std::vector<Answer> slower = nominal;
    quicker[i] = with_time(nominal[i], 1 - left_out.faster);
    slower[i] = with_time(nominal[i], 1 + left_out.slower);
    ends.push_back({value(quicker), value(slower)});
  }
  const bool logarithmic =
      middle > 0 && std::all_of(ends.begin(), ends.end(), [](const std::array<double, 2>& of) {
        return of[0] > 0 && of[1] > 0;
      });
  Deviations deviations(middle, logarithmic);
  deviations.add("machine", ends[0][0], ends[0][1], kJointShare);
  deviations.add("compute", ends[1][0], ends[1][1], kJointShare);
  for (size_t i = 2; i < ends.size(); ++i) deviations.add("unmodelled", ends[i][0], ends[i][1], 1);
  return deviations.spread();
}

}  // namespace forescale
