// What is said of one collective: by the simulator, the cost engine, the closed form and the bound.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "sim/ask/load_question.hpp"

namespace forescale {

enum class Engines { kSimulator, kCostEngine, kBoth };

struct CollectiveAnswer {
  std::string op;
  std::string algorithm;
  std::int64_t ranks = 0;             // of each group
  std::int64_t groups = 1;            // that call at once
  std::int64_t groups_simulated = 1;  // together: those in the first one's way, itself included
  std::int64_t bytes = 0;
  std::int64_t chunk_bytes = 0;  // 0: the plan has none
  double time_s = 0;  // simulated, or priced where nothing was simulated; of the slowest group
  std::optional<double> simulated_s = {};
  std::string not_simulated = {};            // why, where the cost engine alone answered both
  std::optional<double> cost_engine_s = {};  // none too where the engine cannot price the call
  std::optional<double> closed_form_s = {};
  std::string beyond_measured = {};   // Stack::beyond_measured() of the messages simulated
  std::string choice_not_known = {};  // choice_not_known() of its group, where the stack chose
  std::string faults_elsewhere = {};  // topologies/link_faults.hpp
  std::int64_t simulated_ranks = 0;   // in place of all (sim/folded.hpp); 0: nothing simulated
  double folded_error = 0;            // of the time that they stand for, relative
  double bound_s = 0;
  std::string bound_reason;
  std::uint64_t messages = 0;  // of groups_simulated, and so the bytes
  double bytes_sent = 0;
  // Of the simulation: what the root (rank 0 without one) did, and the busiest resource.
  std::map<std::string, double> root_s = {};
  std::string busiest = {};
  double busiest_share = 0;
};
// A stack that can be told what to take chooses by tables of whole nodes and of some of their
// parts. For people, of a group over nodes that is neither. Empty: it is.
std::string choice_not_known(const QuestionMachine& machine, const std::string& op,
                             const GroupShape& group);

void to_json(nlohmann::json& json, const CollectiveAnswer& answer);
void from_json(const nlohmann::json& json, CollectiveAnswer& answer);

// Of a question with one rank count, or slots, and one size. `trace`, if any, is the file of a
// Chrome trace. InputError for what cannot be asked, or priced where only the cost engine is asked;
// SimulationStuck; CheckFailed for a time below the bound.
CollectiveAnswer answer_collective(const Question& question, const QuestionMachine& machine,
                                   Engines engines, const std::string& trace);

// The platform's slots of the ranks: those that are named, or the first `ranks`, or all; by group
// that calls at once, all of one size, the first of which is asked about. InputError.
std::vector<std::vector<int>> groups_of(const Question& question, const Platform& platform);
std::vector<int> slots_of(const Question& question, const Platform& platform);  // the first's

}  // namespace forescale
