#include "traces/formats/goal/goal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

constexpr std::uint64_t kCpusMax = 1 << 16;
constexpr std::uint64_t kTasksMax = std::numeric_limits<int>::max() / 4;  // ids of a program
// Generators write digits of several numbers one behind the other: from here on tags are counted.
constexpr std::uint64_t kLargeTag = 1 << 30;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t length_of_word(std::string_view text) {
  std::size_t length = 1;
  if (is_letter(text.front()))
    while (length < text.size() && (is_letter(text[length]) || is_digit(text[length]))) ++length;
  else if (is_digit(text.front()) || text.front() == '-')
    while (length < text.size() && is_digit(text[length])) ++length;
  return length;
}

}  // namespace

GoalReader::GoalReader(const std::string& file) : lines_(file) {
  if (!next_statement() || take() != "num_ranks")
    lines_.fail(word_, "must begin with \"num_ranks\" and their number");
  rank_count_ = static_cast<int>(take_number(kProgramRanksMax));
  if (rank_count_ == 0) lines_.fail(word_, "must be at least 1");
  seen_.resize(static_cast<std::size_t>(rank_count_));
}

void GoalReader::fail(std::uint32_t line, const std::string& constraint) const {
  fail_at_line(lines_.file(), line, "", constraint);
}

std::string_view GoalReader::take() {
  word_ = {};
  for (;;) {
    if (in_comment_) {
      const std::size_t end = rest_.find("*/");
      if (end == std::string_view::npos) return rest_ = {};
      rest_.remove_prefix(end + 2);
      in_comment_ = false;
    }
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    if (rest_.empty() || rest_.starts_with("//")) return rest_ = {};
    if (!rest_.starts_with("/*")) break;
    rest_.remove_prefix(2);
    in_comment_ = true;
  }
  word_ = rest_.substr(0, length_of_word(rest_));
  rest_.remove_prefix(word_.size());
  return word_;
}

bool GoalReader::next_statement() {
  for (;;) {
    const std::string_view before = rest_;
    if (!take().empty()) {
      // Put back: comments before it are gone, which changes nothing.
      rest_ = before.substr(static_cast<std::size_t>(word_.data() - before.data()));
      return true;
    }
    if (!lines_.next()) {
      if (in_comment_) lines_.fail("", "ends within a comment");
      return false;
    }
    rest_ = lines_.text();
  }
}

void GoalReader::expect(std::string_view word) {
  if (take() != word) lines_.fail(word_, fmt::format("must be \"{}\"", word));
}

void GoalReader::expect_end() {
  if (!take().empty()) lines_.fail(word_, "must be the end of the line");
}

std::uint64_t GoalReader::take_number(std::uint64_t most) {
  std::uint64_t number = 0;
  if (!parse_number(take(), number) || number > most)
    lines_.fail(word_, fmt::format("must be a whole number from 0 to {}", most));
  return number;
}

std::uint32_t GoalReader::take_label() {
  const auto found = labels_.find(std::string(take()));
  if (found == labels_.end()) lines_.fail(word_, "must be the label of a task above");
  return found->second;
}

std::optional<GoalRank> GoalReader::next_rank() {
  if (!next_statement()) {
    const auto missing = std::find(seen_.begin(), seen_.end(), false);
    if (missing == seen_.end()) return std::nullopt;
    lines_.fail("", fmt::format("is the end, but rank {} of {} is missing", missing - seen_.begin(),
                                rank_count_));
  }
  expect("rank");
  GoalRank rank;
  rank.number = static_cast<int>(take_number(static_cast<std::uint64_t>(rank_count_) - 1));
  if (seen_[static_cast<std::size_t>(rank.number)])
    lines_.fail(word_, "is a rank that is there for the second time");
  seen_[static_cast<std::size_t>(rank.number)] = true;
  expect("{");
  while (next_statement()) {
    const std::string_view first = take();
    if (first == "}") {
      labels_ = {};
      return rank;
    }
    read_statement(rank, first);
    expect_end();
  }
  lines_.fail("", fmt::format("is the end, but rank {} is not closed with \"}}\"", rank.number));
}

// "send 8b to 1 tag 0", "l1: recv ...", "l2 requires l1".
void GoalReader::read_statement(GoalRank& rank, std::string_view first) {
  if (first == "send" || first == "recv" || first == "calc") return read_task(rank, first);
  if (!is_letter(first.front())) lines_.fail(first, "must be a task, its label or \"}\"");
  const std::string label(first);
  const std::string_view then = take();
  if (then == ":") {
    const auto number = static_cast<std::uint32_t>(rank.tasks.size());
    if (!labels_.emplace(label, number).second)
      lines_.fail(label, "is a label that this rank has already");
    return read_task(rank, take());
  }
  if (then != "requires" && then != "irequires")
    lines_.fail(then, "must be \":\", \"requires\" or \"irequires\"");
  const bool on_start = then == "irequires";
  const auto found = labels_.find(label);
  if (found == labels_.end()) lines_.fail(label, "must be the label of a task above");
  rank.dependencies.push_back({.task = found->second, .on = take_label(), .on_start = on_start});
}

void GoalReader::read_task(GoalRank& rank, std::string_view what) {
  if (rank.tasks.size() >= kTasksMax) lines_.fail("", "is one task of a rank too many");
  GoalTask task{.line = lines_.number()};
  if (what == "calc") {
    task.amount = take_number(std::numeric_limits<std::uint64_t>::max());
  } else {
    if (what != "send" && what != "recv")
      lines_.fail(what, "must be \"send\", \"recv\" or \"calc\"");
    task.kind = what == "send" ? GoalTask::Kind::kSend : GoalTask::Kind::kReceive;
    read_message(task);
    if (task.peer == rank.number)
      lines_.fail(std::to_string(task.peer), "must be another rank than this one");
  }
  read_options(task);
  rank.tasks.push_back(task);
}

void GoalReader::read_message(GoalTask& task) {
  task.amount = take_number(kProgramBytesMax);
  expect("b");
  expect(task.kind == GoalTask::Kind::kSend ? "to" : "from");
  if (task.kind == GoalTask::Kind::kReceive && is_any_next())
    lines_.fail("-1", "takes a message from any rank: which one it is depends on the simulation");
  task.peer = static_cast<int>(take_number(static_cast<std::uint64_t>(rank_count_) - 1));
}

// LogGOPSim's sign for any rank and any tag.
bool GoalReader::is_any_next() const {
  std::string_view next = rest_;
  next.remove_prefix(std::min(next.find_first_not_of(" \t"), next.size()));
  return next.starts_with("-1");
}

void GoalReader::read_options(GoalTask& task) {
  for (std::string_view option = take(); !option.empty(); option = take()) {
    if (option == "tag" && task.kind != GoalTask::Kind::kCompute) {
      if (is_any_next())
        lines_.fail("-1", "takes a message with any tag: which one depends on the simulation");
      task.tag = number_of_tag(take_number(std::numeric_limits<std::uint64_t>::max()));
    } else if (option == "cpu") {
      task.cpu = static_cast<std::uint16_t>(take_number(kCpusMax - 1));
    } else if (option == "nic") {
      take_number(std::numeric_limits<std::uint64_t>::max());  // a platform has its own
    } else {
      lines_.fail(option, "must be \"tag\", \"cpu\" or \"nic\"");
    }
  }
}

int GoalReader::number_of_tag(std::uint64_t tag) {
  if (tag < kLargeTag) return static_cast<int>(tag);
  const auto next = static_cast<int>(kLargeTag + large_tags_.size() % kLargeTag);
  return large_tags_.emplace(tag, next).first->second;
}

}  // namespace forescale
