#include "studies/sweep/sweep_run.hpp"

#include <deque>
#include <optional>

#include "studies/sweep/sweep_crew.hpp"

namespace forescale {
namespace {

class Master {
 public:
  explicit Master(const SweepRun& run)
      : run_(run),
        processes_(run.program, run.jobs),
        waiting_(run.points.begin(), run.points.end()) {
    if (run.workers > 0)
      crew_.emplace(address_file_of(run.database.file()), static_cast<std::size_t>(run.workers),
                    run.study.id, run.database.facts().version);
  }

  void run() {
    std::size_t finished = 0;
    hand_out();
    while (finished < run_.points.size()) {
      wait();
      const std::vector<SweepRow> rows = gather();
      hand_out();  // no core waits for the disk
      run_.database.store(rows);
      finished += rows.size();
      if (!rows.empty()) run_.on_progress(finished);
    }
    if (crew_) crew_->dismiss();
  }

 private:
  void hand_out() {
    while (!waiting_.empty()) {
      const std::size_t point = waiting_.front();
      if (processes_.has_room())
        processes_.start(point, run_.study.points[point].arguments);
      else if (!crew_ || !crew_->give(point))
        return;
      waiting_.pop_front();
    }
  }

  void wait() const {
    std::vector<pollfd> polls;
    processes_.add_to(polls);
    if (crew_) crew_->add_to(polls);
    poll(polls.data(), polls.size(), -1);
  }

  std::vector<SweepRow> gather() {
    std::vector<PointOutcome> outcomes = processes_.collect();
    if (crew_) {
      std::vector<std::size_t> lost;
      for (PointOutcome& outcome : crew_->collect(lost)) outcomes.push_back(std::move(outcome));
      waiting_.insert(waiting_.begin(), lost.begin(), lost.end());
    }
    std::vector<SweepRow> rows;
    for (PointOutcome& outcome : outcomes) {
      const StudyPoint& point = run_.study.points[outcome.point];
      SweepRow& row = rows.emplace_back(std::move(outcome.row));
      row.key = point.key;
      row.place = static_cast<std::int64_t>(outcome.point);
      row.inputs = point.inputs;
    }
    return rows;
  }

  const SweepRun& run_;
  SweepProcesses processes_;
  std::deque<std::size_t> waiting_;
  std::optional<SweepCrew> crew_;
};

}  // namespace

void run_sweep(const SweepRun& run) { Master(run).run(); }

std::string address_file_of(const std::string& database) { return database + ".master"; }

}  // namespace forescale
