#include "cli/collective/collective_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace forescale {
namespace {

void refuse_unread(const Collective& collective, CollectiveOption option, const std::string& name,
                   const std::string& value) {
  if (value.empty() || std::find(collective.options.begin(), collective.options.end(), option) !=
                           collective.options.end())
    return;
  throw InputError({.source = name,
                    .path = "",
                    .value = value,
                    .constraint = fmt::format("is not an option of {}", collective.name)});
}

}  // namespace

void add_algorithm_options(Subcommand command, AlgorithmText& text) {
  command.add_option("--algorithm", text.algorithm,
                     "Algorithm, see `forescale algorithm list` (default: the stack's choice)");
  command.add_option("--chunk-bytes", text.chunk_bytes, "Pipelining unit, such as 4MiB");
  command.add_option("--chain-size", text.chain_size, "Ranks in a lower chain (CC-k, CB-k)");
  command.add_option("--levels", text.levels,
                     "Levels of a hierarchy, lowest first: chain:8,chain:8,binomial");
}

std::optional<AlgorithmChoice> parse_choice(CollectiveOp op, const AlgorithmText& text) {
  if (text.algorithm.empty()) {
    for (const auto& [name, value] :
         {std::pair{"--chunk-bytes", text.chunk_bytes}, std::pair{"--chain-size", text.chain_size},
          std::pair{"--levels", text.levels}})
      if (!value.empty())
        throw InputError({.source = name,
                          .path = "",
                          .value = value,
                          .constraint = "needs --algorithm: without it the stack chooses"});
    return std::nullopt;
  }
  const Collective& collective = find_collective(op, text.algorithm, "--algorithm");
  refuse_unread(collective, CollectiveOption::kChunkBytes, "--chunk-bytes", text.chunk_bytes);
  refuse_unread(collective, CollectiveOption::kChainSize, "--chain-size", text.chain_size);
  refuse_unread(collective, CollectiveOption::kLevels, "--levels", text.levels);
  AlgorithmChoice choice{.algorithm = text.algorithm, .options = {}};
  if (!text.chunk_bytes.empty()) {
    choice.options.chunk_bytes = parse_bytes(text.chunk_bytes, "--chunk-bytes").value;
    if (choice.options.chunk_bytes < 1)
      throw InputError({.source = "--chunk-bytes",
                        .path = "",
                        .value = text.chunk_bytes,
                        .constraint = "must be >= 1 byte"});
  }
  if (!text.chain_size.empty())
    choice.options.chain_size = static_cast<int>(
        std::clamp<std::int64_t>(parse_integer(text.chain_size, "--chain-size"), -1, 1 << 30));
  choice.options.levels = text.levels;
  return choice;
}

ResolvedChoice resolve(const std::optional<AlgorithmChoice>& choice, const Stack& stack,
                       CollectiveOp op, int ranks, std::int64_t bytes, int root) {
  ResolvedChoice resolved;
  resolved.call.rank_count = ranks;
  resolved.call.bytes = bytes;
  resolved.call.root = root;
  if (choice) {
    resolved.collective = &find_collective(op, choice->algorithm, "--algorithm");
    resolved.call.options = choice->options;
  } else {
    const SelectionRule& rule = stack.select(name_of(op), ranks, bytes);
    resolved.collective = &find_collective(op, rule.algorithm, "stack " + stack.name);
    resolved.call.options = {
        .chunk_bytes = rule.chunk_bytes, .chain_size = rule.chain_size, .levels = rule.levels};
  }
  if (const SelectionRule* rule = stack.find_rule(name_of(op), ranks, bytes)) {
    resolved.through_host = rule->through_host;
    resolved.call_overhead_s = rule->call_overhead.value;
  }
  const SelectionRule* of_algorithm =
      stack.find_rule_with(resolved.collective->algorithm, name_of(op), ranks, bytes);
  if (of_algorithm != nullptr && !resolved.through_host) {
    resolved.protocol = of_algorithm->protocol;
    resolved.is_in_parts = !of_algorithm->orders.empty();
  }
  check_call(*resolved.collective, resolved.call);
  return resolved;
}

}  // namespace forescale
