#include "studies/settings/openmpi_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

#include "algorithms/operation.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

constexpr int kOperations = 22;  // ids 0 to 21, of which the last five are neighbourhood's

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
    numbers.next("a fan-out", 0, kMost);
    rule.segment_bytes = numbers.next("a segment size", 0, kMost);
    if (version > 1 && numbers.has_more_on_line()) numbers.next("a number of requests", 0, kMost);
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace

std::optional<int> openmpi_id(CollectiveOp op) {
  const auto id = name_in(Tool::kOpenMpiRules, op);
  return id ? std::optional(std::stoi(std::string(*id))) : std::nullopt;
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

}  // namespace forescale
