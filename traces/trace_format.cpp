#include "traces/trace_format.hpp"

#include "models/error.hpp"
#include "models/registry.hpp"
#include "traces/trace_input.hpp"

namespace forescale {

const TraceFormat& trace_format_of(const std::string& file) {
  const std::string head = head_of_trace(file);
  std::string known;
  for (const auto& [name, format] : Registry<TraceFormat>::all()) {
    if (format.detects(file, head)) return format;
    known += (known.empty() ? "" : "; ") + name + ": " + format.description;
  }
  throw InputError(
      {.source = file,
       .path = "",
       .value = "",
       .constraint = head.empty() ? "is empty" : "is no trace known here (" + known + ")"});
}

}  // namespace forescale
