// The inputs of a report, read and checked: answers and timelines as one JSON document, which the
// page shows.
//
// A file is told by its content:
//   "format"                     an answer, as the program prints it with --json: report_views()
//                                says of which kinds, and what each must hold. "trace", if there,
//                                names a timeline, relative to the file's folder.
//   "traceEvents" or an array    a Chrome trace: one timeline
// What the page computes with must have its type; keys that it does not know are shown as they are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/report/timeline.hpp"
#include "cli/report/views.hpp"

namespace forescale {

// {"phases": [{"name", "verb", "kind"}] of algorithms/phase.hpp,
//  "files": [{"name", "bytes", "sha256", "kind"}],
//  "answers": [{"file", "format", "result"}], "timelines": [{"file", ... of packed_timeline()}],
//  "notes": [text]}; "file" is an index into files.
// InputError naming the file for whatever cannot be read or is none of these.
nlohmann::json read_report_inputs(const std::vector<std::string>& files,
                                  const std::vector<ReportView>& views,
                                  const TimelineLimits& limits);

}  // namespace forescale
