#include "studies/settings/settings_mpich.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "algorithms/operation.hpp"
#include "base/data_files.hpp"
#include "base/error.hpp"
#include "studies/settings/mpich_condition.hpp"

namespace forescale {
namespace {

constexpr std::string_view kAlgorithm = "algorithm=";

struct KnownMpich {
  CollectiveOp op;
  const char* name;
  const char* title;
  const char* plan;
  LibraryLimits limits = {};
  bool mirrors_folded = false;
};

const std::vector<KnownMpich>& known_mpich_algorithms() {
  static const std::vector<KnownMpich> known = {
      {.op = CollectiveOp::kAllReduce,
       .name = "MPIR_Allreduce_intra_recursive_doubling",
       .title = "recursive doubling",
       .plan = "all-reduce/recursive-doubling",
       .mirrors_folded = true},
      {.op = CollectiveOp::kAllReduce,
       .name = "MPIR_Allreduce_intra_reduce_scatter_allgather",
       .title = "Rabenseifner",
       .plan = "all-reduce/near-halving-doubling",
       .limits = {.one_element_a_rank = true},
       .mirrors_folded = true},
      {.op = CollectiveOp::kBroadcast,
       .name = "MPIR_Bcast_intra_binomial",
       .title = "binomial",
       .plan = "broadcast/binomial"},
      {.op = CollectiveOp::kBroadcast,
       .name = "MPIR_Bcast_intra_scatter_ring_allgather",
       .title = "scatter, ring allgather",
       .plan = "broadcast/scatter-allgather",
       .limits = {.one_element_a_rank = true}},
      {.op = CollectiveOp::kReduce,
       .name = "MPIR_Reduce_intra_binomial",
       .title = "binomial",
       .plan = "reduce/binomial"},
      {.op = CollectiveOp::kReduce,
       .name = "MPIR_Reduce_intra_reduce_scatter_gather",
       .title = "Rabenseifner",
       .plan = "reduce/near-scatter-gather",
       .limits = {.one_element_a_rank = true}},
      {.op = CollectiveOp::kAllGather,
       .name = "MPIR_Allgather_intra_recursive_doubling",
       .title = "recursive doubling",
       .plan = "allgather/recursive-doubling",
       .limits = {.power_of_two = true, .one_element_a_rank = true}},
      {.op = CollectiveOp::kAllGather,
       .name = "MPIR_Allgather_intra_ring",
       .title = "ring",
       .plan = "allgather/ring",
       .limits = {.one_element_a_rank = true}},
      {.op = CollectiveOp::kReduceScatter,
       .name = "MPIR_Reduce_scatter_block_intra_recursive_halving",
       .title = "recursive halving",
       .plan = "reduce-scatter/halving",
       .limits = {.power_of_two = true, .one_element_a_rank = true}},
      {.op = CollectiveOp::kReduceScatter,
       .name = "MPIR_Reduce_scatter_block_intra_pairwise",
       .title = "pairwise",
       .plan = "reduce-scatter/pairwise",
       .limits = {.one_element_a_rank = true}}};
  return known;
}

LibraryAlgorithm algorithm_of(const KnownMpich& known) {
  return {.op = known.op,
          .id = known.name,
          .title = known.title,
          .plan = parse_plan(known.plan, "MPICH"),
          .limits = known.limits,
          .mirrors_folded = known.mirrors_folded,
          .source = fmt::format("pmodels/mpich v4.0.2, src/mpi/coll/{}/", *mpich_name(known.op))};
}

std::string text_of_file(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

[[noreturn]] void fail(const std::string& file, const std::string& path, const std::string& value,
                       const std::string& constraint) {
  throw InputError({.source = file, .path = path, .value = value, .constraint = constraint});
}

SelectionTree parsed(const std::string& text, const std::string& file) {
  try {
    return SelectionTree::parse(text);
  } catch (const nlohmann::json::exception& error) {  // of numbers that no double holds too
    fail(file, "", "", fmt::format("is no JSON: {}", error.what()));
  }
}

std::string joined(const std::string& path, const std::string& key) { return path + "/" + key; }

// MPICH takes blanks out of keys.
std::string without_blanks(std::string key) {
  std::erase_if(key, [](unsigned char c) { return std::isspace(c) != 0; });
  return key;
}

void check_tree(const SelectionTree& tree, const std::string& file, const std::string& path) {
  if (!tree.is_object() || tree.empty())
    fail(file, path, tree.dump(), "must be an object with conditions or an algorithm");
  const std::string last = std::prev(tree.end()).key();
  for (const auto& [key, subtree] : tree.items()) {
    const std::string condition = without_blanks(key);
    if (condition.starts_with(kAlgorithm)) return;
    if (!is_met_in_mpich(condition, {.op = CollectiveOp::kAllReduce, .ranks = 2, .bytes = 8}))
      fail(file, path, key, "is no condition that MPICH 4.0 knows");
    if (key == last && is_mpich_threshold(condition))
      fail(file, path, key, "must be followed by another: MPICH would end the program");
    if (key != last && condition.ends_with("=any"))
      fail(file, path, key, "must be the last one: MPICH would end the program");
    check_tree(subtree, file, joined(path, key));
  }
}

void collect_algorithms(const SelectionTree& tree, std::set<std::string>& names) {
  for (const auto& [key, subtree] : tree.items())
    if (const std::string name = without_blanks(key); name.starts_with(kAlgorithm))
      names.insert(name);
    else
      collect_algorithms(subtree, names);
}

// The library's own tree has every algorithm of these operations.
void check_algorithms(const SelectionTree& tree, const std::string& file,
                      const std::string& operation) {
  std::set<std::string> known;
  std::set<std::string> used;
  collect_algorithms(mpich_default_tree().at(operation), known);
  collect_algorithms(tree, used);
  for (const std::string& name : used)
    if (!known.contains(name))
      fail(file, "/" + operation, name, unknown_name(name, {known.begin(), known.end()}));
}

const SelectionTree* member(const SelectionTree& tree, const std::string& name) {
  for (const auto& [key, subtree] : tree.items())
    if (without_blanks(key) == name) return &subtree;
  return nullptr;
}

}  // namespace

const SelectionTree& mpich_default_tree() {
  static const SelectionTree tree = [] {
    const std::string file = data_path("studies/settings/mpich-4.0-selection.json");
    return parsed(text_of_file(file), file);
  }();
  return tree;
}

std::optional<std::string> mpich_name(CollectiveOp op) {
  const auto name = name_in(Tool::kMpich, op);
  return name ? std::optional(std::string(*name)) : std::nullopt;
}

std::string mpich_size_key(CollectiveOp op) {
  const bool is_total = op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter;
  return is_total ? "total_msg_size" : "avg_msg_size";
}

SelectionTree read_mpich_tree(const std::string& text, const std::string& file) {
  SelectionTree tree = parsed(text, file);
  check_tree(tree, file, "");
  for (const auto& [operation, subtree] : mpich_default_tree().items())
    if (member(tree, operation) == nullptr)
      fail(file, "", operation, "is missing: MPICH would end a program that uses it");
  for (const auto& [key, subtree] : tree.items())
    if (!mpich_default_tree().contains(without_blanks(key)))
      fail(file, "", key, "is no operation of MPICH 4.0: it would end the program");
  for (const CollectiveOp op : all_collective_ops())
    if (const auto name = mpich_name(op))
      check_algorithms(*member(tree, "collective=" + *name), file, "collective=" + *name);
  return tree;
}

bool is_default_in_mpich(const SelectionTree& tree, CollectiveOp op) {
  const std::string name = "collective=" + mpich_name(op).value_or("");
  const SelectionTree& defaults = mpich_default_tree();
  const SelectionTree* of_file = member(tree, name);
  const SelectionTree* of_library = member(defaults, name);
  return of_file != nullptr && of_library != nullptr && *of_file == *of_library;
}

std::string mpich_selected(const SelectionTree& tree, const std::string& file, CollectiveOp op,
                           int ranks, std::int64_t bytes) {
  const MpichCall call{.op = op, .ranks = ranks, .bytes = bytes};
  const SelectionTree* at = &tree;
  std::string path;
  for (;;) {
    const SelectionTree* next = nullptr;
    for (const auto& [key, subtree] : at->items()) {
      const std::string condition = without_blanks(key);
      if (condition.starts_with(kAlgorithm)) return condition.substr(kAlgorithm.size());
      if (!is_met_in_mpich(condition, call).value_or(false)) continue;
      path = joined(path, key);
      next = &subtree;
      break;
    }
    if (next == nullptr)
      fail(file, path, "",
           fmt::format("has no condition for {} of {} B on {} ranks: MPICH would end the program",
                       name_of(op), bytes, ranks));
    at = next;
  }
}

std::optional<LibraryAlgorithm> mpich_algorithm(CollectiveOp op, const std::string& name) {
  for (const KnownMpich& known : known_mpich_algorithms())
    if (known.op == op && known.name == name) return algorithm_of(known);
  return std::nullopt;
}

std::vector<LibraryAlgorithm> mpich_algorithms(CollectiveOp op) {
  std::vector<LibraryAlgorithm> algorithms;
  for (const KnownMpich& known : known_mpich_algorithms())
    if (known.op == op) algorithms.push_back(algorithm_of(known));
  return algorithms;
}

std::string mpich_device_variable(CollectiveOp op) {
  std::string name = mpich_name(op).value_or("");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "MPIR_CVAR_" + name + "_DEVICE_COLLECTIVE";
}

}  // namespace forescale
