// `forescale collective`: one collective on a platform, by simulator and cost engine.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "algorithms/common_options.hpp"
#include "base/json_text.hpp"
#include "cli/collective/collective_inputs.hpp"
#include "cli/command.hpp"
#include "cli/output_file.hpp"
#include "cli/text.hpp"
#include "sim/bounds.hpp"
#include "sim/cost_engine.hpp"
#include "sim/isolate.hpp"
#include "sim/predict.hpp"
#include "sim/run/simulate.hpp"
#include "studies/predict/inputs.hpp"
#include "studies/predict/progress.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct Options {
  std::string platform;
  std::string stack;
  std::string op;
  PlanText plan;
  std::string ranks;
  std::string slots;
  std::string bytes;
  std::int64_t root = 0;
  std::string engine = "both";
  std::string trace;
  bool explicit_staging = false;
  bool interval = false;
  OutputOptions output;
};

struct Question {
  std::vector<int> slots;  // by rank
  std::int64_t bytes = 0;
};

// Loaded once, asked for every size and rank count.
struct Inputs {
  Platform platform;
  Stack stack;
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::optional<PlanChoice> plan;
  int root = 0;
};

json cost_engine_row(const ResolvedCall& resolved) {
  json row = json::object();
  if (!resolved.why_not_priced().empty()) return row;
  const CostResult cost = evaluate_cost(resolved);
  row = {
      {"cost_engine_s", cost.time_s}, {"messages", cost.messages}, {"bytes_sent", cost.bytes_sent}};
  if (const auto step = uniform_step(*resolved.lanes, resolved.group->slots, resolved.kind()))
    if (const auto closed = resolved.collective->closed_form(resolved.call, *step))
      row["closed_form_s"] = resolved.call_s + *closed;
  return row;
}

json answer(const Inputs& inputs, const Question& question, const Options& options) {
  const Lanes lanes(inputs.platform, inputs.stack);
  const ResolvedCall resolved = resolve(lanes, shared_group(inputs.platform, question.slots),
                                        {.op = inputs.op,
                                         .bytes = question.bytes,
                                         .root = inputs.root,
                                         .plan = inputs.plan ? &*inputs.plan : nullptr});
  json row = {{"op", name_of(inputs.op)},
              {"algorithm", resolved.collective->algorithm},
              {"ranks", question.slots.size()},
              {"bytes", question.bytes},
              {"chunk_bytes", resolved.call.options.number(kChunkBytes)},
              {"time_s", nullptr},
              {"simulated_s", nullptr},
              {"cost_engine_s", nullptr},
              {"closed_form_s", nullptr}};
  const Bound bound = collective_bound(resolved);
  row["bound_s"] = bound.time_s;
  row["bound_reason"] = bound.reason;
  if (options.engine != "sim") row.update(cost_engine_row(resolved));
  if (options.engine == "cost") {
    if (row["cost_engine_s"].is_null())
      throw InputError(
          {.source = "--engine",
           .path = "",
           .value = "cost",
           .constraint = fmt::format("cannot price {}; use sim", resolved.why_not_priced())});
    row["time_s"] = row["cost_engine_s"];
  } else {
    Timeline timeline;
    SessionOptions session;
    if (inputs.plan) session.choices[inputs.op] = *inputs.plan;
    session.explicit_staging = options.explicit_staging;
    if (!options.trace.empty()) session.timeline = &timeline;
    const int last = *std::max_element(question.slots.begin(), question.slots.end());
    const auto group = std::make_shared<const std::vector<int>>(question.slots);
    const CollectiveOutcome outcome = simulate_collective(inputs.platform, inputs.stack,
                                                          {.op = inputs.op,
                                                           .bytes = question.bytes,
                                                           .root = inputs.root,
                                                           .label = name_of(inputs.op),
                                                           .group = group},
                                                          last + 1, session);
    row["simulated_s"] = row["time_s"] = outcome.time_s;
    row["messages"] = outcome.messages;
    row["bytes_sent"] = outcome.bytes_sent;
    row["root_s"] = outcome.root_s;
    row["busiest"] = outcome.busiest.name;
    row["busiest_share"] = outcome.time_s > 0 ? outcome.busiest.busy_s / outcome.time_s : 0;
    if (!options.trace.empty()) {
      std::ostringstream trace;
      write_chrome_trace(timeline, rank_places(inputs.platform, last + 1), trace);
      write_file(options.trace, trace.str(), "--trace");
    }
  }
  enforce(bound, row["time_s"].get<double>(),
          fmt::format("{} on {} ranks", resolved.collective->name, question.slots.size()));
  return row;
}

std::string seconds_cell(const json& row, const char* key) {
  return row[key].is_null() ? "-" : to_text(Seconds{row[key].get<double>()});
}

// "moving 62 %, reducing 20 %", the largest first, nothing below 1 %.
std::string root_cell(const json& row) {
  if (!row.contains("root_s")) return "";
  std::vector<std::pair<double, std::string>> shares;
  for (const auto& [kind, time_s] : row["root_s"].items())
    shares.emplace_back(time_s.get<double>() / row["time_s"].get<double>(), kind);
  std::sort(shares.rbegin(), shares.rend());
  std::string text;
  for (const auto& [share, kind] : shares)
    if (share >= 0.01)
      text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", kind, 100 * share);
  return text;
}

void print_table(const json& rows) {
  const bool has_interval = rows.front().contains("low_s");
  std::vector<std::string> headings{
      "ranks",       "bytes", "<algorithm", "simulated",    "cost engine",
      "closed form", "bound", "messages",   "<at the root", "<busiest resource"};
  constexpr int kAfterSimulated = 4;
  if (has_interval) headings.insert(headings.begin() + kAfterSimulated, "interval");
  Table table(headings);
  for (const json& row : rows) {
    std::vector<std::string> cells{
        std::to_string(row["ranks"].get<int>()),
        to_text(Bytes{row["bytes"].get<std::int64_t>()}),
        row["algorithm"],
        seconds_cell(row, "simulated_s"),
        seconds_cell(row, "cost_engine_s"),
        seconds_cell(row, "closed_form_s"),
        seconds_cell(row, "bound_s"),
        std::to_string(row["messages"].get<std::uint64_t>()),
        root_cell(row),
        row.contains("busiest") ? fmt::format("{} {:.0f} %", row["busiest"].get<std::string>(),
                                              100 * row["busiest_share"].get<double>())
                                : ""};
    if (has_interval)
      cells.insert(cells.begin() + kAfterSimulated,
                   seconds_cell(row, "low_s") + " .. " + seconds_cell(row, "high_s"));
    table.add(cells);
  }
  fmt::print("{}", table.text());
}

void print_csv(const json& rows) {
  std::vector<std::string> keys{"op",          "algorithm",   "ranks",         "bytes",
                                "chunk_bytes", "simulated_s", "cost_engine_s", "closed_form_s",
                                "bound_s",     "messages",    "bytes_sent"};
  if (rows.front().contains("low_s")) keys.insert(keys.end(), {"low_s", "high_s"});
  fmt::print("{}", csv_line(keys));
  for (const json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys)
      cells.push_back(row[key].is_null()     ? ""
                      : row[key].is_string() ? row[key].get<std::string>()
                                             : row[key].dump());
    fmt::print("{}", csv_line(cells));
  }
}

Inputs load(const Options& options, Scenario scenario) {
  Inputs inputs;
  inputs.platform = load_platform(options.platform, scenario);
  inputs.stack = stack_for(inputs.platform, options.stack, scenario);
  inputs.op = op_of(options.op, options.plan);
  inputs.root = static_cast<int>(options.root);
  return inputs;
}

// The answers of one question in all scenarios: the nominal one, with the span of all.
json with_interval(const std::vector<json>& answers) {
  json row = answers.front();
  if (answers.size() == 1) return row;
  const auto [low, high] =
      std::minmax_element(answers.begin(), answers.end(), [](const json& a, const json& b) {
        return a["time_s"].get<double>() < b["time_s"].get<double>();
      });
  row["low_s"] = (*low)["time_s"];
  row["high_s"] = (*high)["time_s"];
  return row;
}

// By question, the slots of the ranks: the first so many, or those that were named.
std::vector<std::vector<int>> groups_of(const Platform& platform, const Options& options) {
  if (!options.slots.empty()) {
    if (!options.ranks.empty())
      throw InputError({.source = "--slots",
                        .path = "",
                        .value = options.slots,
                        .constraint = "is given beside --ranks"});
    std::vector<int> slots;
    for (const std::int64_t slot : parse_integers(options.slots, "--slots")) {
      if (slot < 0 || slot >= platform.slot_count() ||
          std::find(slots.begin(), slots.end(), slot) != slots.end())
        throw InputError({.source = "--slots",
                          .path = "",
                          .value = std::to_string(slot),
                          .constraint = fmt::format("must be from 0 to {}, each once",
                                                    platform.slot_count() - 1)});
      slots.push_back(static_cast<int>(slot));
    }
    return {slots};
  }
  std::vector<std::int64_t> ranks{platform.slot_count()};
  if (!options.ranks.empty()) ranks = parse_integers(options.ranks, "--ranks");
  check_ranks(platform, ranks, "--ranks");
  std::vector<std::vector<int>> groups;
  for (const std::int64_t count : ranks) {
    std::vector<int>& slots = groups.emplace_back(static_cast<size_t>(count));
    std::iota(slots.begin(), slots.end(), 0);
  }
  return groups;
}

void run(const Options& options) {
  Inputs inputs = load(options, Scenario::kNominal);
  inputs.plan = parse_choice(inputs.op, options.plan);
  const std::vector<std::vector<int>> groups = groups_of(inputs.platform, options);
  size_t fewest = groups.front().size();
  for (const std::vector<int>& slots : groups) fewest = std::min(fewest, slots.size());
  if (options.root < 0 || options.root >= static_cast<std::int64_t>(fewest))
    throw InputError(
        {.source = "--root",
         .path = "",
         .value = std::to_string(options.root),
         .constraint = fmt::format("must be a rank: 0 to {} of {} ranks", fewest - 1, fewest)});
  std::vector<Question> questions;
  for (const std::vector<int>& slots : groups)
    for (const Bytes bytes : parse_byte_list(options.bytes, "--bytes"))
      questions.push_back({.slots = slots, .bytes = bytes.value});
  if (!options.trace.empty() &&
      (questions.size() != 1 || options.engine == "cost" || options.interval))
    throw InputError(
        {.source = "--trace",
         .path = "",
         .value = options.trace,
         .constraint = "needs one rank count, one size, the simulator, no --interval"});
  std::vector<Inputs> scenarios{inputs};
  if (options.interval)
    for (const Scenario scenario : {Scenario::kFast, Scenario::kSlow}) {
      scenarios.push_back(load(options, scenario));
      scenarios.back().plan = inputs.plan;
    }
  json rows = json::array();
  if (questions.size() == 1 && scenarios.size() == 1) {
    rows.push_back(answer(inputs, questions.front(), options));
  } else {
    std::vector<std::function<std::string()>> tasks;
    for (const Question& question : questions)
      for (const Inputs& scenario : scenarios)
        tasks.push_back(
            [&scenario, &options, question] { return answer(scenario, question, options).dump(); });
    ProgressLine progress("simulating", tasks.size());
    std::vector<json> answers;
    for (const std::string& text :
         run_isolated(tasks, available_cores(), [&](size_t done) { progress.done(done); })) {
      answers.push_back(parse_json(text));
      if (answers.size() < scenarios.size()) continue;
      rows.push_back(with_interval(answers));
      answers.clear();
    }
  }
  if (options.output.json) {
    json document = questions.size() == 1 ? rows.front() : json{{"points", rows}};
    document["platform"] = inputs.platform.name;
    document["stack"] = inputs.stack.name;
    fmt::print("{}\n", document.dump(2));
  } else if (options.output.csv) {
    print_csv(rows);
  } else {
    fmt::print("{} on {} with {}\n", name_of(inputs.op), inputs.platform.name, inputs.stack.name);
    print_table(rows);
  }
}

void add(Subcommand app) {
  auto options = std::make_shared<Options>();
  Subcommand command =
      app.add_subcommand("collective", "Time of one collective, by size and rank count");
  command.footer(
      "Examples:\n"
      "  forescale collective --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us \\\n"
      "    --op reduce --algorithm chain --ranks 160 --bytes 256MiB --chunk-bytes 4MiB\n"
      "  forescale collective --platform kesch --stack mvapich2-gdr --op reduce \\\n"
      "    --ranks 16..160 --bytes 1MiB..256MiB --csv\n"
      "  forescale collective --platform dgx-h100 --slots 0,8,16,24 --bytes 32MiB");
  command.add_option("--platform", options->platform, "Preset, JSON file or generator").required();
  command.add_option("--stack", options->stack,
                     "Stack or JSON file (default on generated platforms: ideal)");
  command.add_option("--op", options->op,
                     "reduce, broadcast, all-reduce, reduce-scatter, allgather, gather, scatter, "
                     "all-to-all (default: all-reduce)");
  add_plan_options(command, options->plan);
  command.add_option("--ranks", options->ranks,
                     "Rank counts: 160, 16,32,64 or 16..160 (default: all of the platform)");
  command.add_option("--slots", options->slots,
                     "The ranks are these slots of the platform: 0,8,16,24 (instead of --ranks)");
  command.add_option("--bytes", options->bytes, "Sizes: 256MiB or 64KiB..256MiB (doubling)")
      .required();
  command.add_option("--root", options->root, "Root rank (default 0)");
  command
      .add_option("--engine", options->engine,
                  "sim (contention), cost (contention-free) or both (default)")
      .one_of({"sim", "cost", "both"});
  command.add_option("--trace", options->trace, "Write a Chrome/Perfetto timeline to this file");
  command.add_flag("--explicit-staging", options->explicit_staging,
                   "Simulate every segment of staged copies (slow; default: the fill formula)");
  command.add_flag("--interval", options->interval,
                   "Also the interval that uncertain numbers cause, assumed ones and those "
                   "measured with an interval (three times the work)");
  add_output_options(command, options->output);
  command.callback([options] { run(*options); });
}

const bool kRegistered = Registry<Command>::add({.name = "collective", .add = add});

}  // namespace
}  // namespace forescale
