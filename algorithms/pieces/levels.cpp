#include "algorithms/pieces/levels.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr std::array<std::pair<const char*, TreeKind>, 3> kKinds = {
    {{"flat", TreeKind::kFlat}, {"binomial", TreeKind::kBinomial}, {"chain", TreeKind::kChain}}};

TreeKind parse_kind(const std::string& text, const std::string& source) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) {
    if (text == name) return kind;
    names.emplace_back(name);
  }
  throw InputError(
      {.source = source, .path = "", .value = text, .constraint = unknown_name(text, names)});
}

int parse_member_count(const std::string& text, const std::string& source) {
  constexpr std::int64_t kLargest = 1 << 30;
  const std::int64_t count = parse_integer(text, source);
  if (count < 1 || count > kLargest)
    throw InputError({.source = source,
                      .path = "",
                      .value = text,
                      .constraint = "a level needs between 1 and 2^30 members"});
  return static_cast<int>(count);
}

// Where a rank stands at one level.
struct Place {
  TreeKind kind = TreeKind::kChain;
  Group group;
  int member = 0;
};

// Its place at every level that it takes part in, lowest first.
std::vector<Place> places(const std::vector<Level>& levels, const CollectiveCall& call, int rank) {
  std::vector<Place> list;
  int index = member_of(rank, call.root, call.rank_count);  // among the leaders of this level
  int leaders = call.rank_count;
  int stride = 1;
  for (const Level& level : levels) {
    const int full = level.member_count == 0 ? leaders : std::min(level.member_count, leaders);
    const int group_index = index / full;
    Place place;
    place.kind = level.kind;
    place.member = index % full;
    place.group = {.rank_count = call.rank_count,
                   .root = call.root,
                   .first = group_index * full * stride,
                   .stride = stride,
                   .count = std::min(full, leaders - group_index * full)};
    list.push_back(place);
    if (place.member != 0) break;
    index = group_index;
    leaders = (leaders + full - 1) / full;
    stride *= full;
  }
  return list;
}

// The root takes part at every level, always in a fullest group.
std::vector<Place> places_of_root(const std::vector<Level>& levels, const CollectiveCall& call) {
  return places(levels, call, call.root);
}

}  // namespace

std::vector<Level> parse_levels(const std::string& text, const std::string& source) {
  std::vector<Level> levels;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t colon = item.find(':');
    const bool is_last = end == text.size();
    Level level;
    level.kind = parse_kind(item.substr(0, colon), source);
    if ((colon == std::string::npos) != is_last)
      throw InputError({.source = source,
                        .path = "",
                        .value = text,
                        .constraint = "every level but the last needs a size, the last none: "
                                      "\"chain:8,chain:8,binomial\""});
    if (!is_last) level.member_count = parse_member_count(item.substr(colon + 1), source);
    levels.push_back(level);
    begin = end + 1;
  }
  return levels;
}

std::vector<Level> levels_of_call(const CollectiveCall& call) {
  if (const std::string levels = call.options.text(kLevels); !levels.empty()) {
    // One rank after the other asks.
    thread_local std::pair<std::string, std::vector<Level>> last;
    if (last.first != levels) last = {levels, parse_levels(levels, "--levels")};
    return last.second;
  }
  return {{.kind = TreeKind::kChain, .member_count = chain_size(call)},
          {.kind = TreeKind::kBinomial, .member_count = 0}};
}

OpStream hierarchical_reduce(const std::vector<Level>& levels, const CollectiveCall& call,
                             int rank) {
  OpStream plan;
  for (const Place& place : places(levels, call, rank)) {
    OpStream level = tree_reduce(place.kind, place.group, place.member, chunks_of_call(call));
    plan = in_sequence(std::move(plan), std::move(level));
  }
  return plan;
}

OpStream hierarchical_broadcast(const std::vector<Level>& levels, const CollectiveCall& call,
                                int rank) {
  OpStream plan;
  for (const Place& place : places(levels, call, rank)) {
    OpStream level = tree_broadcast(place.kind, place.group, place.member, chunks_of_call(call));
    plan = in_sequence(std::move(level), std::move(plan));
  }
  return plan;
}

double hierarchical_reduce_s(const std::vector<Level>& levels, const CollectiveCall& call,
                             const StepCost& cost) {
  double total_s = 0;
  for (const Place& place : places_of_root(levels, call))
    total_s += tree_reduce_s(place.kind, place.group.count, chunks_of_call(call), cost);
  return total_s;
}

double hierarchical_broadcast_s(const std::vector<Level>& levels, const CollectiveCall& call,
                                const StepCost& cost) {
  double total_s = 0;
  for (const Place& place : places_of_root(levels, call))
    total_s += tree_broadcast_s(place.kind, place.group.count, chunks_of_call(call), cost);
  return total_s;
}

}  // namespace forescale
