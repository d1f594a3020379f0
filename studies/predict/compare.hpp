// Several platforms and systems for one workload, and what an architect asks of each: up to where
// do nodes pay, how fast must the network be, and which hardware number matters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/predict/prediction.hpp"

namespace forescale {

struct CompareSettings {
  Question question;  // workload and GPU counts; --stack and --schedule if given
  Draws draws = Draws::kEnds;
  std::vector<std::string> platforms;  // as --platform takes them
  std::vector<std::string> systems;    // as --system does; empty: the one of --schedule
  double efficiency_min = 0.5;         // wanted of the speed-up
  // Money, in the user's currency: of a node, and of the time until training ends. 0: not asked.
  std::vector<double> node_prices_per_h = {};  // one for all, or one a platform
  double time_value_per_h = 0;
  bool sensitivity = true;
  bool network = true;
};

// 1 % faster hardware makes an iteration `gain_percent` % faster.
struct Sensitivity {
  std::string what;  // "GPU compute", or the number's file and path
  double value = 0;  // in the unit that the path's ending names; GPU compute: 0
  bool assumed = false;
  double gain_percent = 0;
};

// How fast the links between nodes must be: `factor` times today's bandwidth leaves an iteration
// within kNetworkFree of one with kFastest times the bandwidth.
struct NetworkNeed {
  double factor = 1;
  double bandwidth_bytes_per_s = 0;  // of the narrowest link class between nodes, today
  double gain_fastest = 0;           // iteration time today over that with the fastest network, - 1
};

struct Contender {
  std::string platform;
  std::string system;  // or schedule
  Prediction prediction;
  // Largest count of whole nodes whose efficiency over the first row is as wanted; 0: none.
  int pays_up_to_gpus = 0;
  int pays_up_to_nodes = 0;
  bool pays_to_the_end = false;  // of the counts asked
  // Of a price: the count where nodes and time of an epoch cost least together; 0: not asked.
  int cheapest_gpus = 0;
  double cheapest_epoch_cost = 0;
  int at_gpus = 0;                              // of the two below: the largest count
  std::optional<NetworkNeed> network = {};      // none: one node, or not asked
  std::vector<Sensitivity> sensitivities = {};  // by gain, falling
};

// Less does not matter, and numbers that gain less together are not asked apart: theirs is 0.
inline constexpr double kNegligible_percent = 0.005;
inline constexpr double kNetworkFree = 1.05;
inline constexpr double kFastest = 64;

struct Comparison {
  std::string title = {};
  double efficiency_min = 0;
  std::vector<Contender> contenders = {};
};

// What is said once for all platforms, or of each in their order; 0: nothing. InputError for
// another number of values and for negative ones.
double of_platform(const std::vector<double>& values, std::size_t platform, std::size_t platforms,
                   const std::string& option);

// InputError for what is no share of the ideal speed-up.
void check_efficiency(double efficiency_min);

// InputError for anything wrong in the settings.
Comparison compare(const CompareSettings& settings);

nlohmann::json to_json(const Comparison& comparison);

}  // namespace forescale
