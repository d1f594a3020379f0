// A registered collective with values of its options: how a plan is named everywhere.
//
// As text "reduce/cb:chain_size=8,chunk_bytes=4MiB", with '+' where a text option has commas
// ("levels=chain:4+binomial"). The command line also takes it spelled out (--op reduce --algorithm
// cb --chain-size 8), JSON as members "algorithm", "chain_size", ... beside the operation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "base/json_input.hpp"

namespace forescale {

struct PlanChoice {
  const Collective* collective = nullptr;
  OptionValues options = {};
  bool operator==(const PlanChoice&) const = default;
};

// InputError naming `source` and the option: unknown operations and algorithms, options that the
// collective does not declare, values out of their range.
PlanChoice parse_plan(const std::string& text, const std::string& source);
// The text again; options that were not given and mean nothing at their default, and those that
// another given one replaces, are left out.
std::string plan_text(const PlanChoice& plan);

// Spelled out: the algorithm's name and the texts of options by name. Nothing without an algorithm:
// the stack chooses. InputError naming --algorithm, or the option where it has no algorithm or one
// that does not read it.
struct SpelledPlan {
  std::string algorithm = {};
  std::map<std::string, std::string> options = {};  // an empty text: not given
};
std::optional<PlanChoice> spelled_plan(CollectiveOp op, const SpelledPlan& plan);

// As JSON: {"algorithm": "cb", "chain_size": 8, "chunk_bytes": "4MiB"}. InputError naming file and
// path.
PlanChoice read_plan(const JsonInput& in, CollectiveOp op);

// The `turn`-th values, around the end, that checks of plans take of each option.
OptionValues checked_options(const Collective& collective, size_t turn);

// Every option of any collective: what is given, or what is meant where nothing is.
nlohmann::json options_json(const OptionValues& options);

// A plan of an algorithm and options that were stated apart (a stack's rule); InputError naming
// `source`.
PlanChoice make_plan(CollectiveOp op, const std::string& algorithm, const OptionValues& options,
                     const std::string& source);

}  // namespace forescale
