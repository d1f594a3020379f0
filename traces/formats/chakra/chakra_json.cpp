// Chakra's JSON form: {"workload_graph": [nodes], "ngpus": 8}, with the keys that Chakra's own
// feeder reads (JSONNode).
#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.hpp"
#include "traces/formats/chakra/chakra_builder.hpp"
#include "traces/formats/chakra/chakra_read.hpp"
#include "traces/formats/json_scan.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

class NodeReader {
 public:
  explicit NodeReader(const JsonScan& scan) : scan_(scan) {}

  dom::element parse() {
    dom::element element;
    const std::string& text = scan_.text();
    const auto error = parser_.parse(text.data(), text.size(), false).get(element);
    if (error != simdjson::SUCCESS)
      scan_.fail(text.substr(0, 40), std::string("is no JSON: ") + simdjson::error_message(error));
    return element;
  }

  ChakraFields fields() {
    const dom::element node = parse();
    dom::object object;
    if (node.get(object) != simdjson::SUCCESS) scan_.fail("", "a node must be an object");
    ChakraFields fields;
    if (object["Id"].get(fields.id) != simdjson::SUCCESS) scan_.fail("Id", "must be a number");
    if (object["NodeType"].get(fields.type) != simdjson::SUCCESS)
      scan_.fail("NodeType", "must be a number");
    if (std::string_view name; object["Name"].get(name) == simdjson::SUCCESS) fields.name = name;
    if (std::string_view name; object["pg_name"].get(name) == simdjson::SUCCESS)
      fields.pg_name = name;
    if (bool flag = false; object["is_cpu_op"].get(flag) == simdjson::SUCCESS)
      fields.is_cpu_op = flag;
    fields.data_needs = ids(object, "data_deps");
    fields.duration_us = static_cast<std::uint64_t>(number(object, "runtime").value_or(0));
    for (const auto& [key, value] :
         {std::pair("comm_type", &fields.comm_type), std::pair("comm_size", &fields.comm_size),
          std::pair("comm_src", &fields.comm_src), std::pair("comm_dst", &fields.comm_dst),
          std::pair("comm_tag", &fields.comm_tag), std::pair("tensor_size", &fields.tensor_size),
          std::pair("tid", &fields.tid)})
      *value = number(object, key);
    if (const auto operations = number(object, "num_ops"))
      fields.num_ops = static_cast<double>(*operations);
    return fields;
  }

 private:
  // None of them may be below 0.
  std::optional<std::int64_t> number(const dom::object& object, const char* key) const {
    const auto found = object[key];
    if (found.error() != simdjson::SUCCESS) return std::nullopt;
    std::int64_t value = 0;
    if (found.get(value) != simdjson::SUCCESS || value < 0)
      scan_.fail(key, "must be a whole number, 0 or more");
    return value;
  }

  std::vector<std::uint64_t> ids(const dom::object& object, const char* key) const {
    std::vector<std::uint64_t> found;
    dom::array list;
    if (object[key].error() != simdjson::SUCCESS) return found;
    if (object[key].get(list) != simdjson::SUCCESS) scan_.fail(key, "must be a list");
    for (const dom::element element : list)
      if (element.get(found.emplace_back()) != simdjson::SUCCESS)
        scan_.fail(key, "must be a list of nodes' numbers");
    return found;
  }

  const JsonScan& scan_;
  dom::parser parser_;
};

}  // namespace

bool is_chakra_json(const std::string& head) {
  return head.find_first_not_of(" \t\r\n") == head.find('{') &&
         head.find("\"workload_graph\"") != std::string::npos;
}

ChakraRank read_chakra_json(const std::string& file, double flops_per_s) {
  TraceInput input(file);
  JsonScan scan(input, "workload_graph");
  NodeReader reader(scan);
  ChakraBuilder builder(file, flops_per_s);
  while (scan.next()) {
    const std::string path = fmt::format("byte {}", scan.position());
    if (scan.key().empty()) {
      builder.add(reader.fields(), path);
    } else if (std::int64_t ranks = 0;
               scan.key() == "ngpus" && reader.parse().get(ranks) == simdjson::SUCCESS) {
      builder.set_world_size(ranks, path);
    }
  }
  return builder.finish();
}

}  // namespace forescale
