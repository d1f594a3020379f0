#include "studies/execute/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "base/scratch_folder.hpp"

namespace forescale {
namespace {

// The fit's two files, as every command reads them.
MachineScenarios machine_of(const ClusterFit& fit) {
  const ScratchFolder folder("held-out");
  const auto written = [&](const std::string& name, const nlohmann::json& content) {
    std::string file = folder.file(name);
    std::ofstream(file) << content;
    return file;
  };
  return load_machines(written("platform.json", fit.platform), written("stack.json", fit.stack));
}

bool serves(const Collective& collective, const CollectiveCall& call) {
  return collective.refuse == nullptr || collective.refuse(call).empty();
}

std::vector<PlanChoice> plans_of(const Series& series, const std::string& source) {
  const CollectiveOp op = parse_collective_op(series.op, source);
  std::vector<PlanChoice> all;
  for (const Collective* collective : all_collectives()) {
    if (collective->op != op) continue;
    if (collective->algorithm == series.algorithm)
      return {{.collective = collective, .options = {}}};
    all.push_back({.collective = collective, .options = {}});
  }
  return all;
}

}  // namespace

const HeldOutRow::Plan& HeldOutRow::nearest() const {
  const auto distance = [this](const Plan& plan) {
    return std::abs(std::log(plan.time.time_s / measured_s));
  };
  return *std::min_element(plans.begin(), plans.end(),
                           [&](const Plan& a, const Plan& b) { return distance(a) < distance(b); });
}

std::vector<HeldOutRow> predict_held_out(const Measurement& measurement, const std::string& source,
                                         ClusterFitOptions options) {
  std::vector<HeldOutRow> rows;
  for (const Series& series : measurement.series) {
    if (series.pattern != Pattern::kCollective) continue;
    options.hosts = series.ranks / series.ranks_per_host;
    options.ranks_per_host = series.ranks_per_host;
    std::vector<CollectiveQuestion> questions;
    std::vector<size_t> row_of;
    for (const MeasuredPoint& point : series.points) {
      if (point.bytes < 4 || point.bytes % 4 != 0) continue;
      rows.push_back({.op = parse_collective_op(series.op, source),
                      .ranks = series.ranks,
                      .ranks_per_host = series.ranks_per_host,
                      .bytes = point.bytes,
                      .measured_s = point.time_s,
                      .plans = {}});
      for (const PlanChoice& plan : plans_of(series, source)) {
        const CollectiveQuestion question{
            .plan = plan, .ranks = series.ranks, .bytes = point.bytes};
        if (!serves(*plan.collective, question.call())) continue;
        questions.push_back(question);
        row_of.push_back(rows.size() - 1);
      }
    }
    if (questions.empty()) continue;
    const std::vector<TimeRange> times =
        predict_collectives(questions, machine_of(fit_cluster(measurement, source, options)));
    for (size_t i = 0; i < questions.size(); ++i)
      rows[row_of[i]].plans.push_back(
          {.algorithm = questions[i].plan.collective->algorithm, .time = times[i]});
  }
  std::erase_if(rows, [](const HeldOutRow& row) { return row.plans.empty(); });
  for (HeldOutRow& row : rows)
    std::sort(row.plans.begin(), row.plans.end(),
              [](const HeldOutRow::Plan& a, const HeldOutRow::Plan& b) {
                return a.time.time_s < b.time.time_s;
              });
  if (rows.empty())
    throw InputError({.source = source,
                      .path = "/series",
                      .value = "",
                      .constraint = "must hold a collective to compare a prediction with"});
  return rows;
}

}  // namespace forescale
