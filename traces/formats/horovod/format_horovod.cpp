// Horovod's timeline (HOROVOD_TIMELINE), one file of the coordinator for all ranks. Sergeev and Del
// Balso 2018, arXiv:1802.05799; horovod/common/timeline.cc.
//
// A rank computes until it is ready with the next tensor, and waits for its collectives at the end
// of an iteration. What the coordinator takes from the last rank's tick to the begin of the
// operation is a timer. Ticks are when the coordinator heard of a tensor, up to a cycle later than
// it was ready.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/steady_state.hpp"
#include "traces/formats/horovod/horovod_timeline.hpp"
#include "traces/formats/horovod/horovod_turns.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/formats/trace_lines.hpp"
#include "traces/program/action.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

double timeline_seconds(std::int64_t time_ns) { return static_cast<double>(time_ns) / 1e9; }

class HorovodImporter {
 public:
  HorovodImporter(const std::string& file, const ImportOptions& options)
      : file_(file),
        timeline_(read_horovod(file)),
        ready_(static_cast<size_t>(timeline_.ranks)),
        turns_(horovod_turns(timeline_)) {
    Program& program = result_.program;
    program.title = title_of(file);
    program.workers = timeline_.ranks;
    program.iterations = timeline_.iterations;
    program.images.assign(ready_.size(), options.images);
    program.ranks.resize(ready_.size());
  }

  ImportedTrace import() {
    for (size_t i = 0; i < timeline_.calls.size(); ++i)
      if (timeline_.calls[i].collective >= 0) see(static_cast<int>(i));
    for (const HorovodCollective& all : timeline_.collectives) {
      steps_.push_back(step_of(all));
      result_.measured.calls.push_back({.op = steps_.back().op,
                                        .bytes = steps_.back().bytes,
                                        .ranks = timeline_.ranks,
                                        .traced_ranks = timeline_.ranks,
                                        .on_host = steps_.back().on_host,
                                        .time_s = timeline_seconds(all.span.length_ns())});
    }
    measure_iterations();
    for (size_t rank = 0; rank < ready_.size(); ++rank) write_rank(rank);
    write_notes();
    return std::move(result_);
  }

 private:
  // An iteration ends with its last collective; of the first the file does not say the beginning.
  void measure_iterations() {
    if (timeline_.iterations < 2) return;
    std::vector<double> ends_s(static_cast<size_t>(timeline_.iterations));
    for (const HorovodCollective& all : timeline_.collectives) {
      double& end_s = ends_s[static_cast<size_t>(all.iteration)];
      end_s = std::max(end_s, timeline_seconds(all.span.end_ns));
    }
    const SteadyState steady = steady_state({ends_s}, {1}, false);
    result_.measured.step_s = steady.period_s;
    result_.measured.periods_s = steady.periods_s;
    result_.measured.counts_from = steady.begin;
  }

  // A rank is ready with the tensor of a call.
  struct Ready {
    std::int64_t time_ns = 0;
    int call = 0;
  };

  const HorovodCall& call_at(int call) const { return timeline_.calls[static_cast<size_t>(call)]; }

  void see(int index) {
    const HorovodCall& call = call_at(index);
    std::vector<std::int64_t> time_ns(ready_.size(), call.ready_ns);
    for (const HorovodTick& tick : call.ticks)
      time_ns[static_cast<size_t>(tick.rank)] = tick.time_ns;
    for (size_t rank = 0; rank < ready_.size(); ++rank)
      ready_[rank].push_back({time_ns[rank], index});
    begin_ns_ = std::min(begin_ns_, *std::min_element(time_ns.begin(), time_ns.end()));
    if (call.ticks.empty())
      ++cached_;
    else if (call.ticks.size() < ready_.size())
      ticks_missing_ += ready_.size() - call.ticks.size();
  }

  CollectiveStep step_of(const HorovodCollective& all) const {
    const HorovodCall& first = call_at(all.calls.front());
    CollectiveStep step{
        .op = first.op,
        .phase = first.op == CollectiveOp::kBroadcast ? Phase::kPropagation : Phase::kAggregation,
        .label = timeline_.tensors[static_cast<size_t>(first.tensor)]};
    if (all.calls.size() > 1) step.label += fmt::format(" and {} more", all.calls.size() - 1);
    // The file has the output of rank 0.
    const int parts = step.op == CollectiveOp::kReduceScatter ? timeline_.ranks : 1;
    for (const int call : all.calls) {
      if (call_at(call).bytes > (kProgramBytesMax - step.bytes) / parts)
        throw InputError({.source = file_,
                          .path = "",
                          .value = step.label,
                          .constraint = "is a collective of more than 2^50 bytes"});
      step.bytes += call_at(call).bytes * parts;
    }
    return step;
  }

  // Requests of one rank, by collective.
  struct Requests {
    std::vector<int> ready;    // signals
    std::vector<int> started;  // signals
    std::vector<int> collective;
  };

  // Thread 0 computes, thread 1 is Horovod's own: it starts collectives in the same order on all
  // ranks.
  void write_rank(size_t rank) {
    ProgramWriter writer(result_.program.ranks[rank]);
    Requests requests;
    for (size_t i = 0; i < steps_.size(); ++i) {
      requests.ready.push_back(writer.start(0, Kind::kSignal));
      requests.started.push_back(writer.start(0, Kind::kSignal));
    }
    const ProgramWriter::Spawned coordinator = writer.spawn(0);
    write_coordinator(writer, coordinator.thread, requests);
    std::vector<Ready>& ready = ready_[rank];
    std::stable_sort(ready.begin(), ready.end(), [&](const Ready& a, const Ready& b) {
      return std::pair(call_at(a.call).iteration, a.time_ns) <
             std::pair(call_at(b.call).iteration, b.time_ns);
    });
    write_compute(writer, ready, requests, coordinator.id);
  }

  void write_coordinator(ProgramWriter& writer, int thread, Requests& requests) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      for (const int ended : turns_[i].ended)
        writer.wait(thread, requests.collective[static_cast<size_t>(ended)]);
      writer.wait(thread, requests.ready[i]);
      if (turns_[i].delay_ns > 0)
        writer.wait(thread, writer.start(thread, Kind::kTimer,
                                         Timer{timeline_seconds(turns_[i].delay_ns)}));
      requests.collective.push_back(writer.start(thread, Kind::kCollective, steps_[i]));
      writer.set(thread, requests.started[i]);
      Volume& volume = result_.found.collectives[name_of(steps_[i].op)];
      ++volume.count;
      volume.bytes += static_cast<double>(steps_[i].bytes);
    }
  }

  void write_compute(ProgramWriter& writer, const std::vector<Ready>& ready,
                     const Requests& requests, int coordinator) {
    std::vector<size_t> unready;
    for (const HorovodCollective& all : timeline_.collectives) unready.push_back(all.calls.size());
    std::int64_t now_ns = begin_ns_;
    auto next = ready.begin();
    size_t waited = 0;
    for (int iteration = 0; iteration < timeline_.iterations; ++iteration) {
      if (next != ready.end() && next->time_ns < now_ns) early_.insert(iteration);
      Phase phase = Phase::kForward;
      for (; next != ready.end() && call_at(next->call).iteration == iteration; ++next) {
        compute(writer, next->time_ns - now_ns, phase, call_at(next->call));
        phase = Phase::kBackward;
        now_ns = std::max(now_ns, next->time_ns);
        const auto collective = static_cast<size_t>(call_at(next->call).collective);
        if (--unready[collective] == 0) writer.set(0, requests.ready[collective]);
      }
      for (; waited < steps_.size() && timeline_.collectives[waited].iteration == iteration;
           ++waited) {
        writer.wait(0, requests.started[waited]);
        writer.wait(0, requests.collective[waited]);
        now_ns = std::max(now_ns, timeline_.collectives[waited].span.end_ns);
      }
      if (iteration + 1 == timeline_.iterations) writer.wait(0, coordinator);
      writer.end_iteration();
    }
  }

  void compute(ProgramWriter& writer, std::int64_t time_ns, Phase phase, const HorovodCall& until) {
    if (time_ns <= 0) return;
    ++result_.found.kernels;
    result_.found.compute_s += timeline_seconds(time_ns);
    writer.wait(
        0, writer.start(0, Kind::kKernel,
                        Kernel{.duration_s = timeline_seconds(time_ns),
                               .phase = phase,
                               .label = timeline_.tensors[static_cast<size_t>(until.tensor)]}));
  }

  void note(std::uint64_t count, const std::string& text) {
    if (count > 0) result_.notes.push_back(fmt::format("{} {}", count, text));
  }

  void write_notes() {
    std::int64_t delays_ns = 0;
    for (const HorovodTurn& turn : turns_) delays_ns += turn.delay_ns;
    std::set<int> tensors;
    std::uint64_t calls = 0;
    for (const HorovodCollective& all : timeline_.collectives) {
      if (all.calls.size() < 2) continue;
      calls += all.calls.size();
      for (const int call : all.calls) tensors.insert(call_at(call).tensor);
    }
    note(calls, fmt::format("operations of {} tensors were fused with others: {} collectives in "
                            "all, for each rank",
                            tensors.size(), steps_.size()));
    result_.notes.push_back(fmt::format(
        "the first iteration begins with the first tick; ticks are when the coordinator heard of a "
        "tensor; its delays, kept as timers, are {:.6f} s for each rank",
        timeline_seconds(delays_ns)));
    note(cached_,
         "operations have no ticks (their responses were cached): all ranks are taken as ready "
         "when their negotiation ended or, without one, when they began");
    note(ticks_missing_,
         "times a rank has no tick where others have: it is taken as ready when the negotiation "
         "ended");
    note(early_.size(),
         "iterations began before the collectives of the one before had ended; here ranks wait for "
         "them");
    note(static_cast<std::uint64_t>(timeline_.without_root_size),
         "broadcasts are left out: the file has no sizes of them, as TensorFlow's root has no "
         "output");
    note(static_cast<std::uint64_t>(timeline_.adasums),
         "Adasum operations are taken as all-reduces");
    note(static_cast<std::uint64_t>(timeline_.failed), "operations failed and are left out");
    note(static_cast<std::uint64_t>(timeline_.unfinished),
         "negotiations or operations that the file does not see to their end are left out");
    note_sizes();
  }

  void note_sizes() {
    const auto count_of = [&](CollectiveOp op) {
      return static_cast<std::uint64_t>(std::count_if(
          steps_.begin(), steps_.end(), [&](const CollectiveStep& step) { return step.op == op; }));
    };
    note(count_of(CollectiveOp::kBroadcast),
         "broadcasts are taken from rank 0: the file does not name their root");
    note(count_of(CollectiveOp::kReduceScatter),
         "reduce-scatters are taken as even: the file has rank 0's part only");
    note(count_of(CollectiveOp::kAllToAll),
         "all-to-alls are taken as even: the file has what rank 0 receives only");
  }

  std::string file_;
  HorovodTimeline timeline_;
  std::vector<std::vector<Ready>> ready_;  // by rank
  std::vector<HorovodTurn> turns_;         // by collective, as the next
  std::vector<CollectiveStep> steps_;
  std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::max();
  std::uint64_t cached_ = 0;
  std::uint64_t ticks_missing_ = 0;
  std::set<int> early_;  // iterations
  ImportedTrace result_;
};

bool is_horovod(const std::string& /*file*/, const std::string& head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string::npos && head[first] == '[' &&
         (head.find("\"NEGOTIATE_") != std::string::npos ||
          head.find("\"start_time_since_epoch_in_micros\"") != std::string::npos);
}

ImportedTrace import_horovod(const std::vector<std::string>& files, const ImportOptions& options) {
  if (files.size() > 1)
    throw InputError({.source = files[1],
                      .path = "",
                      .value = "",
                      .constraint = "must not be there: " + files[0] + " holds all ranks"});
  return HorovodImporter(files.front(), options).import();
}

const bool kHorovodRegistered = Registry<TraceFormat>::add(
    {.name = "horovod",
     .description = "Horovod's timeline (HOROVOD_TIMELINE), of all ranks",
     .reads = {"--batch"},
     .detects = is_horovod,
     .import = import_horovod});

}  // namespace
}  // namespace forescale
