#include "models/stack_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

Seconds seconds_or_zero(const JsonInput& in, const char* key) {
  const auto value = in.find(key);
  return value ? value->seconds() : Seconds{0};
}

std::int64_t limit_bytes(const JsonInput& in) {
  const auto value = in.find("up_to_bytes");
  return value ? value->bytes().value : std::numeric_limits<std::int64_t>::max();
}

constexpr size_t kProtocolsMax = 64;

// Of a path: the stack knows it from then on.
int make_protocol(const JsonInput& in, std::vector<std::string>& protocols) {
  const std::string name = in.string();
  if (name.empty()) in.fail("must not be empty");
  const auto known = std::find(protocols.begin(), protocols.end(), name);
  if (known != protocols.end()) return static_cast<int>(known - protocols.begin());
  if (protocols.size() == kProtocolsMax) in.fail("is one protocol too many");
  protocols.push_back(name);
  return static_cast<int>(protocols.size()) - 1;
}

BufferPlace read_place(const JsonInput& in) {
  return in.one_of({"gpu", "host"}) == "gpu" ? BufferPlace::kGpu : BufferPlace::kHost;
}

}  // namespace

int known_protocol(const JsonInput& in, const std::vector<std::string>& protocols) {
  const std::vector<std::string> names(protocols.begin() + 1, protocols.end());
  const auto known = std::find(names.begin(), names.end(), in.string());
  if (known == names.end()) in.fail("is of no path; it is " + unknown_name(in.string(), names));
  return static_cast<int>(known - names.begin()) + 1;
}

BytesPerSecond cap_or_none(const JsonInput& in, const char* key) {
  const auto value = in.find(key);
  return value ? value->bandwidth() : BytesPerSecond{0};
}

PathRule read_path(const JsonInput& in, std::vector<std::string>& protocols) {
  in.allow_only({"where",
                 "protocol",
                 "wire_factor",
                 "by_rail",
                 "buffers",
                 "up_to_bytes",
                 "mechanism",
                 "o_send_s",
                 "o_recv_s",
                 "o_proxy_s",
                 "latency_s",
                 "connection_cap_bytes_per_s",
                 "channel_cap_bytes_per_s",
                 "read_cap_bytes_per_s",
                 "write_cap_bytes_per_s",
                 "duplex_cap_bytes_per_s",
                 "pair_cap_bytes_per_s",
                 "fabric_cap_bytes_per_s",
                 "segment_bytes",
                 "segment_overhead_s",
                 "through_nic"});
  PathRule rule;
  rule.where = in.at("where").one_of({"any", "peer", "cross-socket", "inter-node"});
  if (const auto protocol = in.find("protocol"))
    rule.protocol = make_protocol(*protocol, protocols);
  rule.buffers = read_place(in.at("buffers"));
  rule.up_to_bytes = limit_bytes(in);
  rule.staged = in.at("mechanism").one_of({"direct", "staged"}) == "staged";
  if (rule.staged && rule.buffers == BufferPlace::kHost)
    in.at("mechanism").fail("must be \"direct\" for buffers in host memory");
  if (const auto nic = in.find("through_nic")) rule.through_nic = nic->boolean();
  if (rule.through_nic && rule.buffers != BufferPlace::kHost)
    in.at("through_nic").fail("must be false for buffers in GPU memory");
  rule.o_send = seconds_or_zero(in, "o_send_s");
  rule.o_recv = seconds_or_zero(in, "o_recv_s");
  rule.o_proxy = seconds_or_zero(in, "o_proxy_s");
  rule.latency = seconds_or_zero(in, "latency_s");
  rule.connection_cap = cap_or_none(in, "connection_cap_bytes_per_s");
  rule.channel_cap = cap_or_none(in, "channel_cap_bytes_per_s");
  rule.read_cap = cap_or_none(in, "read_cap_bytes_per_s");
  rule.write_cap = cap_or_none(in, "write_cap_bytes_per_s");
  rule.duplex_cap = cap_or_none(in, "duplex_cap_bytes_per_s");
  rule.pair_cap = cap_or_none(in, "pair_cap_bytes_per_s");
  rule.fabric_cap = cap_or_none(in, "fabric_cap_bytes_per_s");
  if (rule.staged &&
      (rule.read_cap.value > 0 || rule.write_cap.value > 0 || rule.duplex_cap.value > 0 ||
       rule.pair_cap.value > 0 || rule.channel_cap.value > 0))
    in.fail(
        "must be \"direct\" to have read_cap_bytes_per_s, write_cap_bytes_per_s, "
        "duplex_cap_bytes_per_s, pair_cap_bytes_per_s or channel_cap_bytes_per_s");
  if (rule.staged) {
    rule.segment = in.at("segment_bytes").bytes(1);
    rule.segment_overhead = in.at("segment_overhead_s").seconds();
    if (rule.o_proxy.value > 0) in.at("o_proxy_s").fail("must be 0 for a staged path");
  } else if (in.has("segment_bytes") || in.has("segment_overhead_s")) {
    in.fail("must be \"staged\" to have segments");
  }
  if (const auto rail = in.find("by_rail")) {
    rule.by_rail = rail->boolean();
    if (rule.by_rail && (rule.staged || rule.buffers != BufferPlace::kGpu))
      rail->fail("must be false but for direct paths of buffers in GPU memory");
  }
  if (const auto factor = in.find("wire_factor")) {
    constexpr double kLeast = 0.01;
    constexpr double kMost = 100;
    if (rule.staged) factor->fail("must not be given for a staged path");
    rule.wire_factor = factor->factor(kLeast, kMost);
  }
  return rule;
}

ReductionRule read_reduction(const JsonInput& in) {
  in.allow_only({"place", "overlaps_transfer", "overhead_s", "rate_bytes_per_s"});
  ReductionRule rule;
  const std::string place = in.at("place").one_of({"free", "gpu", "cpu", "fixed"});
  rule.place = place == "free"  ? ReductionPlace::kFree
               : place == "gpu" ? ReductionPlace::kGpu
               : place == "cpu" ? ReductionPlace::kCpu
                                : ReductionPlace::kFixed;
  rule.overlaps_transfer = in.at("overlaps_transfer").boolean();
  if (rule.place == ReductionPlace::kFixed) {
    rule.overhead = in.at("overhead_s").seconds();
    rule.rate = in.at("rate_bytes_per_s").bandwidth();
  }
  return rule;
}

std::vector<std::string> with_call_range(std::vector<std::string> keys) {
  keys.insert(keys.end(),
              {"up_to_ranks", "from_nodes", "up_to_nodes", "ranks_per_node", "up_to_bytes"});
  return keys;
}

CallRange read_call_range(const JsonInput& in) {
  CallRange range;
  const auto read = [&](const char* key, int& number) {
    if (const auto given = in.find(key)) number = static_cast<int>(given->integer(1, 1 << 30));
  };
  read("up_to_ranks", range.up_to_ranks);
  read("from_nodes", range.from_nodes);
  read("up_to_nodes", range.up_to_nodes);
  read("ranks_per_node", range.ranks_per_node);
  range.up_to_bytes = limit_bytes(in);
  return range;
}

RankOrders read_orders(const JsonInput& in) {
  constexpr size_t kOrdersMax = 128;
  RankOrders orders;
  for (const JsonInput& element : in.elements()) {
    std::vector<int> order;
    std::vector<char> seen(element.elements().size(), 0);
    for (const JsonInput& rank : element.elements()) {
      const auto number = rank.integer(0, static_cast<std::int64_t>(seen.size()) - 1);
      if (seen[static_cast<size_t>(number)] != 0) rank.fail("must not be there twice");
      seen[static_cast<size_t>(number)] = 1;
      order.push_back(static_cast<int>(number));
    }
    if (order.empty() || (!orders.empty() && order.size() != orders.front().size()))
      element.fail("must be as long as the other orders, one rank at least");
    orders.push_back(order);
  }
  if (orders.empty() || orders.size() > kOrdersMax)
    in.fail(fmt::format("must have 1 to {} orders", kOrdersMax));
  return orders;
}

SelectionRule read_selection(const JsonInput& in, const Stack& stack) {
  in.allow_only(with_plan_options(
      with_call_range({"protocol", "orders", "algorithm", "through_host",
                       "through_host_bytes_per_s", "default_stream", "call_overhead_s"})));
  SelectionRule rule;
  static_cast<CallRange&>(rule) = read_call_range(in);
  rule.algorithm = in.at("algorithm").string();
  rule.options = read_plan_options(in);
  if (const auto host = in.find("through_host")) rule.through_host = host->boolean();
  rule.through_host_bandwidth = cap_or_none(in, "through_host_bytes_per_s");
  if (const auto stream = in.find("default_stream")) rule.default_stream = stream->boolean();
  if (const auto overhead = in.find("call_overhead_s")) rule.call_overhead = overhead->seconds();
  if (const auto protocol = in.find("protocol"))
    rule.protocol = known_protocol(*protocol, stack.protocols);
  if (const auto orders = in.find("orders")) {
    if (rule.through_host) orders->fail("must not be given with through_host");
    const auto known = stack.orders.find(orders->string());
    if (known == stack.orders.end()) {
      std::vector<std::string> names;
      for (const auto& [name, named] : stack.orders) names.push_back(name);
      orders->fail("is none of \"/orders\"; it is " + unknown_name(orders->string(), names));
    }
    rule.orders = known->second;
  }
  return rule;
}

}  // namespace forescale
