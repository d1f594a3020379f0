// The inputs of a report, read and checked: predictions, validations and timelines as one JSON
// document, which the page shows.
//
// A file is told by its content:
//   "format": "forescale-prediction-1"  as `forescale predict --json` prints it. "trace", if there,
//                                       names a timeline, relative to the file's folder.
//   "format": "forescale-validation-1"  as `forescale validate --json` prints it: "rows" of
//                                       {id, paper, claim, measured, predicted, error, role, unit,
//                                       note, cause, shared_assumption}; "error" is predicted /
//                                       measured - 1
//   "format": "forescale-comparison-1"  as `forescale compare --json` prints it: the "prediction"
//   of
//                                       each of its "contenders"
//   "format": "forescale-tuned-1"       as `forescale tune collective --json` prints it: "points"
//   of
//                                       studies/tune/tune_collective.hpp
//   "traceEvents" or an array           a Chrome trace: one timeline
// What the page computes with must have its type; keys that it does not know are shown as they are.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace forescale {

// {"phases": [{"name", "verb", "kind"}] of algorithms/phase.hpp,
//  "files": [{"name", "bytes", "sha256", "kind"}], "predictions": [{"file", "result"}],
//  "validations": [...], "tunings": [...], "timelines": [{"file", "timeline"}], "notes": [text]};
//  "file" is an index
// into files. InputError naming the file for whatever cannot be read or is none of these.
nlohmann::json read_report_inputs(const std::vector<std::string>& files);

}  // namespace forescale
