// A question with a layout, read: what its GPUs do and hold, before anything is simulated.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "sim/ask/ask.hpp"
#include "studies/layout/iteration_work.hpp"

namespace forescale {

inline constexpr const char* kLayoutOption = "--layout";

// A question with a layout, at one GPU count.
struct LayoutCase {
  Question question;
  std::int64_t gpus = 0;
  Scenario scenario = {};  // of the machine's numbers
  // compute_scale is of an iteration that was measured on this layout with other numbers of copies:
  // what is not modelled is what was left so (transformer_frameworks.json).
  bool is_measured = false;
};

struct LayoutSetUp {
  Layout layout;  // resolved
  std::string model;
  bool has_experts = false;
  GpuModel gpu;
  TransformerFramework framework;
  Precision precision =
      Precision::kBf16;  // quantised: of the products in layers, all else `values`
  Precision values = Precision::kBf16;
  std::int64_t tokens = 0;      // of a sequence
  std::int64_t parameters = 0;  // of the model
  double model_flops = 0;       // of an iteration and GPU: forward and backward, nothing twice
  double peak_flops_per_s = 0;
  IterationWork work;
};

// Names of the question's fields that a layout's prediction looks at.
const std::set<std::string>& layout_question_fields();
// InputError for a question with a layout that names no GPU counts, or what its prediction would
// leave out.
void check_layout_question(const Question& question);

// The question's model. InputError where it is no transformer.
Transformer transformer_of(const Question& question);

// A collective on the machine that `about` names, with all its links as they should be; and with
// those that are not.
Question machine_question(const LayoutCase& about);
Question slow_machine_question(const LayoutCase& about);

// InputError for what does not fit together.
LayoutSetUp set_up_layout(const LayoutCase& about, Asker& asker);

}  // namespace forescale
