// What a forward pass leaves in memory for the backward pass, where a framework keeps only what is
// read again (PyTorch, Megatron-LM): inputs and outputs that operators name, once however many read
// them, and what operators keep of their own. What was gathered from other GPUs is not kept.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "base/units.hpp"
#include "models/workload/network.hpp"

namespace forescale {

struct KeptBytes {
  std::int64_t values = 0;          // in the activations' precision
  std::int64_t products = 0;        // of those, what matrix products read, the last one's left out
  std::int64_t products_alone = 0;  // and nothing else does
  std::int64_t own = 0;             // FP32: statistics, probabilities
  std::int64_t flags = 0;           // a byte each

  Bytes bytes(std::int64_t value_bytes) const {
    return {values * value_bytes + own * kBytesPerValue + flags};
  }
  // Where products read copies of that many bytes a value and keep those (NVIDIA/TransformerEngine,
  // pytorch/module/linear.py: an FP8 product saves its quantised input).
  Bytes bytes(std::int64_t value_bytes, double product_bytes) const {
    return {bytes(value_bytes).value - products_alone * value_bytes +
            std::llround(static_cast<double>(products) * product_bytes)};
  }
};

// Whether a layer's forward pass runs again before its backward pass: with what it reads of others
// kept, and its result where others read it, or not that either.
struct RunsAgain {
  enum How { kNo, kWithin, kResultToo };
  How how = kNo;
  double part = 1;  // of the layer that does; of kResultToo the rest of the result is kept

  double share() const { return how == kNo ? 0 : part; }
};
using RunsAgainRule = std::function<RunsAgain(const std::string& layer)>;

// For one image (one sequence). Of gates that are two kernels the activated half is kept too, which
// the second one reads.
KeptBytes kept_for_backward(const Network& network, const RunsAgainRule& rule = nullptr,
                            bool gates_are_two_kernels = false);

}  // namespace forescale
