// Copies of a job that run beside it on the same fabric, each on ranks of its own.
#pragma once

#include <string>
#include <vector>

#include "algorithms/worker.hpp"

namespace forescale {

struct OtherJobs {
  int count = 0;
  double after_s = 0;  // each starts so much later than the one before it
};

// What --beside takes: "2", "jobs=2,after=10ms". InputError naming `source`.
OtherJobs parse_other_jobs(const std::string& text, const std::string& source);

// Ranks [first, first + count) of a session are one job, its workers first.
struct JobRanks {
  int first = 0;
  int count = 0;
  RankGroup workers = nullptr;  // of the session
};
JobRanks job_ranks(int first, int count, int workers);

// Runs `main_thread` on `worker` as rank worker.rank() - first of a job that sees no other ranks.
void run_in_job(Worker& worker, const JobRanks& job,
                const std::function<void(Worker&)>& main_thread);

}  // namespace forescale
