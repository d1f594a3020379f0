// The answers that a report shows. Each kind is one file of the page, page/views/*.js, which opens
// with what it takes:
//
//   /*! {"format": "forescale-crossover-1",   "format" of the answers that it shows
//        "kind": "crossover",                 for people: "2 crossovers"
//        "made_by": "crossover",              `forescale crossover --json` prints them
//        "shape": {...}} */                   cli/report/shape.hpp: what the page computes with
//
// and goes on with the page's code for it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace forescale {

struct ReportView {
  std::string format;
  std::string kind;
  std::string made_by;
  nlohmann::json shape;
  std::string script;  // the whole file
};

// All of them, by the names of their files. InputError for one that cannot be read.
std::vector<ReportView> report_views();

// A file of the page: page_file("style.css"). InputError where it cannot be read.
std::string page_file(const std::string& name);

}  // namespace forescale
