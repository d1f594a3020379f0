// One rank that runs a training schedule for real: what its threads share. The counterpart of
// sim/run/session.hpp; a thread's view of it is mpi_worker.hpp.
//
// All members but lock() and those said to differ are called with the lock held, and release it
// only where a thread waits. Kernels, timers, host work and copies complete by the rank's clock,
// and are looked at whenever a thread of the rank is; collectives and messages move on only while a
// thread is inside a call for them (or a progress thread always is). A time in which other ranks
// have not called a collective yet counts as the collective's phase.
#pragma once

#include <mpi.h>

#include <array>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "algorithms/plan.hpp"
#include "calibrate/bench/patience.hpp"
#include "calibrate/bench/patterns/memory_sweeps.hpp"
#include "calibrate/bench/worker/gpu_thread.hpp"
#include "calibrate/bench/worker/rank_lock.hpp"
#include "calibrate/bench/worker/rank_request.hpp"
#include "calibrate/measure/emulated_gpu.hpp"
#include "calibrate/measure/schedule_request.hpp"

namespace forescale {

// Where an iteration's time went, as in the simulator: while the GPU computes, to that phase; else
// to what the threads wait for; else idle.
struct IterationTime {
  double end_s = 0;  // since the start
  std::array<double, kPhaseCount> phase_s{};
  double idle_s = 0;
};

// What this rank has sent.
struct SentBytes {
  std::int64_t messages = 0;
  std::int64_t payload = 0;
  std::int64_t control = 0;
};

class MpiRank {
 public:
  // Collective over MPI_COMM_WORLD; needs MPI_THREAD_SERIALIZED. No lock needed. What `request`
  // says must live on.
  MpiRank(const ScheduleRequest& request, const Patience& patience, int channels);
  ~MpiRank();
  MpiRank(const MpiRank&) = delete;
  MpiRank& operator=(const MpiRank&) = delete;

  RankLock& lock() { return lock_; }
  int rank() const { return rank_; }
  const ScheduleRequest& request() const { return request_; }
  // Times are seconds since then, on this host's clock. Before anything else is called;
  // takes the lock itself.
  void set_start(double clock_s);
  double now_s() const { return clock_s() - start_s_; }

  Request launch(const Kernel& kernel);
  Request start(const CollectiveStep& step);
  Request send(const MessageStep& step);
  Request receive(const MessageStep& step);
  Request start(const HostWork& work);
  Request start(const HostCopy& copy);
  Request timer(double delay_s, std::optional<Phase> phase, const std::string& text);
  void end_iteration();

  // Blocks the thread until one of them is done. `woken` is the thread's own.
  void wait_any(const std::string& thread, std::condition_variable_any& woken,
                const std::vector<Request>& requests);
  bool test(const Request& request);
  // The request is complete when the body, which holds the lock, has returned.
  Request spawn(std::function<void(const std::string& name)> body);

  // After the main thread's schedule: its helper threads, then all that is under way here and at
  // the other ranks. Takes the lock itself.
  void finish();

  const std::vector<IterationTime>& iterations() const { return iterations_; }
  const SentBytes& sent() const { return sent_; }

  // Ends the run on all ranks with this exit code.
  [[noreturn]] void give_up(int code, const std::string& text);

 private:
  struct Group;
  struct Helper {
    std::thread thread;
    bool is_over = false;
  };

  void account(double at_s);
  void look_at_clock();  // completes what the clock says is over
  bool progress();       // collectives and messages; true when something moved on
  bool progress_messages();
  void look();  // both
  bool advance(CollectiveRequest& request);
  void message_done(size_t index, const MPI_Status& status, int error);
  void poll_until(const std::function<bool()>& is_done);
  std::optional<double> next_event_s() const;
  void check_stuck();
  std::string describe_waiting() const;
  void post(const std::shared_ptr<MessageRequest>& request);
  Group& group(const CollectiveStep& step);
  OpStream counted(OpStream plan, bool control);
  void after(double when_s, std::function<void()> action);
  void join_helpers();
  void finish_messages();
  void keep_polling();

  const ScheduleRequest& request_;
  Patience patience_;
  int channels_;
  int rank_ = 0;
  int tag_max_ = 0;
  double start_s_ = 0;
  double stuck_s_ = 0;
  MPI_Comm collective_communicator_ = MPI_COMM_NULL;
  MPI_Comm message_communicator_ = MPI_COMM_NULL;

  RankLock lock_;
  EmulatedGpu gpu_;
  std::multimap<double, std::function<void()>> events_;  // by time
  std::array<double, 2> copy_engine_free_s_{};           // to host, to GPU
  int sweeps_running_ = 0;

  std::map<std::pair<std::vector<int>, int>, std::unique_ptr<Group>> groups_;
  std::vector<std::shared_ptr<CollectiveRequest>> collectives_;  // under way
  std::vector<std::shared_ptr<MessageRequest>> messages_;        // under way
  std::vector<MPI_Request> message_handles_;                     // by message
  std::vector<int> landed_;
  std::vector<MPI_Status> statuses_;
  BufferPool collective_buffers_;  // always zeros: a sum of them stays finite
  BufferPool message_buffers_;
  SentBytes sent_;

  bool is_polled_ = false;                                  // by a thread that waits, or always
  std::list<std::condition_variable_any*> in_calls_;        // threads that would poll in its place
  std::multimap<std::string, const RankRequest*> waiting_;  // by thread
  double moved_s_ = 0;                                      // when something last happened

  std::array<int, kPhaseCount> kernels_running_{};
  std::array<int, kPhaseCount> waits_{};
  double accounted_s_ = 0;
  IterationTime iteration_;
  std::vector<IterationTime> iterations_;

  std::list<Helper> helpers_;
  int helper_count_ = 0;
  bool is_over_ = false;
  std::thread progress_thread_;
  std::unique_ptr<MemorySweeps> sweeps_;
  std::unique_ptr<GpuThread> gpu_thread_;
};

}  // namespace forescale
