#include "models/compute/compute_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/median.hpp"
#include "models/compute/line_fit.hpp"
#include "models/compute/measurements.hpp"
#include "models/compute/other_networks.hpp"

namespace forescale {
namespace {

constexpr double kFactorMin = 1e-3;
constexpr int kBisections = 60;

BatchLine sum(const std::vector<LayerTime>& layers) {
  BatchLine line;
  for (const LayerTime& layer : layers) {
    line.t0_s += layer.forward_t0_s + layer.backward_t0_s;
    line.t1_s += layer.forward_t1_s + layer.backward_t1_s;
  }
  return line;
}

std::vector<TimedBatch> without_update(const std::vector<TimedIteration>& measurements,
                                       double update_s) {
  std::vector<TimedBatch> points;
  for (const TimedIteration& m : measurements)
    points.push_back({.batch = static_cast<double>(m.batch),
                      .time_s = m.iteration.value - (m.includes_update ? update_s : 0)});
  return points;
}

bool same_structure(const Network& a, const Network& b) {
  return a.parameters() == b.parameters() && a.forward_flops() == b.forward_flops() &&
         a.activation_per_image() == b.activation_per_image() && a.input_shape == b.input_shape;
}

// A network of the zoo with its measurements on the GPU at hand.
struct Known {
  std::string name;
  Network network;
  std::vector<TimedIteration> measurements;
};

class Tables {
 public:
  Tables(const GpuModel& gpu, const Network& network, const std::optional<Framework>& framework,
         Provenance* provenance)
      : gpu_(gpu),
        network_(network),
        framework_(framework),
        provenance_(provenance),
        parameters_(read_roofline_parameters(network, provenance)) {
    for (const std::string& name : catalogue("models/workload/zoo")) {
      std::vector<TimedIteration> rows = used_measurements(gpu_.name, name, framework_, nullptr);
      if (!rows.empty()) known_.push_back({name, load_network(name, "models/workload/zoo"), rows});
    }
    kernel_ = typical_kernel();
  }

  ComputeTable make() const {
    ComputeTable table;
    table.gpu = gpu_.name;
    table.network = network_.name;
    table.update_s = update_s(network_);
    for (const Known& known : known_)
      if (same_structure(known.network, network_)) {
        take_measured(table, {known.name, network_,
                              used_measurements(gpu_.name, known.name, framework_, provenance_)});
        return table;
      }
    take_assumed(table, network_);
    return table;
  }

 private:
  std::vector<LayerTime> times(const Network& network, const RooflineScale& scale) const {
    return roofline_times(gpu_, network, parameters_, scale);
  }
  double t0_s(const Network& network, double kernel_s) const {
    return sum(times(network, {.factor = 1, .kernel = {kernel_s}})).t0_s;
  }
  double t1_s(const Network& network, double factor) const {
    return sum(times(network, {.factor = factor, .kernel = {0}})).t1_s;
  }
  double update_s(const Network& network) const {
    return roofline_update(gpu_, network, parameters_).value;
  }

  // The kernel time whose layers add up to `wanted_s` with the reads of the weights.
  double kernel_of(const Network& network, double wanted_s) const {
    const double reads_s = t0_s(network, 0);
    const double kernels = t0_s(network, 1) - reads_s;
    return std::max(0.0, (wanted_s - reads_s) / kernels);
  }

  // The median over networks measured at several batches, never below the launch.
  double typical_kernel() const {
    std::vector<double> kernels;
    for (const Known& known : known_) {
      const auto points = without_update(known.measurements, update_s(known.network));
      if (has_several_batches(points))
        kernels.push_back(kernel_of(known.network, fit_line(points).t0_s));
    }
    return std::max(gpu_.kernel_launch.value,
                    kernels.empty() ? parameters_.kernel.value : median(kernels));
  }

  BatchLine fitted(const Known& known) const {
    const double update = update_s(known.network);
    const std::vector<TimedBatch> points = without_update(known.measurements, update);
    const double t0 = t0_s(known.network, kernel_);
    const bool positive = std::all_of(points.begin(), points.end(),
                                      [](const TimedBatch& point) { return point.time_s > 0; });
    const BatchLine line = has_several_batches(points) ? fit_line(points) : fit_slope(points, t0);
    if (positive && line.t1_s > 0 && line.t1_s < std::numeric_limits<double>::infinity())
      return line;
    throw InputError({.source = "models/compute/times/" + gpu_.name + "-" + known.name + ".json",
                      .path = "/measurements",
                      .value = "",
                      .constraint = fmt::format("must exceed the GPU's kernels, weight reads and "
                                                "update ({:.4g} s) and grow with the batch",
                                                t0 + update)});
  }

  // The factor whose layers take `wanted_s` an image. Where even the bytes alone take longer (a
  // library that fuses layers), the ratio to factor 1, which scales all layers alike.
  double factor_of(const Network& network, double wanted_s) const {
    const double ratio = wanted_s / t1_s(network, 1);
    if (ratio >= 1 || t1_s(network, kFactorMin) > wanted_s) return ratio;
    double low = kFactorMin;
    double high = 1;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      (t1_s(network, middle) > wanted_s ? high : low) = middle;
    }
    return high;
  }

  void take_measured(ComputeTable& table, const Known& known) const {
    BatchLine line = fitted(known);
    table.framework = known.measurements[0].framework;
    table.roofline_factor = factor_of(known.network, line.t1_s);
    table.kernel_s = kernel_of(known.network, line.t0_s);
    const bool bytes_fit = t1_s(known.network, kFactorMin) <= line.t1_s;
    table.layers = times(known.network, {.factor = bytes_fit ? table.roofline_factor : 1,
                                         .kernel = {table.kernel_s}});
    std::string asked;
    if (framework_ && *framework_ != *table.framework) {
      const double other = assumption("other_framework");
      line = {.t0_s = other * line.t0_s, .t1_s = other * line.t1_s};
      table.assumed = true;
      asked = fmt::format("; assumed to hold for {}, which was not measured", to_text(*framework_));
    }
    scale_layers(table.layers, line);
    std::string batches;
    table.measured_batch_min = known.measurements[0].batch;
    for (const TimedIteration& m : known.measurements) {
      table.assumed = table.assumed || m.assumed;
      table.measured_batch_min = std::min(table.measured_batch_min, m.batch);
      table.measured_batch_max = std::max(table.measured_batch_max, m.batch);
      batches += fmt::format("{}{:.4g} s at batch {} ({})", batches.empty() ? "" : ", ",
                             m.iteration.value, m.batch, m.library);
      if (table.source.find(m.source) == std::string::npos)
        table.source += (table.source.empty() ? "" : "; ") + m.source;
    }
    table.description = fmt::format(
        "{} on {}: {}; derived: the split over layers and passes (roofline factor {:.3g}, "
        "{:.3g} s a kernel), the update ({:.3g} s){}",
        known.measurements[0].assumed ? "assumed" : "measured", gpu_.name, batches,
        table.roofline_factor, table.kernel_s, table.update_s, asked);
  }

  void take_assumed(ComputeTable& table, const Network& network) const {
    table.assumed = true;
    if (!known_.empty()) {
      const OtherNetworks& others = OtherNetworks::on(gpu_);
      const NetworkFactors factors =
          others.fit(framework_, [](const auto&) { return true; }).value();
      const double factor = assumption("other_networks");
      table.source = "assumed: the GPU's kernels, scaled by its other networks";
      table.description = fmt::format(
          "{} is not measured on {}: kernels by {}, of products times {:.3g}, of others times "
          "{:.3g}, "
          "and {:.3g} s each, fitted to {}",
          table.network, gpu_.name, others.kernel_model(), factors.products, factors.others,
          factors.kernel_s, factors.fitted_on);
      table.kernel_s = factors.kernel_s;
      table.layers = others.layers(network, factors);
      const BatchLine line = sum(table.layers);
      scale_layers(table.layers, {.t0_s = factor * line.t0_s, .t1_s = factor * line.t1_s});
      table.roofline_factor = factor * line.t1_s / t1_s(network, 1);
      return;
    }
    table.kernel_s = kernel_;
    table.source = "assumed: roofline of the data sheet";
    table.description = fmt::format(
        "no network is measured on {}: roofline with {:.0f} % of the peak in matrix products, "
        "{:.3g} s a kernel",
        gpu_.name, 100 * parameters_.efficiency, table.kernel_s);
    table.layers = times(network, {.factor = table.roofline_factor, .kernel = {table.kernel_s}});
  }

  double assumption(const std::string& name) const {
    const std::string file =
        find_data_file("models/compute", "assumptions", "models/compute/assumptions");
    return JsonInput::from_file(file, provenance_).at("compute").at(name).factor(1e-3, 1e3);
  }

  const GpuModel& gpu_;
  const Network& network_;
  std::optional<Framework> framework_;
  Provenance* provenance_;
  RooflineParameters parameters_;
  std::vector<Known> known_;
  double kernel_ = 0;
};

double checked(std::int64_t batch) {
  if (batch > 0) return static_cast<double>(batch);
  throw InputError(
      {.source = "batch", .path = "", .value = std::to_string(batch), .constraint = "must be > 0"});
}

}  // namespace

void scale_layers(std::vector<LayerTime>& layers, const BatchLine& wanted) {
  const BatchLine now = sum(layers);
  const double t1_factor = wanted.t1_s / now.t1_s;
  const double t0_factor = now.t0_s > 0 ? wanted.t0_s / now.t0_s : 0;
  const double t0_of_t1 = now.t0_s > 0 ? 0 : wanted.t0_s / now.t1_s;
  for (LayerTime& layer : layers) {
    layer.forward_t0_s = layer.forward_t0_s * t0_factor + layer.forward_t1_s * t0_of_t1;
    layer.backward_t0_s = layer.backward_t0_s * t0_factor + layer.backward_t1_s * t0_of_t1;
    layer.forward_t1_s *= t1_factor;
    layer.backward_t1_s *= t1_factor;
  }
}

double ComputeTable::forward_s(std::int64_t batch) const {
  double time_s = 0;
  for (const LayerTime& layer : layers)
    time_s += layer.forward_t0_s + checked(batch) * layer.forward_t1_s;
  return time_s;
}

double ComputeTable::backward_s(std::int64_t batch) const {
  double time_s = 0;
  for (const LayerTime& layer : layers)
    time_s += layer.backward_t0_s + checked(batch) * layer.backward_t1_s;
  return time_s;
}

double ComputeTable::iteration_s(std::int64_t batch) const {
  return forward_s(batch) + backward_s(batch) + update_s;
}

ComputeTable compute_table(const GpuModel& gpu, const Network& network, Provenance* provenance,
                           const std::optional<Framework>& framework) {
  return Tables(gpu, network, framework, provenance).make();
}

}  // namespace forescale
