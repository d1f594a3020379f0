// `forescale algorithm`: the collectives' algorithms, their plans and the check of these.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "algorithms/plan_check.hpp"
#include "cli/catalogue.hpp"
#include "cli/collective_inputs.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr int kShownOperations = 20;

struct Options {
  std::string op;
  AlgorithmText algorithm;
  std::string ranks;
  std::string bytes;
  std::int64_t rank = 0;
  std::int64_t root = 0;
  std::string alpha = "1us";
  std::string bandwidth = "12.5GB/s";
  OutputOptions output;
};

const char* name_of(CollectiveOption option) {
  return option == CollectiveOption::kChunkBytes  ? "chunk-bytes"
         : option == CollectiveOption::kChainSize ? "chain-size"
                                                  : "levels";
}

std::string options_text(const Collective& collective) {
  std::string text;
  for (const CollectiveOption option : collective.options)
    text += (text.empty() ? "--" : " --") + std::string(name_of(option));
  return text;
}

json to_json(const Collective& collective) {
  json options = json::array();
  for (const CollectiveOption option : collective.options) options.push_back(name_of(option));
  return {{"op", name_of(collective.op)},
          {"algorithm", collective.algorithm},
          {"options", options},
          {"options_text", options_text(collective)},
          {"summary", collective.summary},
          {"source", collective.source}};
}

void list(const Options& options) {
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

CollectiveCall example_call(const Collective& collective, const Options& options) {
  CollectiveCall call{.rank_count = 8, .bytes = 1 << 20, .root = static_cast<int>(options.root)};
  if (!options.ranks.empty())
    call.rank_count = static_cast<int>(
        std::clamp<std::int64_t>(parse_integer(options.ranks, "--ranks"), 0, 1 << 30));
  if (!options.bytes.empty()) call.bytes = parse_bytes(options.bytes, "--bytes").value;
  call.options = parse_choice(collective.op, options.algorithm)->options;
  check_call(collective, call);
  if (options.rank < 0 || options.rank >= call.rank_count)
    throw InputError(
        {.source = "--rank",
         .path = "",
         .value = std::to_string(options.rank),
         .constraint = fmt::format("must be >= 0 and below the {} ranks", call.rank_count)});
  return call;
}

StepCost example_cost(const Options& options) {
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
                                {"write_after", op.write_after}});
  }
  return start;
}

void show(const Options& options) {
  const Collective& collective =
      find_collective(parse_collective_op(options.op, "algorithm show"),
                      options.algorithm.algorithm, "algorithm show " + options.op);
  const CollectiveCall call = example_call(collective, options);
  const auto closed_form_s = collective.closed_form(call, example_cost(options));
  const PlanStart start = plan_start(collective, call, static_cast<int>(options.rank));
  if (options.output.json) {
    json document = to_json(collective);
    document.update({{"ranks", call.rank_count},
                     {"bytes", call.bytes},
                     {"chunk_bytes", call.options.chunk_bytes},
                     {"closed_form_s", closed_form_s ? json(*closed_form_s) : json()},
                     {"rank", options.rank},
                     {"operations", start.operations},
                     {"has_more_operations", start.has_more}});
    fmt::print("{}\n", document.dump(2));
    return;
  }
  const std::string read = options_text(collective);
  fmt::print("{}: {}\nsource:      {}\noptions:     {}\n", collective.name, collective.summary,
             collective.source, read.empty() ? "none" : read);
  fmt::print("closed form: {} ({} ranks, {}, chunks {}; alpha {}, {}, reductions free)\n",
             closed_form_s ? to_text(Seconds{*closed_form_s}) : "none for this call",
             call.rank_count, to_text(Bytes{call.bytes}),
             call.options.chunk_bytes > 0 ? to_text(Bytes{call.options.chunk_bytes}) : "none",
             options.alpha, options.bandwidth);
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

// Rank counts of a check: "5", "2,4" or a range, of which every count is meant.
std::vector<int> every_count(const std::string& text) {
  std::vector<int> counts;
  size_t begin = 0;
  const auto read = [&](const std::string& item) {
    const std::int64_t count = parse_integer(item, "--ranks");
    if (count < 1 || count > kCheckedRanksMax)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = item,
                        .constraint = fmt::format("must be from 1 to {}", kCheckedRanksMax)});
    return static_cast<int>(count);
  };
  while (begin <= text.size()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, comma - begin);
    begin = comma + 1;
    const size_t dots = item.find("..");
    const int first = read(item.substr(0, dots));
    const int last = dots == std::string::npos ? first : read(item.substr(dots + 2));
    if (last < first)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = item,
                        .constraint = "a range must not end below its start"});
    for (int count = first; count <= last; ++count) counts.push_back(count);
  }
  return counts;
}

// What is worth checking for one rank count: no bytes, fewer elements than ranks, an odd size in
// chunks, no whole number of elements; roots at both ends.
std::vector<CollectiveCall> calls_of(const Collective& collective, int rank_count) {
  struct Shape {
    std::int64_t bytes;
    std::int64_t chunk_bytes;
    int chain_size;
  };
  std::vector<CollectiveCall> calls;
  const auto reads = [&](CollectiveOption option) {
    return std::count(collective.options.begin(), collective.options.end(), option) > 0;
  };
  const std::set<int> roots =
      has_root(collective.op) ? std::set<int>{0, rank_count - 1} : std::set<int>{0};
  for (const Shape& shape : {Shape{0, 0, 8}, Shape{4, 0, 2}, Shape{61, 8, 3},
                             Shape{4 * 257, 4 * 13, 8}, Shape{4 * 97, 4, 4}})
    for (const int root : roots) {
      CollectiveCall call{.rank_count = rank_count, .bytes = shape.bytes, .root = root};
      if (reads(CollectiveOption::kChunkBytes)) call.options.chunk_bytes = shape.chunk_bytes;
      if (reads(CollectiveOption::kChainSize)) call.options.chain_size = shape.chain_size;
      if (reads(CollectiveOption::kLevels) && shape.chunk_bytes > 0)
        call.options.levels = "chain:3,flat:2,binomial";
      if (collective.refuse == nullptr || collective.refuse(call).empty()) calls.push_back(call);
    }
  return calls;
}

std::string to_text(const CollectiveCall& call) {
  return fmt::format("{} ranks, {} bytes, root {}, chunks of {}, chains of {}, levels \"{}\"",
                     call.rank_count, call.bytes, call.root, call.options.chunk_bytes,
                     call.options.chain_size, call.options.levels);
}

// How many problems were printed.
size_t check_one(const Collective& collective, const std::vector<int>& rank_counts) {
  size_t call_count = 0;
  for (const int rank_count : rank_counts)
    for (const CollectiveCall& call : calls_of(collective, rank_count)) {
      ++call_count;
      const std::vector<std::string> problems = check_plan(collective, call);
      if (problems.empty()) continue;
      fmt::print("{}: wrong for {}\n", collective.name, to_text(call));
      for (const std::string& problem : problems) fmt::print("  {}\n", problem);
      return problems.size();
    }
  if (call_count == 0)
    fmt::print("{}: refuses all of these rank counts\n", collective.name);
  else
    fmt::print("{}: ok, {} calls, {} to {} ranks\n", collective.name, call_count,
               *std::min_element(rank_counts.begin(), rank_counts.end()),
               *std::max_element(rank_counts.begin(), rank_counts.end()));
  return 0;
}

void check(const Options& options) {
  std::vector<const Collective*> chosen;
  const std::string& algorithm = options.algorithm.algorithm;
  if (options.op.empty()) {
    chosen = all_collectives();
  } else {
    const CollectiveOp op = parse_collective_op(options.op, "algorithm check");
    if (!algorithm.empty())
      chosen = {&find_collective(op, algorithm, "algorithm check " + options.op)};
    else
      for (const Collective* collective : all_collectives())
        if (collective->op == op) chosen.push_back(collective);
  }
  const std::vector<int> rank_counts = every_count(options.ranks.empty() ? "1..33" : options.ranks);
  size_t wrong = 0;
  for (const Collective* collective : chosen)
    wrong += check_one(*collective, rank_counts) > 0 ? 1 : 0;
  std::fflush(stdout);
  if (wrong > 0) throw CheckFailed(fmt::format("{} of {} plans are wrong", wrong, chosen.size()));
}

void add_show(CLI::App& command, const std::shared_ptr<Options>& options) {
  CLI::App* verb = add_verb(
      command,
      {.name = "show",
       .summary = "Options, closed form of an example, and one rank's first operations",
       .examples = {"algorithm show reduce chain --ranks 8 --bytes 1MiB --chunk-bytes 256KiB",
                    "algorithm show all-reduce ring --ranks 4 --rank 3 --json"}});
  verb->add_option("OP", options->op, "Operation, such as all-reduce")->required();
  verb->add_option("ALGORITHM", options->algorithm.algorithm, "Algorithm, such as ring")
      ->required();
  verb->add_option("--ranks", options->ranks, "Ranks of the example (default 8)");
  verb->add_option("--bytes", options->bytes, "Size of the example (default 1MiB)");
  verb->add_option("--rank", options->rank, "Whose operations (default 0)");
  verb->add_option("--root", options->root, "Root rank (default 0)");
  verb->add_option("--chunk-bytes", options->algorithm.chunk_bytes, "Pipelining unit");
  verb->add_option("--chain-size", options->algorithm.chain_size, "Ranks in a lower chain");
  verb->add_option("--levels", options->algorithm.levels, "Levels, lowest first: chain:8,binomial");
  verb->add_option("--alpha", options->alpha, "Of a message, for the closed form (default 1us)");
  verb->add_option("--bandwidth", options->bandwidth, "The same (default 12.5GB/s)");
  verb->add_flag("--json", options->output.json, "Print JSON for machines");
  verb->callback([options] { show(*options); });
}

void add(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = add_catalogue_command(
      app, {.name = "algorithm",
            .summary = "Algorithms of collectives: list, show, check",
            .examples = {"algorithm list --op reduce", "algorithm show reduce chain",
                         "algorithm check all-reduce"}});
  CLI::App* verb = add_verb(*command, {.name = "list",
                                       .summary = "All algorithms, the options that they read",
                                       .examples = {"algorithm list --op reduce --csv"}});
  verb->add_option("--op", options->op, "Of this operation only");
  add_output_options(*verb, options->output);
  verb->callback([options] { list(*options); });
  add_show(*command, options);

  verb = add_verb(*command,
                  {.name = "check",
                   .summary = "Does every plan deliver each contribution once, without deadlock?\n"
                              "Exit code 4 if one does not",
                   .examples = {"algorithm check", "algorithm check reduce chain --ranks 1..64"}});
  verb->add_option("OP", options->op, "Of this operation only");
  verb->add_option("ALGORITHM", options->algorithm.algorithm, "Of this algorithm only");
  verb->add_option("--ranks", options->ranks,
                   "Rank counts, every one of a range (default 1..33): 5 or 2,4 or 1..17");
  verb->callback([options] { check(*options); });
}

const bool kRegistered = Registry<Command>::add({.name = "algorithm", .add = add});

}  // namespace
}  // namespace forescale
