#include "traces/measured/stand_in.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "traces/measured/rank_checks.hpp"

namespace forescale {
namespace {

// --group and --split, where there is nothing for them to change.
void refuse_sizes(const ImportOptions& options, const char* why) {
  for (const auto& [option, sizes] :
       {std::pair("--group", &options.groups), std::pair("--split", &options.splits)})
    if (!sizes->empty()) refuse(option, sizes->begin()->first, why);
}

}  // namespace

StandIn::StandIn(const std::vector<MeasuredRank>& ranks, int traced_world, int world,
                 const ImportOptions& options)
    : traced_world_(traced_world), world_(world) {
  const auto traced = static_cast<int>(ranks.size());
  if (world == traced) {
    refuse_sizes(options, "needs the trace of one rank that stands for all");
    return;
  }
  std::set<std::vector<int>> groups;
  for (const MeasuredRank& one : ranks)
    for (const MeasuredCollective& collective : one.collectives) {
      if (collective.is_message)
        refuse(one.file, collective.group,
               "is sent between stages of a pipeline, which differ: every rank's trace is needed");
      if (is_of_all(collective, traced_world)) continue;
      if (traced > 1 || world != traced_world)
        refuse(one.file, collective.group,
               fmt::format("is a group of {} of {} ranks: where there are such groups, one "
                           "rank's trace may stand for all {}, or every rank's is needed",
                           collective.ranks.size(), traced_world, traced_world));
      groups.insert(collective.ranks);
    }
  if (traced > 1) {
    notes_.push_back(fmt::format(
        "{} ranks were traced: rank r of {} does what rank r modulo {} did, with the same work",
        traced, world, traced));
    refuse_sizes(options, "needs the trace of one rank that stands for all");
    return;
  }
  const MeasuredRank& rank = ranks.front();
  notes_.push_back(fmt::format("the trace of rank {} stands for all {} ranks", rank.rank, world));
  if (groups.empty()) {
    refuse_sizes(options,
                 "is no group of the trace, whose collectives are of all ranks: --ranks "
                 "changes their number");
    return;
  }
  grid_.emplace(std::vector<std::vector<int>>(groups.begin(), groups.end()), rank.rank, world,
                rank.file);
  resize_groups(rank, options);
  notes_.push_back(
      fmt::format("by symmetry: in the grid {} of its groups (nearest ranks first) every rank "
                  "has those of its own place",
                  grid_->text()));
}

// The group that the option means, by its name or title.
std::vector<int> StandIn::resize(const MeasuredRank& rank, const std::string& name, int size,
                                 const char* option) {
  std::set<std::string> known;
  for (const MeasuredCollective& collective : rank.collectives) {
    if (is_of_all(collective, traced_world_)) continue;
    const auto title = rank.group_titles.find(collective.group);
    const bool has_title = title != rank.group_titles.end();
    known.insert(has_title ? title->second : collective.group);
    if (collective.group != name && !(has_title && title->second == name)) continue;
    if (!grid_->resize(collective.ranks, size))
      refuse(option, fmt::format("{}={}", name, size),
             "must be a multiple of the ranks in the group's inner dimensions");
    notes_.push_back(fmt::format("group \"{}\": of {} ranks in place of {}", name, size,
                                 collective.ranks.size()));
    return collective.ranks;
  }
  refuse(option, name, fmt::format("is no group of the trace: {}", fmt::join(known, ", ")));
}

// Data parallelism of another degree keeps what a rank computes and sends. Tensor parallelism of
// another divides its matrices, and with them the gradients that other groups add up.
void StandIn::resize_groups(const MeasuredRank& rank, const ImportOptions& options) {
  for (const auto& [name, size] : options.groups) resize(rank, name, size, "--group");
  for (const auto& [name, size] : options.splits) {
    std::vector<int> group = resize(rank, name, size, "--split");
    const double left = static_cast<double>(group.size()) / size;
    splits_.emplace_back(std::move(group), left);
  }
  if (!splits_.empty())
    notes_.emplace_back(
        "assumed: matrix kernels, and all-reduces, reduce-scatters and all-gathers of other "
        "groups, are divided by as much as the split group grows");
  world_ = grid_->world();
  if (world_ > kProgramRanksMax)
    refuse("--group", fmt::format("{} ranks", world_), "must be at most 1048576 in all");
}

double StandIn::kernel_split() const {
  double split = 1;
  for (const auto& [group, left] : splits_) split *= left;
  return split;
}

std::int64_t StandIn::bytes(const MeasuredCollective& collective) const {
  const bool adds_up = collective.op == CollectiveOp::kAllReduce ||
                       collective.op == CollectiveOp::kReduceScatter ||
                       collective.op == CollectiveOp::kAllGather;
  if (!adds_up) return collective.bytes;
  double left = 1;
  for (const auto& [group, of_group] : splits_)
    if (collective.ranks != group) left *= of_group;
  return left == 1 ? collective.bytes : std::llround(static_cast<double>(collective.bytes) * left);
}

// A group that has become smaller may lack it.
int StandIn::root(const MeasuredCollective& collective) const {
  if (!grid_ || is_of_all(collective, traced_world_)) return collective.root;
  return std::min(collective.root,
                  static_cast<int>(grid_->group_of(collective.ranks, 0).size()) - 1);
}

std::vector<RankGroup> StandIn::groups(const MeasuredCollective& collective) const {
  std::map<std::vector<int>, RankGroup> known;
  std::vector<RankGroup> by_rank;
  for (int rank = 0; rank < world_; ++rank) {
    const std::vector<int> members = grid_->group_of(collective.ranks, rank);
    RankGroup& group = known[members];
    if (!group) group = std::make_shared<const std::vector<int>>(members);
    by_rank.push_back(group);
  }
  return by_rank;
}

}  // namespace forescale
