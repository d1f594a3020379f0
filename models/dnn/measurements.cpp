#include "models/dnn/measurements.hpp"

#include <algorithm>
#include <limits>

#include "models/data_files.hpp"

namespace forescale {
namespace {

constexpr const char* kFolder = "models/dnn/times";
constexpr std::int64_t kBatchMax = 1'000'000;

Measurement read_measurement(const JsonInput& in) {
  Measurement out;
  out.batch = in.at("batch").integer(1, kBatchMax);
  if (in.has("images_per_s") == in.has("seconds_per_iteration"))
    in.fail("must have either \"seconds_per_iteration\" or \"images_per_s\"");
  if (const auto rate = in.find("images_per_s"))
    out.iteration.value =
        static_cast<double>(out.batch) / rate->factor(1e-9, std::numeric_limits<double>::max());
  else
    out.iteration = in.at("seconds_per_iteration").seconds();
  if (out.iteration.value <= 0) in.at("seconds_per_iteration").fail("must be > 0");
  out.includes_update = in.at("passes").one_of({"forward+backward", "forward+backward+update"}) ==
                        "forward+backward+update";
  out.library = in.at("library").string();
  const JsonInput number =
      in.has("images_per_s") ? in.at("images_per_s") : in.at("seconds_per_iteration");
  if (const auto source = number.find("source")) out.source = source->string();
  return out;
}

}  // namespace

std::vector<Measurement> read_measurements(const JsonInput& in) {
  in.allow_only({"gpu", "network", "measurements"});
  std::vector<Measurement> used;
  for (const JsonInput& element : in.at("measurements").elements()) {
    element.allow_only(
        {"batch", "seconds_per_iteration", "images_per_s", "passes", "library", "use"});
    if (element.at("use").boolean()) used.push_back(read_measurement(element));
  }
  if (used.empty()) in.at("measurements").fail("must have one with \"use\": true");
  return used;
}

std::vector<Measurement> used_measurements(const std::string& gpu, const std::string& network,
                                           Provenance* provenance) {
  const std::string name = gpu + "-" + network;
  const std::vector<std::string> names = catalogue(kFolder);
  if (!std::binary_search(names.begin(), names.end(), name)) return {};
  return read_measurements(
      JsonInput::from_file(find_data_file(kFolder, name, kFolder), provenance));
}

}  // namespace forescale
