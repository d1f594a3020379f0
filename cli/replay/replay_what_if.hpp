// `replay --what-if "gpu=h100 bucket=5MiB"`: the same run with something else about it.
#pragma once

#include <string>
#include <vector>

#include "cli/replay/trace_options.hpp"
#include "studies/replay/replay.hpp"

namespace forescale {

// What a replay is asked, as options say it.
struct ReplayQuestion {
  TraceText trace;
  ReplayText text;
};

// With the changes of `what_if`: words KEY=VALUE, keys named as replay's options;
// without-stragglers alone; keys as what_if_keys() has them. InputError naming --what-if for other
// words.
ReplayQuestion changed(ReplayQuestion question, const std::string& what_if);

std::vector<std::string> what_if_keys();

Replay answer(const ReplayQuestion& question);

}  // namespace forescale
