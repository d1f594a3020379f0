// GOAL, the text form of LogGOPSim's schedules: a graph of tasks for every rank. Grammar:
// github.com/spcl/LogGOPSim, src/LogGOPSim/txt2bin.re.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/formats/trace_lines.hpp"

namespace forescale {

struct GoalTask {
  enum class Kind : std::uint8_t { kCompute, kSend, kReceive };
  std::uint64_t amount = 0;  // units of time, or bytes
  int peer = 0;
  int tag = 0;
  std::uint32_t line = 0;
  std::uint16_t cpu = 0;  // whose tasks run one after the other
  Kind kind = Kind::kCompute;
};

struct GoalDependency {
  std::uint32_t task = 0;
  std::uint32_t on = 0;
  bool on_start = false;  // "irequires": that it has started; else that it is done
};

struct GoalRank {
  int number = 0;
  std::vector<GoalTask> tasks;
  std::vector<GoalDependency> dependencies;
};

class GoalReader {
 public:
  // InputError where the file does not begin with the number of ranks.
  explicit GoalReader(const std::string& file);

  int rank_count() const { return rank_count_; }
  // The next rank of the file, in its order; nothing at the end. InputError for what txt2bin would
  // not take.
  std::optional<GoalRank> next_rank();
  [[noreturn]] void fail(std::uint32_t line, const std::string& constraint) const;

 private:
  // The next word of the line: a name, a number with its sign, or one other character; empty at its
  // end. Comments are passed over.
  std::string_view take();
  bool next_statement();  // moves to the next line that has a word, unless this one has more
  void expect(std::string_view word);
  void expect_end();
  std::uint64_t take_number(std::uint64_t most);
  std::uint32_t take_label();
  void read_statement(GoalRank& rank, std::string_view first);
  void read_task(GoalRank& rank, std::string_view what);
  void read_message(GoalTask& task);
  void read_options(GoalTask& task);
  bool is_any_next() const;
  int number_of_tag(std::uint64_t tag);

  TraceLines lines_;
  std::string_view rest_;  // of the line
  std::string_view word_;  // read last
  bool in_comment_ = false;
  int rank_count_ = 0;
  std::vector<bool> seen_;
  std::unordered_map<std::string, std::uint32_t> labels_;  // of the rank
  std::unordered_map<std::uint64_t, int> large_tags_;
};

}  // namespace forescale
