#include "traces/program/read_action.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "models/compute/gpu_kernel_json.hpp"
#include "traces/program/action_kind.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

constexpr int kIdsMax = std::numeric_limits<int>::max();

Phase read_phase(const JsonInput& in) {
  std::vector<std::string> names;
  const std::string text = in.string();
  for (const PhaseEntry& entry : kPhases) {
    if (text == entry.name) return entry.phase;
    names.emplace_back(entry.name);
  }
  in.fail("is " + unknown_name(text, names));
}

Timer::For read_timer_for(const JsonInput& line) {
  const auto what = line.find("what");
  if (!what) return Timer::For::kTimer;
  std::vector<std::string> names;
  const std::string text = what->string();
  for (const Timer::For one : kTimersFor) {
    if (text == name_of(one)) return one;
    names.emplace_back(name_of(one));
  }
  what->fail("is " + unknown_name(text, names));
}

std::int64_t bytes_of(const JsonInput& line) {
  return line.at("bytes").integer(0, kProgramBytesMax);
}
double duration(const JsonInput& line, const char* key) { return line.at(key).number(0, 1e9); }

std::shared_ptr<const KernelWork> read_work(const JsonInput& line) {
  const auto given = line.find("work");
  if (!given) return nullptr;
  auto work = std::make_shared<KernelWork>();
  for (const JsonInput& asked : given->elements()) work->push_back(read_gpu_kernel(asked));
  if (work->empty()) given->fail("must not be empty");
  return work;
}

void read_what(Action& action, const JsonInput& line, int ranks) {
  const auto allow = [&](std::initializer_list<const char*> keys) {
    std::vector<const char*> all{"do", "id", "thread"};
    all.insert(all.end(), keys.begin(), keys.end());
    for (const std::string& key : line.keys())
      if (std::find_if(all.begin(), all.end(), [&](const char* one) { return key == one; }) ==
          all.end())
        line.at(key).fail(fmt::format("is no key of \"{}\"", name_of(action.kind)));
  };
  switch (action.kind) {
    case Kind::kKernel:
      allow({"stream", "duration_s", "phase", "label", "work"});
      action.what = Kernel{.stream = static_cast<int>(read_integer(line, "stream", 0, 1 << 16)),
                           .duration_s = duration(line, "duration_s"),
                           .phase = read_phase(line.at("phase")),
                           .label = line.at("label").string(),
                           .work = read_work(line)};
      break;
    case Kind::kCollective: {
      allow({"op", "bytes", "root", "communicator", "phase", "label", "group", "on_host", "value",
             "control", "message"});
      CollectiveStep step{
          .op = parse_collective_op(line.at("op").string(), line.file()),
          .bytes = bytes_of(line),
          .root = static_cast<int>(read_integer(line, "root", 0, ranks - 1)),
          .communicator = static_cast<int>(read_integer(line, "communicator", 0, kCommunicatorMax)),
          .phase = read_phase(line.at("phase")),
          .label = line.at("label").string(),
          .on_host = read_flag(line, "on_host"),
          .value = read_integer(line, "value", std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()),
          .control = read_flag(line, "control"),
          .is_message = read_flag(line, "message")};
      if (const auto group = line.find("group")) {
        std::vector<int> members;
        for (const JsonInput& member : group->elements())
          members.push_back(static_cast<int>(member.integer(0, ranks - 1)));
        if (members.empty()) group->fail("must have at least one rank");
        step.group = std::make_shared<const std::vector<int>>(std::move(members));
      }
      action.what = std::move(step);
      break;
    }
    case Kind::kSend:
    case Kind::kReceive:
    case Kind::kPut:
      allow({"peer", "bytes", "tag", "phase", "label", "on_host", "value", "control"});
      action.what =
          MessageStep{.peer = static_cast<int>(line.at("peer").integer(0, ranks - 1)),
                      .bytes = bytes_of(line),
                      .tag = static_cast<int>(read_integer(line, "tag", 0, kIdsMax)),
                      .phase = read_phase(line.at("phase")),
                      .label = line.at("label").string(),
                      .on_host = read_flag(line, "on_host"),
                      .value = read_integer(line, "value", std::numeric_limits<std::int64_t>::min(),
                                            std::numeric_limits<std::int64_t>::max()),
                      .control = read_flag(line, "control")};
      break;
    case Kind::kHostWork:
      allow({"duration_s", "memory_bytes", "phase", "label"});
      action.what = HostWork{
          .duration_s = duration(line, "duration_s"),
          .memory_bytes = line.has("memory_bytes") ? line.at("memory_bytes").number(0, 1e18) : 0,
          .phase = read_phase(line.at("phase")),
          .label = line.at("label").string()};
      break;
    case Kind::kHostCopy:
      allow({"bytes", "to_host", "phase", "label"});
      action.what = HostCopy{.bytes = bytes_of(line),
                             .to_host = line.at("to_host").boolean(),
                             .phase = read_phase(line.at("phase")),
                             .label = line.at("label").string()};
      break;
    case Kind::kTimer:
      allow({"delay_s", "what"});
      action.what = Timer{.delay_s = duration(line, "delay_s"), .what = read_timer_for(line)};
      break;
    case Kind::kSpawn:
      allow({"starts"});
      action.what =
          ThreadStart{.thread = static_cast<int>(line.at("starts").integer(1, kProgramThreadsMax))};
      break;
    case Kind::kNextBatch:
    case Kind::kSignal:
    case Kind::kEndIteration:
      allow({});
      break;
    case Kind::kWait:
    case Kind::kWaitAny:
    case Kind::kTest:
    case Kind::kSet:
      allow({"for"});
      break;
  }
}

Action::Kind read_kind(const JsonInput& in) {
  const std::string text = in.string();
  std::vector<std::string> names;
  for (const Kind kind : all_action_kinds()) {
    if (text == name_of(kind)) return kind;
    names.emplace_back(name_of(kind));
  }
  in.fail("is " + unknown_name(text, names));
}

}  // namespace

bool read_flag(const JsonInput& line, const char* key) {
  const auto found = line.find(key);
  return found && found->boolean();
}
std::int64_t read_integer(const JsonInput& line, const char* key, std::int64_t least,
                          std::int64_t most) {
  const auto found = line.find(key);
  return found ? found->integer(least, most) : 0;
}
Action read_action(const JsonInput& line, int ranks) {
  Action action{.kind = read_kind(line.at("do"))};
  if (makes_request(action.kind)) action.id = static_cast<int>(line.at("id").integer(0, kIdsMax));
  if (takes_requests(action.kind)) {
    for (const JsonInput& request : line.at("for").elements())
      action.requests.push_back(static_cast<int>(request.integer(0, kIdsMax)));
    const bool is_one = action.kind != Kind::kWaitAny;
    if (action.requests.empty() || (is_one && action.requests.size() > 1))
      line.at("for").fail(is_one ? "must name one request" : "must name at least one request");
  }
  read_what(action, line, ranks);
  return action;
}

}  // namespace forescale
