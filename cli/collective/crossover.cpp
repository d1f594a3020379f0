// `forescale crossover`: from which size one algorithm beats another, by rank count and chunk, as
// the equations, the cost engine and the simulator see it, and what moves it between them.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "cli/collective/collective_inputs.hpp"
#include "cli/command.hpp"
#include "cli/text.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/isolated.hpp"
#include "studies/crossover/crossover_answer.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CrossoverOptions {
  std::vector<std::string> plans;
  std::string op = "reduce";
  std::string algorithms = "chain,binomial";
  std::string platform;
  std::string stack;
  std::string ranks;
  std::string chunk_bytes = "256KiB..4MiB";
  std::string bytes = "64KiB..1GiB";
  std::string chain_size = "8";
  std::string engine = "sim";
  OutputOptions output;
  std::string line;  // as typed
};

// The two plans as they were named; those that pipeline take the chunk sizes that are asked for
// unless they name their own.
std::vector<PlanChoice> parse_plans(const CrossoverOptions& options) {
  std::vector<PlanChoice> plans;
  if (!options.plans.empty()) {
    for (const std::string& text : options.plans) plans.push_back(parse_plan(text, "--plans"));
    const std::string all = fmt::format("{}", fmt::join(options.plans, " "));
    if (plans.size() != 2 || plans[0].collective->op != plans[1].collective->op)
      refuse("--plans", all, "must be two plans of one operation");
    if (plans[0] == plans[1]) refuse("--plans", all, "must be two different ones");
    return plans;
  }
  const CollectiveOp op = parse_collective_op(options.op, "--op");
  const std::string& text = options.algorithms;
  const size_t comma = text.find(',');
  if (comma == std::string::npos || text.find(',', comma + 1) != std::string::npos)
    refuse("--algorithms", text, "must be two algorithms, such as chain,binomial");
  for (const std::string& name : {text.substr(0, comma), text.substr(comma + 1)}) {
    plans.push_back({.collective = &find_collective(op, name, "--algorithms")});
    if (find_option(*plans.back().collective, kChainSize.name) != nullptr)
      plans.back().options.set(
          kChainSize.name, parse_value(kChainSize, options.chain_size, option_flag("chain_size")));
  }
  if (plans[0].collective == plans[1].collective)
    refuse("--algorithms", text, "must be two different ones");
  return plans;
}

PlanChoice with_chunks(PlanChoice plan, std::int64_t chunk_bytes) {
  if (find_option(*plan.collective, kChunkBytes.name) != nullptr &&
      !plan.options.gives(kChunkBytes.name))
    plan.options.set(kChunkBytes.name, chunk_bytes);
  return plan;
}

std::vector<std::int64_t> parse_ranks(const Platform& platform, const std::string& text) {
  constexpr int kMost = 160;  // S-Caffe's largest
  const int most = std::min(platform.slot_count(), kMost);
  std::vector<std::int64_t> ranks = parse_integers(
      text.empty() ? fmt::format("{}..{}", std::min(most, 4), most) : text, "--ranks");
  check_ranks(platform, ranks, "--ranks");
  for (const std::int64_t count : ranks)
    if (count < 2) refuse("--ranks", std::to_string(count), "must be >= 2");
  return ranks;
}

// Whole chunks between the ends of --bytes, at least one.
ChunkRange chunk_range(const std::string& bytes, std::int64_t chunk_bytes) {
  if (chunk_bytes < 1) refuse("--chunk-bytes", std::to_string(chunk_bytes), "must be >= 1 byte");
  const std::vector<Bytes> sizes = parse_byte_list(bytes, "--bytes");
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const ChunkRange range{
      .first = std::max<std::int64_t>(1, (least->value + chunk_bytes - 1) / chunk_bytes),
      .last = most->value / chunk_bytes};
  if (range.last <= range.first)
    refuse("--bytes", bytes,
           "must be an interval such as 64KiB..1GiB with two whole chunks of " +
               to_text(Bytes{chunk_bytes}) + ", in steps of which it is searched (--chunk-bytes)");
  return range;
}

// The models of one group, a row a chunk size, then what happens at the most telling of them.
void print_crossover_table(const std::vector<CrossoverAnswer>& points) {
  Table table({"ranks", "chunk", "equations", "cost engine", "simulator"});
  for (const CrossoverAnswer& point : points)
    table.add({std::to_string(point.ranks), to_text(Bytes{point.chunk_bytes}),
               crossing_cell(point.equations), crossing_cell(point.cost_engine),
               crossing_cell(point.simulator)});
  const std::string text = table.text();
  size_t begin = text.find('\n') + 1;
  fmt::print("{}", text.substr(0, begin));
  const CrossoverAnswer* telling = nullptr;
  for (size_t i = 0; i < points.size(); ++i) {
    const size_t end = text.find('\n', begin) + 1;
    fmt::print("{}", text.substr(begin, end - begin));
    begin = end;
    if (telling == nullptr || points[i].spread() > telling->spread()) telling = &points[i];
    if (i + 1 < points.size() && points[i + 1].ranks == points[i].ranks) continue;
    fmt::print("{}\n",
               coloured(fmt::format("       chunk {}: {}", to_text(Bytes{telling->chunk_bytes}),
                                    telling->explanation),
                        Colour::kDim));
    telling = nullptr;
  }
}

void print_crossover_csv(const std::vector<CrossoverAnswer>& points) {
  std::vector<std::string> headings{"ranks", "chunk_bytes"};
  for (const char* model : {"equations", "cost_engine", "simulator"})
    headings.insert(headings.end(),
                    {fmt::format("{}_verdict", model), fmt::format("{}_bytes", model)});
  fmt::print("{}", csv_line(headings));
  for (const CrossoverAnswer& point : points) {
    std::vector<std::string> cells{std::to_string(point.ranks), std::to_string(point.chunk_bytes)};
    for (const std::optional<ModelCrossing>* at : point.models()) {
      cells.push_back(*at ? name_of((*at)->crossing.verdict) : "");
      cells.push_back(*at && (*at)->crosses() ? std::to_string((*at)->at_bytes) : "");
    }
    fmt::print("{}", csv_line(cells));
  }
}

std::vector<CrossoverAnswer> answers(const std::vector<Contest>& contests, Depth depth) {
  std::vector<std::function<CrossoverAnswer()>> tasks;
  for (const Contest& contest : contests)
    tasks.push_back([contest, depth] { return answer(contest, depth); });
  return isolated(tasks, "searching crossings");
}

// The algorithm's name, or the whole plan where both have the same.
std::string name_in_contest(const std::vector<PlanChoice>& plans, size_t which) {
  return plans[0].collective == plans[1].collective ? plan_text(plans[which])
                                                    : plans[which].collective->algorithm;
}

void run(const CrossoverOptions& options) {
  const QuestionMachine machine = load_machine(
      {.about = Question::About::kCollective, .platform = options.platform, .stack = options.stack},
      Scenario::kNominal);
  const Platform& platform = machine.platform;
  const std::vector<PlanChoice> plans = parse_plans(options);
  const CollectiveOp op = plans.front().collective->op;
  std::vector<Contest> contests;
  for (const std::int64_t ranks : parse_ranks(platform, options.ranks))
    for (const Bytes chunk : parse_byte_list(options.chunk_bytes, "--chunk-bytes")) {
      contests.push_back({.machine = &machine,
                          .op = op,
                          .first = with_chunks(plans[0], chunk.value),
                          .second = with_chunks(plans[1], chunk.value),
                          .ranks = static_cast<int>(ranks),
                          .chunk_bytes = chunk.value,
                          .range = chunk_range(options.bytes, chunk.value)});
      const Contest& contest = contests.back();
      for (const PlanChoice& plan : {contest.first, contest.second})
        check_call(*plan.collective, contest.call(plan, contest.range.last));
    }
  const std::vector<CrossoverAnswer> points =
      answers(contests, options.engine == "equations" ? Depth::kEquations
                        : options.engine == "cost"    ? Depth::kCostEngine
                                                      : Depth::kSimulator);
  if (options.output.json) {
    fmt::print("{}\n", json{{"format", "forescale-crossover-1"},
                            {"command", options.line},
                            {"op", name_of(op)},
                            {"first", name_in_contest(plans, 0)},
                            {"second", name_in_contest(plans, 1)},
                            {"platform", platform.name},
                            {"stack", machine.stack.name},
                            {"points", points}}
                           .dump(2));
  } else if (options.output.csv) {
    print_crossover_csv(points);
  } else {
    fmt::print("{} on {} with {}: from which size (whole chunks) {} beats {}, within {}\n",
               name_of(op), platform.name, machine.stack.name, name_in_contest(plans, 0),
               name_in_contest(plans, 1), options.bytes);
    print_crossover_table(points);
  }
}

void add_crossover(Subcommand app) {
  auto options = std::make_shared<CrossoverOptions>();
  Subcommand command =
      app.add_subcommand("crossover", "From which size one algorithm beats another, and why");
  command.footer(
      "Examples:\n"
      "  forescale crossover --platform star:hosts=160,bandwidth=12.5GB/s,latency=1us\n"
      "  forescale crossover --platform kesch --stack mvapich2-gdr --ranks 16..160 \\\n"
      "    --chunk-bytes 1MiB --json\n"
      "  forescale crossover --platform kesch --stack mvapich2-gdr --op all-reduce \\\n"
      "    --algorithms ring,halving-doubling --ranks 16,32,64 --chunk-bytes 1MiB");
  command.add_option("--platform", options->platform, "Preset, JSON file or generator").required();
  command.add_option("--stack", options->stack,
                     "Stack or JSON file (default on generated platforms: ideal)");
  command.add_option("--plans", options->plans,
                     "Two plans, the first against the second: reduce/chain "
                     "reduce/cb:chain_size=4; or spelled out:");
  command.add_option("--op", options->op, "Operation of both algorithms (default: reduce)");
  command.add_option("--algorithms", options->algorithms,
                     "Two algorithms, the first against the second (default: chain,binomial)");
  command.add_option("--ranks", options->ranks,
                     "Rank counts: 160, 16,32,64 or 4..160 (default: 4 up to 160, doubling, as "
                     "far as the platform goes)");
  command.add_option("--chunk-bytes", options->chunk_bytes,
                     "Chunk sizes (default: 256KiB..4MiB, doubling)");
  command.add_option("--bytes", options->bytes,
                     "Interval of message sizes to search (default: 64KiB..1GiB)");
  command.add_option("--chain-size", options->chain_size,
                     "Ranks in a lower chain (CC-k, CB-k; default 8)");
  command
      .add_option("--engine", options->engine,
                  "How far to go: equations, cost (and the cost engine), sim (all; default)")
      .one_of({"equations", "cost", "sim"});
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kCrossoverRegistered =
    Registry<Command>::add({.name = "crossover", .add = add_crossover});

}  // namespace
}  // namespace forescale
