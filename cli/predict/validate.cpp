// `forescale validate`: published claims beside what is predicted for them.
#include "studies/validate/validate.hpp"
#include "base/output_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/median.hpp"
#include "cli/command.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "studies/validate/leave_out.hpp"

namespace forescale {
namespace {

constexpr size_t kSharersShown = 3;  // rows that share the rule of an omitted input

struct ValidateOptions {
  ValidationChoice choice;
  std::string leave_out;  // a paper; empty: none
  RangeOptions range{.interval = false};
  bool json = false;
  std::string file;
  std::string line;  // as typed
};

std::string number_text(double value) { return fmt::format("{:.4g}", value); }

std::string with_unit(const std::string& text, const std::string& unit) {
  return unit.empty() ? text : text + " " + unit;
}

std::string measured_text(const Claim& claim) {
  if (!claim.measured_text.empty()) return claim.measured_text;
  if (claim.measured.empty()) return "-";
  std::string text = number_text(claim.measured.front());
  if (claim.measured.size() == 2) text += " to " + number_text(claim.measured.back());
  const bool extreme =
      claim.qualifier == "up to" || claim.qualifier == "at least" || claim.qualifier == "at most";
  return with_unit(extreme ? claim.qualifier + " " + text : text, claim.unit);
}

std::string predicted_text(const ValidationRow& row) {
  if (row.right) return *row.right ? "holds" : "does not hold";
  if (!row.predicted) return "-";
  std::string text = number_text(*row.predicted);
  if (row.low && row.high)
    text += fmt::format(" ({} to {})", number_text(*row.low), number_text(*row.high));
  return text;
}

std::string steps_text(const ValidationRow& row) {
  std::string text;
  for (const StepOutcome& step : row.steps) {
    if (step.right) continue;
    std::string values;
    for (const double value : step.values)
      values += (values.empty() ? "" : ", ") + number_text(value);
    text += fmt::format("{}not: {} ({})", text.empty() ? "" : "; ", step.text, values);
  }
  return text;
}

// What a reader must know first: why there is no number, then what the row itself says.
std::string note_text(const ValidationRow& row) {
  const Claim& claim = row.claim;
  std::string text = row.failure.empty() ? claim.reason : row.failure;
  for (const std::string& part :
       {claim.same_as.empty() ? "" : "the quantity of " + claim.same_as, steps_text(row),
        claim.contradiction.empty() ? "" : "paper: " + claim.contradiction})
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  if (!claim.omitted.empty()) {
    std::string keys;
    for (const std::string& key : claim.omitted) keys += (keys.empty() ? "" : ", ") + key;
    text += fmt::format("{}[{}]", text.empty() ? "" : " ", keys);
  }
  return text;
}

std::string percent_text(const std::optional<double>& percent) {
  return percent ? fmt::format("{:+.1f}", *percent) : "-";
}

void print_claim_rows(const Validation& validation, const std::string& paper) {
  Table table({"<id", "<claim", "measured", "predicted", "error %", "trivial %", "<role", "<note"});
  for (const ValidationRow& row : validation.rows)
    if (row.claim.paper == paper)
      table.add({row.claim.id, row.claim.claim, measured_text(row.claim), predicted_text(row),
                 percent_text(row.error_percent), percent_text(row.trivial_error_percent),
                 name_of(row.claim.role), note_text(row)});
  fmt::print("\n{}\n{}", coloured(paper, Colour::kBold), table.text());
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string orderings_text(const ValidationSummary& summary) {
  const int orderings = summary.orderings_right + summary.orderings_wrong;
  return orderings == 0 ? "-" : fmt::format("{} of {}", summary.orderings_right, orderings);
}

void print_summaries(const Validation& validation) {
  Table table({"<rows of", "predictions", "median |error| %", "trivial %", "within 15 %",
               "within 30 %", "adjusted", "median |error| %", "orderings hold", "no answer"});
  Table ranges({"<rows of", "with a range", "hold the measured", "median half-width %"});
  for (const ValidationSummary& summary : validation.summaries) {
    const Accuracy& of = summary.predictions;
    const auto where = [](const Accuracy& accuracy, const std::string& text) {
      return accuracy.scored > 0 ? text : "-";
    };
    table.add(
        {summary.of, std::to_string(of.scored),
         where(of, fmt::format("{:.1f}", of.median_error_percent)),
         where(of, fmt::format("{:.1f}", of.trivial_median_error_percent)),
         where(of, share_text(of.within_15_percent)), where(of, share_text(of.within_30_percent)),
         std::to_string(summary.adjusted.scored),
         where(summary.adjusted, fmt::format("{:.1f}", summary.adjusted.median_error_percent)),
         orderings_text(summary), std::to_string(summary.failed)});
    const Coverage& coverage = summary.coverage;
    if (coverage.ranged > 0)
      ranges.add({summary.of, std::to_string(coverage.ranged),
                  fmt::format("{} ({})", coverage.holding,
                              share_text(static_cast<double>(coverage.holding) / coverage.ranged)),
                  fmt::format("{:.1f}", coverage.median_half_width_percent)});
  }
  fmt::print("\n{}", table.text());
  if (std::any_of(validation.summaries.begin(), validation.summaries.end(),
                  [](const ValidationSummary& of) { return of.coverage.ranged > 0; }))
    fmt::print("\n{}", ranges.text());
  for (const ValidationSummary& summary : validation.summaries) {
    std::string roles;
    for (const auto& [role, count] : summary.roles)
      roles += fmt::format("{}{} {}", roles.empty() ? "" : ", ", count, role);
    fmt::print("{}: {}\n", summary.of, roles);
  }
}

std::string cause_text(const ValidationRow& row) {
  const Claim& claim = row.claim;
  if (!claim.cause)
    return claim.suspected.empty() ? "none found" : "suspected, not shown: " + claim.suspected;
  const std::string broken = row.broken_cause();
  return broken.empty() ? claim.cause->text
                        : "no longer this: " + claim.cause->text + ": " + broken;
}

void print_misses(const Validation& validation) {
  Table table({"<misses over 30 %", "error %", "<cause"});
  Table orderings({"<orderings that do not hold", "<would be decided by"});
  bool any = false;
  bool any_ordering = false;
  for (const ValidationRow& row : validation.rows) {
    if (is_miss(row) || !row.broken_cause().empty()) {
      any = true;
      table.add({row.claim.id, percent_text(row.error_percent), cause_text(row)});
    }
    if (row.claim.is_scored() && row.right && !*row.right) {
      any_ordering = true;
      orderings.add({row.claim.id, row.claim.decided_by});
    }
  }
  if (any) fmt::print("\n{}", table.text());
  if (any_ordering) fmt::print("\n{}", orderings.text());
}

void print_rules(const Validation& validation) {
  if (validation.rules.empty()) return;
  Table table({"<paper", "<omitted input", "<fixed at", "<by the rule", "<rows that share it"});
  for (const auto& [paper, rule] : validation.rules) {
    std::vector<std::string> ids;
    for (const ValidationRow& row : validation.rows)
      if (row.claim.paper == paper && std::find(row.claim.omitted.begin(), row.claim.omitted.end(),
                                                rule.key) != row.claim.omitted.end())
        ids.push_back(row.claim.id);
    const size_t shown = std::min(ids.size(), kSharersShown);
    std::string sharers = fmt::format("{}", fmt::join(ids.begin(), ids.begin() + shown, " "));
    if (ids.size() > shown) sharers += fmt::format(" and {} more", ids.size() - shown);
    table.add(
        {paper, fmt::format("{} ({})", rule.input, rule.key), rule.value, rule.rule, sharers});
  }
  fmt::print("\n{}", table.text());
}

void print_text(const Validation& validation) {
  std::vector<std::string> papers;
  for (const ValidationRow& row : validation.rows)
    if (papers.empty() || papers.back() != row.claim.paper) papers.push_back(row.claim.paper);
  std::sort(papers.begin(), papers.end());
  papers.erase(std::unique(papers.begin(), papers.end()), papers.end());
  for (const std::string& paper : papers) print_claim_rows(validation, paper);
  print_rules(validation);
  print_misses(validation);
  print_summaries(validation);
  fmt::print(
      "{} simulations; the error is (predicted - measured) / measured, of a factor or of less time "
      "that of the improvement. Trivial: linear scaling, no effect, a collective's bound.\n",
      validation.runs);
}

const ValidationSummary& summary_of(const Validation& validation, const std::string& paper) {
  return *std::find_if(validation.summaries.begin(), validation.summaries.end(),
                       [&](const ValidationSummary& summary) { return summary.of == paper; });
}

// Of predictions and adjusted rows alike, as none of them was fitted to here.
std::string median_text(const Validation& validation, const std::string& paper) {
  std::vector<double> errors;
  for (const ValidationRow& row : validation.rows)
    if (row.claim.paper == paper && row.error_percent)
      errors.push_back(std::abs(*row.error_percent));
  return errors.empty() ? "-" : fmt::format("{:.1f}", median(errors));
}

// How far from the nominal value, and towards which end.
std::string way_text(double position) {
  if (position == 0) return "";
  return fmt::format("{:.2f} {}", std::abs(position), position < 0 ? "fast" : "slow");
}

std::string places_text(const SharedConstant& constant) {
  const std::size_t places = constant.names.size();
  return constant.names.front() + (places == 1 ? "" : fmt::format(" ({} places)", places));
}

void print_text(const LeftOut& left_out) {
  Table constants({"<constant", "value", "<fast .. slow", "by the others", "<of the way",
                   "<papers that read it"});
  for (const SharedConstant& constant : left_out.constants)
    constants.add({places_text(constant), number_text(constant.number.value),
                   fmt::format("{} .. {}", number_text(constant.number.fast),
                               number_text(constant.number.slow)),
                   constant.position == 0 ? "the same" : number_text(constant.fitted()),
                   way_text(constant.position),
                   fmt::format("{}", fmt::join(constant.papers, ", "))});
  fmt::print("Constants that {} shares, fitted to {} rows of the other papers\n{}", left_out.paper,
             left_out.fitted_rows, constants.text());
  Table rows({"<id", "<claim", "measured", "as shipped", "error %", "by the others", "error %"});
  for (std::size_t i = 0; i < left_out.shipped.rows.size(); ++i) {
    const ValidationRow& shipped = left_out.shipped.rows[i];
    const ValidationRow& refitted = left_out.refitted.rows[i];
    if (shipped.claim.paper == left_out.paper)
      rows.add({shipped.claim.id, shipped.claim.claim, measured_text(shipped.claim),
                predicted_text(shipped), percent_text(shipped.error_percent),
                predicted_text(refitted), percent_text(refitted.error_percent)});
  }
  fmt::print("\n{}: what that leaves\n{}", left_out.paper, rows.text());
  Table summaries({"<rows of", "median |error| % as shipped", "by the others", "orderings hold",
                   "by the others"});
  for (const ValidationSummary& summary : left_out.shipped.summaries) {
    if (summary.of == "papers") continue;
    summaries.add({summary.of == left_out.paper ? summary.of + ", left out" : summary.of,
                   median_text(left_out.shipped, summary.of),
                   median_text(left_out.refitted, summary.of), orderings_text(summary),
                   orderings_text(summary_of(left_out.refitted, summary.of))});
  }
  fmt::print("\n{}", summaries.text());
}

template <class Found>
void show(const ValidateOptions& options, const Found& found) {
  nlohmann::json document = to_json(found);
  document["command"] = options.line;
  if (!options.file.empty()) write_json(options.file, document, "-o");
  if (options.json)
    fmt::print("{}\n", document.dump(2));
  else
    print_text(found);
}

void run(const ValidateOptions& options) {
  check_writable(options.file, "-o");
  if (!options.leave_out.empty()) {
    show(options, leave_out(options.leave_out, load_all_claims()));
    return;
  }
  ValidationChoice choice = options.choice;
  choice.draws = options.range.asked();
  show(options, validate(load_all_claims(), choice));
}

void add_validate(Subcommand app) {
  auto options = std::make_shared<ValidateOptions>();
  Subcommand command =
      app.add_subcommand("validate", "Published numbers beside their predictions, with the errors");
  command.footer(
      "Examples:\n"
      "  forescale validate\n"
      "  forescale validate --paper s-caffe --role prediction\n"
      "  forescale validate --id SCaffe-04,SCaffe-05 --interval\n"
      "  forescale validate --leave-out s-caffe\n"
      "Roles: `prediction`, `adjusted` (the model was changed after the row was compared; scored\n"
      "apart), `calibration` (its number was an input), `arithmetic` (a count or formula),\n"
      "`duplicate`, `not predictable`. A factor and \"% less time\" are scored on the "
      "improvement;\n"
      "\"up to\" and \"at least\" are compared with the largest and smallest prediction over the\n"
      "stated domain; a range has no error inside.");
  command
      .add_option("--paper", options->choice.papers,
                  "Only these papers or open tables: s-caffe, open-nccl")
      .delimiter(',');
  command.add_option("--id", options->choice.ids, "Only these claims").delimiter(',');
  command.add_option("--role", options->choice.roles, "Only these roles").delimiter(',');
  CommandOption leave_out =
      command.add_option("--leave-out", options->leave_out,
                         "Fit the constants that this paper shares with other papers to the others "
                         "alone, and print what that leaves (a quarter of an hour on two cores)");
  add_range_options(command, options->range);
  for (const std::string other : {"--paper", "--id", "--role", "--interval", "--draws"})
    leave_out.excludes(command.get_option(other));
  command.add_flag("--json", options->json, "Print JSON for machines");
  command.add_option("-o,--output", options->file, "Also write the JSON to this file");
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kValidateRegistered = Registry<Command>::add({.name = "validate", .add = add_validate});

}  // namespace
}  // namespace forescale
