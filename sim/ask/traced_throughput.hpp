// Training measured on one GPU by a profile of it.
#pragma once

#include <optional>
#include <string>

namespace forescale {

// "step.json.gz@256:3%", a trace of one GPU as `replay` reads it and the batch of its iteration, as
// measured_throughput.hpp has it: "3909.1images/s@256:3%". The iteration is as long as the trace
// shows it, the host's waiting in it. Nothing where `text` names no trace. InputError naming
// `option` or the file for one of several GPUs or without an iteration.
std::optional<std::string> traced_throughput(const std::string& text, const std::string& option);

}  // namespace forescale
