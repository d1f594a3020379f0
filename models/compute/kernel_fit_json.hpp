// A KernelFit as an entry of a GPU model's "kernels"; the form is in fitted_gpu.hpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/json_input.hpp"
#include "models/compute/kernel_time.hpp"

namespace forescale {

KernelPass read_pass(const JsonInput& in);
Precision read_precision(const JsonInput& in);
// What a network is trained in, by its name as an option gives it: fp32, tf32, fp16 or bf16.
// InputError naming `option`.
Precision parse_precision(const std::string& text, const std::string& option);
MemoryFormat parse_memory_format(const std::string& text, const std::string& option);
Fusion parse_fusion(const std::string& text, const std::string& option);

KernelFit read_kernel_fit(const JsonInput& in);
nlohmann::json to_json(const KernelFit& fit);

}  // namespace forescale
