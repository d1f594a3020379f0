#include "studies/validate/scoring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/median.hpp"

namespace forescale {
namespace {

constexpr double kMissPercent = 30;

double share_within(const std::vector<double>& errors, double limit) {
  if (errors.empty()) return 0;
  const auto within =
      std::count_if(errors.begin(), errors.end(), [&](double error) { return error <= limit; });
  return static_cast<double>(within) / static_cast<double>(errors.size());
}

Accuracy accuracy_of(Role role, const std::vector<const ValidationRow*>& rows) {
  std::vector<double> errors;
  std::vector<double> trivial_errors;
  for (const ValidationRow* row : rows) {
    if (row->claim.role != role || !row->error_percent) continue;
    errors.push_back(std::abs(*row->error_percent));
    if (row->trivial_error_percent) trivial_errors.push_back(std::abs(*row->trivial_error_percent));
  }
  return {.scored = static_cast<int>(errors.size()),
          .median_error_percent = median(errors),
          .within_15_percent = share_within(errors, 15),
          .within_30_percent = share_within(errors, kMissPercent),
          .trivial_median_error_percent = median(trivial_errors)};
}

Coverage coverage_of(const std::vector<const ValidationRow*>& rows) {
  Coverage coverage;
  std::vector<double> widths;
  for (const ValidationRow* row : rows) {
    const Claim& claim = row->claim;
    if (!claim.is_scored() || !row->predicted || !row->low || !row->high) continue;
    ++coverage.ranged;
    if (*row->low <= claim.measured.back() && claim.measured.front() <= *row->high)
      ++coverage.holding;
    widths.push_back(100 * (*row->high - *row->low) / 2 / std::abs(*row->predicted));
  }
  coverage.median_half_width_percent = median(widths);
  return coverage;
}

}  // namespace

double error_percent(const Claim& claim, double predicted) {
  const double nearest = claim.measured.size() == 2
                             ? std::clamp(predicted, claim.measured.front(), claim.measured.back())
                             : claim.measured.front();
  const bool is_improvement = claim.is_scored() && claim.is_factor();
  const double whole = is_improvement ? nearest - 1 : nearest;
  return 100 * (predicted - nearest) / std::abs(whole);
}

std::string ValidationRow::broken_cause() const {
  if (!claim.cause || !failure.empty()) return "";
  const MissCause& cause = *claim.cause;
  if (!error_percent) return "the row has no error";
  if (!cause.error_percent.holds(*error_percent))
    return fmt::format("the error is {:+.0f} %, the cause is of one from {:+.0f} to {:+.0f} %",
                       *error_percent, cause.error_percent.low, cause.error_percent.high);
  if (cause.shown && !(cause_value && cause.between.holds(*cause_value)))
    return fmt::format("what shows it is {}, not between {:.4g} and {:.4g}",
                       cause_value ? fmt::format("{:.4g}", *cause_value) : "not to be had",
                       cause.between.low, cause.between.high);
  return "";
}

bool is_miss(const ValidationRow& row) {
  return row.claim.is_scored() && row.error_percent && std::abs(*row.error_percent) > kMissPercent;
}

ValidationSummary summarise(const std::string& of, const std::vector<const ValidationRow*>& rows) {
  ValidationSummary summary{.of = of,
                            .rows = static_cast<int>(rows.size()),
                            .roles = {},
                            .predictions = accuracy_of(Role::kPrediction, rows),
                            .adjusted = accuracy_of(Role::kAdjusted, rows),
                            .coverage = coverage_of(rows)};
  for (const ValidationRow* row : rows) {
    ++summary.roles[name_of(row->claim.role)];
    if (!row->claim.is_scored()) continue;
    if (row->right) ++(*row->right ? summary.orderings_right : summary.orderings_wrong);
    if (!row->failure.empty()) ++summary.failed;
    if (is_miss(*row) && !row->claim.cause) ++summary.unexplained;
  }
  return summary;
}

}  // namespace forescale
