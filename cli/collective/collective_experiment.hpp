// What `execute collective` and `execute --testbed` have in common: which collectives are executed,
// and how they are shown beside their prediction.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "studies/execute/collective_comparison.hpp"

namespace forescale {

// As typed.
struct CollectiveExperimentText {
  std::vector<std::string> plans = default_plans();
  std::string ranks;
  std::string bytes;
  std::string wait = "nap";
  std::uint64_t seed = 1;
  std::string expect;
  std::string file;
  std::string chart;
  bool json = false;
  std::string line;  // as typed
};
// --plans, --wait, --seed, --expect, -o, --chart, --json.
void add_experiment_options(Subcommand command, CollectiveExperimentText& text);

CollectiveQuestions questions_of(const CollectiveExperimentText& text,
                                 const std::vector<std::int64_t>& ranks);
// Between polls of a rank that waits: what --wait says.
double nap_of(const CollectiveExperimentText& text);

// A line on stderr for what an MPI program says while it runs, with the time that is left of its
// budget; shown as ProgressLine is.
class RunProgress {
 public:
  RunProgress(std::string what, double budget_s);
  ~RunProgress();
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;
  std::function<void(const std::string&)> line();

 private:
  std::string what_;
  double end_s_;
  double shown_from_s_;
  bool is_shown_ = false;
};

struct CollectiveExperiment {
  nlohmann::json about;  // names of platform, stack, testbed: goes into the document as it is
  std::vector<std::string> refused;
  std::string library;
  std::vector<CollectiveRow> rows;
  std::string failure;  // why not all was executed; empty: it was
};
nlohmann::json to_json(const CollectiveExperiment& experiment);
// Writes and prints it. Then SimulationStuck for its failure, CheckFailed for what is not as
// --expect says.
void report(const CollectiveExperiment& experiment, const CollectiveExperimentText& text);

}  // namespace forescale
