// What each stage of a transformer's pipeline is on one GPU: its layers, what its passes take on
// the GPU, and what they exchange.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "algorithms/layout/layout.hpp"
#include "models/compute/fitted_gpu.hpp"
#include "models/compute/transformer_framework.hpp"
#include "models/stack.hpp"
#include "models/workload/kept.hpp"
#include "models/workload/network.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "models/workload/transformer/transformer.hpp"

namespace forescale {

// What a stage exchanges, of one size and beside products of one length.
struct StageExchange {
  ExchangeGroup group = ExchangeGroup::kTensor;
  ExchangeKind kind = ExchangeKind::kAllReduce;
  std::int64_t bytes = 0;
  std::int64_t under_ns = 0;  // of a product that goes on at the same time, with tp_overlap
  auto operator<=>(const StageExchange&) const = default;

  double under_s() const;
};

// How often.
using ExchangeCounts = std::map<StageExchange, int>;

struct StagePart {
  std::int64_t first_layer = 0;
  std::int64_t layers = 0;
  std::int64_t sparse_layers = 0;      // of those, with experts
  std::int64_t parameters = 0;         // of this GPU
  std::int64_t expert_parameters = 0;  // of those, the experts'
  std::int64_t frozen_bytes = 0;       // of others, which do not learn
  // Of one micro-batch, seconds on the GPU alone.
  double forward_s = 0;
  double backward_s = 0;          // both gradients
  double weight_gradients_s = 0;  // of that
  ExchangeCounts forward = {};
  ExchangeCounts backward = {};
  // Of a forward pass, what recompute=full of all its layers runs again.
  double again_s = 0;
  ExchangeCounts again = {};
  // Of one micro-batch, bytes.
  std::int64_t kept_bytes = 0;
  std::int64_t boundary_bytes = 0;    // of a layer's input, on this GPU
  std::int64_t layer_kept_bytes = 0;  // of its largest layer alone
  // Of results that were reduced and scattered: whole in memory still, where the CPU is ahead.
  std::int64_t held_result_bytes = 0;
  // Of the words' scores while their loss is computed.
  std::int64_t score_bytes = 0;
  // That stand in for the gradients of weights, which are in the sum already.
  std::int64_t gradient_buffer_bytes = 0;
};

// Layers of each stage, in the order of the stages. InputError naming `option` where pp x vpp does
// not divide them, or exceeds them.
std::vector<std::int64_t> layers_of_stages(const Transformer& model, const Layout& layout,
                                           const std::string& option);

// Of a layout with lora.
Adapters adapters_of(const Layout& layout);

struct StageInputs {
  const Transformer* model = nullptr;
  const Layout* layout = nullptr;  // resolved
  std::int64_t tokens = 0;         // of a sequence
  Precision precision = Precision::kBf16;
  std::optional<Precision> products = {};  // of those in its layers; casts are in their times
  bool splits_backward = false;            // gradients by weights are left for later
  const FittedGpu* fitted = nullptr;
  const GpuModel* gpu = nullptr;
  const Stack* stack = nullptr;
  const TransformerFramework* framework = nullptr;
  std::string option = "";  // that names a wrong share
};

// All stages, in their order. InputError for a share that does not divide what it is of.
std::vector<StagePart> stage_parts(const StageInputs& inputs);

}  // namespace forescale
