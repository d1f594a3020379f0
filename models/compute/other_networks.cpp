#include "models/compute/other_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/data_files.hpp"
#include "base/huber.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/measurements.hpp"

namespace forescale {
namespace {

constexpr const char* kZoo = "models/workload/zoo";
constexpr double kKernelsOfLayer = 3;  // forward and two gradients

using Logarithms = std::array<double, 3>;  // of a, b, c

NetworkFactors factors_of(const Logarithms& logarithms) {
  return {.products = std::exp(logarithms[0]),
          .others = std::exp(logarithms[1]),
          .kernel_s = std::exp(logarithms[2])};
}

double square(double x) { return x * x; }

struct Weighted {
  const TimeOfNetwork* time;
  double weight;
};

double loss(const Logarithms& logarithms, const std::vector<Weighted>& rows) {
  constexpr double kHuber = 0.2;
  constexpr double kError = 0.15;
  const double typical_kernel = std::log(1e-5);
  const NetworkFactors factors = factors_of(logarithms);
  double sum = 0;
  for (const Weighted& row : rows)
    sum +=
        row.weight * huber(std::log(row.time->measured_s / factors.iteration_s(*row.time)), kHuber);
  return sum / square(kError) + square((logarithms[0] - logarithms[1]) / 0.8) / 2 +
         square(logarithms[0] / 1.5) / 2 + square(logarithms[2] - typical_kernel) / 2;
}

NetworkFactors least_loss(const std::vector<Weighted>& rows) {
  constexpr std::array<Logarithms, 4> kDirections{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}}};
  Logarithms found{0, 0, std::log(1e-5)};
  double best = loss(found, rows);
  for (double step = 0.5; step > 1e-3; step /= 2)
    for (bool improved = true; improved;) {
      improved = false;
      for (const Logarithms& direction : kDirections)
        for (const double sign : {step, -step}) {
          Logarithms tried = found;
          for (size_t i = 0; i < tried.size(); ++i) tried[i] += sign * direction[i];
          const double value = loss(tried, rows);
          if (value >= best * (1 - 1e-9)) continue;
          best = value;
          found = tried;
          improved = true;
        }
    }
  return factors_of(found);
}

// Cards of 2012 to 2014 (K20, K40, K80) have no table of kernels: that of the next generation.
std::string model_of(const std::string& gpu) {
  const std::vector<std::string> models = catalogue(kGpuModelFolder);
  return std::binary_search(models.begin(), models.end(), gpu) ? gpu : "m40";
}

bool is_product(const Layer& layer) { return layer.forward_flops > 0; }

}  // namespace

double NetworkFactors::iteration_s(const TimeOfNetwork& time) const {
  return products * time.products_s + others * time.others_s + kernel_s * time.kernels +
         time.update_s;
}

OtherNetworks::OtherNetworks(const GpuModel& gpu)
    : gpu_(gpu), fitted_(load_fitted_gpu(model_of(gpu.name), "--gpu", nullptr)) {
  for (const std::string& network : catalogue(kZoo)) add_times(network);
}

const OtherNetworks& OtherNetworks::on(const GpuModel& gpu) {
  static std::map<std::string, OtherNetworks> known;
  const std::string key = fmt::format("{} {} {} {} {} {} {}", gpu.name, gpu.file, gpu.fitted,
                                      gpu.memory_bandwidth.value, gpu.peak_flops.value,
                                      gpu.kernel_launch.value, gpu.products_elsewhere);
  return known.try_emplace(key, gpu).first->second;
}

std::vector<LayerTime> OtherNetworks::by_kernels(const Network& network) const {
  return fitted_compute(fitted_, gpu_, network, {.is_dispatched = false}, nullptr).table.layers;
}

void OtherNetworks::add_times(const std::string& name) {
  for (const Framework framework : frameworks())
    for (const TimedIteration& row : used_measurements(gpu_.name, name, framework, nullptr)) {
      if (row.framework != framework) continue;
      const Network network = load_network(row.structure.empty() ? name : row.structure, kZoo);
      const std::vector<LayerTime> layers = by_kernels(network);
      TimeOfNetwork time{.network = name, .framework = framework, .batch = row.batch};
      time.update_s =
          roofline_update(gpu_, network, read_roofline_parameters(network, nullptr)).value;
      const auto batch = static_cast<double>(row.batch);
      for (size_t i = 0; i < network.layers.size(); ++i) {
        const LayerTime& layer = layers[i];
        const double layer_s = layer.forward_t0_s + layer.backward_t0_s +
                               batch * (layer.forward_t1_s + layer.backward_t1_s);
        (is_product(network.layers[i]) ? time.products_s : time.others_s) += layer_s;
        if (network.layers[i].traffic_per_image.value > 0) time.kernels += kKernelsOfLayer;
      }
      time.measured_s = row.iteration.value + (row.includes_update ? 0 : time.update_s);
      times_.push_back(std::move(time));
    }
}

std::optional<NetworkFactors> OtherNetworks::fit(
    const std::optional<Framework>& framework,
    const std::function<bool(const TimeOfNetwork&)>& counts) const {
  constexpr double kOtherFramework = 0.3;
  std::map<std::pair<std::string, Framework>, double> rows_of;
  std::set<std::string> networks;
  for (const TimeOfNetwork& time : times_)
    if (counts(time)) ++rows_of[{time.network, time.framework}];
  std::vector<Weighted> rows;
  for (const TimeOfNetwork& time : times_) {
    if (!counts(time)) continue;
    const double weight = !framework || time.framework == *framework ? 1 : kOtherFramework;
    rows.push_back({&time, weight / rows_of[{time.network, time.framework}]});
    networks.insert(time.network);
  }
  if (rows.empty()) return std::nullopt;
  NetworkFactors factors = least_loss(rows);
  factors.fitted_on = fmt::format("{} times of {} other networks", rows.size(), networks.size());
  return factors;
}

std::vector<LayerTime> OtherNetworks::layers(const Network& network,
                                             const NetworkFactors& factors) const {
  std::vector<LayerTime> layers = by_kernels(network);
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerTime& time = layers[i];
    const double factor = is_product(network.layers[i]) ? factors.products : factors.others;
    for (double* each_s :
         {&time.forward_t0_s, &time.forward_t1_s, &time.backward_t0_s, &time.backward_t1_s})
      *each_s *= factor;
    if (network.layers[i].traffic_per_image.value <= 0) continue;
    time.forward_t0_s += factors.kernel_s;
    time.backward_t0_s += (kKernelsOfLayer - 1) * factors.kernel_s;
  }
  return layers;
}

}  // namespace forescale
