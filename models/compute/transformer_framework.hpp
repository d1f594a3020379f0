// What a framework adds to the kernels of a transformer:
// models/compute/transformer_frameworks.json.
#pragma once

#include "base/json_input.hpp"
#include "models/compute/framework.hpp"
#include "models/unmodelled.hpp"

namespace forescale {

struct TransformerFramework {
  double kernels = 1;            // time of all kernels over that of fused ones
  double attention = 1;          // time of its attention over the GPU model's, beside that
  std::int64_t score_bytes = 0;  // of a word's score while its loss is computed: all copies
  double memory =
      1;  // all that is allocated over the parts that are counted, and its 90 % interval
  double memory_low = 1;
  double memory_high = 1;
  double host_layer_s = 0;          // in which the CPU asks for a layer's kernels of both passes
  Unmodelled unmodelled_one_stage;  // of an iteration without pipeline, and with one
  Unmodelled unmodelled_pipeline;
};

// Where nobody says.
inline constexpr Framework kDefaultTransformerFramework = Framework::kMegatron;

// On a GPU of models/hardware/gpus/. InputError naming `option` for one that the file does not
// have.
TransformerFramework transformer_framework(Framework framework, const std::string& gpu,
                                           const std::string& option, Provenance* provenance);

}  // namespace forescale
