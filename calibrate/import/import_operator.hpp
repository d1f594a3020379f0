// An operator of PyTorch's profiler as a GPU kernel's shape; see import_profiler.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/compute/gpu_kernel.hpp"

namespace forescale {

struct OperatorCall {
  GpuKernel kernel;
  std::string key;             // calls alike have the same
  std::string algorithm = {};  // of attention: "cudnn", "flash"
};

// Of an event with "args": "Input Dims" and, where given, "Input type", "Input Strides", "Concrete
// Inputs". Nothing without shapes or for a precision that is none of ours.
std::optional<OperatorCall> operator_call(const nlohmann::json& event);

// From names, sizes of the inputs and their types alone, as key_averages() prints them.
struct OperatorInputs {
  std::string name;  // "aten::addmm"
  nlohmann::json dims;
  nlohmann::json types;
  nlohmann::json strides;
  nlohmann::json values;
};
std::optional<OperatorCall> operator_call(const OperatorInputs& inputs);

}  // namespace forescale
