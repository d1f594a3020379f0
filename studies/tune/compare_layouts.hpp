// A transformer on several platforms, each with the layout that is fastest there: what an offer is
// worth when its buyer tunes.
#pragma once

#include <string>
#include <vector>

#include "studies/tune/tune_layout.hpp"

namespace forescale {

struct LayoutCompareSettings {
  Question question;  // its layout names what stays: the global batch at least
  std::vector<std::string> platforms = {};  // as --platform takes them
  std::vector<std::string> only = {};       // fields to search; empty: all
  bool has_interval = false;                // of iteration times
  bool network = true;                      // what a faster network would gain
};

// A platform with so many GPUs.
struct LayoutOffer {
  std::string platform;
  std::int64_t gpus = 0;
  // The fastest whose memory fits at its interval's upper end, or one that names fewer fields and
  // is within 1 % of it; where none fits so, the fastest.
  LayoutPrediction best = {};
  double efficiency = 0;     // tokens/s/GPU over those of the platform's first offer that has them
  double network_gain = 0;   // kFastest times the bandwidth between nodes: 0.1: 10 % less time
  std::string failure = {};  // why there is no `best`; empty: there is one
};

// By platform, then by count; of a platform only the counts that it holds. InputError where it
// holds none of them, and where no offer has a layout.
std::vector<LayoutOffer> compare_layouts(const LayoutCompareSettings& settings);

}  // namespace forescale
