#include "traces/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>

#include "models/error.hpp"
#include "models/json_input.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using Kind = Action::Kind;

constexpr const char* kFormat = "forescale-program-1";
constexpr int kRanksMax = 1 << 20;
constexpr int kThreadsMax = 1 << 16;
constexpr int kIdsMax = std::numeric_limits<int>::max();

struct KindName {
  Kind kind;
  const char* name;
};
constexpr std::array<KindName, 16> kKinds{{{Kind::kKernel, "kernel"},
                                           {Kind::kCollective, "collective"},
                                           {Kind::kSend, "send"},
                                           {Kind::kReceive, "receive"},
                                           {Kind::kPut, "put"},
                                           {Kind::kHostWork, "host-work"},
                                           {Kind::kHostCopy, "host-copy"},
                                           {Kind::kTimer, "timer"},
                                           {Kind::kNextBatch, "next-batch"},
                                           {Kind::kSpawn, "spawn"},
                                           {Kind::kSignal, "signal"},
                                           {Kind::kWait, "wait"},
                                           {Kind::kWaitAny, "wait-any"},
                                           {Kind::kTest, "test"},
                                           {Kind::kSet, "set"},
                                           {Kind::kEndIteration, "end-iteration"}}};

const char* name_of(Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(),
                      [&](const KindName& one) { return one.kind == kind; })
      ->name;
}

bool makes_request(Kind kind) { return kind <= Kind::kSignal; }
bool takes_requests(Kind kind) { return kind >= Kind::kWait && kind <= Kind::kSet; }

// Writing: what is at its default is left out.

template <class T>
void put(json& line, const char* key, const T& value, const T& fallback) {
  if (value != fallback) line[key] = value;
}

void write(json& line, const std::monostate& /*nothing*/) { (void)line; }
void write(json& line, const Kernel& kernel) {
  put(line, "stream", kernel.stream, 0);
  line["duration_s"] = kernel.duration_s;
  line["phase"] = name_of(kernel.phase);
  line["label"] = kernel.label;
}
void write(json& line, const CollectiveStep& step) {
  line["op"] = name_of(step.op);
  line["bytes"] = step.bytes;
  put(line, "root", step.root, 0);
  put(line, "communicator", step.communicator, 0);
  line["phase"] = name_of(step.phase);
  line["label"] = step.label;
  if (step.group != nullptr) line["group"] = *step.group;
  put(line, "on_host", step.on_host, false);
  put(line, "value", step.value, std::int64_t{0});
  put(line, "control", step.control, false);
}
void write(json& line, const MessageStep& step) {
  line["peer"] = step.peer;
  line["bytes"] = step.bytes;
  put(line, "tag", step.tag, 0);
  line["phase"] = name_of(step.phase);
  line["label"] = step.label;
  put(line, "on_host", step.on_host, false);
  put(line, "value", step.value, std::int64_t{0});
  put(line, "control", step.control, false);
}
void write(json& line, const HostWork& work) {
  line["duration_s"] = work.duration_s;
  put(line, "memory_bytes", work.memory_bytes, 0.0);
  line["phase"] = name_of(work.phase);
  line["label"] = work.label;
}
void write(json& line, const HostCopy& copy) {
  line["bytes"] = copy.bytes;
  line["to_host"] = copy.to_host;
  line["phase"] = name_of(copy.phase);
  line["label"] = copy.label;
}
void write(json& line, const TimerStart& timer) { line["delay_s"] = timer.delay_s; }
void write(json& line, const ThreadStart& start) { line["starts"] = start.thread; }

json to_json(const Action& action) {
  json line{{"do", name_of(action.kind)}};
  if (action.id >= 0) line["id"] = action.id;
  if (!action.requests.empty()) line["for"] = action.requests;
  std::visit([&](const auto& what) { write(line, what); }, action.what);
  return line;
}

std::string text_of(const ProgramRank& rank) {
  std::string text;
  for (size_t thread = 0; thread < rank.threads.size(); ++thread)
    for (const Action& action : rank.threads[thread].actions) {
      json line = to_json(action);
      if (thread > 0) line["thread"] = thread;
      text += line.dump() + "\n";
    }
  return text;
}

// Reading.

Phase read_phase(const JsonInput& in) {
  std::vector<std::string> names;
  const std::string text = in.string();
  for (int phase = 0; phase < kPhaseCount; ++phase) {
    if (text == name_of(static_cast<Phase>(phase))) return static_cast<Phase>(phase);
    names.emplace_back(name_of(static_cast<Phase>(phase)));
  }
  in.fail("is " + unknown_name(text, names));
}

std::int64_t bytes_of(const JsonInput& line) {
  return line.at("bytes").integer(0, std::int64_t{1} << 50);
}
bool flag(const JsonInput& line, const char* key) {
  const auto found = line.find(key);
  return found && found->boolean();
}
std::int64_t integer(const JsonInput& line, const char* key, std::int64_t least,
                     std::int64_t most) {
  const auto found = line.find(key);
  return found ? found->integer(least, most) : 0;
}
double duration(const JsonInput& line, const char* key) { return line.at(key).number(0, 1e9); }

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
      allow({"stream", "duration_s", "phase", "label"});
      action.what = Kernel{.stream = static_cast<int>(integer(line, "stream", 0, 1 << 16)),
                           .duration_s = duration(line, "duration_s"),
                           .phase = read_phase(line.at("phase")),
                           .label = line.at("label").string()};
      break;
    case Kind::kCollective: {
      allow({"op", "bytes", "root", "communicator", "phase", "label", "group", "on_host", "value",
             "control"});
      CollectiveStep step{
          .op = parse_collective_op(line.at("op").string(), line.file()),
          .bytes = bytes_of(line),
          .root = static_cast<int>(integer(line, "root", 0, ranks - 1)),
          .communicator = static_cast<int>(integer(line, "communicator", 0, 1 << 20)),
          .phase = read_phase(line.at("phase")),
          .label = line.at("label").string(),
          .on_host = flag(line, "on_host"),
          .value = integer(line, "value", std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max()),
          .control = flag(line, "control")};
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
                      .tag = static_cast<int>(integer(line, "tag", 0, kIdsMax)),
                      .phase = read_phase(line.at("phase")),
                      .label = line.at("label").string(),
                      .on_host = flag(line, "on_host"),
                      .value = integer(line, "value", std::numeric_limits<std::int64_t>::min(),
                                       std::numeric_limits<std::int64_t>::max()),
                      .control = flag(line, "control")};
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
      allow({"delay_s"});
      action.what = TimerStart{.delay_s = duration(line, "delay_s")};
      break;
    case Kind::kSpawn:
      allow({"starts"});
      action.what =
          ThreadStart{.thread = static_cast<int>(line.at("starts").integer(1, kThreadsMax))};
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

Action read_action(const JsonInput& line, int ranks) {
  const std::string name = line.at("do").string();
  std::vector<std::string> names;
  const KindName* found = nullptr;
  for (const KindName& one : kKinds) {
    names.emplace_back(one.name);
    if (name == one.name) found = &one;
  }
  if (found == nullptr) line.at("do").fail("is " + unknown_name(name, names));
  Action action{.kind = found->kind};
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

class Reader {
 public:
  Reader(std::istream& in, const std::string& file) : in_(in), file_(file) {}

  Program read() {
    read_header();
    while (const auto line = next_line()) read_rank_line(*line);
    for (size_t rank = 0; rank < program_.ranks.size(); ++rank) {
      if (!seen_[rank]) refuse(fmt::format("rank {} is missing", rank));
      check(rank);
    }
    return std::move(program_);
  }

 private:
  [[noreturn]] void refuse(const std::string& constraint) const {
    throw InputError({.source = file_,
                      .path = fmt::format("line {}", number_),
                      .value = "",
                      .constraint = constraint});
  }

  std::optional<JsonInput> next_line() {
    std::string text;
    while (std::getline(in_, text)) {
      ++number_;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      return JsonInput::from_text(text, fmt::format("{} line {}", file_, number_));
    }
    if (in_.bad()) refuse("cannot be read any further");
    return std::nullopt;
  }

  void read_header() {
    const auto header = next_line();
    if (!header)
      refuse("is empty: the first line must be {\"format\": \"forescale-program-1\", ...}");
    header->at("format").one_of({kFormat});
    header->allow_only({"format", "title", "ranks", "workers", "servers_have_nodes", "iterations",
                        "is_asynchronous", "images", "platform", "stack", "placement", "data",
                        "noise", "stragglers", "plans"});
    const auto ranks = static_cast<int>(header->at("ranks").integer(1, kRanksMax));
    program_.ranks.resize(static_cast<size_t>(ranks));
    seen_.resize(static_cast<size_t>(ranks));
    program_.title = header->at("title").string();
    program_.workers = static_cast<int>(header->at("workers").integer(1, ranks));
    program_.servers_have_nodes = flag(*header, "servers_have_nodes");
    program_.iterations = static_cast<int>(header->at("iterations").integer(1, 1 << 20));
    program_.is_asynchronous = flag(*header, "is_asynchronous");
    for (const JsonInput& images : header->at("images").elements())
      program_.images.push_back(images.integer(0));
    if (program_.images.size() != static_cast<size_t>(program_.workers))
      header->at("images").fail(
          fmt::format("must have {} numbers, one a worker", program_.workers));
    for (const auto& [key, text] :
         {std::pair("platform", &program_.platform), std::pair("stack", &program_.stack),
          std::pair("placement", &program_.placement), std::pair("data", &program_.data),
          std::pair("noise", &program_.noise), std::pair("stragglers", &program_.stragglers)})
      if (const auto found = header->find(key)) *text = found->string();
    if (const auto plans = header->find("plans"))
      for (const std::string& op : plans->keys())
        program_.plans[parse_collective_op(op, plans->file())] = plans->at(op).string();
  }

  // {"rank": 3} begins a rank; {"rank": 4, "same_as": 3} is one whole.
  void read_rank_line(const JsonInput& line) {
    if (const auto number = line.find("rank")) {
      line.allow_only({"rank", "same_as"});
      rank_ = static_cast<size_t>(
          number->integer(0, static_cast<std::int64_t>(program_.ranks.size()) - 1));
      if (seen_[rank_]) number->fail("is there for the second time");
      seen_[rank_] = true;
      if (const auto other = line.find("same_as")) {
        const auto model = static_cast<size_t>(
            other->integer(0, static_cast<std::int64_t>(program_.ranks.size()) - 1));
        if (model == rank_ || !seen_[model]) other->fail("must be a rank that is written above");
        program_.ranks[rank_] = program_.ranks[model];
      }
      is_begun_ = true;
      return;
    }
    if (!is_begun_) line.fail("must come after a line {\"rank\": 0}");
    const auto thread = static_cast<size_t>(integer(line, "thread", 0, kThreadsMax));
    std::vector<ProgramThread>& threads = program_.ranks[rank_].threads;
    if (thread >= threads.size()) threads.resize(thread + 1);
    threads[thread].actions.push_back(read_action(line, static_cast<int>(program_.ranks.size())));
  }

  // Every request that is waited for is made; every thread but the first is started once, by one
  // that runs.
  void check(size_t rank) {
    const std::vector<ProgramThread>& threads = program_.ranks[rank].threads;
    const auto wrong = [&](const std::string& what) {
      throw InputError(
          {.source = file_, .path = fmt::format("rank {}", rank), .value = "", .constraint = what});
    };
    if (threads.empty()) wrong("does nothing");
    const auto ends =
        std::count_if(threads.front().actions.begin(), threads.front().actions.end(),
                      [](const Action& action) { return action.kind == Kind::kEndIteration; });
    if (rank < static_cast<size_t>(program_.workers) && ends != program_.iterations)
      wrong(fmt::format("must end {} iterations in its first thread, not {}", program_.iterations,
                        ends));
    std::set<int> ids;
    std::vector<int> starter(threads.size(), -1);
    for (size_t thread = 0; thread < threads.size(); ++thread)
      for (const Action& action : threads[thread].actions) {
        if (action.id >= 0 && !ids.insert(action.id).second)
          wrong(fmt::format("makes request {} for the second time", action.id));
        if (const auto* start = std::get_if<ThreadStart>(&action.what)) {
          if (static_cast<size_t>(start->thread) >= threads.size())
            wrong(fmt::format("starts thread {}, which does nothing", start->thread));
          int& by = starter[static_cast<size_t>(start->thread)];
          if (by >= 0) wrong(fmt::format("starts thread {} for the second time", start->thread));
          by = static_cast<int>(thread);
        }
      }
    for (const ProgramThread& thread : threads)
      for (const Action& action : thread.actions)
        for (const int request : action.requests)
          if (!ids.contains(request))
            wrong(fmt::format("waits for request {}, which it does not make", request));
    for (size_t thread = 1; thread < threads.size(); ++thread) {
      size_t at = thread;
      for (size_t steps = 0; at != 0; ++steps) {
        if (starter[at] < 0 || steps > threads.size())
          wrong(fmt::format("does not start thread {}", thread));
        at = static_cast<size_t>(starter[at]);
      }
    }
  }

  std::istream& in_;
  const std::string& file_;
  Program program_;
  std::vector<bool> seen_;
  size_t rank_ = 0;
  bool is_begun_ = false;
  size_t number_ = 0;
};

}  // namespace

void write_program(const Program& program, std::ostream& out) {
  json header{{"format", kFormat},
              {"title", program.title},
              {"ranks", program.ranks.size()},
              {"workers", program.workers},
              {"iterations", program.iterations},
              {"images", program.images}};
  put(header, "servers_have_nodes", program.servers_have_nodes, false);
  put(header, "is_asynchronous", program.is_asynchronous, false);
  for (const auto& [key, text] :
       {std::pair("platform", &program.platform), std::pair("stack", &program.stack),
        std::pair("placement", &program.placement), std::pair("data", &program.data),
        std::pair("noise", &program.noise), std::pair("stragglers", &program.stragglers)})
    put(header, key, *text, std::string());
  for (const auto& [op, plan] : program.plans) header["plans"][name_of(op)] = plan;
  out << header.dump() << '\n';
  std::map<std::string, size_t> written;
  for (size_t rank = 0; rank < program.ranks.size(); ++rank) {
    std::string text = text_of(program.ranks[rank]);
    const auto [first, is_new] = written.try_emplace(std::move(text), rank);
    json line{{"rank", rank}};
    if (!is_new) line["same_as"] = first->second;
    out << line.dump() << '\n';
    if (is_new) out << first->first;
  }
}

Program read_program(std::istream& in, const std::string& file) { return Reader(in, file).read(); }

}  // namespace forescale
