// SimGrid/SMPI time-independent traces: what each rank computes, in operations, and calls of MPI.
// Grammar: github.com/simgrid/simgrid, src/smpi/internals/smpi_replay.cpp. Blocking calls are a
// start and a wait; collectives are on all ranks, as SMPI replays them.
#include <fmt/format.h>

#include "base/registry.hpp"
#include "traces/formats/smpi/smpi_collectives.hpp"
#include "traces/formats/smpi/smpi_messages.hpp"
#include "traces/formats/smpi/smpi_notes.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/formats/trace_lines.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

class SmpiImporter {
 public:
  SmpiImporter(const std::vector<std::string>& files, const ImportOptions& options)
      : options_(options),
        trace_(read_smpi_trace(files)),
        mail_(trace_),
        parts_tag_(mail_.free_tag()) {
    const std::size_t ranks = trace_.ranks.size();
    require_ranks(options, ranks);
    Program& program = result_.program;
    program.title = title_of(files.front());
    program.workers = static_cast<int>(ranks);
    program.iterations = 1;
    program.images.assign(ranks, options.images);
    program.ranks.resize(ranks);
    for (ProgramRank& rank : program.ranks) states_.push_back({ProgramWriter(rank), {}, {}, 0});
  }

  // Rank by rank up to the next collective, which is for all of them.
  ImportedTrace import() {
    std::vector<const SmpiCall*> calls(states_.size());
    for (;;) {
      std::size_t ended = 0;
      for (std::size_t rank = 0; rank < states_.size(); ++rank) {
        calls[rank] = next_collective(rank);
        if (calls[rank] == nullptr) ++ended;
      }
      if (ended == states_.size()) break;
      if (ended > 0) refuse_uneven(calls);
      write_collective(MatchedCollective(trace_, calls), calls);
    }
    for (State& state : states_) {
      wait_for_all(state);
      for (const int id : state.detached) wait(state, id);
      state.writer.end_iteration();
    }
    mail_.check_all_received();
    result_.notes = notes_.texts();
    if (result_.found.compute_s > 0)
      result_.notes.push_back(fmt::format("operations are taken at {:g} a second (--flops-per-s)",
                                          options_.flops_per_s));
    return std::move(result_);
  }

 private:
  struct State {
    ProgramWriter writer;
    SmpiRequests requests;
    std::vector<int> detached;  // sends that nobody waits for before the end
    std::size_t at = 0;         // next of the rank's calls
  };

  const SmpiCall* next_collective(std::size_t rank) {
    State& state = states_[rank];
    const std::vector<SmpiCall>& calls = trace_.ranks[rank].calls;
    while (state.at < calls.size()) {
      const SmpiCall& call = calls[state.at++];
      if (is_collective(call.action)) return &call;
      write_call(rank, call);
    }
    return nullptr;
  }

  [[noreturn]] void refuse_uneven(const std::vector<const SmpiCall*>& calls) const {
    std::size_t rank = 0;
    std::size_t ended = 0;
    while (calls[rank] == nullptr) ++rank;
    while (calls[ended] != nullptr) ++ended;
    trace_.fail(rank, *calls[rank],
                fmt::format("is called by all ranks, but rank {} calls no more", ended));
  }

  void write_call(std::size_t rank, const SmpiCall& call) {
    State& state = states_[rank];
    switch (call.action) {
      case SmpiAction::kCompute:
        compute(rank, call, smpi_amount(trace_, rank, call));
        break;
      case SmpiAction::kSleep:
        sleep(rank, call);
        break;
      case SmpiAction::kSend: {
        const SmpiMessage message = smpi_message(trace_, rank, call);
        finish_send(state, message, start(rank, call, message, Kind::kSend));
        break;
      }
      case SmpiAction::kReceive:
        wait(state, start(rank, call, smpi_message(trace_, rank, call), Kind::kReceive));
        break;
      case SmpiAction::kIsend: {
        const SmpiMessage message = smpi_message(trace_, rank, call);
        state.requests.add({static_cast<int>(rank), message.peer, message.tag},
                           start(rank, call, message, Kind::kSend));
        break;
      }
      case SmpiAction::kIreceive: {
        const SmpiMessage message = smpi_message(trace_, rank, call);
        state.requests.add({message.peer, static_cast<int>(rank), message.tag},
                           start(rank, call, message, Kind::kReceive));
        break;
      }
      case SmpiAction::kSendReceive: {
        const SmpiExchange both = smpi_exchange(trace_, rank, call);
        const int received = start(rank, call, both.received, Kind::kReceive);
        finish_send(state, both.sent, start(rank, call, both.sent, Kind::kSend));
        wait(state, received);
        break;
      }
      case SmpiAction::kTest: {
        const int id = state.requests.find(smpi_request(trace_, rank, call));
        if (id >= 0) state.writer.test(0, id);
        break;
      }
      case SmpiAction::kWait:
        wait(state, state.requests.take(smpi_request(trace_, rank, call)));
        break;
      case SmpiAction::kWaitAll:
        wait_for_all(state);
        break;
      default:
        notes_.add_communicator();
    }
  }

  void compute(std::size_t rank, const SmpiCall& call, double operations) {
    if (operations > 0 && options_.flops_per_s <= 0)
      trace_.fail(rank, call,
                  fmt::format("computes {} operations: say with --flops-per-s how many a rank does "
                              "in a second",
                              operations));
    const double duration_s = operations > 0 ? operations / options_.flops_per_s : 0;
    if (duration_s > kSecondsMax)
      trace_.fail(rank, call, fmt::format("takes {} s, which is too long", duration_s));
    ++result_.found.kernels;
    result_.found.compute_s += duration_s;
    State& state = states_[rank];
    wait(state, state.writer.start(0, Kind::kKernel,
                                   Kernel{.stream = 0,
                                          .duration_s = duration_s,
                                          .phase = Phase::kForward,
                                          .label = "compute"}));
  }

  void sleep(std::size_t rank, const SmpiCall& call) {
    const double delay_s = smpi_amount(trace_, rank, call);
    if (delay_s > kSecondsMax)
      trace_.fail(rank, call, fmt::format("takes {} s, which is too long", delay_s));
    notes_.add_sleep();
    State& state = states_[rank];
    wait(state, state.writer.start(0, Kind::kTimer, Timer{delay_s}));
  }

  // The id of its request; kNone for a message of the rank to itself.
  int start(std::size_t rank, const SmpiCall& call, SmpiMessage message, Kind kind) {
    if (kind == Kind::kReceive) {
      message.bytes = mail_.receive(rank, call, message);
    } else {
      ++result_.found.messages.count;
      result_.found.messages.bytes += static_cast<double>(message.bytes);
    }
    if (message.peer == static_cast<int>(rank)) {
      if (kind == Kind::kSend) notes_.add_message_to_itself();
      return SmpiRequests::kNone;
    }
    return states_[rank].writer.start(0, kind, step_of(call.action, message));
  }

  static MessageStep step_of(SmpiAction action, const SmpiMessage& message) {
    return {.peer = message.peer,
            .bytes = message.bytes,
            .tag = message.tag,
            .phase = Phase::kAggregation,
            .label = std::string(name_of(action)),
            .on_host = true};
  }

  // A blocking send. SMPI's, when small, return at once: rings of them end.
  void finish_send(State& state, const SmpiMessage& message, int id) {
    if (message.bytes >= kDetachedBytes) return wait(state, id);
    notes_.add_detached_send();
    state.detached.push_back(id);
  }

  // SMPI passes over a wait whose request is gone too.
  static void wait(State& state, int id) {
    if (id >= 0) state.writer.wait(0, id);
  }
  static void wait_for_all(State& state) {
    for (const int id : state.requests.take_all()) wait(state, id);
  }

  void write_collective(const MatchedCollective& all, const std::vector<const SmpiCall*>& calls) {
    const bool is_barrier = all.action() == SmpiAction::kBarrier;
    const CollectiveStep step{.op = all.op(),
                              .bytes = is_barrier ? SmpiNotes::kBarrierBytes : all.bytes(),
                              .root = all.root(),
                              .phase = Phase::kAggregation,
                              .label = std::string(name_of(all.action())),
                              .on_host = true,
                              .control = is_barrier};
    for (std::size_t rank = 0; rank < states_.size(); ++rank) {
      State& state = states_[rank];
      if (all.is_messages())
        write_messages(rank, all);
      else
        wait(state, state.writer.start(0, Kind::kCollective, step));
      if (all.operations(rank) > 0) compute(rank, *calls[rank], all.operations(rank));
    }
    count(all);
  }

  void write_messages(std::size_t rank, const MatchedCollective& all) {
    State& state = states_[rank];
    std::vector<int> requests;
    const auto start_part = [&](std::size_t peer, std::int64_t bytes, Kind kind) {
      if (peer == rank || bytes == 0) return;
      requests.push_back(state.writer.start(
          0, kind,
          step_of(all.action(),
                  {.peer = static_cast<int>(peer), .tag = parts_tag_, .bytes = bytes})));
    };
    for (std::size_t peer = 0; peer < states_.size(); ++peer)
      start_part(peer, all.bytes_between(peer, rank), Kind::kReceive);
    for (std::size_t peer = 0; peer < states_.size(); ++peer)
      start_part(peer, all.bytes_between(rank, peer), Kind::kSend);
    for (const int id : requests) wait(state, id);
  }

  void count(const MatchedCollective& all) {
    Volume& volume =
        result_.found
            .collectives[all.is_exact() ? name_of(all.op()) : std::string(name_of(all.action()))];
    volume.count += states_.size();
    for (std::size_t rank = 0; rank < states_.size(); ++rank)
      volume.bytes += all.bytes_of_call(rank);
    notes_.add_collective(all);
  }

  static constexpr std::int64_t kDetachedBytes = 65536;  // smpi/send-is-detached-thresh
  static constexpr double kSecondsMax = 1e9;             // as in a program

  ImportOptions options_;
  SmpiTrace trace_;
  SmpiMail mail_;
  int parts_tag_;  // of messages that stand for a collective
  ImportedTrace result_;
  std::vector<State> states_;
  SmpiNotes notes_;
};

const bool kSmpiRegistered = Registry<TraceFormat>::add(
    {.name = "smpi",
     .description = "SimGrid/SMPI time-independent traces, or a list of their files",
     .reads = {"--ranks", "--flops-per-s", "--batch"},
     .detects = [](const std::string& file,
                   const std::string& head) { return is_smpi_trace(file, head); },
     .import = [](const std::vector<std::string>& files,
                  const ImportOptions& options) { return SmpiImporter(files, options).import(); }});

}  // namespace
}  // namespace forescale
