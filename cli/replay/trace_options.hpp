// Options of the commands that read traces.
#pragma once

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {

struct TraceText {
  std::vector<std::string> files;
  int ranks = 0;
  std::string flops_per_s;
  std::string cycle;
  std::int64_t batch = 0;
  std::string bucket;
  std::vector<std::string> sizes;
  std::vector<std::string> groups;
  std::vector<std::string> splits;
  bool without_stragglers = false;
};
void add_trace_options(Subcommand command, TraceText& text);

// InputError for what is no number, or not above 0.
ImportOptions parse_trace_options(const TraceText& text);

}  // namespace forescale
