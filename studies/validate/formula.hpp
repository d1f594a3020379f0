// How a claim's number follows from predictions: a small closed set of formulas over runs, facts of
// networks and other claims' measured numbers. In a claims file a formula is one of
//   4.5                                                       a number
//   {"point": REQUEST, "gpus": 16, "value": "images_per_s"}    of a training run; also iteration_s,
//                                                             compute_s, or a phase of the root:
//                                                             forward_s, propagation_s, ...; or
//                                                             memory_gib or, of a layout,
//                                                             memory_high_gib or allocated_gib,
//                                                             whether it fits or not
//   {"collective": REQUEST, "ranks": 160, "bytes": "8MiB"}     seconds
//   {"bound": REQUEST, "ranks": 160, "bytes": "8MiB"}          seconds that no algorithm goes below
//   {"model": "alexnet", "fact": "parameters"}                 and others, see model_fact()
//   {"claim": ID}                                             that claim's measured number
//   {"sum": [...]} {"product": [...]} {"max": [...]} {"min": [...]}
//   {"ratio": [a, b]}         a / b
//   {"percent_more": [a, b]}  100 (a / b - 1)
//   {"percent_less": [a, b]}  100 (1 - a / b)
//   {"efficiency": REQUEST, "gpus": 64, "base": 1}  100 images/s a GPU over those of the base count
//   {"over_sizes": "max", "ratio": [A, B], "ranks": 16, "bytes": "1MiB..256MiB"}  of the ratio of
//                             two collective requests' times; also "min", "mean" (geometric)
//   {"crossover": [A, B], "ranks": 8, "bytes": "64KiB..64MiB"}  bytes from which on, within the
//                             sizes, request B is never slower than A
//   {"least": [[8, a], [4, b]]}  the key whose formula is least
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json_input.hpp"

namespace forescale {

struct Formula {
  enum class Kind {
    kNumber,
    kPoint,
    kCollective,
    kBound,
    kFact,
    kClaim,
    kSum,
    kProduct,
    kMax,
    kMin,
    kRatio,
    kPercentMore,
    kPercentLess,
    kEfficiency,
    kOverSizes,
    kCrossover,
    kLeast,
  };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name;   // request, network or claim
  std::string other;  // second request of kOverSizes and kCrossover
  std::string value;  // of a point or network; how kOverSizes gathers
  int ranks = 0;      // GPUs or ranks
  int base = 0;       // GPUs of kEfficiency
  std::vector<std::int64_t> bytes;
  std::vector<double> keys;  // of kLeast, one an operand
  std::vector<Formula> operands;
};

Formula read_formula(const JsonInput& in);

// Where formulas find what they name. Each throws Unavailable when there is no such number.
class FormulaValues {
 public:
  virtual ~FormulaValues() = default;
  virtual double point(const std::string& request, int gpus, const std::string& value) = 0;
  virtual double collective(const std::string& request, int ranks, std::int64_t bytes) = 0;
  virtual double bound(const std::string& request, int ranks, std::int64_t bytes) = 0;
  virtual double claim(const std::string& id) = 0;
};

// A number that cannot be had: the run failed.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Its batch does not fit in GPU memory: a point that the papers leave out, and `max` and `min` too.
class OutOfMemory : public Unavailable {
 public:
  using Unavailable::Unavailable;
};

// Asks `values` for every number that the formula names, whatever it turns out to be.
double evaluate(const Formula& formula, FormulaValues& values);

// parameters, convolution_parameters, fully_connected_parameters, forward_flops, convolution_flops,
// fully_connected_flops (all for one image, without auxiliary heads), parameter_bytes. InputError
// for an unknown network or fact.
double model_fact(const std::string& model, const std::string& fact);

}  // namespace forescale
