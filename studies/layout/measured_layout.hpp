// An iteration that the user measured, as what a layout's prediction starts from.
//
// The passes' kernels, and what the CPU takes to ask for them, are scaled by one factor, so that
// this iteration is predicted as long as it was; exchanges and the optimizer stay the model's.
// Nothing else is changed, whatever the difference comes from.
#pragma once

#include <cstdint>
#include <string>

#include "studies/layout/layout_prediction.hpp"

namespace forescale {

inline constexpr const char* kMeasuredOption = "--measured";

struct MeasuredLayout {
  double iteration_s = 0;
  std::int64_t gpus = 0;
  std::string layout;  // as --layout has it
};

// "6.7s@8": on 8 GPUs, on the layout that is asked for; "6.7s@8:tp=1,global=64": with these fields
// instead. InputError naming --measured.
MeasuredLayout parse_measured_layout(const std::string& text, const std::string& asked_layout);

// The question's compute_scale with which the measured iteration is predicted, the rest of the
// question as it is. InputError naming --measured where it does not fit into memory or where no
// factor from 1/5 to 5 does it.
double kernel_scale(const MeasuredLayout& measured, const Question& question, Asker& asker);

// Whether two resolved layouts differ in copies and batch alone.
bool differ_in_copies_alone(Layout one, const Layout& other);

}  // namespace forescale
