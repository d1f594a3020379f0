#include "algorithms/collective.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/levels.hpp"
#include "base/error.hpp"
#include "base/registry.hpp"

namespace forescale {
namespace {

struct OpName {
  CollectiveOp op;
  const char* name;
};
constexpr std::array<OpName, 8> kOpNames = {{{CollectiveOp::kReduce, "reduce"},
                                             {CollectiveOp::kBroadcast, "broadcast"},
                                             {CollectiveOp::kAllReduce, "all-reduce"},
                                             {CollectiveOp::kReduceScatter, "reduce-scatter"},
                                             {CollectiveOp::kAllGather, "allgather"},
                                             {CollectiveOp::kGather, "gather"},
                                             {CollectiveOp::kScatter, "scatter"},
                                             {CollectiveOp::kAllToAll, "all-to-all"}}};

void require(bool holds, const char* option, std::int64_t value, const std::string& constraint) {
  if (holds) return;
  throw InputError(
      {.source = option, .path = "", .value = std::to_string(value), .constraint = constraint});
}

}  // namespace

const char* name_of(CollectiveOp op) {
  for (const OpName& entry : kOpNames)
    if (entry.op == op) return entry.name;
  FORESCALE_CHECK(false, "unknown collective operation");
}

CollectiveOp parse_collective_op(const std::string& text, const std::string& source) {
  std::vector<std::string> names;
  for (const OpName& entry : kOpNames) {
    if (text == entry.name) return entry.op;
    names.emplace_back(entry.name);
  }
  throw InputError(
      {.source = source, .path = "", .value = text, .constraint = unknown_name(text, names)});
}

const std::vector<CollectiveOp>& all_collective_ops() {
  static const std::vector<CollectiveOp> ops = [] {
    std::vector<CollectiveOp> list;
    for (const OpName& entry : kOpNames) list.push_back(entry.op);
    return list;
  }();
  return ops;
}

bool has_root(CollectiveOp op) {
  return op == CollectiveOp::kReduce || op == CollectiveOp::kBroadcast ||
         op == CollectiveOp::kGather || op == CollectiveOp::kScatter;
}

std::int64_t buffer_bytes(CollectiveOp op, const CollectiveCall& call, int rank) {
  if (op != CollectiveOp::kAllToAll) return call.bytes;
  return call.bytes +
         call.rank_count * block_range(call.bytes, call.rank_count, rank, call.element_bytes).bytes;
}

bool register_collective(Collective collective) {
  collective.name = std::string(name_of(collective.op)) + "/" + collective.algorithm;
  FORESCALE_CHECK(collective.plan != nullptr, collective.name + " has no plan");
  FORESCALE_CHECK(collective.closed_form != nullptr, collective.name + " has no closed form");
  return Registry<Collective>::add(std::move(collective));
}

const Collective& find_collective(CollectiveOp op, const std::string& algorithm,
                                  const std::string& source) {
  std::vector<std::string> algorithms;
  for (const auto& [name, collective] : Registry<Collective>::all()) {
    if (collective.op != op) continue;
    if (collective.algorithm == algorithm) return collective;
    algorithms.push_back(collective.algorithm);
  }
  throw InputError({.source = source,
                    .path = "",
                    .value = algorithm,
                    .constraint = unknown_name(algorithm, algorithms)});
}

std::vector<const Collective*> all_collectives() {
  std::vector<const Collective*> list;
  for (const auto& [name, collective] : Registry<Collective>::all()) list.push_back(&collective);
  return list;
}

void check_call(const Collective& collective, const CollectiveCall& call) {
  require(call.rank_count >= 1, "--ranks", call.rank_count, "must be >= 1");
  require(call.bytes >= 0, "--bytes", call.bytes, "must be >= 0");
  require(call.root >= 0 && call.root < call.rank_count, "--root", call.root,
          fmt::format("must be >= 0 and below the {} ranks", call.rank_count));
  require(call.element_bytes >= 1, "--element-bytes", call.element_bytes, "must be >= 1");
  require(call.options.chunk_bytes >= 0, "--chunk-bytes", call.options.chunk_bytes, "must be >= 1");
  require(call.options.chain_size >= 1, "--chain-size", call.options.chain_size, "must be >= 1");
  if (!call.options.levels.empty()) parse_levels(call.options.levels, "--levels");
  if (collective.refuse == nullptr) return;
  if (const std::string reason = collective.refuse(call); !reason.empty())
    throw InputError(
        {.source = "--algorithm", .path = "", .value = collective.algorithm, .constraint = reason});
}

std::int64_t chunk_count(const CollectiveCall& call) { return chunks_of_call(call).count(); }

ByteRange chunk_range(const CollectiveCall& call, std::int64_t chunk) {
  return chunks_of_call(call).at(chunk);
}

}  // namespace forescale
