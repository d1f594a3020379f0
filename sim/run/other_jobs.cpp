#include "sim/run/other_jobs.hpp"

#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

class JobWorker : public Worker {
 public:
  JobWorker(Worker& inner, const JobRanks& job) : inner_(inner), job_(job) {}

  int rank() const override { return inner_.rank() - job_.first; }
  int rank_count() const override { return job_.count; }
  int worker_count() const override { return static_cast<int>(job_.workers->size()); }
  int node(int rank) const override { return inner_.node(job_.first + rank); }
  double now_s() const override { return inner_.now_s(); }

  Request launch(const Kernel& kernel) override { return inner_.launch(kernel); }
  Request start(const CollectiveStep& step) override {
    CollectiveStep moved = step;
    moved.group = in_session(step.group);
    return inner_.start(moved);
  }
  Request send(const MessageStep& step) override { return inner_.send(in_session(step)); }
  Request receive(const MessageStep& step) override { return inner_.receive(in_session(step)); }
  Request put(const MessageStep& step) override { return inner_.put(in_session(step)); }
  Request start(const HostWork& work) override { return inner_.start(work); }
  Request start(const HostCopy& copy) override { return inner_.start(copy); }
  Request start(const Timer& timer) override { return inner_.start(timer); }
  Request next_batch() override { return inner_.next_batch(); }

  void wait(const Request& request) override { inner_.wait(request); }
  void wait_any(const std::vector<Request>& requests) override { inner_.wait_any(requests); }
  bool test(const Request& request) override { return inner_.test(request); }
  std::int64_t value(const Request& request) const override { return inner_.value(request); }
  Request spawn(std::function<void(Worker&)> thread) override {
    return inner_.spawn([job = job_, thread = std::move(thread)](Worker& worker) {
      run_in_job(worker, job, thread);
    });
  }
  Request make_signal() override { return inner_.make_signal(); }
  void set(const Request& signal) override { inner_.set(signal); }
  void end_iteration() override { inner_.end_iteration(); }

 private:
  MessageStep in_session(const MessageStep& step) const {
    MessageStep moved = step;
    moved.peer += job_.first;
    return moved;
  }
  RankGroup in_session(const RankGroup& group) {
    if (!group) return job_.workers;
    RankGroup& moved = groups_[group];
    if (!moved) {
      std::vector<int> ranks = *group;
      for (int& rank : ranks) rank += job_.first;
      moved = std::make_shared<const std::vector<int>>(std::move(ranks));
    }
    return moved;
  }

  Worker& inner_;
  JobRanks job_;
  std::map<RankGroup, RankGroup> groups_;
};

}  // namespace

OtherJobs parse_other_jobs(const std::string& text, const std::string& source) {
  OtherJobs others;
  if (text.empty()) return others;
  constexpr int kJobsMax = 1024;
  const bool is_count = text.find('=') == std::string::npos;
  const OptionsText options =
      OptionsText::parse("jobs:" + (is_count ? "jobs=" + text : text), source);
  options.allow_only({"jobs", "after"});
  others.count = static_cast<int>(options.integer("jobs", 1, 1, kJobsMax));
  if (const auto after = options.find("after"))
    others.after_s = parse_seconds(*after, options.where("after")).value;
  return others;
}

JobRanks job_ranks(int first, int count, int workers) {
  std::vector<int> ranks(static_cast<size_t>(workers));
  std::iota(ranks.begin(), ranks.end(), first);
  return {.first = first,
          .count = count,
          .workers = std::make_shared<const std::vector<int>>(std::move(ranks))};
}

void run_in_job(Worker& worker, const JobRanks& job,
                const std::function<void(Worker&)>& main_thread) {
  JobWorker in_job(worker, job);
  main_thread(in_job);
}

}  // namespace forescale
