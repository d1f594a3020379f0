// MPICH: its own decision tree (settings_mpich.hpp) with conditions for what was tuned put before
// the library's, which follow for everything else. JSON has no comments, so that the file does not
// say where it comes from.
#include <fmt/format.h>

#include "studies/settings/settings_mpich.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

SelectionTree leaf(const std::string& name) {
  return {{"algorithm=" + name, SelectionTree::object()}};
}

// Algorithms that end the program for operations of the user's own, and for fewer elements than
// ranks, are asked only for others, as in the library's own tree.
SelectionTree guarded(CollectiveOp op, const std::string& name, const SelectionTree& own) {
  const bool is_all_reduce = op == CollectiveOp::kAllReduce;
  if (name.ends_with("reduce_scatter_allgather") || name.ends_with("reduce_scatter_gather")) {
    const SelectionTree other = leaf(is_all_reduce ? "MPIR_Allreduce_intra_recursive_doubling"
                                                   : "MPIR_Reduce_intra_binomial");
    return {{"is_op_built_in=no", other},
            {"is_op_built_in=yes", {{"count<pow2", other}, {"count=any", leaf(name)}}}};
  }
  if (op == CollectiveOp::kReduceScatter)
    return {{"is_commutative=yes", leaf(name)}, {"is_commutative=no", own}};
  return leaf(name);
}

// By size, for any rank count that gets here.
SelectionTree by_size(CollectiveOp op, const std::vector<SizeSpan>& spans,
                      const SelectionTree& own) {
  constexpr std::int64_t kLargest = std::numeric_limits<int>::max();  // that MPICH reads
  SelectionTree tree = SelectionTree::object();
  for (const SizeSpan& span : spans) {
    const bool is_last = span.to_bytes >= kLargest;
    const std::string limit = is_last ? "=any" : fmt::format("<={}", span.to_bytes);
    tree[mpich_size_key(op) + limit] =
        span.algorithm == nullptr ? own : guarded(op, span.algorithm->id, own);
    if (is_last) break;
  }
  return tree;
}

SelectionTree by_ranks(const TunedSettings& settings, CollectiveOp op, const SelectionTree& own) {
  SelectionTree tree = SelectionTree::object();
  for (const RankSpan& span : rank_spans(settings, op)) {
    const bool is_last = span.to_ranks == std::numeric_limits<int>::max();
    tree[is_last ? "comm_size=any" : fmt::format("comm_size<={}", span.to_ranks)] =
        span.sizes.size() == 1 && span.sizes.front().algorithm == nullptr
            ? own
            : by_size(op, span.sizes, own);
  }
  return tree;
}

std::string emit_mpich(const TunedSettings& settings, const std::string& /*version*/) {
  SelectionTree tree = mpich_default_tree();
  bool is_changed = false;
  for (const CollectiveOp op : tuned_ops(settings)) {
    const auto name = mpich_name(op);
    if (!name) continue;
    SelectionTree& own = tree["collective=" + *name]["comm_type=intra"];
    own = by_ranks(settings, op, SelectionTree(own));
    is_changed = true;
  }
  return is_changed ? tree.dump(1) + "\n" : "";
}

std::string how_to_load_mpich(const std::string& file) {
  std::string text = fmt::format("export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={}\n", file);
  text +=
      "# Where ranks share nodes, for each operation that was tuned, else the file is not asked:\n";
  for (const CollectiveOp op : all_collective_ops())
    if (mpich_name(op)) text += fmt::format("# export {}=0\n", mpich_device_variable(op));
  return text;
}

const bool kMpichRegistered =
    Registry<SettingsFormat>::add({.name = "mpich-json",
                                   .summary = "decision tree of collective algorithms",
                                   .library = "MPICH",
                                   .versions = {"4.0"},
                                   .file_name = "mpich-selection.json",
                                   .algorithms = mpich_algorithms,
                                   .emit = emit_mpich,
                                   .how_to_load = how_to_load_mpich});

}  // namespace
}  // namespace forescale
