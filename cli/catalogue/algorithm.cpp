// `forescale algorithm`: the collectives' algorithms, their plans and the check of these.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/common_options.hpp"
#include "cli/catalogue/algorithm_check.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/collective/collective_inputs.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr int kShownOperations = 20;
constexpr std::int64_t kRanksMax = 1 << 20;  // of an example

struct AlgorithmOptions {
  std::string op;
  SpelledPlan plan;
  std::string ranks;
  std::string bytes;
  std::int64_t rank = 0;
  std::int64_t root = 0;
  std::string alpha = "1us";
  std::string bandwidth = "12.5GB/s";
  OutputOptions output;
};

std::string options_text(const Collective& collective) {
  std::string text;
  for (const Option& option : collective.options)
    text += (text.empty() ? "" : " ") + option_flag(option.name);
  return text;
}

json to_json(const Collective& collective) {
  json options = json::array();
  for (const Option& option : collective.options)
    options.push_back(option_flag(option.name).substr(2));
  return {{"op", name_of(collective.op)},
          {"algorithm", collective.algorithm},
          {"options", options},
          {"options_text", options_text(collective)},
          {"summary", collective.summary},
          {"source", collective.source}};
}

void list(const AlgorithmOptions& options) {
  std::optional<CollectiveOp> only;
  if (!options.op.empty()) only = parse_collective_op(options.op, "--op");
  json rows = json::array();
  for (const Collective* collective : all_collectives())
    if (!only || collective->op == *only) rows.push_back(to_json(*collective));
  print_rows(rows,
             {{.key = "op", .heading = "<operation"},
              {.key = "algorithm", .heading = "<algorithm"},
              {.key = "options_text", .heading = "<options"},
              {.key = "summary", .heading = "<summary"},
              {.key = "source", .heading = "<source"}},
             options.output);
}

CollectiveCall example_call(const Collective& collective, const AlgorithmOptions& options) {
  CollectiveCall call{
      .rank_count = 8,
      .bytes = 1 << 20,
      .root = static_cast<int>(std::clamp<std::int64_t>(options.root, -1, kRanksMax))};
  if (!options.ranks.empty()) {
    const std::int64_t ranks = parse_integer(options.ranks, "--ranks");
    if (ranks < 1 || ranks > kRanksMax)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = options.ranks,
                        .constraint = fmt::format("must be from 1 to {}", kRanksMax)});
    call.rank_count = static_cast<int>(ranks);
  }
  if (!options.bytes.empty()) call.bytes = parse_bytes(options.bytes, "--bytes").value;
  if (const auto plan = spelled_plan(collective.op, options.plan)) call.options = plan->options;
  check_call(collective, call);
  if (options.rank < 0 || options.rank >= call.rank_count)
    throw InputError(
        {.source = "--rank",
         .path = "",
         .value = std::to_string(options.rank),
         .constraint = fmt::format("must be >= 0 and below the {} ranks", call.rank_count)});
  return call;
}

StepCost example_cost(const AlgorithmOptions& options) {
  return {.alpha_s = parse_seconds(options.alpha, "--alpha").value,
          .beta_s_per_byte = 1 / parse_bandwidth(options.bandwidth, "--bandwidth").value};
}

// The first operations of the rank; whether there are more.
struct PlanStart {
  json operations = json::array();
  bool has_more = false;
};

PlanStart plan_start(const Collective& collective, const CollectiveCall& call, int rank) {
  PlanStart start;
  OpStream stream = collective.plan(call, rank);
  while (stream.next()) {
    if (start.operations.size() == kShownOperations) {
      start.has_more = true;
      break;
    }
    const Op& op = stream.op();
    const bool is_copy = op.kind == OpKind::kCopy;
    start.operations.push_back({{"position", start.operations.size()},
                                {"kind", name_of(op.kind)},
                                {"peer", is_copy ? json() : json(op.peer)},
                                {"offset", op.offset},
                                {"bytes", op.bytes},
                                {"copy_from", is_copy ? json(op.copy_from) : json()},
                                {"after", op.after},
                                {"write_after", op.write_after},
                                {"queue", op.queue},
                                {"awaits", op.awaits},
                                {"joins_next", op.joins_next}});
  }
  return start;
}

void show(const AlgorithmOptions& options) {
  const Collective& collective =
      find_collective(parse_collective_op(options.op, "algorithm show"), options.plan.algorithm,
                      "algorithm show " + options.op);
  const CollectiveCall call = example_call(collective, options);
  const auto closed_form_s = collective.closed_form(call, example_cost(options));
  const PlanStart start = plan_start(collective, call, static_cast<int>(options.rank));
  if (options.output.json) {
    json document = to_json(collective);
    document.update({{"ranks", call.rank_count},
                     {"bytes", call.bytes},
                     {"chunk_bytes", call.options.number(kChunkBytes)},
                     {"closed_form_s", closed_form_s ? json(*closed_form_s) : json()},
                     {"rank", options.rank},
                     {"operations", start.operations},
                     {"has_more_operations", start.has_more}});
    fmt::print("{}\n", document.dump(2));
    return;
  }
  const std::string read = options_text(collective);
  const std::int64_t chunk_bytes = call.options.number(kChunkBytes);
  fmt::print("{}: {}\nsource:      {}\noptions:     {}\n", collective.name, collective.summary,
             collective.source, read.empty() ? "none" : read);
  fmt::print("closed form: {} ({} ranks, {}, chunks {}; alpha {}, {}, reductions free)\n",
             closed_form_s ? to_text(Seconds{*closed_form_s}) : "none for this call",
             call.rank_count, to_text(Bytes{call.bytes}),
             chunk_bytes > 0 ? to_text(Bytes{chunk_bytes}) : "none", options.alpha,
             options.bandwidth);
  fmt::print("\nplan of rank {}{}\n{}", options.rank,
             start.has_more ? fmt::format(", first {} operations", kShownOperations) : "",
             table_text(start.operations, {{.key = "position", .heading = "#"},
                                           {.key = "kind", .heading = "<operation"},
                                           {.key = "peer", .heading = "peer"},
                                           {.key = "offset", .heading = "offset"},
                                           {.key = "bytes", .heading = "bytes"},
                                           {.key = "copy_from", .heading = "copied from"},
                                           {.key = "after", .heading = "after"},
                                           {.key = "write_after", .heading = "write after"}}));
}

void add_algorithm_show(Subcommand command, const std::shared_ptr<AlgorithmOptions>& options) {
  Subcommand verb = add_verb(
      command,
      {.name = "show",
       .summary = "Options, closed form of an example, and one rank's first operations",
       .examples = {"algorithm show reduce chain --ranks 8 --bytes 1MiB --chunk-bytes 256KiB",
                    "algorithm show all-reduce ring --ranks 4 --rank 3 --json"}});
  verb.add_option("OP", options->op, "Operation, such as all-reduce").required();
  verb.add_option("ALGORITHM", options->plan.algorithm, "Algorithm, such as ring").required();
  verb.add_option("--ranks", options->ranks, "Ranks of the example (default 8)");
  verb.add_option("--bytes", options->bytes, "Size of the example (default 1MiB)");
  verb.add_option("--rank", options->rank, "Whose operations (default 0)");
  verb.add_option("--root", options->root, "Root rank (default 0)");
  add_spelled_options(verb, options->plan);
  verb.add_option("--alpha", options->alpha, "Of a message, for the closed form (default 1us)");
  verb.add_option("--bandwidth", options->bandwidth, "The same (default 12.5GB/s)");
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });
}

void add_algorithm(Subcommand app) {
  auto options = std::make_shared<AlgorithmOptions>();
  Subcommand command = add_catalogue_command(
      app, {.name = "algorithm",
            .summary = "Algorithms of collectives: list, show, check",
            .examples = {"algorithm list --op reduce", "algorithm show reduce chain",
                         "algorithm check all-reduce"}});
  Subcommand verb = add_verb(command, {.name = "list",
                                       .summary = "All algorithms, the options that they read",
                                       .examples = {"algorithm list --op reduce --csv"}});
  verb.add_option("--op", options->op, "Of this operation only");
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });
  add_algorithm_show(command, options);

  verb = add_verb(command,
                  {.name = "check",
                   .summary = "Does every plan deliver each contribution once, without deadlock?\n"
                              "Exit code 4 if one does not",
                   .examples = {"algorithm check", "algorithm check reduce chain --ranks 1..64"}});
  verb.add_option("OP", options->op, "Of this operation only");
  verb.add_option("ALGORITHM", options->plan.algorithm, "Of this algorithm only");
  verb.add_option("--ranks", options->ranks,
                  "Rank counts, every one of a range (default 1..33): 5 or 2,4 or 1..17");
  verb.callback([options] {
    check_algorithms(
        {.op = options->op, .algorithm = options->plan.algorithm, .ranks = options->ranks});
  });
}

const bool kAlgorithmRegistered =
    Registry<Command>::add({.name = "algorithm", .add = add_algorithm});

}  // namespace
}  // namespace forescale
