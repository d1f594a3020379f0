// Published times of one training iteration on one GPU: models/compute/times/GPU-NETWORK.json.
//
// {"gpu", "network", "measurements": [{"framework", "batch", "seconds_per_iteration" or
//  "images_per_s", "passes": "forward+backward" or "forward+backward+update", "library", "use",
//  "structure"}]}
// "structure": the zoo's network that was really trained, where a framework's is another one of the
// same name; the tables take it as the named one.
// All that were found are kept; "use" marks those that the model rests on: of each framework the
// rows of one library, the one with cuDNN before the one without, then the newest; batches that
// memory forced to other algorithms are left out.
// Where a pair was measured in several frameworks and nobody says which is meant, the first of
// Caffe, TensorFlow, MXNet, PyTorch counts: most systems under study are built on Caffe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "base/units.hpp"
#include "models/compute/framework.hpp"

namespace forescale {

struct TimedIteration {
  Framework framework = Framework::kCaffe;
  std::int64_t batch = 0;
  Seconds iteration;
  bool includes_update = false;
  std::string library;
  std::string structure = {};
  std::string source;    // where it says "assumed": how it was derived
  bool assumed = false;  // from another GPU of the family
};

// Measurements marked "use" of one framework: `wanted` where it was measured, else the default one.
// Empty when there is no file for the pair. InputError for a bad file.
std::vector<TimedIteration> used_measurements(const std::string& gpu, const std::string& network,
                                              const std::optional<Framework>& wanted,
                                              Provenance* provenance);

// Those marked "use", of all frameworks or of one.
std::vector<TimedIteration> read_measurements(const JsonInput& in,
                                              const std::optional<Framework>& only = std::nullopt);

}  // namespace forescale
