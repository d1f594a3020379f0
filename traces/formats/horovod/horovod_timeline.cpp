#include "traces/formats/horovod/horovod_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "traces/formats/horovod/horovod_events.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

using EventPhase = HorovodEvents::Phase;

constexpr std::string_view kNegotiation = "NEGOTIATE_";
constexpr size_t kCallsMax = 1 << 28;    // requests of a program are int
constexpr int kIterationsMax = 1 << 20;  // as in a program

class HorovodReader {
 public:
  explicit HorovodReader(const std::string& file) : events_(file) {}

  HorovodTimeline read() {
    while (events_.next()) take_event();
    for (const auto& [id, tensor] : tensors_)
      if (tensor.call >= 0) ++timeline_.unfinished;
    check_ranks();
    check_sizes();
    order_collectives();
    find_iterations();
    return std::move(timeline_);
  }

 private:
  // Operations that begin one behind the other, without an event of theirs between: candidates for
  // fusion. Those that end so, too, are one collective.
  struct Run {
    CollectiveOp op;
    bool is_open = true;  // more may begin with them
    int collective = -1;  // whose members are ending; -1: none
  };

  struct Tensor {
    int index = -1;  // of its name
    bool is_negotiating = false;
    std::int64_t depth = 0;  // of the operation's activities; 0: it is not carried out
    int call = -1;           // begun, not yet ended
    int run = -1;            // -1: the operation failed
  };

  Tensor& tensor() {
    Tensor& tensor = tensors_[events_.tensor()];
    if (tensor.index < 0) {
      tensor.index = static_cast<int>(timeline_.tensors.size());
      timeline_.tensors.push_back(fmt::format("tensor {}", events_.tensor()));
    }
    return tensor;
  }

  HorovodCall& call_of(const Tensor& tensor) {
    return timeline_.calls[static_cast<size_t>(tensor.call)];
  }
  Run& run_of(const Tensor& tensor) { return runs_[static_cast<size_t>(tensor.run)]; }

  void take_event() {
    switch (events_.phase()) {
      case EventPhase::kName:
        timeline_.tensors[static_cast<size_t>(tensor().index)] = events_.name();
        break;
      case EventPhase::kBegin:
        begin(tensor());
        break;
      case EventPhase::kEnd:
        end(tensor());
        break;
      case EventPhase::kTick:
        tick(tensor());
        break;
      case EventPhase::kOther:
        break;
    }
  }

  void begin(Tensor& tensor) {
    if (tensor.is_negotiating)
      events_.fail(events_.name(), "begins while the tensor's negotiation lasts");
    if (tensor.depth > 0) {
      ++tensor.depth;
      interrupt(tensor);
    } else if (events_.name().substr(0, kNegotiation.size()) == kNegotiation) {
      if (tensor.call >= 0) ++timeline_.unfinished;
      add_call(tensor);
      tensor.is_negotiating = true;
    } else {
      if (tensor.call < 0) add_call(tensor);  // was not negotiated
      begin_operation(tensor);
    }
  }

  void add_call(Tensor& tensor) {
    if (timeline_.calls.size() == kCallsMax) events_.fail("", "is one operation too many");
    tensor.call = static_cast<int>(timeline_.calls.size());
    timeline_.calls.push_back({.tensor = tensor.index, .ready_ns = events_.time_ns()});
  }

  void begin_operation(Tensor& tensor) {
    tensor.depth = 1;
    const auto op = operation();
    tensor.run = -1;
    if (!op) return;
    HorovodCall& call = call_of(tensor);
    call.op = *op;
    call.span.begin_ns = events_.time_ns();
    if (runs_.empty() || !runs_.back().is_open || runs_.back().op != *op)
      runs_.push_back({.op = *op});
    tensor.run = static_cast<int>(runs_.size()) - 1;
  }

  // Nothing where Horovod says that the operation failed.
  std::optional<CollectiveOp> operation() {
    const std::string_view name = events_.name();
    if (name == "ADASUM") ++timeline_.adasums;
    if (const auto op = op_called(Tool::kHorovod, name)) return op;
    if (name == "ERROR") return std::nullopt;
    events_.fail(name,
                 "is no operation of Horovod: ALLREDUCE, ALLGATHER, BROADCAST, ALLTOALL, "
                 "REDUCESCATTER, ADASUM or ERROR");
  }

  void interrupt(const Tensor& tensor) {
    if (tensor.run < 0) return;
    run_of(tensor).is_open = false;
    run_of(tensor).collective = -1;
  }

  void end(Tensor& tensor) {
    if (tensor.is_negotiating) {
      tensor.is_negotiating = false;
      call_of(tensor).ready_ns = events_.time_ns();
    } else if (tensor.depth > 1) {
      --tensor.depth;
      interrupt(tensor);
    } else if (tensor.depth == 1) {
      end_operation(tensor);
      tensor.depth = 0;
      tensor.call = -1;
    } else {
      events_.fail(timeline_.tensors[static_cast<size_t>(tensor.index)],
                   "ends what has not begun (\"ph\": \"E\" without its \"B\")");
    }
  }

  void end_operation(const Tensor& tensor) {
    if (tensor.run < 0) {
      ++timeline_.failed;
      return;
    }
    HorovodCall& call = call_of(tensor);
    call.span.end_ns = events_.time_ns();
    call.bytes = events_.bytes().value_or(-1);
    Run& run = run_of(tensor);
    run.is_open = false;
    if (call.bytes < 0 && call.op == CollectiveOp::kBroadcast) {
      ++timeline_.without_root_size;
      return;
    }
    if (run.collective < 0) {
      run.collective = static_cast<int>(timeline_.collectives.size());
      timeline_.collectives.push_back({.calls = {}, .span = call.span});
    }
    HorovodCollective& all = timeline_.collectives[static_cast<size_t>(run.collective)];
    all.calls.push_back(tensor.call);
    all.span.begin_ns = std::min(all.span.begin_ns, call.span.begin_ns);
    all.span.end_ns = call.span.end_ns;
    call.collective = run.collective;
  }

  void tick(const Tensor& tensor) {
    if (!tensor.is_negotiating)
      events_.fail(events_.name(), "is a tick (\"ph\": \"X\") outside of a negotiation");
    const std::string_view name = events_.name();
    int rank = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
    if (error != std::errc() || end != name.data() + name.size() || rank < 0 ||
        rank >= kProgramRanksMax)
      events_.fail(name, "must be a rank, as names of ticks (\"ph\": \"X\") are");
    ranks_.insert(rank);
    call_of(tensor).ticks.push_back({.rank = rank, .time_ns = events_.time_ns()});
  }

  [[noreturn]] void refuse(const std::string& constraint) const {
    throw InputError({.source = events_.file(), .path = "", .value = "", .constraint = constraint});
  }

  void check_ranks() {
    if (timeline_.collectives.empty() && timeline_.without_root_size == 0)
      refuse("holds no operation of Horovod that came to its end");
    if (ranks_.empty())
      refuse(
          "does not say how many ranks there are: no negotiation has ticks, as where all responses "
          "were cached (HOROVOD_CACHE_CAPACITY=0 writes them)");
    timeline_.ranks = *ranks_.rbegin() + 1;
    int missing = 0;
    while (ranks_.contains(missing)) ++missing;
    if (missing < timeline_.ranks)
      refuse(fmt::format("has ticks of ranks up to {}, but none of rank {}", timeline_.ranks - 1,
                         missing));
  }

  void check_sizes() {
    std::set<int> lacking;
    std::set<int> all;
    for (const HorovodCall& call : timeline_.calls) {
      if (call.collective < 0) continue;
      all.insert(call.tensor);
      if (call.bytes < 0) lacking.insert(call.tensor);
    }
    if (!lacking.empty())
      refuse(fmt::format(
          "lacks the sizes of {} of {} tensors, {} first: replay needs an execution whose timeline "
          "holds \"dtype\" and \"shape\" at the end of each operation, as Horovod writes them "
          "where it succeeded",
          lacking.size(), all.size(), timeline_.tensors[static_cast<size_t>(*lacking.begin())]));
    if (timeline_.collectives.empty())
      refuse("holds no operation with a size but broadcasts without one");
  }

  // They were found by their ends.
  void order_collectives() {
    std::vector<HorovodCollective>& all = timeline_.collectives;
    std::stable_sort(all.begin(), all.end(),
                     [](const HorovodCollective& a, const HorovodCollective& b) {
                       return a.span.begin_ns < b.span.begin_ns;
                     });
    for (size_t i = 0; i < all.size(); ++i)
      for (const int call : all[i].calls)
        timeline_.calls[static_cast<size_t>(call)].collective = static_cast<int>(i);
  }

  // A tensor that comes again begins an iteration. Ranks start collectives in one order, so none is
  // waited for before those that began before it.
  void find_iterations() {
    std::vector<int> last(timeline_.tensors.size(), -1);
    int iteration = 0;
    for (HorovodCall& call : timeline_.calls) {
      if (call.collective < 0) continue;
      int& last_of_tensor = last[static_cast<size_t>(call.tensor)];
      if (last_of_tensor == iteration) ++iteration;
      last_of_tensor = call.iteration = iteration;
    }
    int least = 0;
    for (HorovodCollective& all : timeline_.collectives) {
      for (const int call : all.calls)
        least = std::max(least, timeline_.calls[static_cast<size_t>(call)].iteration);
      all.iteration = least;
    }
    timeline_.iterations = iteration + 1;
    if (timeline_.iterations > kIterationsMax)
      refuse(fmt::format("has {} iterations, more than 2^20", timeline_.iterations));
  }

  HorovodEvents events_;
  HorovodTimeline timeline_;
  std::map<std::int64_t, Tensor> tensors_;  // by pid
  std::vector<Run> runs_;
  std::set<int> ranks_;
};

}  // namespace

HorovodTimeline read_horovod(const std::string& file) { return HorovodReader(file).read(); }

}  // namespace forescale
