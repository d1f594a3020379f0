// The best settings of a training schedule: what its options declare as worth a try
// (Option::tried), and which plan serves each collective that it uses.
//
// Method. For each GPU count one setting after the other is searched whole while the others stay,
// and that over again until nothing gains any more (kPasses at most). Where settings work against
// each other this can end beside the best: what is printed is the best of what was simulated. What
// gains no more than a tolerance is not changed: advice has to be worth more than the model can
// tell apart. The
// plans that are tried for a collective are those that tune_collective() finds within 2 % of the
// best for the largest and the median message, kPlansMax of them at most, and the stack's own
// rules. Nothing is drawn at random.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "studies/predict/prediction.hpp"
#include "studies/tune/tune_collective.hpp"

namespace forescale {

inline constexpr int kPasses = 3;
inline constexpr int kPlansMax = 8;

struct ScheduleTuneSettings {
  Question question;                   // one schedule; its options are where the search begins
  Draws draws = Draws::kEnds;          // of the beginning and the best
  std::vector<std::string> only = {};  // settings to search; empty: all that there are
  // Settings stay where they began while what is chosen is slower by no more than that than the
  // fastest: 0.05 is 5 %, of layouts the difference whose order is right in two of three cases.
  double tolerance = 0.05;
};

// One value of one setting, the others as chosen.
struct SettingEffect {
  std::string setting;  // an option's name, or a collective's: "reduce-plan"
  std::string value;
  bool is_chosen = false;
  double iteration_s = 0;
  std::string failure;  // why it cannot be; empty: it can
};

struct TunedSchedule {
  int gpus = 0;
  std::map<std::string, std::string> begun = {};   // where the search began, by setting
  std::map<std::string, std::string> chosen = {};  // the advice
  std::map<std::string, std::string> fastest = {};
  double fastest_s = 0;                        // iteration
  std::map<std::string, double> numbers = {};  // of the chosen options, SI units
  TimeRange before = {};                       // iteration time
  TimeRange after = {};
  std::vector<SettingEffect> effects = {};
  int simulated = 0;

  double speedup() const { return before.time_s / after.time_s; }
};

struct ScheduleTuning {
  std::string title;
  std::string schedule;
  std::vector<TunedSchedule> rows;
  std::vector<std::string> notes;
};

// InputError for anything wrong in the settings, for --only naming what is no setting of the
// schedule (the message lists those that are), and where there is nothing to search.
ScheduleTuning tune_schedule(const ScheduleTuneSettings& settings);

nlohmann::json to_json(const ScheduleTuning& tuning);

}  // namespace forescale
