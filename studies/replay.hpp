// A program on a platform: what would the same run cost there?
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "studies/executed_collectives.hpp"
#include "traces/trace_format.hpp"

namespace forescale {

struct ReplayText {
  std::vector<std::string> files;  // a program, or a trace
  ImportOptions import = {};
  std::string platform = {};   // empty: where it was recorded
  std::string stack = {};      // empty: the one it was recorded with
  std::string placement = {};  // empty: as recorded, on the platform it was recorded on
  std::vector<std::string> plans =
      {};                    // "reduce/cb:chain_size=8", in place of the recorded choices
  double compute_scale = 1;  // of every kernel's time
  std::string trace = {};    // Chrome trace of the last iteration
  bool range = true;         // also with all uncertain numbers at their ends
};

struct Replay {
  std::string title;  // of the program
  std::string platform;
  std::string stack;
  int ranks = 0;
  int workers = 0;
  TimeRange iteration;
  double images_per_s = 0;
  std::map<std::string, double> root_s;  // rank 0, as PredictionPoint
  bool is_steady = true;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  std::string busiest;
  double busiest_share = 0;
  std::vector<std::string> notes = {};
};

// InputError for anything wrong in the text or the file, SimulationStuck when the program does not
// come to an end.
Replay replay(const ReplayText& text);

nlohmann::json to_json(const Replay& replay);

}  // namespace forescale
