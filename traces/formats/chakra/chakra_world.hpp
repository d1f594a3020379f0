// The ranks of Chakra traces together: how many there are, process groups, and whether the n-th
// collective of a group and the messages are the same on all sides.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "algorithms/worker.hpp"
#include "traces/formats/chakra/chakra_graph.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {

struct ChakraFile {
  ChakraRank rank;
  ChakraGraph graph;
};

class ChakraWorld {
 public:
  // InputError where files contradict each other, are missing, or do not say what is needed.
  ChakraWorld(const std::vector<ChakraFile>& files, const ImportOptions& options);

  int rank_count() const { return rank_count_; }
  // Of the ranks that were traced; as forescale sizes that operation.
  std::int64_t traced_bytes(const ChakraFile& file, const ChakraNode& node) const;
  CollectiveStep step(const ChakraFile& file, const ChakraNode& node) const;
  // Of a message between two ranks: messages of one tag have one size.
  int tag(int source, int destination, const ChakraNode& node) const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Group {
    std::vector<int> ranks;      // empty: all
    RankGroup shared = nullptr;  // null: all
    int communicator = 0;
  };

  void count_ranks(const ImportOptions& options);
  void find_groups();
  std::vector<int> members_of(const std::string& name);
  std::vector<int> users_of(const std::string& name) const;
  void check_members(const ChakraFile& file, int rank, const std::string& name) const;
  void check_replication() const;
  void check_collectives() const;
  void check_messages();
  const Group& group_of(const ChakraFile& file, const ChakraNode& node) const;
  bool has(ChakraNode::Kind kind) const;

  const std::vector<ChakraFile>& files_;
  int rank_count_ = 1;
  int traced_count_ = 1;
  std::map<std::string, Group> groups_;
  // By (source, destination): tag and bytes, and how many more were sent than received.
  std::map<std::pair<int, int>, std::map<std::pair<std::uint64_t, std::int64_t>, std::int64_t>>
      messages_;
  std::vector<std::string> notes_;
};

}  // namespace forescale
