#include "traces/formats/chakra/write_chakra.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "traces/formats/chakra/chakra.pb.h"
#include "traces/formats/chakra/chakra_node_type.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

void write_message(const google::protobuf::MessageLite& message, std::ostream& out) {
  const std::string text = message.SerializeAsString();
  std::size_t length = text.size();
  for (; length >= 0x80; length >>= 7) out.put(static_cast<char>((length & 0x7f) | 0x80));
  out.put(static_cast<char>(length));
  out << text;
}

// A node being filled.
class NodeMaker {
 public:
  NodeMaker(std::uint64_t id, const std::string& name, ChakraNodeType type) {
    node_.set_id(id);
    node_.set_name(name);
    node_.set_type(static_cast<int>(type));
  }
  NodeMaker& integer(const char* name, std::int64_t value) {
    attribute(name).set_int64_val(value);
    return *this;
  }
  NodeMaker& flag(const char* name, bool value) {
    attribute(name).set_bool_val(value);
    return *this;
  }
  NodeMaker& text(const char* name, const std::string& value) {
    attribute(name).set_string_val(value);
    return *this;
  }
  chakra::Node& node() { return node_; }

 private:
  chakra::Attribute& attribute(const char* name) {
    chakra::Attribute& made = *node_.add_attr();
    made.set_name(name);
    return made;
  }
  chakra::Node node_;
};

// Durations are whole microseconds: what one node loses the next of its lane has.
class Durations {
 public:
  std::uint64_t whole_us(int lane, double duration_s) {
    double& left_us = left_us_[lane];
    left_us += duration_s / kMicrosecond_s;
    const double whole = std::floor(left_us + 1e-9);
    left_us -= whole;
    return static_cast<std::uint64_t>(std::max(whole, 0.0));
  }

 private:
  std::map<int, double> left_us_;
};

std::string node_name(const ProgramTask& task) {
  return std::visit(
      [](const auto& what) -> std::string {
        if constexpr (requires { what.label; })
          return what.label;
        else
          return "join";
      },
      task.what);
}

constexpr int kStreams = 1 << 20;  // lanes of streams behind those of threads

}  // namespace

std::string ChakraWriter::group_name(const std::vector<int>& members) {
  const auto [known, is_new] = groups_.try_emplace(members, static_cast<int>(groups_.size()) + 1);
  return std::to_string(known->second);
}

void ChakraWriter::write_rank(int rank, std::ostream& out) {
  const ProgramTasks all = tasks_of(program_, rank);
  choices_ += all.choices;
  chakra::GlobalMetadata metadata;
  metadata.add_version_or_attr("0.0.4");
  write_message(metadata, out);
  // The groups that the rank's collectives name, for readers that take them from the trace.
  nlohmann::json config = nlohmann::json::array();
  std::set<std::string> named;
  for (const ProgramTask& task : all.tasks)
    if (const auto* step = std::get_if<CollectiveStep>(&task.what)) {
      const std::vector<int> members = members_of(program_, *step);
      const bool is_of_all = step->group == nullptr;
      const std::string name = is_of_all ? "0" : group_name(members);
      if (named.insert(name).second)
        config.push_back({{"pg_name", name}, {"ranks", members}, {"group_size", members.size()}});
    }
  std::uint64_t id = 0;
  if (!config.empty()) {
    NodeMaker node(id++, "## process_group:init ##", kMetadata);
    node.node().mutable_inputs()->set_values(config.dump());
    write_message(node.node(), out);
  }
  const std::uint64_t first = id;
  Durations durations;
  for (const ProgramTask& task : all.tasks) {
    const auto made = [&](ChakraNodeType type) { return NodeMaker(id, node_name(task), type); };
    NodeMaker node = made(kMetadata);
    const auto timed = [&](int lane, double duration_s, bool on_host) {
      node = made(kCompute);
      node.node().set_duration_micros(durations.whole_us(lane, duration_s));
      node.flag("is_cpu_op", on_host);
      if (on_host)
        node.integer("tid", lane);
      else
        node.integer("stream", lane - kStreams);
    };
    if (const auto* kernel = std::get_if<Kernel>(&task.what)) {
      timed(kStreams + kernel->stream, kernel->duration_s, false);
    } else if (const auto* work = std::get_if<HostWork>(&task.what)) {
      timed(task.thread, work->duration_s, true);
    } else if (const auto* timer = std::get_if<Timer>(&task.what)) {
      timed(task.thread, timer->delay_s, true);
      node.node().set_name(name_of(timer->what));
    } else if (const auto* copy = std::get_if<HostCopy>(&task.what)) {
      node = made(copy->to_host ? kMemoryStore : kMemoryLoad);
      node.flag("is_cpu_op", false).integer("tensor_size", copy->bytes);
    } else if (const auto* message = std::get_if<MessageStep>(&task.what)) {
      const bool sends = task.kind != Kind::kReceive;
      node = made(sends ? kCommSend : kCommReceive);
      node.flag("is_cpu_op", message->on_host)
          .integer("comm_src", sends ? rank : message->peer)
          .integer("comm_dst", sends ? message->peer : rank)
          .integer("comm_tag", message->tag)
          .integer("comm_size", message->bytes);
    } else if (const auto* step = std::get_if<CollectiveStep>(&task.what)) {
      const auto type = name_in(Tool::kChakra, step->op);
      if (!type)
        throw InputError({.source = "the program",
                          .path = fmt::format("rank {}", rank),
                          .value = name_of(step->op),
                          .constraint = "is no collective of Chakra's"});
      if (has_root(step->op)) ++rooted_;
      const std::vector<int> members = members_of(program_, *step);
      const bool is_share =
          step->op == CollectiveOp::kAllGather || step->op == CollectiveOp::kGather;
      node = made(kCommCollective);
      node.flag("is_cpu_op", step->on_host)
          .integer("comm_type", std::stoll(std::string(*type)))
          .integer("comm_size",
                   is_share ? step->bytes / static_cast<std::int64_t>(members.size()) : step->bytes)
          .text("pg_name", step->group == nullptr ? "0" : group_name(members));
    }
    for (const std::uint32_t needed : task.needs) node.node().add_data_deps(first + needed);
    write_message(node.node(), out);
    ++id;
  }
}

std::string ChakraWriter::groups_json() const {
  nlohmann::json groups = nlohmann::json::object();
  for (const auto& [members, name] : groups_) groups[std::to_string(name)] = members;
  return groups.dump(1);
}

std::vector<std::string> ChakraWriter::notes() const {
  std::vector<std::string> notes{
      "durations are whole microseconds: what a node loses the next of its stream has"};
  if (rooted_ > 0)
    notes.push_back(fmt::format("Chakra names no root: that of {} calls is lost", rooted_));
  if (choices_ > 0)
    notes.push_back(fmt::format(
        "{} times a rank looks what has come first: written as if it were what is named first",
        choices_));
  return notes;
}

}  // namespace forescale
