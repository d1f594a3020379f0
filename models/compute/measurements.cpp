#include "models/compute/measurements.hpp"

#include <limits>

#include "base/data_files.hpp"

namespace forescale {
namespace {

constexpr const char* kFolder = "models/compute/times";
constexpr std::int64_t kBatchMax = 1'000'000;

Framework framework_of(const JsonInput& in) {
  const JsonInput name = in.at("framework");
  return read_framework(name.string(), name.file() + ":" + name.path());
}

TimedIteration read_measurement(const JsonInput& in) {
  TimedIteration out;
  out.framework = framework_of(in);
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
  if (const auto structure = in.find("structure")) out.structure = structure->string();
  const JsonInput number =
      in.has("images_per_s") ? in.at("images_per_s") : in.at("seconds_per_iteration");
  if (const auto source = number.find("source")) out.source = source->string();
  if (const auto derived = number.find("assumed")) {
    out.assumed = true;
    out.source = "assumed: " + derived->string();
  }
  return out;
}

}  // namespace

std::vector<TimedIteration> read_measurements(const JsonInput& in,
                                              const std::optional<Framework>& only) {
  in.allow_only({"gpu", "network", "measurements"});
  std::vector<TimedIteration> used;
  bool any = false;
  for (const JsonInput& element : in.at("measurements").elements()) {
    element.allow_only({"framework", "batch", "seconds_per_iteration", "images_per_s", "passes",
                        "library", "use", "structure"});
    if (!element.at("use").boolean()) continue;
    any = true;
    if (!only || framework_of(element) == *only) used.push_back(read_measurement(element));
  }
  if (!any) in.at("measurements").fail("must have one with \"use\": true");
  return used;
}

std::vector<TimedIteration> used_measurements(const std::string& gpu, const std::string& network,
                                              const std::optional<Framework>& wanted,
                                              Provenance* provenance) {
  const std::string name = gpu + "-" + network;
  if (!is_in_catalogue(kFolder, name)) return {};
  const std::string file = find_data_file(kFolder, name, kFolder);
  std::vector<Framework> order = frameworks();
  if (wanted) order.insert(order.begin(), *wanted);
  const JsonInput quiet = JsonInput::from_file(file);
  for (const Framework framework : order)
    if (!read_measurements(quiet, framework).empty())
      return read_measurements(JsonInput::from_file(file, provenance), framework);
  return {};
}

}  // namespace forescale
