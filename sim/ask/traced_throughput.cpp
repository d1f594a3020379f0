#include "sim/ask/traced_throughput.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/units.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {

std::optional<std::string> traced_throughput(const std::string& text, const std::string& option) {
  const size_t at = text.rfind('@');
  const std::string file = text.substr(0, at);
  if (!file.ends_with(".json") && !file.ends_with(".json.gz")) return std::nullopt;
  if (at == std::string::npos)
    refuse(option, text, "needs the batch of the trace's iteration: step.json.gz@256");
  const size_t colon = text.find(':', at);
  const std::int64_t batch = parse_integer(text.substr(at + 1, colon - at - 1), option);
  if (batch < 1) refuse(option, text, "must have a batch >= 1");
  const MeasuredRun run = import_trace({file}, {}).measured;
  if (run.world > 1)
    refuse(option, file,
           fmt::format("is of {} ranks, whose waiting for each other is in it: a trace of one GPU "
                       "is needed (replay takes this one)",
                       run.world));
  if (run.step_s <= 0) refuse(option, file, "has no iteration");
  return fmt::format("{:.6g}images/s@{}{}", static_cast<double>(batch) / run.step_s, batch,
                     colon == std::string::npos ? "" : text.substr(colon));
}

}  // namespace forescale
