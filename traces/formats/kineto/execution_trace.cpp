#include "traces/formats/kineto/execution_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/error.hpp"
#include "traces/formats/kineto/kineto_event.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

// Bytes of all tensors in nested lists of extents, all of one type; -1 where it cannot be told.
std::int64_t bytes_of(dom::element shapes, std::int64_t element_bytes) {
  dom::array list;
  if (shapes.get(list) != simdjson::SUCCESS || list.size() == 0) return -1;
  std::int64_t product = element_bytes;
  std::int64_t sum = 0;
  bool is_shape = true;
  for (const dom::element entry : list) {
    std::int64_t extent = 0;
    if (entry.get(extent) == simdjson::SUCCESS) {
      if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) return -1;
      continue;
    }
    is_shape = false;
    const std::int64_t bytes = bytes_of(entry, element_bytes);
    if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum)) return -1;
  }
  return is_shape ? product : sum;
}

struct Node {
  std::int64_t id = 0;
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = -1;
};

struct Nodes {
  std::vector<Node> collectives;
  std::vector<Node> gradients;
};

// Bytes of a node's first operand.
std::int64_t operand_bytes(dom::element node) {
  dom::element shapes;
  dom::element types;
  const bool is_flat = node["input_shapes"].get(shapes) == simdjson::SUCCESS &&
                       node["input_types"].get(types) == simdjson::SUCCESS;
  if (!is_flat && (node["inputs"]["shapes"].get(shapes) != simdjson::SUCCESS ||
                   node["inputs"]["types"].get(types) != simdjson::SUCCESS))
    return -1;
  dom::element shape;
  std::string_view type;
  if (shapes.at(0).get(shape) != simdjson::SUCCESS || types.at(0).get(type) != simdjson::SUCCESS)
    return -1;
  // "GenericList[Tensor(float)]"
  const size_t begin = type.find("Tensor(");
  const size_t end = type.find(')', begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return -1;
  const auto element_bytes = bytes_of_type(type.substr(begin + 7, end - begin - 7));
  return element_bytes ? bytes_of(shape, *element_bytes) : -1;
}

Nodes read_nodes(const std::string& file) {
  TraceInput input(file);
  JsonScan scan(input, "nodes");
  dom::parser parser;
  Nodes nodes;
  while (scan.next()) {
    if (!scan.key().empty()) continue;
    const dom::element element = parse_value(scan, parser);
    std::string_view name;
    Node node;
    if (element["name"].get(name) != simdjson::SUCCESS ||
        element["id"].get(node.id) != simdjson::SUCCESS)
      scan.fail("", "must be a node with a name and an id");
    if (name == "torch::autograd::AccumulateGrad") {
      node.bytes = operand_bytes(element);
      nodes.gradients.push_back(node);
    } else if (name.substr(0, 6) == "c10d::") {
      const auto op = collective_of(name);
      if (!op) continue;
      node.op = *op;
      node.bytes = operand_bytes(element);
      nodes.collectives.push_back(node);
    }
  }
  for (std::vector<Node>* list : {&nodes.collectives, &nodes.gradients})
    std::sort(list->begin(), list->end(), [](const Node& a, const Node& b) { return a.id < b.id; });
  return nodes;
}

}  // namespace

bool is_execution_trace(const std::string& head) {
  return head.find("\"schema\"") != std::string::npos &&
         head.find("\"nodes\"") != std::string::npos &&
         head.find("\"traceEvents\"") == std::string::npos;
}

void add_execution_trace(const std::string& file, MeasuredRank& rank) {
  const Nodes nodes = read_nodes(file);
  const size_t period = nodes.collectives.size();
  if (period == 0 || rank.collectives.size() % period != 0)
    refuse(file, "",
           fmt::format("has {} collectives, the timeline {} has {}: they must be so many, or "
                       "a multiple",
                       period, rank.file, rank.collectives.size()));
  for (size_t i = 0; i < rank.collectives.size(); ++i) {
    const Node& node = nodes.collectives[i % period];
    MeasuredCollective& collective = rank.collectives[i];
    if (node.op != collective.op)
      refuse(file, "",
             fmt::format("has {} as collective {}, the timeline {} has {}", name_of(node.op),
                         i % period, rank.file, name_of(collective.op)));
    if (collective.bytes < 0) collective.bytes = node.bytes;
  }
  const size_t gradients = nodes.gradients.size();
  if (gradients == 0 || rank.gradients.size() % gradients != 0) {
    rank.notes.push_back(fmt::format("{}: gradients are not those of {}: buckets cannot be changed",
                                     file, rank.file));
    return;
  }
  for (size_t i = 0; i < rank.gradients.size(); ++i)
    rank.gradients[i].bytes = nodes.gradients[i % gradients].bytes;
}

}  // namespace forescale
