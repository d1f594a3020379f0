#include "models/failures.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "base/options_text.hpp"

namespace forescale {
namespace {

// The best work between checkpoints, x of the job's MTBF: where the goodput's derivative is 0,
// e^(x + c)(1 - x) = 1 with c = checkpoint / MTBF, between 0 and 1.
double best_share_of_mtbf(double checkpoint_share) {
  double low = 0;
  double high = 1;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double x = (low + high) / 2;
    (std::exp(x + checkpoint_share) * (1 - x) > 1 ? low : high) = x;
  }
  return (low + high) / 2;
}

}  // namespace

Failures parse_failures(const std::string& text, const std::string& source) {
  const OptionsText options = OptionsText::parse("failures:" + text, source);
  options.allow_only({"mtbf", "checkpoint", "restart", "every"});
  const auto time = [&](const char* key) {
    return parse_seconds(options.at(key), options.where(key));
  };
  const auto positive = [&](const char* key) {
    const Seconds parsed = time(key);
    if (parsed.value <= 0)
      throw InputError({.source = options.where(key),
                        .path = "",
                        .value = options.at(key),
                        .constraint = "must be > 0"});
    return parsed;
  };
  Failures failures{.node_mtbf = positive("mtbf"),
                    .checkpoint = positive("checkpoint"),
                    .restart = time("restart")};
  if (options.find("every")) failures.every = positive("every");
  return failures;
}

Goodput goodput_of(const Failures& failures, int nodes) {
  const double mtbf_s = failures.node_mtbf.value / nodes;
  const double checkpoint = failures.checkpoint.value / mtbf_s;
  const double every =
      failures.every ? failures.every->value / mtbf_s : best_share_of_mtbf(checkpoint);
  return {
      .share = every / (std::exp(failures.restart.value / mtbf_s) * std::expm1(every + checkpoint)),
      .mtbf = {mtbf_s},
      .every = {every * mtbf_s}};
}

std::string long_time_text(Seconds time) {
  constexpr double kMinute_s = 60;
  constexpr double kHour_s = 3600;
  constexpr double kDay_s = 86400;
  if (time.value < 2 * kMinute_s) return to_text(time);
  if (time.value < 2 * kHour_s) return fmt::format("{:.3g} min", time.value / kMinute_s);
  if (time.value < 2 * kDay_s) return fmt::format("{:.3g} h", time.value / kHour_s);
  return fmt::format("{:.3g} days", time.value / kDay_s);
}

}  // namespace forescale
