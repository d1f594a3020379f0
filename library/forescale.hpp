// forescale as a library: a question in, an answer out.
//
//   find_package(forescale REQUIRED)
//   target_link_libraries(mine PRIVATE forescale::forescale)
//
//   #include <forescale/forescale.hpp>
//   namespace fl = forescale::library;
//   const Training answer = predict({{"platform", {"kesch"}}, {"model", {"googlenet"}}, {"batch",
//   {"1024"}},
//                                    {"system", {"s-caffe-obr-hr"}}, {"gpus", {"16,32,64"}}});
//   answer.points[2].iteration_s
//
// A question's fields are those of the command line, with underscores: fields() lists them. Times
// are seconds. Every simulation runs in a process of its own that is forked from the caller's:
// threads of his own do not exist there. Calls keep nothing; from several threads at once they are
// not tried. Errors are exceptions below; std::bad_alloc, std::system_error beside them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace forescale::library {

// By name: {"platform", {"dgx-h100"}}, {"gpus", {"8,16"}}; of a field that may be given several
// times ("options", "links", "plans", "number_scales") one text each time.
using Question = std::map<std::string, std::vector<std::string>>;

struct Field {
  std::string name;
  std::string meaning;  // with unit and default
};
std::vector<Field> training_fields();
std::vector<Field> collective_fields();  // "plan" is "all-reduce", or "reduce/cb:chain_size=8"

// Whether a 90 % interval is asked for, which takes three simulations in place of one.
enum class Ends { kNone, kOf90Percent };

struct TrainingPoint {
  std::int64_t gpus = 0;
  bool fits = true;  // in GPU memory; if not, there are no times
  double iteration_s = 0;
  std::optional<double> low_s = {};  // of the interval
  std::optional<double> high_s = {};
  double samples_per_s = 0;  // images, or sequences
  double goodput = 1;        // of wall-clock time, with "failures"
  // Not of layouts: physical floor of the iteration, and what is busiest in the network.
  double bound_s = 0;
  std::string busiest = {};
};

struct Training {
  std::string title = {};
  std::vector<TrainingPoint> points = {};  // by growing count of GPUs
  std::vector<std::string> warnings = {};
  std::string command = {};  // that repeats it: "forescale predict ..."
};

// A training iteration for every GPU count; with "layout" that of a transformer on it.
Training predict(const Question& question, Ends interval = Ends::kOf90Percent);

struct CollectivePoint {
  std::int64_t ranks = 0;
  std::int64_t bytes = 0;
  std::string algorithm = {};
  double time_s = 0;  // simulated, or priced where that was too large
  std::optional<double> low_s = {};
  std::optional<double> high_s = {};
  std::optional<double> cost_engine_s = {};  // without contention
  std::optional<double> closed_form_s = {};
  double bound_s = 0;  // physical floor
};

// A collective for every count of "ranks" and every size of "bytes", ranks first.
std::vector<CollectivePoint> collective(const Question& question,
                                        Ends interval = Ends::kOf90Percent);

// What() says file or field, path, value and constraint.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
class BadInput : public Error {  // bad input
 public:
  using Error::Error;
};
class Unfinished : public Error {  // it could not finish: who waits for whom
 public:
  using Error::Error;
};
class BelowFloor : public Error {  // an answer below its floor: a bug, never returned
 public:
  using Error::Error;
};

}  // namespace forescale::library
