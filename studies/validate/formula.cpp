#include "studies/validate/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "algorithms/phase.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "models/workload/network.hpp"

namespace forescale {
namespace {

using Kind = Formula::Kind;

constexpr int kRanksMax = 1 << 20;

Formula of_kind(Kind kind, const std::string& name = "") {
  Formula formula;
  formula.kind = kind;
  formula.name = name;
  return formula;
}

int ranks_of(const JsonInput& in) { return static_cast<int>(in.integer(1, kRanksMax)); }

std::vector<std::int64_t> sizes_of(const JsonInput& in) {
  std::vector<std::int64_t> sizes;
  try {
    for (const Bytes bytes : parse_byte_list(in.string(), in.file())) sizes.push_back(bytes.value);
  } catch (const InputError& error) {
    in.fail(error.parts().constraint);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<Formula> operands_of(const JsonInput& in, size_t min, size_t max) {
  std::vector<Formula> operands;
  for (const JsonInput& element : in.elements()) operands.push_back(read_formula(element));
  if (operands.size() < min || operands.size() > max)
    in.fail(min == max ? fmt::format("must have {} operands", min)
                       : fmt::format("must have at least {} operands", min));
  return operands;
}

void read_two_requests(const JsonInput& in, Formula& formula) {
  const std::vector<JsonInput> requests = in.elements();
  if (requests.size() != 2) in.fail("must name two requests");
  formula.name = requests[0].string();
  formula.other = requests[1].string();
}

std::string point_value(const JsonInput& in) {
  std::vector<std::string> known{"images_per_s",
                                 "iteration_s",
                                 "compute_s",
                                 "memory_gib",
                                 "memory_high_gib",
                                 "allocated_gib",
                                 "exposed_communication_s"};
  for (const PhaseEntry& phase : kPhases) known.push_back(fmt::format("{}_s", phase.name));
  std::string value = in.string();
  if (std::find(known.begin(), known.end(), value) == known.end())
    in.fail(unknown_name(value, known));
  return value;
}

Formula read_point(const JsonInput& in) {
  in.allow_only({"point", "gpus", "value"});
  Formula formula = of_kind(Kind::kPoint, in.at("point").string());
  formula.ranks = ranks_of(in.at("gpus"));
  formula.value = point_value(in.at("value"));
  return formula;
}

// `key`: "collective" or "bound".
Formula read_formula_collective(const JsonInput& in, Kind kind, const char* key) {
  in.allow_only({key, "ranks", "bytes"});
  Formula formula = of_kind(kind, in.at(key).string());
  formula.ranks = ranks_of(in.at("ranks"));
  formula.bytes = sizes_of(in.at("bytes"));
  if (formula.bytes.size() != 1) in.at("bytes").fail("must be one size");
  return formula;
}

Formula read_fact(const JsonInput& in) {
  in.allow_only({"model", "fact"});
  Formula formula = of_kind(Kind::kFact, in.at("model").string());
  formula.value = in.at("fact").string();
  try {
    formula.number = model_fact(formula.name, formula.value);
  } catch (const InputError& error) {
    in.fail(error.parts().value + ": " + error.parts().constraint);
  }
  return formula;
}

Formula read_efficiency(const JsonInput& in) {
  in.allow_only({"efficiency", "gpus", "base"});
  Formula formula = of_kind(Kind::kEfficiency, in.at("efficiency").string());
  formula.ranks = ranks_of(in.at("gpus"));
  formula.base = ranks_of(in.at("base"));
  return formula;
}

Formula read_over_sizes(const JsonInput& in) {
  in.allow_only({"over_sizes", "ratio", "ranks", "bytes"});
  Formula formula = of_kind(Kind::kOverSizes);
  formula.value = in.at("over_sizes").one_of({"max", "min", "mean"});
  read_two_requests(in.at("ratio"), formula);
  formula.ranks = ranks_of(in.at("ranks"));
  formula.bytes = sizes_of(in.at("bytes"));
  return formula;
}

Formula read_crossover(const JsonInput& in) {
  in.allow_only({"crossover", "ranks", "bytes"});
  Formula formula = of_kind(Kind::kCrossover);
  read_two_requests(in.at("crossover"), formula);
  formula.ranks = ranks_of(in.at("ranks"));
  formula.bytes = sizes_of(in.at("bytes"));
  return formula;
}

Formula read_least(const JsonInput& in) {
  in.allow_only({"least"});
  Formula formula = of_kind(Kind::kLeast);
  for (const JsonInput& pair : in.at("least").elements()) {
    const std::vector<JsonInput> parts = pair.elements();
    if (parts.size() != 2) pair.fail("must be [key, formula]");
    formula.keys.push_back(parts[0].number(std::numeric_limits<double>::lowest()));
    formula.operands.push_back(read_formula(parts[1]));
  }
  if (formula.operands.empty()) in.at("least").fail("must not be empty");
  return formula;
}

double over_sizes(const Formula& formula, FormulaValues& values) {
  double most = 0;
  double least = std::numeric_limits<double>::infinity();
  double log_sum = 0;
  for (const std::int64_t bytes : formula.bytes) {
    const double ratio = values.collective(formula.name, formula.ranks, bytes) /
                         values.collective(formula.other, formula.ranks, bytes);
    most = std::max(most, ratio);
    least = std::min(least, ratio);
    log_sum += std::log(ratio);
  }
  if (formula.value == "max") return most;
  if (formula.value == "min") return least;
  return std::exp(log_sum / static_cast<double>(formula.bytes.size()));
}

double crossover(const Formula& formula, FormulaValues& values) {
  std::int64_t from = 0;
  for (const std::int64_t bytes : formula.bytes) {
    const double first = values.collective(formula.name, formula.ranks, bytes);
    const double second = values.collective(formula.other, formula.ranks, bytes);
    if (second > first)
      from = 0;
    else if (from == 0)
      from = bytes;
  }
  if (from == 0)
    throw Unavailable(formula.other + " is slower than " + formula.name + " at the largest size");
  return static_cast<double>(from);
}

double efficiency(const Formula& formula, FormulaValues& values) {
  const double base = values.point(formula.name, formula.base, "images_per_s") / formula.base;
  return 100 * values.point(formula.name, formula.ranks, "images_per_s") / formula.ranks / base;
}

std::vector<double> operand_values(const Formula& formula, FormulaValues& values) {
  const bool leaves_out = formula.kind == Kind::kMax || formula.kind == Kind::kMin;
  std::vector<double> of;
  for (size_t i = 0; i < formula.operands.size(); ++i) try {
      of.push_back(evaluate(formula.operands[i], values));
    } catch (const OutOfMemory&) {
      const bool is_last_hope = i + 1 == formula.operands.size() && of.empty();
      if (!leaves_out || is_last_hope) throw;
    }
  return of;
}

}  // namespace

Formula read_formula(const JsonInput& in) {
  Formula formula;
  if (in.raw().is_number()) {
    formula.number = in.number(std::numeric_limits<double>::lowest());
    return formula;
  }
  if (!in.is_object()) in.fail("must be a number or a formula");
  if (in.has("point")) return read_point(in);
  if (in.has("collective")) return read_formula_collective(in, Kind::kCollective, "collective");
  if (in.has("bound")) return read_formula_collective(in, Kind::kBound, "bound");
  if (in.has("model")) return read_fact(in);
  if (in.has("efficiency")) return read_efficiency(in);
  if (in.has("over_sizes")) return read_over_sizes(in);
  if (in.has("crossover")) return read_crossover(in);
  if (in.has("least")) return read_least(in);
  if (in.has("claim")) {
    in.allow_only({"claim"});
    return of_kind(Kind::kClaim, in.at("claim").string());
  }
  constexpr size_t kMany = 1000;
  for (const auto& [key, kind, min, max] :
       {std::tuple{"sum", Kind::kSum, size_t{1}, kMany},
        std::tuple{"product", Kind::kProduct, size_t{1}, kMany},
        std::tuple{"max", Kind::kMax, size_t{1}, kMany},
        std::tuple{"min", Kind::kMin, size_t{1}, kMany},
        std::tuple{"ratio", Kind::kRatio, size_t{2}, size_t{2}},
        std::tuple{"percent_more", Kind::kPercentMore, size_t{2}, size_t{2}},
        std::tuple{"percent_less", Kind::kPercentLess, size_t{2}, size_t{2}}})
    if (const auto operands = in.find(key)) {
      in.allow_only({key});
      formula.kind = kind;
      formula.operands = operands_of(*operands, min, max);
      return formula;
    }
  in.fail(
      "must be a formula: point, collective, bound, model, claim, sum, product, max, min, ratio, "
      "percent_more, percent_less, efficiency, over_sizes, crossover or least");
}

double evaluate(const Formula& formula, FormulaValues& values) {
  const std::vector<double> of = operand_values(formula, values);
  switch (formula.kind) {
    case Kind::kNumber:
    case Kind::kFact:
      return formula.number;
    case Kind::kPoint:
      return values.point(formula.name, formula.ranks, formula.value);
    case Kind::kCollective:
      return values.collective(formula.name, formula.ranks, formula.bytes.front());
    case Kind::kBound:
      return values.bound(formula.name, formula.ranks, formula.bytes.front());
    case Kind::kClaim:
      return values.claim(formula.name);
    case Kind::kSum: {
      double sum = 0;
      for (const double value : of) sum += value;
      return sum;
    }
    case Kind::kProduct: {
      double product = 1;
      for (const double value : of) product *= value;
      return product;
    }
    case Kind::kMax:
      return *std::max_element(of.begin(), of.end());
    case Kind::kMin:
      return *std::min_element(of.begin(), of.end());
    case Kind::kRatio:
      return of[0] / of[1];
    case Kind::kPercentMore:
      return 100 * (of[0] / of[1] - 1);
    case Kind::kPercentLess:
      return 100 * (1 - of[0] / of[1]);
    case Kind::kEfficiency:
      return efficiency(formula, values);
    case Kind::kOverSizes:
      return over_sizes(formula, values);
    case Kind::kCrossover:
      return crossover(formula, values);
    case Kind::kLeast:
      return formula.keys[static_cast<size_t>(std::min_element(of.begin(), of.end()) - of.begin())];
  }
  FORESCALE_CHECK(false, "unknown formula");
}

double model_fact(const std::string& model, const std::string& fact) {
  const Network network = load_network(model, "model");
  if (fact == "parameters") return static_cast<double>(network.parameters(Heads::kMain));
  if (fact == "parameter_bytes")
    return static_cast<double>(network.parameter_bytes(Heads::kMain).value);
  if (fact == "forward_flops") return network.forward_flops(Heads::kMain);
  double convolution_parameters = 0;
  double convolution_flops = 0;
  double connected_parameters = 0;
  double connected_flops = 0;
  for (const Layer& layer : network.layers) {
    if (layer.auxiliary || layer.parameters == 0) continue;
    const bool is_connected = std::holds_alternative<LinearShape>(layer.work);
    (is_connected ? connected_parameters : convolution_parameters) +=
        static_cast<double>(layer.parameters);
    (is_connected ? connected_flops : convolution_flops) += layer.forward_flops;
  }
  if (fact == "convolution_parameters") return convolution_parameters;
  if (fact == "convolution_flops") return convolution_flops;
  if (fact == "fully_connected_parameters") return connected_parameters;
  if (fact == "fully_connected_flops") return connected_flops;
  throw InputError(
      {.source = "model",
       .path = "",
       .value = fact,
       .constraint = unknown_name(
           fact, {"parameters", "parameter_bytes", "forward_flops", "convolution_parameters",
                  "convolution_flops", "fully_connected_parameters", "fully_connected_flops"})});
}

}  // namespace forescale
