// The simulations that a set of claims needs: each distinct one once, in processes of their own.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "studies/validate/claim_requests.hpp"

namespace forescale {

// A training run on `ranks` GPUs, or a collective of `bytes` on `ranks` ranks.
struct NeededRun {
  RunRequest request;
  int ranks = 0;
  std::int64_t bytes = 0;
  Scenario scenario = Scenario::kNominal;
};

class ClaimRuns {
 public:
  // Runs with the same inputs are one, whatever their requests are called.
  void need(const NeededRun& run);
  size_t count() const { return runs_.size(); }

  // Calibrated requests first find their compute scale (a few runs of their smallest count). A run
  // that fails does not stop the others; its reason stays.
  void run_all();

  // Throw Unavailable with the reason if the run failed.
  const PredictionPoint& point(const NeededRun& run) const;
  double collective_s(const NeededRun& run) const;
  // Of a calibrated request; 1 where there is none.
  double compute_scale(const NeededRun& run) const;

 private:
  struct Scale {
    NeededRun run;
    double value = 1;
    bool done = false;
    std::string failure;
  };
  struct Answer {
    PredictionPoint point;
    double time_s = 0;
    std::string failure = "was not run";
  };
  static std::string scale_key(const NeededRun& run);
  static std::string key(const NeededRun& run);
  void calibrate();
  static void improve(Scale& scale, const PredictionPoint& point);
  const Answer& answer(const NeededRun& run) const;

  std::map<std::string, NeededRun> runs_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, Scale> scales_;
};

// The command that repeats the run: "forescale predict --platform kesch ...".
std::string command_of(const NeededRun& run);

}  // namespace forescale
