// What the collectives of a layout take: each is simulated with what calls the same at the same
// moment and shares links with it, groups with ranks on the same node and those of jobs beside this
// one; that of rank 0's group for all but the groups that a slow link is in the way of.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/ask/ask.hpp"
#include "studies/layout/layout_setup.hpp"
#include "studies/layout/layout_variation.hpp"

namespace forescale {

// One collective of one group, and the other groups that may be in its way.
struct GroupCall {
  std::string op;
  std::vector<int> ranks;
  std::int64_t bytes = 0;
  std::vector<std::vector<int>> at_once = {};
  auto operator<=>(const GroupCall&) const = default;
};

// Times of collectives on their machines, all simulated together once all are known.
class CallTimes {
 public:
  // Of a machine, a question without a call.
  static std::string key(const Question& machine, const Scenario& scenario);

  void want(Question machine, const Scenario& scenario, const GroupCall& call);
  void simulate(Asker& asker, bool keep_failures);
  // `machine`: its key. 0 for a call of one rank or of nothing. CallFailed.
  double of(const std::string& machine, const GroupCall& call) const;

  class CallFailed : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

 private:
  using Key = std::pair<std::string, GroupCall>;  // of a machine

  std::map<Key, Answer> times_;
  // Of those to simulate, in one order.
  std::vector<Answer*> places_;
  std::vector<Question> questions_;
  std::vector<Scenario> scenarios_;
};

// What a stage's collectives take.
struct StageTimes {
  std::map<StageExchange, double> exchanges_s = {};
  double parameters_s = 0;  // of each part
  double gradients_s = 0;
  double replicas_s = 0;
};

class LayoutCollectives {
 public:
  // All outlive this; `copies` may be none where all links are as they should be.
  LayoutCollectives(const LayoutCase& about, const LayoutSetUp& set_up,
                    const std::vector<CopyRanks>& copies, Asker& asker, CallTimes& times);

  void want();

  // Once the times are there; CallTimes::CallFailed. On a machine as it should be, or in a copy of
  // the pipeline: the longest of its groups, and of the data that all ranks of the stage share.
  StageTimes of_stage(size_t stage);
  StageTimes of_stage(size_t stage, const CopyRanks& copy);
  double transfer_s();
  double transfer_s(const CopyRanks& copy);
  double norm_s();
  double norm_of_all_s();

 private:
  const IterationWork& work() const { return set_up_.work; }
  bool has_slow_links() const { return slow_links_.has_value(); }
  bool is_slow(const GroupCall& call) { return slow_links_ && slow_links_->concern(call.ranks); }
  void want(const std::vector<LayoutCall>& calls, const std::vector<int>& ranks);
  void want_slow(const GroupCall& call);
  // `ranks`: of a rank's group.
  using GroupOf = std::function<std::vector<int>(int rank)>;
  GroupCall called(const std::string& op, std::int64_t bytes, int rank, const GroupOf& ranks) const;
  GroupCall of_group(const LayoutCall& call, int rank) const;
  GroupCall message(int rank) const;
  std::vector<int> pair_of(int rank) const;
  std::vector<int> senders(const CopyRanks& copy) const;
  std::vector<int> ranks_of(int pipeline_rank) const;
  std::vector<int> all_ranks() const;
  // The longest of rank 0's and of the slow ones of `ranks`.
  double time_s(const LayoutCall& call, const std::vector<int>& ranks);
  double longest_message_s(const std::vector<int>& ranks);
  StageTimes of_stage(size_t stage, const std::vector<int>& exchanging,
                      const std::vector<int>& all);

  const LayoutSetUp& set_up_;
  const std::vector<CopyRanks>& copies_;
  const RankGrid grid_;
  const int ranks_;
  const int other_jobs_;
  std::map<int, std::vector<int>> ranks_of_node_;
  const Scenario scenario_;
  const Question healthy_;  // machines
  const Question slow_;
  const std::string healthy_key_;
  const std::string slow_key_;
  CallTimes& times_;
  std::optional<SlowLinks> slow_links_;
};

}  // namespace forescale
