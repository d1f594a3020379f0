#include "models/dnn/compute_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "models/data_files.hpp"
#include "models/dnn/measurements.hpp"
#include "models/error.hpp"

namespace forescale {
namespace {

constexpr double kFactorMin = 1e-3;
constexpr int kBisections = 60;

// Time = t0 + batch * t1.
struct Line {
  double t0_s = 0;
  double t1_s = 0;
};

Line sum(const std::vector<LayerTime>& layers) {
  Line line;
  for (const LayerTime& layer : layers) {
    line.t0_s += layer.forward_t0_s + layer.backward_t0_s;
    line.t1_s += layer.forward_t1_s + layer.backward_t1_s;
  }
  return line;
}

struct Point {
  double batch = 0;
  double time_s = 0;  // forward + backward, without update
};

// Slope of the least squares of relative errors for a fixed t0.
double slope(const std::vector<Point>& points, double t0_s) {
  double numerator = 0;
  double denominator = 0;
  for (const Point& point : points) {
    const double weight = 1 / (point.time_s * point.time_s);
    numerator += weight * point.batch * (point.time_s - t0_s);
    denominator += weight * point.batch * point.batch;
  }
  return numerator / denominator;
}

// One batch: t0 is `roofline_t0_s`. Several: t0 is fitted, at least 0.
Line fit(const std::vector<Point>& points, double roofline_t0_s) {
  double weights = 0, batches = 0, squares = 0, times = 0, products = 0;
  bool one_batch = true;
  for (const Point& point : points) {
    const double weight = 1 / (point.time_s * point.time_s);
    weights += weight;
    batches += weight * point.batch;
    squares += weight * point.batch * point.batch;
    times += weight * point.time_s;
    products += weight * point.batch * point.time_s;
    one_batch = one_batch && point.batch == points[0].batch;
  }
  double t0_s = roofline_t0_s;
  if (!one_batch)
    t0_s = std::max(
        0.0, (times * squares - products * batches) / (weights * squares - batches * batches));
  return {.t0_s = t0_s, .t1_s = slope(points, t0_s)};
}

std::vector<Point> without_update(const std::vector<Measurement>& measurements, double update_s) {
  std::vector<Point> points;
  for (const Measurement& m : measurements)
    points.push_back({.batch = static_cast<double>(m.batch),
                      .time_s = m.iteration.value - (m.includes_update ? update_s : 0)});
  return points;
}

// Makes the layers add up to `wanted`, in their proportions.
void scale(std::vector<LayerTime>& layers, const Line& wanted) {
  const Line now = sum(layers);
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

bool same_structure(const Network& a, const Network& b) {
  return a.parameters() == b.parameters() && a.forward_flops() == b.forward_flops() &&
         a.activation_per_image() == b.activation_per_image() && a.input_shape == b.input_shape;
}

class Tables {
 public:
  Tables(const GpuModel& gpu, Provenance* provenance)
      : gpu_(gpu), provenance_(provenance), parameters_(read_roofline_parameters(provenance)) {}

  ComputeTable make(const Network& network) const {
    ComputeTable table;
    table.gpu = gpu_.name;
    table.network = network.name;
    table.layers = roofline_times(gpu_, network, parameters_);
    table.update_s = roofline_update(gpu_, network, parameters_).value;
    std::vector<double> others;
    for (const std::string& name : catalogue("models/dnn/zoo")) {
      const std::vector<Measurement> quiet = used_measurements(gpu_.name, name, nullptr);
      if (quiet.empty()) continue;
      const Network known = load_network(name, "models/dnn/zoo");
      if (same_structure(known, network)) {
        take_measured(table, network, used_measurements(gpu_.name, name, provenance_), name);
        return table;
      }
      others.push_back(
          factor_of(known, fitted(roofline_times(gpu_, known, parameters_),
                                  roofline_update(gpu_, known, parameters_).value, quiet, name)
                               .t1_s));
    }
    take_assumed(table, network, others);
    return table;
  }

 private:
  Line fitted(const std::vector<LayerTime>& layers, double update_s,
              const std::vector<Measurement>& measurements, const std::string& network) const {
    const Line line = fit(without_update(measurements, update_s), sum(layers).t0_s);
    if (line.t1_s > 0 && line.t1_s < std::numeric_limits<double>::infinity()) return line;
    throw InputError({.source = "models/dnn/times/" + gpu_.name + "-" + network + ".json",
                      .path = "/measurements",
                      .value = "",
                      .constraint = fmt::format("must exceed the GPU's launches, weight reads and "
                                                "update ({:.4g} s) and grow with the batch",
                                                sum(layers).t0_s + update_s)});
  }

  double t1_s(const Network& network, double factor) const {
    return sum(roofline_times(gpu_, network, parameters_, factor)).t1_s;
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

  void take_measured(ComputeTable& table, const Network& network,
                     const std::vector<Measurement>& measurements, const std::string& name) const {
    const Line line = fitted(table.layers, table.update_s, measurements, name);
    table.roofline_factor = factor_of(network, line.t1_s);
    if (t1_s(network, kFactorMin) <= line.t1_s)
      table.layers = roofline_times(gpu_, network, parameters_, table.roofline_factor);
    scale(table.layers, line);
    table.measured_batch_min = measurements[0].batch;
    std::string batches;
    for (const Measurement& m : measurements) {
      table.measured_batch_min = std::min(table.measured_batch_min, m.batch);
      table.measured_batch_max = std::max(table.measured_batch_max, m.batch);
      batches += fmt::format("{}{:.4g} s at batch {} ({})", batches.empty() ? "" : ", ",
                             m.iteration.value, m.batch, m.library);
      if (table.source.find(m.source) == std::string::npos)
        table.source += (table.source.empty() ? "" : "; ") + m.source;
    }
    table.description = fmt::format(
        "measured on {}: {}; derived: the split over layers and passes (roofline factor {:.3g}), "
        "the update ({:.3g} s)",
        gpu_.name, batches, table.roofline_factor, table.update_s);
  }

  void take_assumed(ComputeTable& table, const Network& network, std::vector<double> others) const {
    table.assumed = true;
    if (others.empty()) {
      table.source = "assumed: roofline of the data sheet";
      table.description = fmt::format(
          "no network is measured on {}: roofline with {:.0f} % of the peak in matrix products",
          gpu_.name, 100 * parameters_.efficiency);
      return;
    }
    const JsonInput assumptions = JsonInput::from_file(
        find_data_file("models/dnn", "assumptions", "models/dnn/assumptions"), provenance_);
    const double spread = assumptions.at("compute").at("other_networks").factor(1e-3, 1e3);
    std::sort(others.begin(), others.end());
    const std::size_t middle = others.size() / 2;
    const double median =
        others.size() % 2 == 1 ? others[middle] : (others[middle - 1] + others[middle]) / 2;
    table.roofline_factor = spread * median;
    table.layers = roofline_times(gpu_, network, parameters_, table.roofline_factor);
    table.source = "assumed: roofline scaled by the GPU's other networks";
    table.description = fmt::format(
        "{} is not measured on {}: roofline factor {:.3g}, the median of {} networks measured "
        "there",
        table.network, gpu_.name, table.roofline_factor, others.size());
  }

  const GpuModel& gpu_;
  Provenance* provenance_;
  RooflineParameters parameters_;
};

double checked(std::int64_t batch) {
  if (batch > 0) return static_cast<double>(batch);
  throw InputError(
      {.source = "batch", .path = "", .value = std::to_string(batch), .constraint = "must be > 0"});
}

}  // namespace

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

ComputeTable compute_table(const GpuModel& gpu, const Network& network, Provenance* provenance) {
  return Tables(gpu, provenance).make(network);
}

}  // namespace forescale
