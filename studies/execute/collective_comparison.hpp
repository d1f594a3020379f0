// Predicted against measured collectives: errors, and whether the algorithm that looks fastest is.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/execute/executed_collectives.hpp"

namespace forescale {

struct CollectiveRow {
  CollectiveQuestion question;
  std::optional<TimeRange> predicted;
  ExecutedCollective executed;

  // predicted / measured - 1; nothing where one of them lacks.
  std::optional<double> error() const;
  // Whether the measured median lies in the predicted interval.
  std::optional<bool> is_inside() const;
};
// `predicted` is empty where nothing was predicted.
std::vector<CollectiveRow> compare_collectives(const std::vector<CollectiveQuestion>& questions,
                                               const std::vector<TimeRange>& predicted,
                                               const Execution& execution);

// Over some rows; only those with an error count.
struct ErrorSummary {
  std::string of;  // "256 KiB to 1 MiB", "reduce/binomial"
  int rows = 0;
  double median_abs = 0;
  double worst = 0;         // signed, the largest in magnitude
  double inside_share = 0;  // of rows whose measured median lies in the predicted interval
};

// The algorithm with the least predicted time, where an operation was measured with several.
struct AlgorithmPick {
  CollectiveOp op = CollectiveOp::kReduce;
  int ranks = 0;
  std::int64_t bytes = 0;
  std::string predicted_best;
  std::string measured_best;
  double regret = 0;  // measured time of the one over that of the other, - 1
};

// Sizes from which alpha no longer decides; the targets speak of them.
constexpr std::int64_t kLargeMessage_bytes = 262'144;
constexpr double kGoodRegret = 0.05;

struct CollectiveSummary {
  ErrorSummary all;
  ErrorSummary large;  // of at least kLargeMessage_bytes
  std::vector<ErrorSummary> by_size;
  std::vector<ErrorSummary> by_algorithm;
  std::vector<AlgorithmPick> picks;
  double good_pick_share = 0;  // with a regret of at most kGoodRegret
  double worst_regret = 0;
};
CollectiveSummary summarise_collectives(const std::vector<CollectiveRow>& rows);

// "median_256k=10%,median=20%,regret5=90%,inside=50%": what a summary must keep to; as parsed.
struct Expectations {
  std::optional<double> median_large;  // at most
  std::optional<double> median;        // at most
  std::optional<double> good_picks;    // at least
  std::optional<double> inside;        // at least
};
Expectations parse_expectations(const std::string& text, const std::string& option);
// What is not kept, one line each: "median |error| of 256 KiB and more: 12.1 %, expected <= 10 %".
// An expectation about rows that are not there is not kept.
std::vector<std::string> broken_expectations(const Expectations& expected,
                                             const CollectiveSummary& summary);

nlohmann::json to_json(const CollectiveRow& row);
nlohmann::json to_json(const CollectiveSummary& summary);

}  // namespace forescale
