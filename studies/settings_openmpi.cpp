#include "studies/settings_openmpi.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "models/error.hpp"

namespace forescale {
namespace {

constexpr int kOperations = 22;  // ids 0 to 21, of which the last five are neighbourhood's

struct Known {
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
const std::vector<Known>& known_algorithms() {
  constexpr const char* kAllReduce = "coll_base_allreduce.c";
  constexpr const char* kBroadcast = "coll_base_bcast.c";
  constexpr const char* kReduce = "coll_base_reduce.c";
  constexpr const char* kAllGather = "coll_base_allgather.c";
  static const std::vector<Known> known = {
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

LibraryAlgorithm algorithm_of(const Known& known, std::int64_t segment_bytes) {
  LibraryAlgorithm algorithm{
      .op = known.op,
      .id = std::to_string(known.id),
      .title = known.title,
      .segment_bytes = known.has_segments ? segment_bytes : 0,
      .plan = parse_plan(known.plan, "Open MPI"),
      .limits = known.limits,
      .mirrors_folded = known.mirrors_folded,
      .source = std::string("open-mpi/ompi v4.1.4, ompi/mca/coll/base/") + known.file};
  algorithm.plan.options.chunk_bytes = algorithm.segment_bytes;
  return algorithm;
}

// Algorithms of coll/tuned 4.1, by id; a larger number ends the program.
int largest_algorithm(int id) {
  static const std::map<int, int> largest = {{0, 6},  {2, 6},  {3, 5},  {7, 9}, {9, 3},
                                             {11, 7}, {12, 4}, {13, 4}, {15, 3}};
  const auto found = largest.find(id);
  return found == largest.end() ? std::numeric_limits<int>::max() : found->second;
}

class Numbers {
 public:
  Numbers(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  // Takes the header of the second version, if it is there.
  bool take_header() {
    constexpr std::string_view kHeader = "rule-file-version-";
    if (!text_.starts_with(kHeader)) return false;
    at_ = kHeader.size();
    const std::int64_t version = next("the version of the file", 1, 1 << 30);
    if (version != 2) fail(std::to_string(version), "must be version 2");
    return true;
  }

  std::int64_t next(const std::string& what, std::int64_t min, std::int64_t max) {
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != '#') ++at_;
    const std::string word = text_.substr(begin, at_ - begin);
    if (word.empty()) fail("", fmt::format("ends before {}: Open MPI would ignore it", what));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      fail(word, fmt::format("must be {}, a whole number", what));
    if (word.size() > 1 && word.front() == '0')
      fail(word, "must not begin with 0: Open MPI reads it as octal");
    if (value < min || value > max) fail(word, fmt::format("must be {}, {} to {}", what, min, max));
    return value;
  }

  // Whether another number stands on this line.
  bool has_more_on_line() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  }

  void expect_end() {
    skip_blanks();
    if (at_ < text_.size())
      fail(text_.substr(at_, text_.find('\n', at_) - at_), "is behind the last rule");
  }

  [[noreturn]] void fail(const std::string& value, const std::string& constraint) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(at_), '\n');
    throw InputError({.source = file_,
                      .path = fmt::format("line {}", line),
                      .value = value,
                      .constraint = constraint});
  }

 private:
  static bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
  void skip_blanks() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '#')) {
      if (text_[at_] == '#')
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      else
        ++at_;
    }
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
};

std::vector<OpenMpiRule> read_sizes(Numbers& numbers, int id, int version) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::vector<OpenMpiRule> rules;
  const std::int64_t count = numbers.next("the number of sizes", 0, 1 << 20);
  for (std::int64_t i = 0; i < count; ++i) {
    OpenMpiRule rule;
    rule.bytes = numbers.next("a message size", 0, std::numeric_limits<std::int64_t>::max());
    if (i == 0 && rule.bytes != 0)
      numbers.fail(std::to_string(rule.bytes),
                   "must be 0, the first size of a rank count: else Open MPI ignores the file");
    if (i > 0 && rule.bytes <= rules.back().bytes)
      numbers.fail(std::to_string(rule.bytes), "must be larger than the size before");
    rule.algorithm =
        static_cast<int>(numbers.next("an algorithm of the operation", 0, largest_algorithm(id)));
    rule.fan_out = static_cast<int>(numbers.next("a fan-out", 0, kMost));
    rule.segment_bytes = numbers.next("a segment size", 0, kMost);
    if (version > 1 && numbers.has_more_on_line())
      rule.max_requests = static_cast<int>(numbers.next("a number of requests", 0, kMost));
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace

std::optional<int> openmpi_id(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllGather:
      return 0;
    case CollectiveOp::kAllReduce:
      return 2;
    case CollectiveOp::kAllToAll:
      return 3;
    case CollectiveOp::kBroadcast:
      return 7;
    case CollectiveOp::kReduce:
      return 11;
    case CollectiveOp::kReduceScatter:
      return 13;
    default:
      return std::nullopt;
  }
}

OpenMpiRule OpenMpiRules::rule_for(CollectiveOp op, int ranks, std::int64_t bytes) const {
  const std::optional<int> id = openmpi_id(op);
  const auto of_op = id ? by_id.find(*id) : by_id.end();
  if (of_op == by_id.end() || of_op->second.empty()) return {};
  auto of_ranks = of_op->second.upper_bound(ranks);
  // Below the least rank count the rules of that one act.
  if (of_ranks != of_op->second.begin()) --of_ranks;
  OpenMpiRule acting;
  for (const OpenMpiRule& rule : of_ranks->second)
    if (rule.bytes <= bytes) acting = rule;
  return acting;
}

OpenMpiRules read_openmpi_rules(const std::string& text, const std::string& file) {
  Numbers numbers(text, file);
  OpenMpiRules rules;
  if (numbers.take_header()) rules.version = 2;
  const std::int64_t operations = numbers.next("the number of operations", 0, kOperations);
  for (std::int64_t i = 0; i < operations; ++i) {
    const auto id = static_cast<int>(numbers.next("an operation's id", 0, kOperations - 1));
    if (rules.by_id.contains(id)) numbers.fail(std::to_string(id), "is there twice");
    auto& by_ranks = rules.by_id[id];
    const std::int64_t counts = numbers.next("the number of rank counts", 0, 1 << 20);
    for (std::int64_t k = 0; k < counts; ++k) {
      const auto ranks =
          static_cast<int>(numbers.next("a rank count", 0, std::numeric_limits<int>::max()));
      if (!by_ranks.empty() && ranks <= by_ranks.rbegin()->first)
        numbers.fail(std::to_string(ranks), "must be larger than the rank count before");
      by_ranks[ranks] = read_sizes(numbers, id, rules.version);
    }
  }
  numbers.expect_end();
  return rules;
}

std::optional<LibraryAlgorithm> openmpi_algorithm(CollectiveOp op, const OpenMpiRule& rule) {
  for (const Known& known : known_algorithms())
    if (known.op == op && known.id == rule.algorithm &&
        (known.has_segments || rule.segment_bytes == 0))
      return algorithm_of(known, rule.segment_bytes);
  return std::nullopt;
}

std::vector<LibraryAlgorithm> openmpi_algorithms(CollectiveOp op) {
  constexpr std::int64_t kLeastSegment = 16 << 10;
  constexpr std::int64_t kLargestSegment = 4 << 20;
  std::vector<LibraryAlgorithm> algorithms;
  for (const Known& known : known_algorithms()) {
    if (known.op != op) continue;
    algorithms.push_back(algorithm_of(known, 0));
    for (std::int64_t bytes = kLeastSegment; known.has_segments && bytes <= kLargestSegment;
         bytes *= 2)
      algorithms.push_back(algorithm_of(known, bytes));
  }
  return algorithms;
}

}  // namespace forescale
