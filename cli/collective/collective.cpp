// `forescale collective`: one collective on a platform, by simulator and cost engine.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "cli/collective/collective_inputs.hpp"
#include "cli/command.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "sim/ask/ask.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CollectiveOptions {
  QuestionOptions question{.about = Question::About::kCollective};
  std::string op;
  PlanText plan;
  std::string engine = "both";
  AskFiles files;
  RangeOptions range{.interval = false};
  OutputOptions output;
  std::string line;  // as typed
};

struct AnswerRow {
  CollectiveAnswer answer;
  std::optional<TimeRange> interval;
};

json to_json(const AnswerRow& row) {
  json text = row.answer;
  if (row.interval) {
    text["low_s"] = row.interval->low_s;
    text["high_s"] = row.interval->high_s;
  }
  return text;
}

std::string optional_seconds_cell(const std::optional<double>& time_s) {
  return time_s ? to_text(Seconds{*time_s}) : "-";
}

// "moving 62 %, reducing 20 %", the largest first, nothing below 1 %.
std::string root_cell(const CollectiveAnswer& answer) {
  std::vector<std::pair<double, std::string>> shares;
  for (const auto& [kind, time_s] : answer.root_s)
    shares.emplace_back(time_s / answer.time_s, kind);
  std::sort(shares.rbegin(), shares.rend());
  std::string text;
  for (const auto& [share, kind] : shares)
    if (share >= 0.01)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", kind, 100 * share);
  return text;
}

std::string beyond_text(const CollectiveAnswer& answer) {
  return fmt::format("{} ranks, {}: {}", answer.ranks, to_text(Bytes{answer.bytes}),
                     answer.beyond_measured);
}

void print_table(const std::vector<AnswerRow>& rows) {
  const bool has_interval = rows.front().interval.has_value();
  std::vector<std::string> headings{
      "ranks",       "bytes", "<algorithm", "simulated",    "cost engine",
      "closed form", "bound", "messages",   "<at the root", "<busiest resource"};
  constexpr int kAfterSimulated = 4;
  if (has_interval) headings.insert(headings.begin() + kAfterSimulated, "interval");
  Table table(headings);
  for (const auto& [answer, interval] : rows) {
    std::vector<std::string> cells{
        std::to_string(answer.ranks),
        to_text(Bytes{answer.bytes}),
        answer.algorithm,
        optional_seconds_cell(answer.simulated_s),
        optional_seconds_cell(answer.cost_engine_s),
        optional_seconds_cell(answer.closed_form_s),
        optional_seconds_cell(answer.bound_s),
        std::to_string(answer.messages),
        root_cell(answer),
        answer.simulated_s ? fmt::format("{} {:.0f} %", answer.busiest, 100 * answer.busiest_share)
                           : ""};
    if (has_interval)
      cells.insert(cells.begin() + kAfterSimulated, optional_seconds_cell(interval->low_s) +
                                                        " .. " +
                                                        optional_seconds_cell(interval->high_s));
    table.add(cells);
  }
  fmt::print("{}", table.text());
  for (const AnswerRow& row : rows) {
    const CollectiveAnswer& answer = row.answer;
    const std::int64_t all_ranks = answer.ranks * answer.groups_simulated;
    if (answer.groups > 1)
      fmt::print(
          "{}, {}: {} groups call at once; {}\n", answer.ranks, to_text(Bytes{answer.bytes}),
          answer.groups,
          answer.groups_simulated == 1
              ? "none is in the way of the first, whose time this is"
              : fmt::format("{} of them share links, the first among them, and are simulated "
                            "together: the slowest of these counts",
                            answer.groups_simulated));
    const std::string within = fmt::format("within {:.2g} %", 100 * answer.folded_error);
    if (answer.simulated_ranks > 0 && answer.simulated_ranks < all_ranks)
      fmt::print("{} ranks: {} of them simulated in place of all, {}\n", all_ranks,
                 answer.simulated_ranks, answer.folded_error > 0 ? within : "exact to 1e-9");
    else if (answer.folded_error > 0)
      fmt::print("{} ranks, {}: a few of many like messages simulated in place of all, {}\n",
                 all_ranks, to_text(Bytes{answer.bytes}), within);
    if (!answer.beyond_measured.empty())
      fmt::print("{}\n", coloured("note: " + beyond_text(answer), Colour::kYellow));
    if (!answer.faults_elsewhere.empty())
      fmt::print("{}\n",
                 coloured(fmt::format("note: {} ranks: {}", answer.ranks, answer.faults_elsewhere),
                          Colour::kYellow));
    if (!answer.choice_not_known.empty() && &row == &rows.front())
      fmt::print("{}\n", coloured("note: " + answer.choice_not_known, Colour::kYellow));
    if (!answer.not_simulated.empty())
      fmt::print("{} ranks: not simulated: {}\n", answer.ranks, answer.not_simulated);
  }
}

void print_csv(const std::vector<AnswerRow>& rows) {
  std::vector<std::string> keys{"op",          "algorithm",   "ranks",         "bytes",
                                "chunk_bytes", "simulated_s", "cost_engine_s", "closed_form_s",
                                "bound_s",     "messages",    "bytes_sent"};
  if (rows.front().interval) keys.insert(keys.end(), {"low_s", "high_s"});
  fmt::print("{}", csv_line(keys));
  for (const AnswerRow& row : rows) {
    const json text = to_json(row);
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(text[key].is_null()     ? ""
                      : text[key].is_string() ? text[key].get<std::string>()
                                              : text[key].dump());
    fmt::print("{}", csv_line(cells));
  }
}

// One for each rank count and size.
std::vector<Question> collective_questions(const CollectiveOptions& options,
                                           const Platform& platform) {
  Question all = options.question.question();
  const CollectiveOp op = op_of(options.op, options.plan);
  const std::optional<PlanChoice> plan = parse_choice(op, options.plan);
  all.plan = plan ? plan_text(*plan) : name_of(op);
  std::vector<std::int64_t> ranks = all.ranks;
  if (ranks.empty() && all.slots.empty()) ranks = {platform.slot_count()};
  if (!all.slots.empty()) ranks.resize(std::max<size_t>(1, ranks.size()));
  std::vector<Question> questions;
  for (const std::int64_t count : ranks)
    for (const std::int64_t bytes : all.bytes) {
      Question& one = questions.emplace_back(all);
      if (count > 0 || all.slots.empty()) one.ranks = {count};
      one.bytes = {bytes};
      const auto members = static_cast<int>(slots_of(one, platform).size());
      if (one.root >= members)
        throw InputError({.source = "--root",
                          .path = "",
                          .value = std::to_string(one.root),
                          .constraint = fmt::format("must be a rank: 0 to {} of {} ranks",
                                                    members - 1, members)});
    }
  return questions;
}

void run(const CollectiveOptions& options) {
  check_writable(options.files.trace, "--trace");
  Asker asker;
  const QuestionMachine& machine = asker.machine(options.question.question());
  const std::vector<Question> questions = collective_questions(options, machine.platform);
  AskSettings asked{.label = "simulating",
                    .draws = options.range.asked(),
                    .engines = options.engine == "sim"    ? Engines::kSimulator
                               : options.engine == "cost" ? Engines::kCostEngine
                                                          : Engines::kBoth,
                    .files = options.files};
  if (!options.files.trace.empty()) {
    if (questions.size() != 1 || options.engine == "cost" || options.range.asked().has_range())
      throw InputError(
          {.source = "--trace",
           .path = "",
           .value = options.files.trace,
           .constraint = "needs one rank count, one size, the simulator, no --interval"});
    asked.files_of = 0;
  }
  std::vector<AnswerRow> rows;
  for (const RangedAnswer& answer : asker.ask(questions, asked)) {
    rows.push_back({.answer = answer.nominal.collective, .interval = std::nullopt});
    if (asked.draws.has_range()) rows.back().interval = answer.time();
  }
  if (options.output.json) {
    json document;
    if (questions.size() == 1) {
      document = to_json(rows.front());
    } else {
      for (const AnswerRow& row : rows) document["points"].push_back(to_json(row));
    }
    std::vector<std::string> warnings;
    for (const AnswerRow& row : rows)
      if (!row.answer.beyond_measured.empty()) warnings.push_back(beyond_text(row.answer));
    if (!warnings.empty()) document["warnings"] = warnings;
    document["format"] = "forescale-collective-1";
    document["command"] = options.line;
    document["platform"] = machine.platform.name;
    document["stack"] = machine.stack.name;
    fmt::print("{}\n", document.dump(2));
  } else if (options.output.csv) {
    print_csv(rows);
  } else {
    fmt::print("{} on {} with {}\n", rows.front().answer.op, machine.platform.name,
               machine.stack.name);
    print_table(rows);
  }
}

void add_collective(Subcommand app) {
  auto options = std::make_shared<CollectiveOptions>();
  Subcommand command =
      app.add_subcommand("collective", "Time of one collective, by size and rank count");
  command.footer(
      "Examples:\n"
      "  forescale collective --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us \\\n"
      "    --op reduce --algorithm chain --ranks 160 --bytes 256MiB --chunk-bytes 4MiB\n"
      "  forescale collective --platform kesch --stack mvapich2-gdr --op reduce \\\n"
      "    --ranks 16..160 --bytes 1MiB..256MiB --csv\n"
      "  forescale collective --platform dgx-h100 --slots 0,8,16,24 --bytes 32MiB\n"
      "  forescale collective --platform aws-p4de --split mod8 --bytes 32MiB");
  add_question_options(command, options->question, {"platform", "bytes"}, {"plan"});
  command.add_option("--op", options->op,
                     "reduce, broadcast, all-reduce, reduce-scatter, allgather, gather, scatter, "
                     "all-to-all (default: all-reduce)");
  add_plan_options(command, options->plan);
  command
      .add_option("--engine", options->engine,
                  "sim (contention), cost (contention-free) or both (default)")
      .one_of({"sim", "cost", "both"});
  command.add_option("--trace", options->files.trace,
                     "Write a Chrome/Perfetto timeline to this file");
  add_range_options(command, options->range);
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kCollectiveRegistered =
    Registry<Command>::add({.name = "collective", .add = add_collective});

}  // namespace
}  // namespace forescale
