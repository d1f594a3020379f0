#include "models/compute/compute_hold_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/data_files.hpp"
#include "base/huber.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/line_fit.hpp"
#include "models/compute/measurements.hpp"

namespace forescale {
namespace {

constexpr const char* kZoo = "models/workload/zoo";

// One published time and what its network's layers add up to.
struct Timed {
  HeldOutTime time;
  double update_s = 0;
  double products_s = 0;
  double others_s = 0;
  double kernels = 0;
};

using Factors = std::array<double, 3>;  // logarithms of a, b, c

double square(double x) { return x * x; }

double predicted_s(const Timed& timed, const Factors& factors) {
  return std::exp(factors[0]) * timed.products_s + std::exp(factors[1]) * timed.others_s +
         std::exp(factors[2]) * timed.kernels + timed.update_s;
}

struct Weighted {
  const Timed* timed;
  double weight;
};

double loss(const Factors& factors, const std::vector<Weighted>& rows) {
  constexpr double kHuber = 0.2;
  constexpr double kError = 0.15;
  const double typical_kernel = std::log(1e-5);
  double sum = 0;
  for (const Weighted& row : rows) {
    sum += row.weight *
           huber(std::log(row.timed->time.measured_s / predicted_s(*row.timed, factors)), kHuber);
  }
  return sum / square(kError) + square((factors[0] - factors[1]) / 0.8) / 2 +
         square(factors[0] / 1.5) / 2 + square(factors[2] - typical_kernel) / 2;
}

Factors fit(const std::vector<Weighted>& rows) {
  constexpr std::array<Factors, 4> kDirections{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}}};
  Factors factors{0, 0, std::log(1e-5)};
  double best = loss(factors, rows);
  for (double step = 0.5; step > 1e-3; step /= 2)
    for (bool improved = true; improved;) {
      improved = false;
      for (const Factors& direction : kDirections)
        for (const double sign : {step, -step}) {
          Factors tried = factors;
          for (size_t i = 0; i < tried.size(); ++i) tried[i] += sign * direction[i];
          const double value = loss(tried, rows);
          if (value >= best * (1 - 1e-9)) continue;
          best = value;
          factors = tried;
          improved = true;
        }
    }
  return factors;
}

// Cards of 2012 to 2014 (K20, K40, K80) have no table of kernels: that of the next generation.
std::string model_of(const std::string& gpu) {
  const std::vector<std::string> models = catalogue(kGpuModelFolder);
  return std::binary_search(models.begin(), models.end(), gpu) ? gpu : "m40";
}

class GpuTimes {
 public:
  explicit GpuTimes(const std::string& name)
      : gpu_(load_gpu(name, "--gpu", nullptr)),
        fitted_(load_fitted_gpu(model_of(name), "--gpu", nullptr)) {}

  // Of all networks of the zoo.
  std::vector<Timed> all() const {
    std::vector<Timed> rows;
    for (const std::string& network : catalogue(kZoo))
      for (const Framework framework : frameworks())
        for (const TimedIteration& row : used_measurements(gpu_.name, network, framework, nullptr))
          if (row.framework == framework) rows.push_back(timed(network, row));
    return rows;
  }

 private:
  Timed timed(const std::string& name, const TimedIteration& row) const {
    const Network network = load_network(row.structure.empty() ? name : row.structure, kZoo);
    const ComputeTable table =
        fitted_compute(fitted_, gpu_, network, {.is_dispatched = false}, nullptr).table;
    Timed timed;
    timed.update_s = table.update_s;
    const auto batch = static_cast<double>(row.batch);
    for (size_t i = 0; i < network.layers.size(); ++i) {
      const Layer& layer = network.layers[i];
      const LayerTime& time = table.layers[i];
      const double time_s =
          time.forward_t0_s + time.backward_t0_s + batch * (time.forward_t1_s + time.backward_t1_s);
      (layer.forward_flops > 0 ? timed.products_s : timed.others_s) += time_s;
      constexpr double kPasses = 3;  // forward and two gradients
      if (layer.traffic_per_image.value > 0) timed.kernels += kPasses;
    }
    timed.time = {.gpu = gpu_.name,
                  .network = name,
                  .framework = row.framework,
                  .batch = row.batch,
                  .measured_s = row.iteration.value + (row.includes_update ? 0 : timed.update_s)};
    return timed;
  }

  GpuModel gpu_;
  FittedGpu fitted_;
};

// CaffeNet is AlexNet with two layers exchanged: no independent witness.
std::string family(const std::string& network) {
  return network == "caffenet" ? "alexnet" : network;
}

bool predict(Timed& target, const std::vector<Timed>& rows) {
  constexpr double kOtherFramework = 0.3;
  std::map<std::pair<std::string, Framework>, double> counts;
  std::set<std::string> networks;
  const auto is_other = [&](const Timed& row) {
    return family(row.time.network) != family(target.time.network);
  };
  for (const Timed& row : rows)
    if (is_other(row)) ++counts[{row.time.network, row.time.framework}];
  std::vector<Weighted> others;
  for (const Timed& row : rows) {
    if (!is_other(row)) continue;
    const double weight = row.time.framework == target.time.framework ? 1 : kOtherFramework;
    others.push_back({&row, weight / counts[{row.time.network, row.time.framework}]});
    networks.insert(row.time.network);
  }
  if (others.empty()) return false;
  target.time.predicted_s = predicted_s(target, fit(others));
  target.time.fitted_on =
      fmt::format("{} times of {} other networks", others.size(), networks.size());
  return true;
}

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<HeldOutTime> predict_from_other_networks(const std::vector<std::string>& gpus,
                                                     const std::vector<std::string>& networks) {
  std::vector<HeldOutTime> times;
  for (const std::string& gpu : gpus) {
    const std::vector<Timed> rows = GpuTimes(gpu).all();
    for (Timed row : rows)
      if (is_listed(networks, row.time.network) && predict(row, rows)) times.push_back(row.time);
  }
  return times;
}

std::vector<HeldOutTime> predict_from_other_batches(const std::vector<std::string>& gpus,
                                                    const std::vector<std::string>& networks) {
  std::vector<HeldOutTime> times;
  for (const std::string& gpu : gpus) {
    const std::vector<Timed> rows = GpuTimes(gpu).all();
    for (Timed row : rows) {
      std::vector<TimedBatch> points;
      for (const Timed& other : rows)
        if (other.time.network == row.time.network && other.time.framework == row.time.framework &&
            other.time.batch != row.time.batch)
          points.push_back(
              {.batch = static_cast<double>(other.time.batch), .time_s = other.time.measured_s});
      if (!is_listed(networks, row.time.network) || !has_several_batches(points)) continue;
      const BatchLine line = fit_line(points);
      row.time.predicted_s = line.t0_s + static_cast<double>(row.time.batch) * line.t1_s;
      row.time.fitted_on = fmt::format("{} times at other batches", points.size());
      times.push_back(row.time);
    }
  }
  return times;
}

}  // namespace forescale
