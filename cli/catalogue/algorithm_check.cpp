#include "cli/catalogue/algorithm_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "algorithms/check/plan_check.hpp"
#include "algorithms/plan_choice.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

// Rank counts of a check: "5", "2,4" or a range, of which every count is meant.
std::vector<int> every_count(const std::string& text) {
  std::vector<int> counts;
  size_t begin = 0;
  const auto read = [&](const std::string& item) {
    const std::int64_t count = parse_integer(item, "--ranks");
    if (count < 1 || count > kCheckedRanksMax)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = item,
                        .constraint = fmt::format("must be from 1 to {}", kCheckedRanksMax)});
    return static_cast<int>(count);
  };
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t dots = item.find("..");
    const int first = read(item.substr(0, dots));
    const int last = dots == std::string::npos ? first : read(item.substr(dots + 2));
    if (last < first)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = item,
                        .constraint = "a range must not end below its start"});
    for (int count = first; count <= last; ++count) counts.push_back(count);
  }
  return counts;
}

// What is worth checking for one rank count: no bytes, fewer elements than ranks, an odd size in
// chunks, no whole number of elements; roots at both ends.
std::vector<CollectiveCall> calls_of(const Collective& collective, int rank_count) {
  std::vector<CollectiveCall> calls;
  const std::set<int> roots =
      has_root(collective.op) ? std::set<int>{0, rank_count - 1} : std::set<int>{0};
  constexpr std::int64_t kElement = 4;
  size_t shape = 0;
  for (const std::int64_t bytes :
       {std::int64_t{0}, kElement, std::int64_t{61}, kElement * 257, kElement * 97}) {
    for (const int root : roots) {
      CollectiveCall call{.rank_count = rank_count, .bytes = bytes, .root = root};
      call.options = checked_options(collective, shape);
      if (collective.refuse == nullptr || collective.refuse(call).empty()) calls.push_back(call);
    }
    ++shape;
  }
  return calls;
}

std::string call_text(const Collective& collective, const CollectiveCall& call) {
  return fmt::format("{} ranks, {} bytes, root {}, as {}", call.rank_count, call.bytes, call.root,
                     plan_text({.collective = &collective, .options = call.options}));
}

// How many problems were printed.
size_t check_one(const Collective& collective, const std::vector<int>& rank_counts) {
  size_t call_count = 0;
  for (const int rank_count : rank_counts)
    for (const CollectiveCall& call : calls_of(collective, rank_count)) {
      ++call_count;
      const std::vector<std::string> problems = check_plan(collective, call);
      if (problems.empty()) continue;
      fmt::print("{}: wrong for {}\n", collective.name, call_text(collective, call));
      for (const std::string& problem : problems) fmt::print("  {}\n", problem);
      return problems.size();
    }
  if (call_count == 0)
    fmt::print("{}: refuses all of these rank counts\n", collective.name);
  else
    fmt::print("{}: ok, {} calls, {} to {} ranks\n", collective.name, call_count,
               *std::min_element(rank_counts.begin(), rank_counts.end()),
               *std::max_element(rank_counts.begin(), rank_counts.end()));
  return 0;
}

}  // namespace

void check_algorithms(const AlgorithmCheck& check) {
  std::vector<const Collective*> chosen;
  if (check.op.empty()) {
    chosen = all_collectives();
  } else {
    const CollectiveOp op = parse_collective_op(check.op, "algorithm check");
    if (!check.algorithm.empty())
      chosen = {&find_collective(op, check.algorithm, "algorithm check " + check.op)};
    else
      for (const Collective* collective : all_collectives())
        if (collective->op == op) chosen.push_back(collective);
  }
  const std::vector<int> rank_counts = every_count(check.ranks.empty() ? "1..33" : check.ranks);
  size_t wrong = 0;
  for (const Collective* collective : chosen)
    wrong += check_one(*collective, rank_counts) > 0 ? 1 : 0;
  std::fflush(stdout);
  if (wrong > 0) throw CheckFailed(fmt::format("{} of {} plans are wrong", wrong, chosen.size()));
}

}  // namespace forescale
