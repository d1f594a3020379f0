#include "studies/settings/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kElementBytes = 4;

std::string described(const SettingsRegion& region) {
  const bool has_end = region.to_bytes < std::numeric_limits<std::int64_t>::max();
  return fmt::format("{} on {} ranks, {} B{}", name_of(region.op), region.ranks, region.from_bytes,
                     has_end ? fmt::format(" to {} B", region.to_bytes) : " and more");
}

[[noreturn]] void refuse_region(const SettingsRegion& region, const std::string& constraint) {
  throw InputError({.source = "the tuned table",
                    .path = "",
                    .value = described(region),
                    .constraint = constraint});
}

bool is_same(const LibraryAlgorithm& a, const LibraryAlgorithm& b) {
  return a.op == b.op && a.id == b.id && a.segment_bytes == b.segment_bytes;
}

void check_algorithm(const SettingsFormat& format, const SettingsRegion& region) {
  if (!region.chosen) return;
  const LibraryAlgorithm& chosen = *region.chosen;
  if (chosen.op != region.op)
    refuse_region(region, fmt::format("is given an algorithm for {}", name_of(chosen.op)));
  if (format.algorithms != nullptr) {
    const std::vector<LibraryAlgorithm> offered = format.algorithms(region.op);
    if (std::none_of(offered.begin(), offered.end(),
                     [&](const LibraryAlgorithm& one) { return is_same(one, chosen); }))
      refuse_region(region, fmt::format("{} has no {} with segments of {} B", format.library,
                                        chosen.id, chosen.segment_bytes));
  }
  const std::string reason =
      chosen.refuse(region.ranks, std::max(region.to_bytes, chosen.bytes_min(region.ranks)));
  if (!reason.empty()) refuse_region(region, fmt::format("{} {}", chosen.title, reason));
}

void check_regions(const SettingsFormat& format, const TunedSettings& settings) {
  for (std::size_t i = 0; i < settings.regions.size(); ++i) {
    const SettingsRegion& region = settings.regions[i];
    if (region.ranks < 2) refuse_region(region, "must have at least two ranks");
    if (region.from_bytes < 0 || region.from_bytes > region.to_bytes)
      refuse_region(region, "must begin at 0 or more bytes and not behind its end");
    check_algorithm(format, region);
    for (std::size_t k = 0; k < i; ++k) {
      const SettingsRegion& other = settings.regions[k];
      if (other.op == region.op && other.ranks == region.ranks &&
          other.from_bytes <= region.to_bytes && region.from_bytes <= other.to_bytes)
        refuse_region(region, "overlaps with " + described(other));
    }
  }
}

std::string known_version(const SettingsFormat& format, const std::string& version) {
  const std::vector<std::string>& known = format.versions;
  if (version.empty()) return known.empty() ? "" : known.front();
  if (std::find(known.begin(), known.end(), version) != known.end()) return version;
  throw InputError(
      {.source = "--library-version",
       .path = "",
       .value = version,
       .constraint = known.empty()
                         ? fmt::format("is not asked: {} has no versions", format.name)
                         : fmt::format("is no version of {} that {} is written for (one of: {})",
                                       format.library, format.name, fmt::join(known, ", "))});
}

}  // namespace

std::int64_t LibraryAlgorithm::bytes_min(int ranks) const {
  return limits.one_element_a_rank ? kElementBytes * ranks : 0;
}

std::string LibraryAlgorithm::refuse(int ranks, std::int64_t bytes) const {
  if (ranks < limits.ranks_min) return fmt::format("needs at least {} ranks", limits.ranks_min);
  if (limits.power_of_two && !std::has_single_bit(static_cast<unsigned>(ranks)))
    return "needs a power of two of ranks";
  if (limits.even && ranks % 2 != 0) return "needs an even number of ranks";
  if (bytes < bytes_min(ranks))
    return fmt::format("needs at least {} B on {} ranks", bytes_min(ranks), ranks);
  return "";
}

LibraryAlgorithm own_algorithm(const PlanChoice& plan) {
  return {.op = plan.collective->op,
          .id = plan_text(plan),
          .title = plan.collective->algorithm,
          .plan = plan,
          .limits = {},
          .source = plan.collective->source};
}

LibraryAlgorithm told_algorithm(CollectiveOp op, const AlternativeChoice& choice) {
  return {.op = op,
          .id = choice.name,
          .title = choice.text(),
          .segment_bytes = choice.chunk_bytes,
          .plan = {},
          .limits = {},
          .source = "alternatives of the stack"};
}

std::string emit_settings(const SettingsFormat& format, const TunedSettings& settings,
                          const std::string& version) {
  const std::string chosen = known_version(format, version);
  check_regions(format, settings);
  std::string text = format.emit(settings, chosen);
  if (text.empty())
    throw InputError({.source = "--emit",
                      .path = "",
                      .value = format.name,
                      .constraint = "nothing was tuned that " + format.library + " can be told"});
  return text;
}

}  // namespace forescale
