// The simulations that a set of claims needs: each distinct one once, in processes of their own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/ask/ask.hpp"
#include "studies/validate/claim_requests.hpp"

namespace forescale {

// One simulation: a training run on one GPU count, or a collective of so many ranks and bytes.
struct NeededRun {
  Question question;
  std::optional<Calibration> calibration = {};  // of training
  Scenario scenario = {};

  // Of a request at a GPU count, or at ranks and bytes.
  static NeededRun of(const RunRequest& request, int ranks, std::int64_t bytes);
};

class ClaimRuns {
 public:
  // What `asker` was asked before is not simulated again.
  ClaimRuns(Draws draws, Asker& asker) : draws_(draws), asker_(asker) {}

  // The same question in the same scenario is simulated once, whatever its requests are called.
  void need(const NeededRun& nominal);
  size_t count() const { return runs_.size(); }

  // Calibrated requests first find their compute scale (a few runs of their smallest count). A run
  // that fails does not stop the others; its reason stays.
  void run_all(const std::string& label);

  const RangedAnswer& answer(const NeededRun& run) const;
  // What was simulated: the question with the compute scale that the calibration found. The command
  // that repeats the answer is command_of() it.
  Question question_of(const NeededRun& run) const;

 private:
  struct Scale {
    NeededRun run;
    double value = 1;
    bool done = false;
    std::string failure;
  };
  static std::string scale_key(const NeededRun& run);
  static std::string key(const NeededRun& run);
  std::vector<Answer> ask(const std::vector<NeededRun>& runs, const std::string& label);
  std::vector<Answer> ask_layouts(const std::vector<NeededRun>& runs);
  void calibrate();
  static void improve(Scale& scale, const PredictionPoint& point);
  Draws draws_;
  Asker& asker_;
  std::map<std::string, NeededRun> runs_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, RangedAnswer> ranged_;  // by the key of the nominal run
  std::map<std::string, Scale> scales_;
};

}  // namespace forescale
