#include "models/compute/measured_throughput.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr const char* kThroughputOption = "--throughput";

[[noreturn]] void refuse_throughput(const std::string& source, const std::string& text,
                                    const std::string& constraint) {
  throw InputError({.source = source, .path = "", .value = text, .constraint = constraint});
}

double positive_number(const std::string& number, const std::string& source,
                       const std::string& text) {
  size_t end = 0;
  double value = 0;
  try {
    value = std::stod(number, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  if (end == 0 || end != number.size() || !std::isfinite(value) || value <= 0)
    refuse_throughput(source, text,
                      "must be RATE@BATCH, as in 2500images/s@256, or with its spread "
                      "2500images/s@256:3%");
  return value;
}

std::int64_t count_of(const std::string& number, const std::string& what, const std::string& source,
                      const std::string& text) {
  const std::int64_t count = parse_integer(number, source);
  if (count < 1) refuse_throughput(source, text, fmt::format("must have a {} >= 1", what));
  return count;
}

std::int64_t batch_of(const std::string& number, const std::string& source,
                      const std::string& text) {
  return count_of(number, "batch", source, text);
}

ThroughputPoint parse_point(const std::string& text, const std::string& option) {
  const size_t at = text.find('@');
  if (at == std::string::npos)
    refuse_throughput(option, text, "needs the batch it was measured at: 2500images/s@256");
  std::string rate = text.substr(0, at);
  for (const std::string unit : {"images/s", "sequences/s"})
    if (rate.ends_with(unit)) rate.resize(rate.size() - unit.size());
  const std::string batch = text.substr(at + 1);
  const size_t times = batch.find('x');
  return {.images_per_s = positive_number(rate, option, text),
          .batch = batch_of(batch.substr(0, times), option, text),
          .gpus = times == std::string::npos
                      ? 1
                      : count_of(batch.substr(times + 1), "number of GPUs", option, text)};
}

// Columns of a CSV file by name.
class ThroughputTable {
 public:
  explicit ThroughputTable(const std::string& file) : file_(file), in_(file) {
    std::string line;
    if (!std::getline(in_, line)) refuse_throughput(file, "", "cannot be read, or is empty");
    columns_ = csv_cells(without_return(line));
    batch_ = place_of("batch");
    if (batch_ == columns_.size()) refuse_throughput(file, line, "needs a column \"batch\"");
    for (const char* name : {"images_per_s", "sequences_per_s", "iteration_s"})
      if (value_ == npos && place_of(name) < columns_.size()) {
        value_ = place_of(name);
        is_time_ = std::string(name) == "iteration_s";
      }
    if (value_ == npos)
      refuse_throughput(file, line,
                        "needs a column \"images_per_s\", \"sequences_per_s\" or \"iteration_s\"");
  }

  std::vector<ThroughputPoint> points() {
    std::vector<ThroughputPoint> all;
    std::string line;
    for (int number = 2; std::getline(in_, line); ++number) {
      line = without_return(line);
      if (line.empty()) continue;
      const std::string place = fmt::format("{}:{}", file_, number);
      const std::vector<std::string> cells = csv_cells(line);
      if (cells.size() != columns_.size())
        refuse_throughput(place, line,
                          fmt::format("must have {} cells as the header has", columns_.size()));
      ThroughputPoint point{.batch = batch_of(cells[batch_], place, line)};
      const double value = positive_number(cells[value_], place, line);
      point.images_per_s = is_time_ ? static_cast<double>(point.batch) / value : value;
      all.push_back(point);
    }
    if (all.empty()) refuse_throughput(file_, "", "must have a row");
    return all;
  }

 private:
  static constexpr size_t npos = std::string::npos;

  static std::string without_return(std::string line) {
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }
  size_t place_of(const std::string& name) const {
    return static_cast<size_t>(std::find(columns_.begin(), columns_.end(), name) -
                               columns_.begin());
  }

  std::string file_;
  std::ifstream in_;
  std::vector<std::string> columns_;
  size_t batch_ = npos;
  size_t value_ = npos;
  bool is_time_ = false;
};

// Of layers alone, for a machine `factor` times as slow.
std::vector<TimedBatch> layer_times(const MeasuredThroughput& throughput, double factor,
                                    double update_s) {
  std::vector<TimedBatch> times;
  for (const ThroughputPoint& point : throughput.points) {
    FORESCALE_CHECK(point.gpus == 1, "a throughput of several GPUs is made one GPU's before");
    const auto batch = static_cast<double>(point.batch);
    times.push_back({.batch = batch, .time_s = batch / point.images_per_s * factor - update_s});
    if (times.back().time_s <= 0)
      refuse_throughput(
          kThroughputOption, to_text(throughput),
          fmt::format("leaves nothing for the layers: the update alone takes {:.3g} s", update_s));
  }
  return times;
}

}  // namespace

MeasuredThroughput parse_throughput(const std::string& text, const std::string& option) {
  MeasuredThroughput measured;
  std::string points = text;
  if (const size_t colon = text.rfind(':');
      colon != std::string::npos && text.find_first_of("/\\", colon) == std::string::npos) {
    std::string spread = text.substr(colon + 1);
    points.resize(colon);
    if (!spread.ends_with('%'))
      refuse_throughput(option, text, "must end with the spread in percent, 3%");
    spread.pop_back();
    measured.spread = positive_number(spread, option, text) / 100;
    if (measured.spread >= 1) refuse_throughput(option, text, "must have a spread below 100 %");
  }
  if (points.ends_with(".csv")) {
    measured.points = ThroughputTable(points).points();
    return measured;
  }
  for (size_t begin = 0; begin <= points.size();) {
    const size_t end = std::min(points.find(',', begin), points.size());
    measured.points.push_back(parse_point(points.substr(begin, end - begin), option));
    begin = end + 1;
  }
  if (measured.points.size() > 1 &&
      std::any_of(measured.points.begin(), measured.points.end(),
                  [](const ThroughputPoint& point) { return point.gpus > 1; }))
    refuse_throughput(option, text, "must be one measurement, where it is of several GPUs");
  return measured;
}

std::string to_text(const MeasuredThroughput& throughput) {
  std::string text;
  for (const ThroughputPoint& point : throughput.points)
    text += fmt::format("{}{}@{}{}", text.empty() ? "" : ",", point.images_per_s, point.batch,
                        point.gpus > 1 ? fmt::format("x{}", point.gpus) : "");
  return fmt::format("{}:{}%", text, 100 * throughput.spread);
}

void take_throughput(const MeasuredThroughput& throughput, double factor, ComputeTable& table) {
  const std::vector<TimedBatch> times = layer_times(throughput, factor, table.update_s);
  const std::int64_t batch = throughput.points.front().batch;
  const double before_s = table.forward_s(batch) + table.backward_s(batch);
  if (has_several_batches(times)) {
    scale_layers(table.layers, fit_line(times));
  } else {
    double wanted_s = 0;
    for (const TimedBatch& time : times)
      wanted_s += time.time_s / static_cast<double>(times.size());
    for (LayerTime& layer : table.layers)
      for (double* time_s :
           {&layer.forward_t0_s, &layer.forward_t1_s, &layer.backward_t0_s, &layer.backward_t1_s})
        *time_s *= wanted_s / before_s;
  }
  const double after_s = table.forward_s(batch) + table.backward_s(batch);
  table.description += fmt::format("; times {:.3g} at batch {} to take what was measured, {}",
                                   after_s / before_s, batch, to_text(throughput));
  table.assumed = false;
  table.from_kernels = false;
}

}  // namespace forescale
