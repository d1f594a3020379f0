#include "traces/measured/rebuild.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "traces/measured/groups.hpp"
#include "traces/measured/iterations.hpp"
#include "traces/measured/rank_checks.hpp"
#include "traces/measured/rebucket.hpp"
#include "traces/measured/rebuild_rank.hpp"
#include "traces/measured/stand_in.hpp"

namespace forescale {
namespace {

class Rebuild {
 public:
  Rebuild(std::vector<MeasuredRank> ranks, const ImportOptions& options)
      : ranks_(std::move(ranks)), options_(options) {}

  ImportedTrace run() {
    number_ranks();
    find_world();
    for (MeasuredRank& rank : ranks_) {
      cut_to_steps(rank);
      resolve_groups(rank, traced_world_);
      take_sizes(rank);
    }
    stand_in_.emplace(ranks_, traced_world_, world_, options_);
    world_ = stand_in_->world();
    result_.kernel_split = stand_in_->kernel_split();
    result_.notes.insert(result_.notes.end(), stand_in_->notes().begin(), stand_in_->notes().end());
    check_ranks(ranks_, traced_world_);
    count();
    offsets_ns_ = clock_offsets();
    result_.measured = measured_run(ranks_, offsets_ns_, traced_world_);
    if (options_.bucket_bytes > 0)
      for (MeasuredRank& rank : ranks_) rebucket(rank, options_.bucket_bytes);
    for (const MeasuredRank& rank : ranks_)
      result_.notes.insert(result_.notes.end(), rank.notes.begin(), rank.notes.end());
    build();
    return std::move(result_);
  }

 private:
  void number_ranks() {
    const bool are_numbered = std::all_of(ranks_.begin(), ranks_.end(),
                                          [](const MeasuredRank& rank) { return rank.rank >= 0; });
    if (!are_numbered) {
      if (ranks_.size() > 1)
        result_.notes.emplace_back(
            "the files do not say whose they are: taken to be in the order of the ranks");
      for (size_t i = 0; i < ranks_.size(); ++i) ranks_[i].rank = static_cast<int>(i);
      return;
    }
    std::stable_sort(ranks_.begin(), ranks_.end(),
                     [](const MeasuredRank& a, const MeasuredRank& b) { return a.rank < b.rank; });
    for (size_t i = 1; i < ranks_.size(); ++i)
      if (ranks_[i].rank == ranks_[i - 1].rank)
        refuse(ranks_[i].file, "",
               fmt::format("is of rank {}, and so is {}", ranks_[i].rank, ranks_[i - 1].file));
  }

  // How many ranks were traced of how many, and how many there shall be.
  void find_world() {
    const auto traced = static_cast<int>(ranks_.size());
    for (const MeasuredRank& rank : ranks_)
      traced_world_ = std::max(traced_world_, rank.world_size);
    if (traced_world_ == 0) traced_world_ = traced > 1 ? traced : options_.ranks;
    if (traced_world_ == 0) {
      traced_world_ = least_world(ranks_.front());
      if (traced_world_ > 0)
        result_.notes.push_back(fmt::format(
            "the trace does not say of how many ranks it is: taken to be {}, which its groups name",
            traced_world_));
    }
    const bool communicates =
        std::any_of(ranks_.begin(), ranks_.end(),
                    [](const MeasuredRank& rank) { return !rank.collectives.empty(); });
    if (traced_world_ == 0 && communicates)
      refuse("--ranks", "",
             "is required: the trace has collectives, and does not say of how many ranks");
    traced_world_ = std::max(traced_world_, 1);
    world_ = options_.ranks > 0 ? options_.ranks : traced_world_;
    if (traced > 1 && traced < traced_world_) {
      std::string missing;
      for (int rank = 0; rank < traced_world_ && missing.size() < 60; ++rank)
        if (std::none_of(ranks_.begin(), ranks_.end(),
                         [&](const MeasuredRank& one) { return one.rank == rank; }))
          missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      refuse(ranks_.front().file, "",
             fmt::format("and the others are of {} ranks of {}: all of them are needed, or one "
                         "that stands for all; missing: {}",
                         traced, traced_world_, missing));
    }
  }

  // Sizes that the trace lacks and the command line gives.
  void take_sizes(MeasuredRank& rank) const {
    if (options_.sizes.empty()) return;
    for (MeasuredTask& task : rank.tasks) {
      if (task.collective < 0) continue;
      MeasuredCollective& collective = rank.collectives[static_cast<size_t>(task.collective)];
      if (collective.bytes >= 0) continue;
      const auto given = options_.sizes.find(size_name(collective));
      if (given == options_.sizes.end()) continue;
      if (given->second) {
        collective.bytes = *given->second;
      } else {
        task.collective = -1;
        task.is_communication = true;
      }
    }
    renumber_collectives(rank);
  }

  void count() {
    std::map<std::tuple<std::string, std::vector<int>, std::string>, Volume> by_group;
    for (const MeasuredRank& rank : ranks_) {
      for (const MeasuredCollective& collective : rank.collectives) {
        Volume& volume = collective.is_message ? result_.found.messages
                                               : result_.found.collectives[name_of(collective.op)];
        // Of messages those that are sent.
        if (collective.is_message &&
            collective.ranks[static_cast<size_t>(collective.root)] != rank.rank)
          continue;
        ++volume.count;
        volume.bytes += static_cast<double>(collective.bytes);
        if (collective.is_message) continue;
        std::vector<int> members = collective.ranks;
        if (is_of_all(collective, traced_world_)) {
          members.resize(static_cast<size_t>(traced_world_));
          std::iota(members.begin(), members.end(), 0);
        }
        Volume& of_group = by_group[{collective.group, std::move(members), name_of(collective.op)}];
        ++of_group.count;
        of_group.bytes += static_cast<double>(collective.bytes);
      }
      for (const MeasuredTask& task : rank.tasks)
        if (task.collective < 0 && !task.is_copy && !task.is_communication) ++result_.found.kernels;
    }
    for (const auto& [what, volume] : by_group)
      result_.found.groups.push_back(
          {std::get<2>(what), std::get<0>(what), std::get<1>(what), volume});
  }

  // Nanoseconds by which a rank's clock is ahead of the first one's: collectives end on all ranks
  // at about the same time.
  std::vector<std::int64_t> clock_offsets() {
    const auto ends = [&](const MeasuredRank& rank) {
      std::vector<std::int64_t> of_all;
      for (const MeasuredTask& task : rank.tasks) {
        if (task.collective < 0) continue;
        const MeasuredCollective& first = rank.collectives[static_cast<size_t>(task.collective)];
        // Messages are not: a rank may launch together what the other launches one by one.
        if (!first.is_message && is_of_all(first, traced_world_))
          of_all.push_back(task.span.end_ns);
      }
      return of_all;
    };
    std::vector<std::int64_t> offsets(ranks_.size(), 0);
    const std::vector<std::int64_t> reference = ends(ranks_.front());
    std::string shown;
    for (size_t i = 1; i < ranks_.size(); ++i) {
      std::vector<std::int64_t> differences = ends(ranks_[i]);
      for (size_t n = 0; n < differences.size(); ++n) differences[n] -= reference[n];
      if (differences.empty()) continue;
      const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
      std::nth_element(differences.begin(), middle, differences.end());
      offsets[i] = *middle;
      shown += fmt::format("{}rank {} {}", shown.empty() ? "" : ", ", ranks_[i].rank,
                           to_text(Seconds{static_cast<double>(*middle) * 1e-9}));
    }
    if (!shown.empty())
      result_.notes.push_back(
          fmt::format("clocks, as the ends of collectives say, ahead of rank {}'s: {}",
                      ranks_.front().rank, shown));
    return offsets;
  }

  static double median_compute_s(const std::vector<RankBuild>& built) {
    std::vector<double> of_ranks;
    for (const RankBuild& one : built) of_ranks.push_back(one.compute_s);
    // Of an even number the lower one of both: with two ranks the slower one is the straggler.
    const auto middle = of_ranks.begin() + static_cast<std::ptrdiff_t>((of_ranks.size() - 1) / 2);
    std::nth_element(of_ranks.begin(), middle, of_ranks.end());
    return *middle;
  }

  static std::int64_t begin_ns(const MeasuredRank& rank) {
    std::int64_t begin = rank.calls.empty() ? 0 : rank.calls.front().span.begin_ns;
    if (!rank.steps.empty()) begin = std::min(begin, rank.steps.front().begin_ns);
    return begin;
  }

  CollectiveStep step_of(const MeasuredRank& rank, int index) const {
    const MeasuredCollective& collective = rank.collectives[static_cast<size_t>(index)];
    const bool propagates = operation(collective.op).propagates();
    CollectiveStep step{
        .op = collective.op,
        .bytes = stand_in_->bytes(collective),
        .root = stand_in_->root(collective),
        .phase = propagates ? Phase::kPropagation : Phase::kAggregation,
        .label =
            fmt::format("{} {}", collective.is_message ? "message" : name_of(collective.op), index),
        .on_host = !rank.has_gpu,
        .is_message = collective.is_message};
    const std::string key = group_key(collective, traced_world_);
    step.communicator = static_cast<int>(std::distance(
        communicators_.begin(), std::find(communicators_.begin(), communicators_.end(), key)));
    // Gloo gives every collective a tag of its own: its threads start them in any order.
    if (!rank.has_gpu) step.communicator += index * static_cast<int>(communicators_.size());
    if (!is_of_all(collective, traced_world_) && !stand_in_->places_groups())
      step.group = groups_.at(key);
    return step;
  }

  void name_groups() {
    std::set<std::string> keys;
    for (const MeasuredRank& rank : ranks_)
      for (const MeasuredCollective& collective : rank.collectives) {
        const std::string key = group_key(collective, traced_world_);
        if (!keys.insert(key).second || is_of_all(collective, traced_world_)) continue;
        groups_[key] = std::make_shared<const std::vector<int>>(collective.ranks);
      }
    communicators_.assign(keys.begin(), keys.end());
  }

  // Of the communicators of the one rank that stands for all.
  void place_groups() {
    if (!stand_in_->places_groups()) return;
    const MeasuredRank& rank = ranks_.front();
    for (size_t i = 0; i < rank.collectives.size(); ++i) {
      const MeasuredCollective& collective = rank.collectives[i];
      if (is_of_all(collective, traced_world_)) continue;
      std::vector<RankGroup>& by_rank =
          result_.program.groups[step_of(rank, static_cast<int>(i)).communicator];
      if (by_rank.empty()) by_rank = stand_in_->groups(collective);
    }
  }

  void keep_times(const std::vector<RankBuild>& built) {
    const std::vector<std::vector<double>> times_s = own_times_s(ranks_, traced_world_);
    for (size_t i = 0; i < ranks_.size(); ++i) {
      std::vector<TracedCollective>& of_rank = result_.measured.collectives.emplace_back();
      for (size_t at = 0; at < ranks_[i].collectives.size(); ++at) {
        const MeasuredCollective& collective = ranks_[i].collectives[at];
        of_rank.push_back(
            {.request = built[i].requests[at],
             .op = collective.op,
             .bytes = collective.bytes,
             .root = collective.root,
             .ranks = is_of_all(collective, traced_world_) ? std::vector<int>{} : collective.ranks,
             .is_message = collective.is_message,
             .on_host = !ranks_[i].has_gpu,
             .time_s = times_s[i][at]});
      }
    }
  }

  void build() {
    name_groups();
    std::vector<std::int64_t> begins;
    for (size_t i = 0; i < ranks_.size(); ++i)
      begins.push_back(begin_ns(ranks_[i]) - offsets_ns_[i]);
    const std::int64_t first_ns = *std::min_element(begins.begin(), begins.end());
    Program& program = result_.program;
    const auto build_one = [&](size_t i, double compute_factor) {
      const MeasuredRank& rank = ranks_[i];
      return build_rank(rank, dependencies_of(rank),
                        {.begin_s = static_cast<double>(begins[i] - first_ns) * 1e-9,
                         .compute_factor = compute_factor},
                        [&](int collective) { return step_of(rank, collective); });
    };
    std::vector<RankBuild> built;
    double unexplained_s = 0;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      built.push_back(build_one(i, 1));
      result_.found.compute_s += built.back().compute_s;
      unexplained_s += built.back().unexplained_s;
    }
    if (options_.without_stragglers) {
      const double median_s = median_compute_s(built);
      for (size_t i = 0; i < built.size(); ++i) {
        const double factor = median_s / built[i].compute_s;
        if (!(factor < 1)) continue;
        result_.notes.push_back(
            fmt::format("rank {} computed for {}, {:.1f} % longer than the median rank: taken away",
                        ranks_[i].rank, to_text(Seconds{built[i].compute_s}), 100 / factor - 100));
        built[i] = build_one(i, factor);
      }
    }
    keep_times(built);
    if (unexplained_s > 0)
      result_.notes.push_back(fmt::format(
          "tasks began {} in all later than anything in the trace explains: kept as waits",
          to_text(Seconds{unexplained_s})));
    program.title = std::filesystem::path(ranks_.front().file).filename();
    program.workers = world_;
    place_groups();
    program.iterations = std::max<int>(1, static_cast<int>(ranks_.front().steps.size()));
    program.images.assign(static_cast<size_t>(world_), options_.images);
    if (*std::max_element(begins.begin(), begins.end()) - first_ns > kExtent_ns_max)
      refuse(ranks_.front().file, "", "and the others begin more than 1e9 s apart");
    for (int rank = 0; rank < world_; ++rank)
      program.ranks.push_back(built[static_cast<size_t>(rank) % built.size()].program);
  }

  std::vector<MeasuredRank> ranks_;
  const ImportOptions& options_;
  ImportedTrace result_;
  std::vector<std::int64_t> offsets_ns_;  // by which each rank's clock is ahead
  int traced_world_ = 0;
  int world_ = 0;
  std::map<std::string, RankGroup> groups_;  // that are not all ranks, by key
  std::vector<std::string> communicators_;   // keys, sorted: the index is the communicator
  std::optional<StandIn> stand_in_;
};

}  // namespace

ImportedTrace rebuild(std::vector<MeasuredRank> ranks, const ImportOptions& options) {
  return Rebuild(std::move(ranks), options).run();
}

}  // namespace forescale
