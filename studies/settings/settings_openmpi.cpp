#include "studies/settings/settings_openmpi.hpp"

#include "algorithms/common_options.hpp"

namespace forescale {
namespace {

struct KnownOpenMpi {
  CollectiveOp op;
  int id;
  const char* title;
  const char* plan;  // as parse_plan() reads it
  bool has_segments = false;
  LibraryLimits limits = {};
  bool mirrors_folded = false;
  const char* file = "";
};

// What is left out, and why, is in docs/settings.md.
const std::vector<KnownOpenMpi>& known_openmpi_algorithms() {
  constexpr const char* kAllReduce = "coll_base_allreduce.c";
  constexpr const char* kBroadcast = "coll_base_bcast.c";
  constexpr const char* kReduce = "coll_base_reduce.c";
  constexpr const char* kAllGather = "coll_base_allgather.c";
  static const std::vector<KnownOpenMpi> known = {
      {.op = CollectiveOp::kAllReduce,
       .id = 3,
       .title = "recursive doubling",
       .plan = "all-reduce/recursive-doubling",
       .mirrors_folded = true,
       .file = kAllReduce},
      {.op = CollectiveOp::kAllReduce,
       .id = 4,
       .title = "ring",
       .plan = "all-reduce/ring",
       .limits = {.one_element_a_rank = true},
       .file = kAllReduce},
      // Other rank counts fold halves of the vector, which no plan does.
      {.op = CollectiveOp::kAllReduce,
       .id = 6,
       .title = "Rabenseifner",
       .plan = "all-reduce/near-halving-doubling",
       .limits = {.power_of_two = true, .one_element_a_rank = true},
       .file = kAllReduce},
      {.op = CollectiveOp::kBroadcast,
       .id = 1,
       .title = "linear",
       .plan = "broadcast/flat",
       .file = kBroadcast},
      {.op = CollectiveOp::kBroadcast,
       .id = 3,
       .title = "pipeline",
       .plan = "broadcast/chain",
       .has_segments = true,
       .file = kBroadcast},
      {.op = CollectiveOp::kBroadcast,
       .id = 9,
       .title = "scatter, ring allgather",
       .plan = "broadcast/scatter-allgather",
       .limits = {.one_element_a_rank = true},
       .file = kBroadcast},
      {.op = CollectiveOp::kReduce,
       .id = 1,
       .title = "linear",
       .plan = "reduce/flat",
       .file = kReduce},
      {.op = CollectiveOp::kReduce,
       .id = 3,
       .title = "pipeline",
       .plan = "reduce/chain",
       .has_segments = true,
       .file = kReduce},
      {.op = CollectiveOp::kReduce,
       .id = 5,
       .title = "binomial",
       .plan = "reduce/binomial",
       .file = kReduce},
      {.op = CollectiveOp::kReduce,
       .id = 7,
       .title = "Rabenseifner",
       .plan = "reduce/near-scatter-gather",
       .limits = {.power_of_two = true, .one_element_a_rank = true},
       .file = kReduce},
      {.op = CollectiveOp::kAllGather,
       .id = 3,
       .title = "recursive doubling",
       .plan = "allgather/recursive-doubling",
       .limits = {.power_of_two = true, .one_element_a_rank = true},
       .file = kAllGather},
      {.op = CollectiveOp::kAllGather,
       .id = 4,
       .title = "ring",
       .plan = "allgather/ring",
       .limits = {.one_element_a_rank = true},
       .file = kAllGather},
      {.op = CollectiveOp::kReduceScatter,
       .id = 3,
       .title = "recursive halving",
       .plan = "reduce-scatter/halving",
       .limits = {.power_of_two = true, .one_element_a_rank = true},
       .file = "coll_base_reduce_scatter_block.c"},
      {.op = CollectiveOp::kAllToAll,
       .id = 2,
       .title = "pairwise",
       .plan = "all-to-all/pairwise",
       .limits = {.one_element_a_rank = true},
       .file = "coll_base_alltoall.c"}};
  return known;
}

LibraryAlgorithm algorithm_of(const KnownOpenMpi& known, std::int64_t segment_bytes) {
  LibraryAlgorithm algorithm{
      .op = known.op,
      .id = std::to_string(known.id),
      .title = known.title,
      .segment_bytes = known.has_segments ? segment_bytes : 0,
      .plan = parse_plan(known.plan, "Open MPI"),
      .limits = known.limits,
      .mirrors_folded = known.mirrors_folded,
      .source = std::string("open-mpi/ompi v4.1.4, ompi/mca/coll/base/") + known.file};
  if (algorithm.segment_bytes > 0)
    algorithm.plan.options.set(kChunkBytes.name, algorithm.segment_bytes);
  return algorithm;
}

}  // namespace

std::optional<LibraryAlgorithm> openmpi_algorithm(CollectiveOp op, const OpenMpiRule& rule) {
  for (const KnownOpenMpi& known : known_openmpi_algorithms())
    if (known.op == op && known.id == rule.algorithm &&
        (known.has_segments || rule.segment_bytes == 0))
      return algorithm_of(known, rule.segment_bytes);
  return std::nullopt;
}

std::vector<LibraryAlgorithm> openmpi_algorithms(CollectiveOp op) {
  constexpr std::int64_t kLeastSegment = 16 << 10;
  constexpr std::int64_t kLargestSegment = 4 << 20;
  std::vector<LibraryAlgorithm> algorithms;
  for (const KnownOpenMpi& known : known_openmpi_algorithms()) {
    if (known.op != op) continue;
    algorithms.push_back(algorithm_of(known, 0));
    for (std::int64_t bytes = kLeastSegment; known.has_segments && bytes <= kLargestSegment;
         bytes *= 2)
      algorithms.push_back(algorithm_of(known, bytes));
  }
  return algorithms;
}

}  // namespace forescale
