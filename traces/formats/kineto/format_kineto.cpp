// PyTorch's profilers: Kineto's Chrome JSON and the older array of events, one file a rank, with an
// execution-trace file behind it where the sizes are only there.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "traces/formats/kineto/execution_trace.hpp"
#include "traces/formats/kineto/kineto_rank.hpp"
#include "traces/formats/trace_input.hpp"
#include "traces/measured/rebuild.hpp"

namespace forescale {
namespace {

bool is_kineto(const std::string& file, const std::string& head) {
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return false;
  if (is_execution_trace(head)) return true;  // of a list that begins with it: said on import
  const bool has_events = head.find("\"traceEvents\"") != std::string::npos ||
                          head.find("\"deviceProperties\"") != std::string::npos ||
                          head.find("\"schemaVersion\"") != std::string::npos ||
                          file.find(".pt.trace.json") != std::string::npos;
  // Horovod's timeline is an array too; it has no "dur" with every "X" of a "ts".
  const bool is_array = head[first] == '[' && head.find("\"CPU functions\"") != std::string::npos;
  return (head[first] == '{' && has_events) || is_array;
}

ImportedTrace import_kineto(const std::vector<std::string>& files, const ImportOptions& options) {
  std::vector<MeasuredRank> ranks;
  std::vector<char> is_behind;  // a timeline
  for (const std::string& file : files)
    is_behind.push_back(is_execution_trace(head_of_trace(file)) ? 1 : 0);
  const bool is_alone = std::count(is_behind.begin(), is_behind.end(), 0) == 1;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string& file = files[i];
    if (is_behind[i] == 0) {
      ranks.push_back(read_kineto(file, is_alone));
      continue;
    }
    if (ranks.empty())
      throw InputError({.source = file,
                        .path = "",
                        .value = "",
                        .constraint = "is an execution trace: it belongs behind the timeline "
                                      "(Kineto) of the same rank"});
    add_execution_trace(file, ranks.back());
  }
  return rebuild(std::move(ranks), options);
}

const bool kKinetoRegistered = Registry<TraceFormat>::add(
    {.name = "kineto",
     .description = "PyTorch profiler's timeline (Chrome JSON), execution traces behind it",
     .reads = {"--ranks", "--batch", "--bucket", "--size", "--group", "--split",
               "--without-stragglers"},
     .detects = is_kineto,
     .import = import_kineto});

}  // namespace
}  // namespace forescale
