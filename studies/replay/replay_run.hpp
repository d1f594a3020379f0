// One simulation of a program, and the place that it runs on.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/storage.hpp"
#include "studies/replay/replay.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// What one simulation says.
struct ReplayRun {
  double iteration_s = 0;
  int counted = 1;
  bool is_steady = true;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  std::string busiest;
  double busiest_share = 0;
  std::map<std::string, double> root_s;
  Overlap overlap;
  int critical_rank = 0;
  std::map<std::string, double> critical_path_s;
  std::vector<BusyLink> links;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Overlap, communication_s, hidden_s)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BusyLink, name, mean, peak)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ReplayRun, iteration_s, counted, is_steady, messages, bytes_sent,
                                   busiest, busiest_share, root_s, overlap, critical_rank,
                                   critical_path_s, links)

// What a program runs on.
struct ReplayPlace {
  Platform platform;
  Stack stack;
  DataSource data;
  ComputeNoise noise = {};
  MessageNoise message_noise = {};
};

// InputError for a platform that the text lacks, or that does not hold the program's ranks, and for
// slow ranks that it has not.
ReplayPlace replay_place(const ReplayText& text, const Program& program, Scenario scenario);

std::map<CollectiveOp, PlanChoice> replay_choices(const ReplayText& text, const Program& program);

// In this process: one a process. With `wanted` what was written down on the way, too.
ReplayRun run_replay(const ReplayPlace& place, const Program& program, const MeasuredRun& measured,
                     const std::map<CollectiveOp, PlanChoice>& choices, const ReplayText* wanted);

}  // namespace forescale
