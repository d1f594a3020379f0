#include "base/noise_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/csv.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"

namespace forescale {
namespace {

std::vector<double> read_measured_times(const std::string& file) {
  constexpr size_t kLeast = 10;
  std::ifstream in(file);
  std::vector<double> times;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::vector<std::string> cells = csv_cells(line);
    if (cells.empty() || cells.front().empty()) continue;
    char* end = nullptr;
    const double time = std::strtod(cells.front().c_str(), &end);
    const bool is_number = *end == '\0';
    if (!is_number && number == 1) continue;
    if (!is_number || !std::isfinite(time) || time <= 0)
      throw InputError({.source = fmt::format("{}:{}", file, number),
                        .path = "",
                        .value = cells.front(),
                        .constraint = "must be a measured time, a number > 0"});
    times.push_back(time);
  }
  if (times.size() < kLeast)
    throw InputError(
        {.source = file,
         .path = "",
         .value = "",
         .constraint = fmt::format("must hold {} measured times at least, one a line; it holds {}",
                                   kLeast, times.size())});
  return times;
}

}  // namespace

NoiseText parse_noise_text(const std::string& text, const std::string& source) {
  const OptionsText options = OptionsText::parse("noise:" + text, source);
  options.allow_only({"sigma", "file", "seed"});
  NoiseText noise{.seed = static_cast<std::uint64_t>(options.integer("seed", 1, 0))};
  if (const auto file = options.find("file")) {
    if (options.find("sigma")) refuse(options.where("file"), *file, "is given beside sigma");
    noise.times = read_measured_times(*file);
    return noise;
  }
  const std::string sigma = options.at("sigma");
  char* end = nullptr;
  noise.sigma = std::strtod(sigma.c_str(), &end);
  if (*end != '\0' || !(noise.sigma >= 0 && noise.sigma <= 1))
    refuse(options.where("sigma"), sigma, "must be a number from 0 to 1");
  return noise;
}

}  // namespace forescale
