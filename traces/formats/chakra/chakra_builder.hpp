// Nodes of a Chakra trace, in whichever encoding, become those of a ChakraRank.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/formats/chakra/chakra_rank.hpp"

namespace forescale {

// As the trace says it; nothing: it does not.
struct ChakraFields {
  std::uint64_t id = 0;
  std::string name = {};
  std::int64_t type = 0;  // NodeType of the schema
  std::vector<std::uint64_t> data_needs = {};
  std::vector<std::uint64_t> control_needs = {};
  std::uint64_t start_us = 0;
  std::uint64_t duration_us = 0;
  std::string inputs = {};
  std::optional<bool> is_cpu_op = {};
  std::optional<std::int64_t> comm_type = {};
  std::optional<std::int64_t> comm_size = {};
  std::optional<std::int64_t> comm_src = {};
  std::optional<std::int64_t> comm_dst = {};
  std::optional<std::int64_t> comm_tag = {};
  std::optional<std::int64_t> tensor_size = {};
  std::optional<std::int64_t> stream = {};
  std::optional<std::int64_t> tid = {};
  std::optional<double> num_ops = {};
  std::string pg_name = {};
  bool is_partial = false;  // not of all dimensions of the platform
};

class ChakraBuilder {
 public:
  // `flops_per_s`: 0 where the user has not said it.
  ChakraBuilder(const std::string& file, double flops_per_s);

  // Control dependencies of traces that were made of PyTorch's say who called whom.
  void set_from_pytorch() { is_from_pytorch_ = true; }
  void set_world_size(std::int64_t ranks, const std::string& path);
  // InputError naming `path`, the node's place in the file.
  void add(const ChakraFields& fields, const std::string& path);
  ChakraRank finish() { return std::move(rank_); }

 private:
  [[noreturn]] void fail(const std::string& path, const std::string& value,
                         const std::string& constraint) const;
  [[noreturn]] void fail_node(const std::string& constraint) const;
  void classify(ChakraNode& node);
  void task(ChakraNode& node, ChakraNode::Kind on_gpu);
  double duration_s() const;
  void copy(ChakraNode& node);
  void message(ChakraNode& node, bool sends);
  void collective(ChakraNode& node);
  void left_out(ChakraNode& node);
  std::int64_t bytes(std::int64_t value) const;
  std::int32_t place(bool on_gpu);
  std::int32_t label(const std::string& name);
  void process_groups();

  double flops_per_s_;
  bool is_from_pytorch_ = false;
  ChakraRank rank_;
  std::unordered_map<std::string_view, std::int32_t> label_of_;  // into rank_.labels
  std::map<std::pair<bool, std::int64_t>, std::int32_t> place_of_;
  std::map<std::string, std::int32_t> group_of_{{"", 0}};
  const ChakraFields* fields_ = nullptr;  // those being added
  const std::string* path_ = nullptr;
};

}  // namespace forescale
