#include "sim/ask/inputs.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/nccl_release.hpp"

namespace forescale {
namespace {

// The one that runs on every GPU: no protocol or topology of later ones.
constexpr const char* kOldestNccl = "nccl-2.3";

}  // namespace

Stack stack_for(const Platform& platform, const std::string& text, Scenario scenario) {
  const std::string nccl = platform.nccl.empty() ? kOldestNccl : platform.nccl;
  const std::string name = text.substr(0, text.find(':'));
  if (name == kNccl) return load_stack(nccl + text.substr(name.size()), scenario);
  if (!is_in_catalogue(kStacks, name))
    if (const std::string other = nccl_stack_of_release(nccl, name, "--stack"); !other.empty())
      return load_stack(other + text.substr(name.size()), scenario);
  if (!text.empty()) return load_stack(text, scenario);
  if (!platform.nccl.empty()) return load_stack(nccl, scenario);
  if (platform.is_generated) return load_stack("ideal", scenario);
  std::string names;
  for (const std::string& name : catalogue(kStacks)) names += (names.empty() ? "" : ", ") + name;
  throw InputError({.source = "--stack",
                    .path = "",
                    .value = "",
                    .constraint = "is required on this platform (one of: " + names + ")"});
}

void check_ranks(const Platform& platform, const std::vector<std::int64_t>& ranks,
                 const std::string& option) {
  for (const std::int64_t count : ranks) {
    if (count >= 1 && count <= platform.slot_count()) continue;
    throw InputError({.source = option,
                      .path = "",
                      .value = std::to_string(count),
                      .constraint = count < 1 ? "must be >= 1"
                                              : fmt::format("must be <= {}, the ranks that "
                                                            "platform {} holds",
                                                            platform.slot_count(), platform.name)});
  }
}

// "3x227x227" -> {3, 227, 227}; nothing for an empty text.
std::optional<Shape> parse_shape(const std::string& text) {
  if (text.empty()) return std::nullopt;
  constexpr size_t kSides = 3;
  Shape shape;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t side = 0;
    const auto [stop, error] = std::from_chars(at, end, side);
    if (error != std::errc() || side < 1) break;
    shape.push_back(side);
    if (stop == end && (shape.size() == 1 || shape.size() == kSides)) return shape;
    if (stop == end || *stop != 'x' || shape.size() == kSides) break;
    at = stop + 1;
  }
  throw InputError(
      {.source = "--input-shape",
       .path = "",
       .value = text,
       .constraint =
           "must be channels x height x width, such as 3x227x227, or tokens, such as 512"});
}

}  // namespace forescale
