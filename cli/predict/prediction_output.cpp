// The table that `predict` and `demo` print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "cli/predict/prediction_output.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

std::string percent_of(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f}", 100 * part / whole) : "-";
}

std::string range_cell(const Row& row) {
  if (row.iteration_fast_s <= 0 || row.iteration_slow_s <= 0) return "-";
  const double low = std::min(row.iteration_fast_s, row.iteration_slow_s);
  const double high = std::max(row.iteration_fast_s, row.iteration_slow_s);
  return fmt::format("{}..{}", ms(low), ms(high));
}

std::vector<std::string> prediction_headings(const Prediction& prediction) {
  std::vector<std::string> titles = {"GPUs",
                                     "batch/GPU",
                                     "iteration ms",
                                     prediction.has_range() ? "90 % ms" : "",
                                     prediction.samples + "/s",
                                     "speed-up",
                                     "eff %"};
  for (const PhaseEntry& phase : kPhases) titles.push_back(fmt::format("{} %", phase.title));
  titles.insert(titles.end(), {"idle %", "bound ms", "<busiest resource"});
  return titles;
}

void add_prediction_row(Table& table, const Row& row, const Prediction& prediction) {
  const PredictionPoint& p = row.point;
  if (!p.fits) {
    std::vector<std::string> cells(prediction_headings(prediction).size(), "-");
    cells.front() = std::to_string(p.gpus);
    cells[1] = std::to_string(p.batch_per_gpu);
    cells.back() = fmt::format("out of GPU memory: needs {}", to_text(Bytes{p.memory_bytes}));
    table.add(std::move(cells));
    return;
  }
  std::vector<std::string> cells = {std::to_string(p.gpus),
                                    std::to_string(p.batch_per_gpu),
                                    ms(p.iteration_s),
                                    prediction.has_range() ? range_cell(row) : "",
                                    fmt::format("{:.4g}", p.images_per_s),
                                    fmt::format("{:.2f}", row.speedup),
                                    percent_of(row.efficiency, 1)};
  for (const PhaseEntry& phase : kPhases)
    cells.push_back(percent_of(time_of(p.root_s, phase.phase), p.iteration_s));
  cells.push_back(percent_of(p.root_s.at("idle"), p.iteration_s));
  cells.push_back(ms(p.bound_s));
  cells.push_back(
      fmt::format("{} {:.0f} %", p.busiest.empty() ? "-" : p.busiest, 100 * p.busiest_share));
  table.add(std::move(cells));
}

// How often nodes fail at the largest count, and what is left of the time.
std::string failures_text(const Row& row) {
  return fmt::format(
      "failures at {} nodes: one every {}; a checkpoint every {} of work: {:.1f} % of the time "
      "is left for it\n",
      row.nodes, long_time_text(row.goodput.mtbf), long_time_text(row.goodput.every),
      100 * row.goodput.share);
}

std::string with_share(const std::string& parts, const std::string& name, double share) {
  constexpr double kShareMin = 0.02;
  if (share < kShareMin) return parts;
  return fmt::format("{}{}{} {:.0f} %", parts, parts.empty() ? "" : ", ", name, 100 * share);
}

// What the interval of the largest count comes from.
std::string interval_text(const Prediction& prediction, const Row& row) {
  constexpr size_t kShown = 5;
  std::string parts = influences_text(row.influences);
  for (size_t i = 0; i < std::min(kShown, prediction.shares.size()); ++i) {
    const NumberSource& number = prediction.shares[i].number;
    parts = with_share(parts,
                       std::filesystem::path(number.file).filename().string() + ":" + number.path,
                       prediction.shares[i].share);
  }
  if (parts.empty()) return "";
  if (prediction.shares.empty())
    return fmt::format("the interval at {} GPUs comes from: {}\n", row.point.gpus, parts);
  return fmt::format("measure first, as the interval at {} GPUs comes from it: {}\n",
                     row.point.gpus, parts);
}

}  // namespace

std::string influences_text(const std::map<std::string, double>& shares) {
  std::string parts;
  for (const auto& [influence, share] : shares)
    parts = with_share(parts, influence == "unmodelled" ? "what the model leaves out" : influence,
                       share);
  return parts;
}

std::string to_table(const Prediction& prediction) {
  std::string text = coloured(prediction.title, Colour::kBold) + "\n";
  text += fmt::format(
      "schedule {}, stack {}; predicted, steady state; shares of the iteration at "
      "rank 0\n",
      prediction.schedule, prediction.stack);
  Table table(prediction_headings(prediction));
  for (const Row& row : prediction.rows) add_prediction_row(table, row, prediction);
  text += table.text();
  for (const Row& row : prediction.rows)
    if (row.point.simulated_ranks > 0)
      text += fmt::format("{} GPUs: kernels simulated on {}, collectives on {}, within {:.0f} %\n",
                          row.point.gpus, row.point.simulated_workers, row.point.simulated_ranks,
                          std::ceil(100 * row.point.folded_error));
  if (prediction.baseline_gpus > 0)
    text += fmt::format(
        "speed-up over {} GPU{}, the smallest count asked for that fits in GPU memory\n",
        prediction.baseline_gpus, prediction.baseline_gpus == 1 ? "" : "s");
  const auto last = std::find_if(prediction.rows.rbegin(), prediction.rows.rend(),
                                 [](const Row& row) { return row.point.fits; });
  if (last != prediction.rows.rend()) {
    text += fmt::format("bound at {} GPUs: {}; an epoch of {} {} takes {}\n", last->point.gpus,
                        last->point.bound_reason, prediction.question.epoch_images,
                        prediction.samples, to_text(Seconds{last->epoch_s}));
    if (prediction.has_failures()) text += failures_text(*last);
  }
  const auto assumed = std::count_if(prediction.numbers.begin(), prediction.numbers.end(),
                                     [](const NumberSource& number) { return number.assumed; });
  const auto intervals = std::count_if(
      prediction.numbers.begin(), prediction.numbers.end(),
      [](const NumberSource& number) { return !number.assumed && number.fast != number.slow; });
  if (last != prediction.rows.rend()) text += interval_text(prediction, *last);
  text += fmt::format("compute: {}\n", prediction.compute_description);
  if (last != prediction.rows.rend() && last->point.slowest_gpu > 1)
    text += fmt::format(
        "{} GPUs: all wait for the slowest, whose kernels take {:.1f} % longer than the mean "
        "one's\n",
        last->point.gpus, 100 * (last->point.slowest_gpu - 1));
  text += coloured(
      fmt::format(
          "rests on {} numbers with a source{} and {} assumed ones{}; --sources lists them\n",
          static_cast<long>(prediction.numbers.size()) - assumed,
          intervals > 0 ? fmt::format(" ({} with an interval)", intervals) : "", assumed,
          prediction.has_range()
              ? ": of those, and of what the model leaves out, \"90 %\" is the interval"
              : ""),
      Colour::kDim);
  for (const std::string& warning : prediction.warnings)
    text += coloured("note: " + warning, Colour::kYellow) + "\n";
  return text;
}

std::string to_csv(const Prediction& prediction) {
  const auto end = [](double time_s) {
    return time_s > 0 ? fmt::format("{}", time_s) : std::string();
  };
  std::vector<std::string> names = {"gpus",         "batch_per_gpu",    "fits",
                                    "iteration_s",  "iteration_fast_s", "iteration_slow_s",
                                    "images_per_s", "speedup",          "efficiency"};
  for (const PhaseEntry& phase : kPhases) names.push_back(fmt::format("{}_s", phase.name));
  names.insert(names.end(), {"bound_s", "epoch_s", "goodput"});
  std::string text = csv_line(names);
  for (const Row& row : prediction.rows) {
    const PredictionPoint& p = row.point;
    std::vector<std::string> cells = {std::to_string(p.gpus),
                                      std::to_string(p.batch_per_gpu),
                                      p.fits ? "1" : "0",
                                      fmt::format("{}", p.iteration_s),
                                      end(row.iteration_fast_s),
                                      end(row.iteration_slow_s),
                                      fmt::format("{}", p.images_per_s),
                                      fmt::format("{}", row.speedup),
                                      fmt::format("{}", row.efficiency)};
    for (const PhaseEntry& phase : kPhases)
      cells.push_back(fmt::format("{}", time_of(p.root_s, phase.phase)));
    cells.push_back(fmt::format("{}", p.bound_s));
    cells.push_back(fmt::format("{}", row.epoch_s));
    cells.push_back(fmt::format("{}", row.goodput.share));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace forescale
