#include "traces/formats/smpi/smpi_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include "base/error.hpp"
#include "traces/formats/trace_input.hpp"
#include "traces/formats/trace_lines.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

constexpr std::array<SmpiActionName, 32> kActions{{{"init", SmpiAction::kInit, 0},
                                                   {"finalize", SmpiAction::kFinalize, 0},
                                                   {"comm_size", SmpiAction::kNothing, 0},
                                                   {"comm_split", SmpiAction::kCommunicator, 0},
                                                   {"comm_dup", SmpiAction::kCommunicator, 0},
                                                   {"location", SmpiAction::kNothing, 2},
                                                   {"compute", SmpiAction::kCompute, 1},
                                                   {"sleep", SmpiAction::kSleep, 1},
                                                   {"send", SmpiAction::kSend, 3},
                                                   {"isend", SmpiAction::kIsend, 3},
                                                   {"recv", SmpiAction::kReceive, 3},
                                                   {"irecv", SmpiAction::kIreceive, 3},
                                                   {"sendRecv", SmpiAction::kSendReceive, 4},
                                                   {"sendrecv", SmpiAction::kSendReceive, 4},
                                                   {"test", SmpiAction::kTest, 3},
                                                   {"wait", SmpiAction::kWait, 3},
                                                   {"waitall", SmpiAction::kWaitAll, 0},
                                                   {"barrier", SmpiAction::kBarrier, 0},
                                                   {"bcast", SmpiAction::kBroadcast, 1},
                                                   {"reduce", SmpiAction::kReduce, 2},
                                                   {"allreduce", SmpiAction::kAllReduce, 2},
                                                   {"reducescatter", SmpiAction::kReduceScatter, 2},
                                                   {"scan", SmpiAction::kScan, 2},
                                                   {"exscan", SmpiAction::kExscan, 2},
                                                   {"alltoall", SmpiAction::kAllToAll, 2},
                                                   {"alltoallv", SmpiAction::kAllToAllV, 4},
                                                   {"gather", SmpiAction::kGather, 2},
                                                   {"gatherv", SmpiAction::kGatherV, 2},
                                                   {"scatter", SmpiAction::kScatter, 2},
                                                   {"scatterv", SmpiAction::kScatterV, 2},
                                                   {"allgather", SmpiAction::kAllGather, 2},
                                                   {"allgatherv", SmpiAction::kAllGatherV, 2}}};

// The next word of `text`, which is then the rest; empty at the end.
std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\r\v\f";
  const std::size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  const std::size_t end = std::min(text.find_first_of(kSpace, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

enum class LineKind { kEmpty, kCall, kName };

LineKind line_kind_of(std::string_view line) {
  const std::string_view first = take_word(line);
  if (first.empty() || first.front() == '#') return LineKind::kEmpty;
  return take_word(line).empty() ? LineKind::kName : LineKind::kCall;
}

bool begins_as_call(std::string_view line) {
  std::uint64_t rank = 0;
  return parse_number(take_word(line), rank) && find_smpi_action(take_word(line)) != nullptr;
}

// The first line that says something.
std::string_view first_line(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find('\n'));
    if (line_kind_of(line) != LineKind::kEmpty) return line;
    head.remove_prefix(std::min(line.size() + 1, head.size()));
  }
  return {};
}

std::string beside(const std::string& list, std::string_view name) {
  return (std::filesystem::path(list).parent_path() / std::string(take_word(name))).string();
}

class SmpiReader {
 public:
  SmpiTrace read(const std::vector<std::string>& files) {
    for (const std::string& file : files) read_file(file);
    if (trace_.ranks.empty())
      throw InputError({.source = files.empty() ? "" : files.front(),
                        .path = "",
                        .value = "",
                        .constraint = "has no calls of any rank"});
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) check(rank, files.front());
    return std::move(trace_);
  }

 private:
  void check(std::size_t rank, const std::string& file) const {
    if (trace_.ranks[rank].default_type_bytes == 0)
      throw InputError({.source = file,
                        .path = "",
                        .value = "",
                        .constraint = fmt::format("rank {} is missing: there are ranks up to {}",
                                                  rank, trace_.ranks.size() - 1)});
    if (!trace_.ranks[rank].is_finalized)
      throw InputError(
          {.source = trace_.file_of(rank),
           .path = "",
           .value = "",
           .constraint = fmt::format("rank {} has no \"finalize\": the trace is cut off", rank)});
  }

  void read_file(const std::string& file) {
    TraceLines lines(file);
    while (lines.next()) {
      const LineKind kind = line_kind_of(lines.text());
      if (kind == LineKind::kEmpty) continue;
      if (kind == LineKind::kName) {
        read_list(lines);
      } else {
        trace_.files.push_back(file);
        read_calls(lines);
      }
      return;
    }
    lines.fail("", "has no calls");
  }

  void read_list(TraceLines& list) {
    do {
      if (line_kind_of(list.text()) == LineKind::kEmpty) continue;
      if (line_kind_of(list.text()) != LineKind::kName)
        list.fail(list.text(), "must be the name of one file");
      const std::string member = beside(list.file(), list.text());
      trace_.files.push_back(member);
      TraceLines lines(member);
      if (lines.next()) read_calls(lines);
    } while (list.next());
  }

  // From the present line on.
  void read_calls(TraceLines& lines) {
    do {
      if (line_kind_of(lines.text()) != LineKind::kEmpty) read_call(lines);
    } while (lines.next());
  }

  void read_call(TraceLines& lines) {
    std::string_view rest = lines.text();
    const std::string_view number = take_word(rest);
    std::uint64_t rank = 0;
    if (!parse_number(number, rank) || rank >= kProgramRanksMax)
      lines.fail(number, fmt::format("must be a rank from 0 to {}", kProgramRanksMax - 1));
    const std::string_view name = take_word(rest);
    const SmpiActionName* const known = find_smpi_action(name);
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const SmpiActionName& one : kActions) names.emplace_back(one.name);
      lines.fail(name, "is " + unknown_name(printable(name), names));
    }
    SmpiRank& calls = rank_of(lines, static_cast<std::size_t>(rank), known->action);
    if (known->action == SmpiAction::kFinalize) calls.is_finalized = true;
    if (known->action == SmpiAction::kFinalize || known->action == SmpiAction::kNothing) return;
    SmpiCall call{.action = known->action,
                  .line = lines.number(),
                  .count = 0,
                  .first = calls.arguments.size()};
    for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
      double argument = 0;
      if (!parse_number(word, argument) || !std::isfinite(argument))
        lines.fail(word, "must be a number");
      calls.arguments.push_back(argument);
      ++call.count;
    }
    if (call.count < known->least_arguments)
      lines.fail(lines.text(), fmt::format("must have {} numbers behind \"{}\", not {}",
                                           known->least_arguments, name, call.count));
    if (call.action == SmpiAction::kInit)
      // Without an argument, counts are bytes (TAU's traces); with one, doubles (MPE's, SMPI's).
      calls.default_type_bytes = call.count == 0 ? 1 : 8;
    else
      calls.calls.push_back(call);
  }

  SmpiRank& rank_of(const TraceLines& lines, std::size_t number, SmpiAction action) {
    if (number >= trace_.ranks.size()) trace_.ranks.resize(number + 1);
    SmpiRank& rank = trace_.ranks[number];
    const bool is_new = rank.default_type_bytes == 0;
    const std::size_t file = trace_.files.size() - 1;
    if (!is_new && rank.file != file)
      lines.fail(std::to_string(number), "is a rank that " + trace_.files[rank.file] + " has too");
    if (is_new != (action == SmpiAction::kInit))
      lines.fail(lines.text(), is_new ? "must come after the rank's \"init\""
                                      : "is there for the second time in this rank");
    rank.file = file;
    return rank;
  }

  SmpiTrace trace_;
};

}  // namespace

const SmpiActionName* find_smpi_action(std::string_view name) {
  const auto found = std::find_if(kActions.begin(), kActions.end(),
                                  [&](const SmpiActionName& one) { return one.name == name; });
  return found == kActions.end() ? nullptr : &*found;
}

std::string_view name_of(SmpiAction action) {
  return std::find_if(kActions.begin(), kActions.end(),
                      [&](const SmpiActionName& one) { return one.action == action; })
      ->name;
}

void SmpiTrace::fail(std::size_t rank, const SmpiCall& call, const std::string& constraint) const {
  fail_at_line(file_of(rank), call.line, name_of(call.action), constraint);
}

SmpiTrace read_smpi_trace(const std::vector<std::string>& files) {
  return SmpiReader().read(files);
}

bool is_smpi_trace(const std::string& file, std::string_view head) {
  const std::string_view line = first_line(head);
  if (line_kind_of(line) != LineKind::kName) return begins_as_call(line);
  const std::string member = beside(file, line);
  std::error_code none;
  return std::filesystem::is_regular_file(member, none) &&
         begins_as_call(first_line(head_of_trace(member)));
}

}  // namespace forescale
