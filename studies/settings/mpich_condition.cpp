#include "studies/settings/mpich_condition.hpp"

#include <bit>
#include <charconv>
#include <utility>

#include "studies/settings/settings_mpich.hpp"

namespace forescale {
namespace {

bool is_power_of_two(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)); }

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "comm_size<=8" of "comm_size" and 8; nothing when the condition is about something else.
std::optional<bool> compared(const std::string& condition, const std::string& name,
                             std::int64_t value) {
  if (!condition.starts_with(name)) return std::nullopt;
  const std::string rest = condition.substr(name.size());
  const bool is_inclusive = rest.starts_with("<=");
  if (!is_inclusive && !rest.starts_with("<")) return std::nullopt;
  const auto limit = number_in(rest.substr(is_inclusive ? 2 : 1));
  if (!limit) return std::nullopt;
  return is_inclusive ? value <= *limit : value < *limit;
}

std::int64_t count_of(const MpichCall& call) {
  const bool is_block =
      call.op == CollectiveOp::kAllGather || call.op == CollectiveOp::kReduceScatter;
  return call.bytes / 4 / (is_block ? call.ranks : 1);
}

std::int64_t total_size(const MpichCall& call) {
  const bool has_vector_each = call.op == CollectiveOp::kAllReduce ||
                               call.op == CollectiveOp::kBroadcast ||
                               call.op == CollectiveOp::kReduce;
  return has_vector_each ? call.bytes * call.ranks : call.bytes;
}

}  // namespace

std::optional<bool> is_met_in_mpich(const std::string& condition, const MpichCall& call) {
  if (condition.ends_with("=any")) return true;
  if (condition.starts_with("collective="))
    return mpich_name(call.op) && condition == "collective=" + *mpich_name(call.op);
  if (condition == "comm_type=intra") return true;
  if (condition == "comm_type=inter") return false;
  if (condition == "comm_size=pow2") return is_power_of_two(call.ranks);
  if (condition == "comm_size=node_comm_size") return false;
  if (condition == "comm_hierarchy=flat") return true;
  if (condition.starts_with("comm_hierarchy=")) return false;
  if (condition == "count<pow2")
    return count_of(call) <
           static_cast<std::int64_t>(std::bit_floor(static_cast<unsigned>(call.ranks)));
  for (const char* yes :
       {"is_commutative", "is_op_built_in", "is_block_regular", "is_node_consecutive"}) {
    if (condition == std::string(yes) + "=yes") return true;
    if (condition == std::string(yes) + "=no") return false;
  }
  for (const char* no : {"is_sendbuf_inplace", "is_multi_threaded"}) {
    if (condition == std::string(no) + "=yes") return false;
    if (condition == std::string(no) + "=no") return true;
  }
  for (const auto& [name, value] : {std::pair<const char*, std::int64_t>{"comm_size", call.ranks},
                                    {"avg_msg_size", call.bytes},
                                    {"total_msg_size", total_size(call)},
                                    {"count", count_of(call)},
                                    {"comm_avg_ppn", 1}})
    if (const auto met = compared(condition, name, value)) return met;
  return std::nullopt;
}

bool is_mpich_threshold(const std::string& condition) {
  return !condition.ends_with("=any") &&
         (condition.starts_with("comm_size") || condition.starts_with("comm_avg_ppn") ||
          condition.starts_with("avg_msg_size") || condition.starts_with("total_msg_size") ||
          condition.starts_with("count"));
}

}  // namespace forescale
