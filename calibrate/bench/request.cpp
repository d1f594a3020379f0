#include "calibrate/bench/request.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

int small_integer(const JsonInput& value, int min, int max = std::numeric_limits<int>::max()) {
  return static_cast<int>(value.integer(min, max));
}

std::string place_of(const JsonInput& value) { return value.file() + value.path(); }

CollectiveCase read_case(const JsonInput& input, int ranks_max) {
  input.allow_only({"plan", "ranks", "bytes", "root"});
  const JsonInput plan = input.at("plan");
  CollectiveCase one{.plan = parse_plan(plan.string(), place_of(plan)), .call = {}};
  one.call.rank_count = small_integer(input.at("ranks"), 1, ranks_max);
  const JsonInput bytes = input.at("bytes");
  one.call.bytes = bytes.integer(0);
  if (one.call.bytes % one.call.element_bytes != 0)
    bytes.fail(fmt::format("must be whole FP32 elements of {} bytes", one.call.element_bytes));
  if (const auto root = input.find("root")) one.call.root = small_integer(*root, 0);
  one.call.options = one.plan.options;
  return one;
}

}  // namespace

CommonRequest read_common(const JsonInput& request) {
  request.at("format").one_of({"forescale-mpi-request-1"});
  CommonRequest common;
  common.task = request.at("task").one_of({"patterns", "collectives", "counts", "schedule"});
  if (const auto wait = request.find("wait")) {
    wait->allow_only({"nap_s"});
    common.nap_s = wait->at("nap_s").number(0, 1);
  }
  if (const auto channels = request.find("channels")) common.channels = small_integer(*channels, 1);
  return common;
}

CollectivesRequest read_collectives(const JsonInput& request, int ranks_max) {
  request.allow_only({"format", "task", "wait", "channels", "budget_s", "repetitions_min",
                      "repetitions_max", "relative_interval", "cases"});
  CollectivesRequest result;
  if (const auto budget = request.find("budget_s")) result.budget_s = budget->number(0);
  if (const auto minimum = request.find("repetitions_min"))
    result.repetitions_min = small_integer(*minimum, 1);
  if (const auto maximum = request.find("repetitions_max"))
    result.repetitions_max = small_integer(*maximum, result.repetitions_min);
  if (const auto relative = request.find("relative_interval"))
    result.relative_interval = relative->number(0);
  for (const JsonInput& one : request.at("cases").elements())
    result.cases.push_back(read_case(one, ranks_max));
  return result;
}

nlohmann::json to_json(const CollectiveCase& one) {
  return {{"plan", plan_text(one.plan)},
          {"ranks", one.call.rank_count},
          {"bytes", one.call.bytes},
          {"root", one.call.root}};
}

}  // namespace forescale
