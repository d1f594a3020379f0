#include "algorithms/collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/units.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

void require(bool holds, const char* option, std::int64_t value, const std::string& constraint) {
  if (holds) return;
  throw InputError(
      {.source = option, .path = "", .value = std::to_string(value), .constraint = constraint});
}

void check_options(const Collective& collective, const OptionValues& options) {
  for (const auto& [name, value] : options.given()) {
    const Option* option = find_option(collective, name);
    if (option == nullptr)
      throw InputError({.source = option_flag(name),
                        .path = "",
                        .value = "",
                        .constraint = "is not an option of " + collective.name});
    check_value(*option, value, option_flag(name));
  }
}

}  // namespace

std::string option_flag(const std::string& name) {
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool register_collective(Collective collective) {
  collective.name = std::string(name_of(collective.op)) + "/" + collective.algorithm;
  FORESCALE_CHECK(collective.plan != nullptr, collective.name + " has no plan");
  FORESCALE_CHECK(collective.closed_form != nullptr, collective.name + " has no closed form");
  for (const Option& option : collective.options) add_plan_option(option);
  return Registry<Collective>::add(std::move(collective));
}

OpStream message_plan(const Collective& collective, const CollectiveCall& call, int rank) {
  OpStream plan = collective.plan(call, rank);
  return collective.joins ? with_joined(std::move(plan)) : std::move(plan);
}

const Collective& find_collective(CollectiveOp op, const std::string& algorithm,
                                  const std::string& source) {
  std::vector<std::string> algorithms;
  for (const auto& [name, collective] : Registry<Collective>::all()) {
    if (collective.op != op) continue;
    if (collective.algorithm == algorithm) return collective;
    algorithms.push_back(collective.algorithm);
  }
  throw InputError({.source = source,
                    .path = "",
                    .value = algorithm,
                    .constraint = unknown_name(algorithm, algorithms)});
}

// More would be simulated for hours.
void check_chunks(const Collective& collective, const CollectiveCall& call) {
  constexpr std::int64_t kChunksMax = 1 << 22;
  const Option* option = find_option(collective, kChunkBytes.name);
  const std::int64_t chunk_bytes = option == nullptr ? 0 : call.options.number(*option);
  if (chunk_bytes <= 0 || call.bytes / chunk_bytes <= kChunksMax) return;
  throw InputError({.source = option_flag(kChunkBytes.name),
                    .path = "",
                    .value = to_text(Bytes{chunk_bytes}),
                    .constraint = fmt::format("cuts {} into {} chunks: at most {} are simulated",
                                              to_text(Bytes{call.bytes}), call.bytes / chunk_bytes,
                                              kChunksMax)});
}

std::vector<const Collective*> all_collectives() {
  std::vector<const Collective*> list;
  for (const auto& [name, collective] : Registry<Collective>::all()) list.push_back(&collective);
  return list;
}

const Option* find_option(const Collective& collective, const std::string& name) {
  for (const Option& option : collective.options)
    if (option.name == name) return &option;
  return nullptr;
}

void check_call(const Collective& collective, const CollectiveCall& call) {
  require(call.rank_count >= 1, "--ranks", call.rank_count, "must be >= 1");
  require(call.bytes >= 0, "--bytes", call.bytes, "must be >= 0");
  require(call.root >= 0 && call.root < call.rank_count, "--root", call.root,
          fmt::format("must be >= 0 and below the {} ranks", call.rank_count));
  require(call.element_bytes >= 1, "--element-bytes", call.element_bytes, "must be >= 1");
  check_options(collective, call.options);
  check_chunks(collective, call);
  if (collective.refuse == nullptr) return;
  if (const std::string reason = collective.refuse(call); !reason.empty())
    throw InputError(
        {.source = "--algorithm", .path = "", .value = collective.algorithm, .constraint = reason});
}

}  // namespace forescale
