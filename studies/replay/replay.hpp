// A program on a platform: what would the same run cost there?
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/ask/question.hpp"
#include "sim/run/simulate.hpp"
#include "studies/execute/executed_collectives.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {

// Of the last iteration; empty: not written.
struct ReplayFiles {
  std::string trace = {};        // Chrome trace: replayed, critical path, measured, links
  std::string paje = {};         // the same as Paje
  std::string utilisation = {};  // CSV of every link's use over time
  bool any() const { return !trace.empty() || !paje.empty() || !utilisation.empty(); }
};

// Fields of a question that a replay takes. What was recorded with noise or slow ranks keeps them
// where it names none of both; where a trace was made all is as it should be.
inline constexpr std::array kReplayVariation = {"network_scale", "links",      "number_scales",
                                                "message_noise", "stragglers", "noise"};

struct ReplayText {
  std::vector<std::string> files;  // a program, or a trace
  ImportOptions import = {};
  std::string platform = {};   // empty: where it was recorded
  std::string stack = {};      // empty: the one it was recorded with
  std::string placement = {};  // empty: as recorded, on the platform it was recorded on
  std::vector<std::string> plans =
      {};                       // "reduce/cb:chain_size=8", in place of the recorded choices
  double compute_scale = 1;     // of every kernel's time
  Question varied = {};         // of it kReplayVariation: hardware and ranks as they are not
  std::string gpu = {};         // kernels take what they would on this one (kernel_scaling.hpp)
  std::string traced_gpu = {};  // empty: what the trace says
  // The collectives' own durations in the trace correct the stack (replay_calibration.hpp), which
  // is that of the platform on which the trace was made; empty: the platform of the replay.
  bool calibrate = false;
  // Without `calibrate`: a single traced rank's waits for others are told apart by it, and kept.
  // Where it is only assumed, or empty, so are those in collectives inside a node, if its GPU is
  // the trace's.
  std::string traced_platform = {};
  bool traced_is_assumed = false;
  std::string traced_stack = {};
  std::string traced_placement = {};
  std::vector<std::string> traced_plans = {};  // read where traced_platform is given
  bool against_measured = false;               // say why replay and measurement differ
  ReplayFiles files_out = {};
  bool range = true;   // also with all uncertain numbers at their ends
  bool causes = true;  // find the critical path and the links' use, which takes memory
};

// Mean over ranks and iterations: while a collective or message of the rank was under way, from its
// call until it was complete, and of that, while the rank computed.
struct Overlap {
  double communication_s = 0;
  double hidden_s = 0;
};

struct BusyLink {
  std::string name;
  double mean = 0;  // share of its bandwidth, over the last iteration
  double peak = 0;  // in the busiest of kUseIntervals
};
inline constexpr int kUseIntervals = 200;

// A kind of collective of a trace, and what the iteration would be if it took what it took there.
struct ReplayDifference {
  std::string what;        // "all-reduce, 8 ranks"
  double calls = 0;        // of an iteration of a rank
  double measured_s = 0;   // of those calls
  double predicted_s = 0;  // alone
  double iteration_s = 0;
};

// How far a replay is from what was measured, and because of what.
struct AgainstMeasured {
  std::vector<ReplayDifference> collectives;  // largest first
  double with_all_s = 0;                      // the iteration, if all took what they took there
};

struct Replay {
  std::string title;  // of the program
  std::string platform;
  std::string stack;
  int ranks = 0;
  int workers = 0;
  // Steady state (steady_state.hpp): of all iterations those from `counts_from` on.
  TimeRange iteration;
  int iterations = 1;
  int counts_from = 0;
  double images_per_s = 0;
  std::map<std::string, double> root_s;  // rank 0, as PredictionPoint
  bool is_steady = true;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  std::string busiest;
  double busiest_share = 0;
  Overlap overlap;
  // What the end of the rank that ended last followed from, longest first: cause, s. Mean of the
  // iterations that count, so that it sums up to an iteration.
  std::vector<std::pair<std::string, double>> critical_path = {};
  int critical_rank = 0;
  std::vector<BusyLink> links = {};  // the ten busiest
  // Of the trace, as it was measured; 0: it has no times of its own.
  double measured_s = 0;
  Overlap measured_overlap;
  std::optional<AgainstMeasured> against = {};  // where it was asked for
  std::vector<std::string> notes = {};
};

// InputError for anything wrong in the text or the file, SimulationStuck when the program does not
// come to an end.
Replay replay(const ReplayText& text);

nlohmann::json to_json(const Replay& replay);

// For people, where a program is made of a trace: what of it only a replay of the trace itself
// keeps. Empty: nothing.
std::string left_out_note(const MeasuredRun& measured);

}  // namespace forescale
