// `forescale stack`: how communication software behaves.
#include "models/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <set>

#include "algorithms/common_options.hpp"
#include "base/data_files.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/catalogue/stack_log.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct StackOptions {
  std::vector<std::string> names;
  bool sources = false;
  OutputOptions output;
};

template <class Integer>
json limit(Integer value) {
  return value == std::numeric_limits<Integer>::max() ? json() : json(value);
}

json cap(BytesPerSecond rate) { return rate.value > 0 ? json(rate.value) : json(); }

json to_json(const Stack& stack, const PathRule& rule) {
  return {{"where", rule.where},
          {"buffers", name_of(rule.buffers)},
          {"protocol", stack.protocols[static_cast<size_t>(rule.protocol)]},
          {"wire_factor", rule.wire_factor},
          {"up_to_bytes", limit(rule.up_to_bytes)},
          {"mechanism", rule.staged ? "staged" : "direct"},
          {"o_send_s", rule.o_send.value},
          {"o_recv_s", rule.o_recv.value},
          {"latency_s", rule.latency.value},
          {"o_proxy_s", rule.o_proxy.value > 0 ? json(rule.o_proxy.value) : json()},
          {"connection_cap_bytes_per_s", cap(rule.connection_cap)},
          {"channel_cap_bytes_per_s", cap(rule.channel_cap)},
          {"read_cap_bytes_per_s", cap(rule.read_cap)},
          {"write_cap_bytes_per_s", cap(rule.write_cap)},
          {"segment_bytes", rule.staged ? json(rule.segment.value) : json()},
          {"segment_overhead_s", rule.staged ? json(rule.segment_overhead.value) : json()}};
}

json to_json(const ReductionRule& rule) {
  const bool is_fixed = rule.place == ReductionPlace::kFixed;
  return {{"place", rule.place == ReductionPlace::kFree  ? "free"
                    : rule.place == ReductionPlace::kGpu ? "gpu"
                    : rule.place == ReductionPlace::kCpu ? "cpu"
                                                         : "fixed"},
          {"overlaps_transfer", rule.overlaps_transfer},
          {"overhead_s", is_fixed ? json(rule.overhead.value) : json()},
          {"rate_bytes_per_s", is_fixed ? json(rule.rate.value) : json()}};
}

json range_row(const std::string& op, const CallRange& range) {
  return {{"op", op},
          {"up_to_ranks", limit(range.up_to_ranks)},
          {"from_nodes", range.from_nodes > 0 ? json(range.from_nodes) : json()},
          {"up_to_nodes", limit(range.up_to_nodes)},
          {"ranks_per_node", range.ranks_per_node > 0 ? json(range.ranks_per_node) : json()},
          {"up_to_bytes", limit(range.up_to_bytes)}};
}

json to_json(const Stack& stack, const std::string& op, const SelectionRule& rule) {
  json row = range_row(op, rule);
  row.update({{"algorithm", rule.algorithm},
              {"protocol", stack.protocols[static_cast<size_t>(rule.protocol)]},
              {"parts", rule.orders.empty() ? 1 : rule.orders.size()},
              {"through_host", rule.through_host},
              {"through_host_bytes_per_s", cap(rule.through_host_bandwidth)},
              {"default_stream", rule.default_stream}});
  row.update(options_row(op, rule.algorithm, rule.options));
  return row;
}

// Of its rules those with a size of chunks, in the library's bytes.
json to_json(const std::string& name, const Alternative& alternative) {
  std::set<std::string> ops;
  std::set<std::int64_t> chunks;
  for (const auto& [op, rules] : alternative.rules) {
    ops.insert(op);
    for (const SelectionRule& rule : rules)
      if (alternative.chunk_factor > 0)
        chunks.insert(std::llround(static_cast<double>(rule.options.number(kChunkBytes)) /
                                   alternative.chunk_factor));
  }
  return {{"take", name}, {"ops", ops}, {"chunk_bytes", chunks}};
}

json choices_json(const std::map<std::string, std::vector<Preference>>& of_ops) {
  json choices = json::array();
  for (const auto& [op, bands] : of_ops)
    for (const Preference& band : bands) {
      choices.push_back(range_row(op, band));
      choices.back()["order"] = band.order;
    }
  return choices;
}

// Null where there is none.
json to_json(const Tuner& tuner) {
  const json choices = choices_json(tuner.choices);
  return choices.empty() ? json() : json{{"name", tuner.name}, {"choices", choices}};
}

json to_json(const Stack& stack) {
  json document = {
      {"name", stack.name},
      {"description", stack.description},
      {"channels", stack.channels},
      {"channels_of", name_of(stack.channels_of)},
      {"message_protocol", stack.protocols[static_cast<size_t>(stack.message_protocol)]},
      {"eager_limit_bytes", stack.eager_limit.value},
      {"latency_holds_ports", stack.latency_holds_ports},
      {"collectives", stack.collectives_in_order ? "in-order" : "concurrent"},
      {"memory_accesses", stack.memory_accesses},
      {"progress", stack.progress == Progress::kHardware ? "hardware" : "inside-calls"},
      {"reduction", to_json(stack.reduction)},
      {"host_reduction", to_json(stack.host_reduction)},
      {"paths", json::array()},
      {"selection", json::array()},
      {"preferences", choices_json(stack.preferences)},
      {"alternatives", json::array()},
      {"tuner", to_json(stack.tuner)},
      {"numbers", sources_json(stack.provenance)}};
  for (const PathRule& rule : stack.paths) document["paths"].push_back(to_json(stack, rule));
  for (const auto& [op, rules] : stack.selection)
    for (const SelectionRule& rule : rules)
      document["selection"].push_back(to_json(stack, op, rule));
  for (const auto& [name, alternative] : stack.alternatives)
    document["alternatives"].push_back(to_json(name, alternative));
  return document;
}

std::string in_words(const json& reduction) {
  const std::string place = reduction["place"];
  std::string text = place == "free"  ? "costs nothing"
                     : place == "gpu" ? "kernel on the GPU"
                     : place == "cpu" ? "on the CPU"
                                      : seconds_cell(reduction["overhead_s"]) + " + bytes / " +
                                            bandwidth_cell(reduction["rate_bytes_per_s"]);
  if (place != "free")
    text += reduction["overlaps_transfer"].get<bool>() ? ", overlaps the next transfer"
                                                       : ", holds the receiver";
  return text;
}

std::string words_cell(const json& words) {
  return fmt::format("{}", fmt::join(words.get<std::vector<std::string>>(), ", "));
}

std::string chunks_cell(const json& chunks) {
  std::vector<std::string> texts;
  for (const json& chunk : chunks) texts.push_back(bytes_cell(chunk));
  return texts.empty() ? "-" : fmt::format("{}", fmt::join(texts, ", "));
}

// Those that `rows` need to say what they are for.
std::vector<Column> range_columns(const json& rows) {
  std::vector<Column> columns{{.key = "op", .heading = "<operation"}};
  for (const Column& column : {Column{.key = "up_to_ranks", .heading = "up to ranks"},
                               Column{.key = "ranks_per_node", .heading = "of each node"},
                               Column{.key = "from_nodes", .heading = "from nodes"},
                               Column{.key = "up_to_nodes", .heading = "up to nodes"}})
    if (std::any_of(rows.begin(), rows.end(),
                    [&](const json& row) { return !row[column.key].is_null(); }))
      columns.push_back(column);
  columns.push_back({.key = "up_to_bytes", .heading = "up to", .text = bytes_cell});
  return columns;
}

std::string order_cell(const json& order) {
  return order.empty() ? "left to the library" : words_cell(order);
}

// What comes first of them, between nodes; a row for sizes in a row that have the same.
void print_preferences(const json& preferences) {
  const std::string size = "up_to_bytes";
  json rows = json::array();
  const auto apart_from_size = [&](json row) {
    row.erase(size);
    return row;
  };
  for (json band : preferences) {
    if (band["order"].empty() || band["up_to_nodes"] == 1) continue;
    band["order"] = json::array({band["order"].front()});
    if (!rows.empty() && apart_from_size(rows.back()) == apart_from_size(band))
      rows.back()[size] = band[size];
    else
      rows.push_back(band);
  }
  if (rows.empty()) return;
  std::vector<Column> columns = range_columns(rows);
  columns.push_back({.key = "order", .heading = "<takes", .text = words_cell});
  fmt::print("\nwhat it takes between nodes by its own estimates, the first that fits\n{}",
             table_text(rows, columns));
}

void print_tuner(const std::string& stack, const json& tuner) {
  std::vector<Column> columns = range_columns(tuner["choices"]);
  columns.push_back({.key = "order", .heading = "<take", .text = order_cell});
  fmt::print("\nwhat {}'s tuner takes before that (--stack {}:NCCL_TUNER_PLUGIN=none: without)\n{}",
             tuner["name"].get<std::string>(), stack, table_text(tuner["choices"], columns));
}

void print_text(const Stack& stack, const json& document) {
  fmt::print("{}: {}\n", stack.name, stack.description);
  const char* const of_what = stack.channels_of == ChannelsOf::kRank ? ""
                              : stack.channels_of == ChannelsOf::kCollective
                                  ? " in each collective"
                                  : " in each collective; of plans with queues "
                                    "(trees) each queue by itself";
  fmt::print("channels:   {} {} and as many receives at a time{}\n", stack.channels,
             stack.channels == 1 ? "send" : "sends", of_what);
  fmt::print("eager:      {}\n",
             stack.eager_limit.value > 0 ? "up to " + to_text(stack.eager_limit) : "never");
  fmt::print("latency:    {}\n",
             stack.latency_holds_ports ? "holds both ports" : "delays, holds nothing");
  fmt::print(
      "order:      collectives of a communicator {}\n",
      stack.collectives_in_order ? "one after the other, as kernels of a stream" : "side by side");
  if (stack.memory_accesses > 0)
    fmt::print("memory:     {} accesses of a GPU's for each byte that a collective brings it\n",
               stack.memory_accesses);
  fmt::print("progress:   {}\n", stack.progress == Progress::kHardware
                                     ? "always (hardware or a helper thread)"
                                     : "only inside communication calls");
  fmt::print("reduction:  GPU buffers: {}\n            host buffers: {}\n",
             in_words(document["reduction"]), in_words(document["host_reduction"]));
  fmt::print(
      "\npaths, the first that fits\n{}",
      table_text(
          document["paths"],
          {{.key = "where", .heading = "<where"},
           {.key = "buffers", .heading = "<buffers"},
           {.key = "protocol", .heading = "<protocol"},
           {.key = "up_to_bytes", .heading = "up to", .text = bytes_cell},
           {.key = "mechanism", .heading = "<mechanism"},
           {.key = "o_send_s", .heading = "o_send", .text = seconds_cell},
           {.key = "o_recv_s", .heading = "o_recv", .text = seconds_cell},
           {.key = "latency_s", .heading = "latency", .text = seconds_cell},
           {.key = "o_proxy_s", .heading = "o_proxy", .text = seconds_cell},
           {.key = "connection_cap_bytes_per_s",
            .heading = "connection cap",
            .text = bandwidth_cell},
           {.key = "channel_cap_bytes_per_s", .heading = "channel cap", .text = bandwidth_cell},
           {.key = "read_cap_bytes_per_s", .heading = "read cap", .text = bandwidth_cell},
           {.key = "write_cap_bytes_per_s", .heading = "write cap", .text = bandwidth_cell},
           {.key = "segment_bytes", .heading = "segment", .text = bytes_cell},
           {.key = "segment_overhead_s", .heading = "overhead", .text = seconds_cell}}));
  std::vector<Column> columns = range_columns(document["selection"]);
  columns.insert(columns.end(), {{.key = "algorithm", .heading = "<algorithm"},
                                 {.key = "protocol", .heading = "<protocol"},
                                 {.key = "parts", .heading = "parts"}});
  const std::vector<Column> of_options = option_columns(document["selection"]);
  columns.insert(columns.end(), of_options.begin(), of_options.end());
  columns.push_back({.key = "through_host", .heading = "<through host"});
  fmt::print("\nalgorithms, the first that fits\n{}", table_text(document["selection"], columns));
  print_preferences(document["preferences"]);
  if (!document["tuner"].is_null()) print_tuner(stack.name, document["tuner"]);
  if (!document["alternatives"].empty())
    fmt::print(
        "\nwhat it can be told to take instead: --stack {}:take=NAME, or ,chunk_bytes=SIZE\n{}",
        stack.name,
        table_text(document["alternatives"],
                   {{.key = "take", .heading = "<take"},
                    {.key = "ops", .heading = "<operations", .text = words_cell},
                    {.key = "chunk_bytes", .heading = "<chunks", .text = chunks_cell}}));
  fmt::print("\n{} (--sources lists them)\n", count_text(stack.provenance));
}

void list(const StackOptions& options) {
  json rows = json::array();
  Problems problems;
  for (const std::string& name : catalogue(kStacks))
    problems.attempt([&] {
      const json document = to_json(load_stack(name));
      rows.push_back({{"name", document["name"]},
                      {"progress", document["progress"]},
                      {"reduction", document["reduction"]["place"]},
                      {"description", document["description"]}});
    });
  print_rows(rows,
             {{.key = "name", .heading = "<stack"},
              {.key = "progress", .heading = "<progress"},
              {.key = "reduction", .heading = "<reduction"},
              {.key = "description", .heading = "<description"}},
             options.output);
  problems.raise("stack list");
}

void show(const StackOptions& options) {
  const Stack stack = load_stack(options.names.front());
  if (options.output.json)
    fmt::print("{}\n", to_json(stack).dump(2));
  else if (options.sources)
    fmt::print("{}: {}\n{}", stack.name, count_text(stack.provenance),
               sources_text(stack.provenance));
  else
    print_text(stack, to_json(stack));
}

void check(const StackOptions& options) {
  check_all(options.names.empty() ? catalogue(kStacks) : options.names, "stack check",
            [](const std::string& name) {
              const Stack stack = load_stack(name);
              check_selection(stack, name);
              return fmt::format("{} paths, {} operations, {}", stack.paths.size(),
                                 stack.selection.size(), count_text(stack.provenance));
            });
}

void add_stack(Subcommand app) {
  auto options = std::make_shared<StackOptions>();
  Subcommand command = add_catalogue_command(
      app, {.name = "stack",
            .summary = "Stacks (how communication software behaves): list, show, check, log",
            .examples = {"stack list", "stack show ideal"}});
  Subcommand verb = add_verb(
      command,
      {.name = "list", .summary = "All stacks, a line each", .examples = {"stack list --json"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });

  verb = add_verb(command,
                  {.name = "show",
                   .summary = "Paths, reductions, progress and the choice of algorithms",
                   .examples = {"stack show ideal", "stack show ideal:reduce_bandwidth=20GB/s",
                                "stack show my-stack.json --sources"}});
  verb.add_option("NAME", options->names, "Stack or JSON file").required().expected(1);
  verb.add_flag("--sources", options->sources, "Every number with its source");
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });

  verb = add_verb(command, {.name = "check",
                            .summary = "Are these files right? Without a name: the catalogue's",
                            .examples = {"stack check my-stack.json"}});
  verb.add_option("NAME", options->names, "Stacks or JSON files");
  verb.callback([options] { check(*options); });

  add_stack_log(command);
}

const bool kStackRegistered = Registry<Command>::add({.name = "stack", .add = add_stack});

}  // namespace
}  // namespace forescale
