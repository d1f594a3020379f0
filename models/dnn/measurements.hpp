// Published times of one training iteration on one GPU: models/dnn/times/GPU-NETWORK.json.
//
// {"gpu", "network", "measurements": [{"batch", "seconds_per_iteration" or "images_per_s",
//  "passes": "forward+backward" or "forward+backward+update", "library", "use", "source"}]}
// All that were found are kept; "use" marks those that the model rests on, by one rule: the
// framework of the systems under study first (Caffe; among its builds the cuDNN one), else the
// framework with cuDNN whose numbers are newest; all rows of that framework and device count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/json_input.hpp"
#include "models/units.hpp"

namespace forescale {

struct Measurement {
  std::int64_t batch = 0;
  Seconds iteration;
  bool includes_update = false;
  std::string library;
  std::string source;
};

// Measurements marked "use"; empty when there is no file for the pair. InputError for a bad file.
std::vector<Measurement> used_measurements(const std::string& gpu, const std::string& network,
                                           Provenance* provenance);
std::vector<Measurement> read_measurements(const JsonInput& in);

}  // namespace forescale
