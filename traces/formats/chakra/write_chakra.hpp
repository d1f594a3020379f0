// Chakra execution traces (protobuf) of a program, as ASTRA-sim reads them: one file a rank.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "traces/program/program_tasks.hpp"

namespace forescale {

class ChakraWriter {
 public:
  explicit ChakraWriter(const Program& program) : program_(program) {}

  // Nodes of one rank: kernels and the host's work with their durations, collectives with their
  // group, sends and receives. Ranks in order.
  void write_rank(int rank, std::ostream& out);

  // ASTRA-sim's --comm-group-configuration: members by the group's name ("1", ...) of all ranks
  // written so far. The group of all ranks has none.
  std::string groups_json() const;

  // What the format does not hold.
  std::vector<std::string> notes() const;

 private:
  std::string group_name(const std::vector<int>& members);

  const Program& program_;
  std::map<std::vector<int>, int> groups_;
  std::uint64_t rooted_ = 0;
  std::uint64_t choices_ = 0;
};

}  // namespace forescale
