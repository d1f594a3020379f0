// Stack files: all of the catalogue, which rule applies, what a mistake is told.
#include "models/stack.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/data_files.hpp"
#include "models/plan_options.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::refusal;

// Models know no collective: its options are what the collectives of a program declare.
const bool kDeclared = [] {
  add_plan_option({.name = "chunk_bytes", .summary = "", .unit = OptionUnit::kBytes, .min = 1});
  add_plan_option({.name = "chain_size", .summary = "", .fallback = 8, .min = 1});
  add_plan_option({.name = "levels", .summary = "", .unit = OptionUnit::kText});
  return true;
}();

const SelectionRule& select(const Stack& stack, const std::string& op, int ranks,
                            std::int64_t bytes) {
  const SelectionRule* rule = find_rule(stack.selection, op, {.ranks = ranks}, bytes);
  EXPECT_NE(rule, nullptr) << op;
  static const SelectionRule kNone;
  return rule == nullptr ? kNone : *rule;
}

// A folder for the stack files of one test.
class StackFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const json& content) const {
    std::string path = folder_.file(name);
    std::ofstream(path) << content;
    return path;
  }
  // What loading `content` is told after its path.
  std::string refusal_of(const json& content) const {
    const std::string path = write("bad.json", content);
    const std::string text = refusal([&] { load_stack(path); });
    return text.starts_with(path) ? text.substr(path.size() + 1) : text;
  }
  // The same of a good stack after putting `value` at a JSON pointer.
  std::string refusal_with(const char* place, const json& value) const {
    json content = good();
    content[json::json_pointer(place)] = value;
    return refusal_of(content);
  }

  static json good() {
    return parse_json(R"({
      "format": "forescale-stack-1", "name": "mine", "description": "a test",
      "channels": 2, "eager_limit_bytes": "4KiB", "latency_holds_ports": false,
      "progress": "hardware",
      "reduction": {"place": "gpu", "overlaps_transfer": true},
      "host_reduction": {"place": "cpu", "overlaps_transfer": false},
      "paths": [
        {"where": "peer", "buffers": "gpu", "mechanism": "direct", "o_send_s": "1us"},
        {"where": "any", "buffers": "gpu", "up_to_bytes": 8192, "mechanism": "direct",
         "o_send_s": "2us", "o_recv_s": "3us", "latency_s": "4us",
         "connection_cap_bytes_per_s": "1GB/s", "read_cap_bytes_per_s": "2GB/s",
         "write_cap_bytes_per_s": "3GB/s"},
        {"where": "any", "buffers": "gpu", "mechanism": "staged", "segment_bytes": "256KiB",
         "segment_overhead_s": "5us"},
        {"where": "any", "buffers": "host", "mechanism": "direct"}],
      "selection": {
        "reduce": [
          {"up_to_ranks": 8, "up_to_bytes": 1024, "algorithm": "flat"},
          {"up_to_ranks": 8, "algorithm": "chain", "chunk_bytes": "1MiB"},
          {"algorithm": "cb", "chain_size": 4, "through_host": true,
           "through_host_bytes_per_s": "5GB/s"}],
        "broadcast": [{"up_to_ranks": 16, "algorithm": "binomial"}]}})");
  }

  const ScratchFolder folder_{"stack"};
};

// The good stack with a protocol of its own for small calls, which run in two parts.
json with_protocol(json stack) {
  stack["paths"].insert(stack["paths"].begin(), json{{"where", "any"},
                                                     {"protocol", "low-latency"},
                                                     {"buffers", "gpu"},
                                                     {"mechanism", "direct"},
                                                     {"latency_s", "1us"},
                                                     {"wire_factor", 2}});
  stack["orders"] = parse_json(R"({"two": [[0, 1, 2], [2, 0, 1]]})");
  stack["selection"]["all-reduce"] =
      parse_json(R"([{"up_to_bytes": 1024, "algorithm": "ring", "protocol": "low-latency",
                       "orders": "two"},
                      {"up_to_bytes": 4096, "algorithm": "chain-tree"},
                      {"algorithm": "ring"}])");
  return stack;
}

// The same that can be told to take two others for all-reduces: on several nodes, in chunks of
// which two are one of the plan's, or anywhere.
json with_alternatives(json stack) {
  stack = with_protocol(std::move(stack));
  stack["alternatives"] = parse_json(R"({
    "tree/low": {"chunk_factor": 2, "all-reduce": [
      {"from_nodes": 2, "up_to_nodes": 3, "up_to_bytes": 4096, "algorithm": "chain-tree",
       "protocol": "low-latency", "chunk_bytes": 1024},
      {"from_nodes": 2, "algorithm": "chain-tree", "protocol": "low-latency",
       "chunk_bytes": 4096}]},
    "ring/plain": {"all-reduce": [{"algorithm": "ring", "call_overhead_s": "5us"}]}})");
  return stack;
}

bool has_number(const Stack& stack, const std::string& path) {
  return std::any_of(stack.provenance.numbers.begin(), stack.provenance.numbers.end(),
                     [&](const NumberSource& number) { return number.path == path; });
}

constexpr GroupShape kTwoNodes{.ranks = 4, .nodes = 2, .ranks_per_node = 2};

TEST_F(StackFiles, WhatItIsToldReplacesItsOwnChoice) {
  const std::string file = write("mine.json", with_alternatives(good()));
  const Stack own = load_stack(file);
  EXPECT_EQ(own.alternatives.size(), 2U);
  EXPECT_EQ(own.own_choice("all-reduce", kTwoNodes, 1 << 20), "ring/plain");
  EXPECT_EQ(own.own_choice("all-reduce", kTwoNodes, 1024), "");  // a ring of another protocol
  EXPECT_EQ(own.own_choice("gather", kTwoNodes, 1024), "");
  const Stack told = load_stack(file + ":take=tree/low");
  EXPECT_EQ(told.name, file + ":take=tree/low");
  EXPECT_TRUE(told.alternatives.empty());
  const auto chunk = [](const Stack& stack, const GroupShape& shape, std::int64_t bytes) {
    const SelectionRule* rule = find_rule(stack.selection, "all-reduce", shape, bytes);
    return rule == nullptr ? -1 : rule->options.number({.name = "chunk_bytes", .summary = ""});
  };
  EXPECT_EQ(chunk(told, kTwoNodes, 4096), 1024);
  EXPECT_EQ(chunk(told, kTwoNodes, 4100), 4096);
  EXPECT_EQ(chunk(told, {.ranks = 4, .nodes = 4, .ranks_per_node = 1}, 4096), 4096);
  EXPECT_EQ(chunk(told, {.ranks = 4, .nodes = 1, .ranks_per_node = 4}, 4096), -1);
  EXPECT_EQ(select(told, "reduce", 4, 1000).algorithm, "flat");  // of which nothing was told
  // In the library's own bytes.
  EXPECT_EQ(chunk(load_stack(file + ":take=tree/low,chunk_bytes=1KiB"), kTwoNodes, 4096), 2048);
}

// Pairs of two nodes: small calls go by its tuner's trees, those up to 1 MiB as it says itself, and
// larger ones by rings, as does what it has no tree for.
json with_tuner(json stack) {
  stack = with_alternatives(std::move(stack));
  stack["tuner"] = parse_json(R"({"name": "somebody", "source": "a measurement", "choices": {
    "all-reduce": [
      {"ranks_per_node": 2, "up_to_bytes": 2048, "order": "tree/low"},
      {"ranks_per_node": 2, "up_to_bytes": 1048576, "order": ""},
      {"ranks_per_node": 2, "order": "ring/plain"}]}})");
  return stack;
}

TEST_F(StackFiles, ATunerIsAskedBeforeItsOwnRules) {
  const std::string file = write("mine.json", with_tuner(good()));
  const Stack stack = load_stack(file);
  EXPECT_EQ(stack.tuner.name, "somebody");
  EXPECT_EQ(stack.own_choice("all-reduce", kTwoNodes, 2048), "tree/low");
  EXPECT_EQ(stack.rule_for("all-reduce", kTwoNodes, 2049),
            find_rule(stack.selection, "all-reduce", kTwoNodes, 2049));
  EXPECT_EQ(stack.tuner_choice("all-reduce", kTwoNodes, 2049), "");
  EXPECT_EQ(stack.tuner_choice("all-reduce", kTwoNodes, 1048577), "ring/plain");
  EXPECT_EQ(stack.tuner_choice("all-reduce", {.ranks = 2, .nodes = 1, .ranks_per_node = 2}, 8), "")
      << "one node has no such tree";
  EXPECT_EQ(stack.tuner_choice("all-reduce", {.ranks = 3, .nodes = 1, .ranks_per_node = 3}, 8), "");
  EXPECT_THAT(stack.choice_ends("all-reduce"),
              IsSupersetOf({std::int64_t{2048}, std::int64_t{1048576}}));
  EXPECT_TRUE(has_number(stack, "/alternatives/ring~1plain/all-reduce/0/call_overhead_s"))
      << "it counts";
  EXPECT_TRUE(load_stack(file + ":take=tree/low").tuner.choices.empty());
}

TEST_F(StackFiles, WrongTunersAreRefused) {
  const auto refusal_with = [&](const char* place, const json& value) {
    json content = with_tuner(good());
    content[json::json_pointer(place)] = value;
    return refusal_of(content);
  };
  EXPECT_THAT(refusal_with("/tuner/choices/all-reduce/0/order", "tree/high"),
              HasSubstr("/tuner/choices/all-reduce/0/order = \"tree/high\": names tree/high"));
  EXPECT_THAT(refusal_with("/tuner/source", ""), HasSubstr("/tuner/source"));
  EXPECT_THAT(refusal_with("/tuner/choices/all-reduce/0/bytes", 8), HasSubstr("bytes"));
  EXPECT_THAT(refusal_with("/tuner/who", "x"), HasSubstr("/tuner"));
}

TEST_F(StackFiles, NumbersOfWhatIsNotTakenAreNone) {
  const std::string file = write("mine.json", with_alternatives(good()));
  const std::string call = "/alternatives/ring~1plain/all-reduce/0/call_overhead_s";
  EXPECT_FALSE(has_number(load_stack(file), call));
  EXPECT_TRUE(has_number(load_stack(file + ":take=ring/plain"), call));
}

TEST_F(StackFiles, WhatCannotBeToldIsRefused) {
  const std::string file = write("mine.json", with_alternatives(good()));
  const auto refused = [&](const std::string& options) {
    return refusal([&] { load_stack(file + options); });
  };
  EXPECT_THAT(refused(":take=tree/high"),
              HasSubstr("is nothing that mine can take (one of: ring/plain, tree/low)"));
  EXPECT_THAT(refused(":take=ring/plain,chunk_bytes=8"), HasSubstr("without chunk_bytes"));
  EXPECT_THAT(refused(":take=tree/low,chunk_bytes=0"), HasSubstr("must be >= 1"));
  EXPECT_THAT(refused(":take=tree/low,chunk_bytes=x"), HasSubstr("chunk_bytes"));
  EXPECT_THAT(refused(":chunk_bytes=8"), HasSubstr("take"));
  EXPECT_THAT(refused(":protocol=low"), HasSubstr("protocol"));
  EXPECT_THAT(refusal([&] { load_stack("gloo:take=ring/simple"); }), HasSubstr("take"));
  json wrong = with_alternatives(good());
  wrong["alternatives"]["tree/low"]["chunk_factor"] = 0;
  EXPECT_THAT(refusal_of(wrong), HasSubstr("/alternatives/tree~1low/chunk_factor"));
  wrong = with_alternatives(good());
  wrong["alternatives"]["tree/low"]["all-reduce"][0]["from_nodes"] = 0;
  EXPECT_THAT(refusal_of(wrong), HasSubstr("/alternatives/tree~1low/all-reduce/0/from_nodes"));
}

TEST_F(StackFiles, ProtocolsAndOrdersAreRead) {
  const Stack stack = load_stack(write("mine.json", with_protocol(good())));
  ASSERT_EQ(stack.protocols, (std::vector<std::string>{"", "low-latency"}));
  EXPECT_EQ(stack.paths[0].protocol, 1);
  EXPECT_EQ(stack.paths[0].wire_factor, 2);
  EXPECT_EQ(stack.paths[1].protocol, 0);
  EXPECT_EQ(stack.paths[1].wire_factor, 1);
  EXPECT_TRUE(stack.paths[0].is_for("peer", {BufferPlace::kGpu, 1}));
  EXPECT_FALSE(stack.paths[0].is_for("peer", BufferPlace::kGpu)) << "of calls without it";
  EXPECT_TRUE(stack.paths[1].is_for("peer", {BufferPlace::kGpu, 1})) << "of none is for all";
  const SelectionRule& rule = select(stack, "all-reduce", 8, 8);
  EXPECT_EQ(rule.protocol, 1);
  EXPECT_EQ(rule.orders, (std::vector<std::vector<int>>{{0, 1, 2}, {2, 0, 1}}));
  // A ring that somebody names has the protocol of the ring's own rule.
  EXPECT_EQ(select(stack, "all-reduce", 8, 2048).algorithm, "chain-tree");
  EXPECT_EQ(find_rule_with(stack.selection, "ring", "all-reduce", {.ranks = 8}, 1024)->protocol, 1);
  EXPECT_EQ(find_rule_with(stack.selection, "ring", "all-reduce", {.ranks = 8}, 2048)->protocol, 0);
  EXPECT_EQ(find_rule_with(stack.selection, "recursive-doubling", "all-reduce", {.ranks = 8}, 8),
            nullptr);
}

TEST_F(StackFiles, AnOperationCanHaveTheRulesOfAnother) {
  json content = with_protocol(good());
  content["selection"]["allgather"] = "all-reduce";
  const Stack stack = load_stack(write("mine.json", content));
  EXPECT_EQ(stack.selection.at("allgather").size(), 3u);
  EXPECT_EQ(select(stack, "allgather", 8, 8).protocol, 1);
  for (const char* wrong : {"gather", "allgather"}) {
    content["selection"]["allgather"] = wrong;
    EXPECT_THAT(refusal_of(content), HasSubstr("/selection/allgather = \"" + std::string(wrong) +
                                               "\": must be a list, or the name of another"));
  }
}

TEST_F(StackFiles, WrongProtocolsAndOrdersAreRefused) {
  const auto refusal_of_rule = [&](const char* place, const json& value) {
    json content = with_protocol(good());
    content[json::json_pointer(place)] = value;
    return refusal_of(content);
  };
  EXPECT_THAT(refusal_of_rule("/selection/all-reduce/0/protocol", "low-latncy"),
              HasSubstr("/selection/all-reduce/0/protocol = \"low-latncy\": is of no path"));
  EXPECT_THAT(refusal_of_rule("/paths/0/protocol", ""), HasSubstr("must not be empty"));
  EXPECT_THAT(refusal_of_rule("/paths/0/wire_factor", 0), HasSubstr("must be >= 0.01"));
  EXPECT_THAT(refusal_of_rule("/paths/3/wire_factor", 2),
              HasSubstr("must not be given for a staged path"));
  EXPECT_THAT(refusal_of_rule("/selection/all-reduce/0/orders", "tow"),
              HasSubstr("is none of \"/orders\"; it is unknown; did you mean"));
  const char* orders = "/orders/two";
  EXPECT_THAT(refusal_of_rule(orders, json::array()), HasSubstr("must have 1 to"));
  EXPECT_THAT(refusal_of_rule(orders, {{0, 1}, {0, 1, 2}}),
              HasSubstr("orders/two/1: must be as long"));
  EXPECT_THAT(refusal_of_rule(orders, {{0, 0}}), HasSubstr("must not be there twice"));
  EXPECT_THAT(refusal_of_rule(orders, {{0, 2}}), HasSubstr("must be <= 1"));
  EXPECT_THAT(refusal_of_rule("/selection/all-reduce/0/through_host", true),
              HasSubstr("must not be given with through_host"));
}

TEST(StackCatalogue, EveryFileLoadsInEveryScenario) {
  EXPECT_GE(catalogue("models/stacks").size(), 5u);
  for (const std::string& name : catalogue("models/stacks"))
    for (const Scenario scenario : {Scenario::kNominal, Scenario::kFast, Scenario::kSlow}) {
      const Stack stack = load_stack(name, scenario);
      EXPECT_EQ(stack.name, name);
      EXPECT_FALSE(stack.description.empty()) << name;
      EXPECT_FALSE(stack.paths.empty()) << name;
    }
}

TEST(StackCatalogue, EveryNumberHasASourceOrIsAssumed) {
  for (const std::string& name : catalogue("models/stacks"))
    for (const NumberSource& number : load_stack(name).provenance.numbers) {
      EXPECT_FALSE(number.source.empty()) << name << number.path;
      if (!number.assumed) continue;
      EXPECT_NE(number.fast, number.slow) << name << number.path;
    }
}

TEST(StackCatalogue, AssumptionsMoveTimesTheRightWay) {
  for (const std::string& name : catalogue("models/stacks")) {
    const Stack fast = load_stack(name, Scenario::kFast);
    const Stack slow = load_stack(name, Scenario::kSlow);
    ASSERT_EQ(fast.paths.size(), slow.paths.size());
    for (size_t i = 0; i < fast.paths.size(); ++i) {
      EXPECT_LE(fast.paths[i].o_send, slow.paths[i].o_send) << name << " path " << i;
      EXPECT_LE(fast.paths[i].o_recv, slow.paths[i].o_recv) << name << " path " << i;
      EXPECT_LE(fast.paths[i].latency, slow.paths[i].latency) << name << " path " << i;
      EXPECT_LE(fast.paths[i].segment_overhead, slow.paths[i].segment_overhead)
          << name << " path " << i;
      EXPECT_GE(fast.paths[i].read_cap, slow.paths[i].read_cap) << name << " path " << i;
    }
  }
}

TEST_F(StackFiles, EveryKeyIsRead) {
  const Stack stack = load_stack(write("mine.json", good()));
  EXPECT_EQ(stack.name, "mine");
  EXPECT_EQ(stack.channels, 2);
  EXPECT_EQ(stack.eager_limit.value, 4096);
  EXPECT_FALSE(stack.latency_holds_ports);
  EXPECT_EQ(stack.progress, Progress::kHardware);
  EXPECT_EQ(stack.reduction.place, ReductionPlace::kGpu);
  EXPECT_TRUE(stack.reduction.overlaps_transfer);
  EXPECT_EQ(stack.host_reduction.place, ReductionPlace::kCpu);
  ASSERT_EQ(stack.paths.size(), 4u);
  EXPECT_DOUBLE_EQ(stack.paths[1].o_send.value, 2e-6);
  EXPECT_DOUBLE_EQ(stack.paths[1].o_recv.value, 3e-6);
  EXPECT_DOUBLE_EQ(stack.paths[1].latency.value, 4e-6);
  EXPECT_DOUBLE_EQ(stack.paths[1].connection_cap.value, 1e9);
  EXPECT_DOUBLE_EQ(stack.paths[1].read_cap.value, 2e9);
  EXPECT_DOUBLE_EQ(stack.paths[1].write_cap.value, 3e9);
  EXPECT_TRUE(stack.paths[2].staged);
  EXPECT_EQ(stack.paths[2].segment.value, 256 << 10);
  EXPECT_DOUBLE_EQ(stack.paths[2].segment_overhead.value, 5e-6);
  const SelectionRule& last = stack.selection.at("reduce").back();
  EXPECT_EQ(last.options, (OptionValues{{"chain_size", 4}}));
  EXPECT_TRUE(last.through_host);
  EXPECT_DOUBLE_EQ(last.through_host_bandwidth.value, 5e9);
}

TEST(MeasuredSizes, AreLeftByAFactorOfTwo) {
  Stack stack = load_stack("ideal");
  const auto beyond = [&](std::int64_t least, std::int64_t most) {
    return stack.beyond_measured({.least = least, .most = most});
  };
  EXPECT_EQ(beyond(1, 1 << 30), "");  // nothing says what was measured
  stack.measured = {.least = 64, .most = 1 << 20};
  EXPECT_EQ(beyond(32, 2 << 20), "");
  EXPECT_THAT(beyond(31, 2 << 20), HasSubstr("messages of 31 B are sent"));
  EXPECT_THAT(beyond(32, (2 << 20) + 1), HasSubstr("messages of 2 MiB are sent"));
  EXPECT_THAT(beyond(1, 1 << 30), HasSubstr("messages of 1 B and of 1 GiB are sent"));
  EXPECT_EQ(stack.beyond_measured({}), "");  // nothing is sent
}

TEST_F(StackFiles, FirstFittingPathIsTaken) {
  const Stack stack = load_stack(write("mine.json", good()));
  const auto index = [&](const char* where, BufferPlace place, std::int64_t bytes) {
    return &stack.path(where, place, bytes) - stack.paths.data();
  };
  EXPECT_EQ(index("peer", BufferPlace::kGpu, 1 << 30), 0);
  EXPECT_EQ(index("cross-socket", BufferPlace::kGpu, 8192), 1);
  EXPECT_EQ(index("cross-socket", BufferPlace::kGpu, 8193), 2);
  EXPECT_EQ(index("inter-node", BufferPlace::kGpu, 0), 1);
  EXPECT_EQ(index("peer", BufferPlace::kHost, 1), 3);
  Stack narrow = stack;
  narrow.paths.resize(1);
  EXPECT_EQ(refusal([&] { narrow.path("inter-node", BufferPlace::kGpu, 64); }),
            "stack mine:/paths: has no path for inter-node of gpu buffers, 64 bytes");
}

TEST_F(StackFiles, FirstFittingSelectionIsTaken) {
  const Stack stack = load_stack(write("mine.json", good()));
  EXPECT_EQ(select(stack, "reduce", 8, 1024).algorithm, "flat");
  EXPECT_EQ(select(stack, "reduce", 8, 1025).algorithm, "chain");
  EXPECT_EQ(select(stack, "reduce", 8, 1025).options, (OptionValues{{"chunk_bytes", 1 << 20}}));
  EXPECT_EQ(select(stack, "reduce", 9, 1).algorithm, "cb");
  EXPECT_EQ(select(stack, "broadcast", 16, 1).algorithm, "binomial");
  EXPECT_EQ(find_rule(stack.selection, "broadcast", {.ranks = 17}, 4), nullptr);
  EXPECT_EQ(find_rule(stack.selection, "all-reduce", {.ranks = 2}, 4), nullptr);
}

// Sixteen ranks on two nodes take another rule than sixteen on sixteen.
TEST_F(StackFiles, RulesAskForTheShapeOfTheGroup) {
  json content = good();
  content["selection"]["reduce"] = parse_json(R"([
    {"ranks_per_node": 8, "up_to_nodes": 2, "algorithm": "chain"},
    {"up_to_nodes": 2, "algorithm": "flat"},
    {"ranks_per_node": 1, "algorithm": "binomial"},
    {"algorithm": "ring"}])");
  const Stack stack = load_stack(write("mine.json", content));
  const auto algorithm = [&](const GroupShape& shape) {
    return find_rule(stack.selection, "reduce", shape, 4)->algorithm;
  };
  EXPECT_EQ(algorithm({.ranks = 16, .nodes = 2, .ranks_per_node = 8}), "chain");
  EXPECT_EQ(algorithm({.ranks = 12, .nodes = 2, .ranks_per_node = 0}), "flat");
  EXPECT_EQ(algorithm({.ranks = 16, .nodes = 16, .ranks_per_node = 1}), "binomial");
  EXPECT_EQ(algorithm({.ranks = 24, .nodes = 3, .ranks_per_node = 8}), "ring");
  EXPECT_EQ(refusal_with("/selection/reduce/0/up_to_nodes", 0),
            "/selection/reduce/0/up_to_nodes = 0: must be >= 1");
  EXPECT_EQ(refusal_with("/selection/reduce/0/ranks_per_node", 0),
            "/selection/reduce/0/ranks_per_node = 0: must be >= 1");
}

TEST_F(StackFiles, ExtendingStatesOnlyWhatDiffers) {
  const std::string base = write("base.json", good());
  const Stack stack =
      load_stack(write("mine.json", {{"format", "forescale-stack-1"},
                                     {"name", "derived"},
                                     {"description", "a test"},
                                     {"extends", base},
                                     {"progress", "inside-calls"},
                                     {"selection", {{"reduce", {{{"algorithm", "ring"}}}}}}}));
  EXPECT_EQ(stack.name, "derived");
  EXPECT_EQ(stack.progress, Progress::kInsideCalls);
  EXPECT_EQ(stack.channels, 2);
  EXPECT_EQ(stack.paths.size(), 4u);
  ASSERT_EQ(stack.selection.at("reduce").size(), 1u) << "replaced whole";
  EXPECT_EQ(select(stack, "reduce", 1000, 1).algorithm, "ring");
  EXPECT_EQ(select(stack, "broadcast", 2, 1).algorithm, "binomial") << "kept";
}

TEST_F(StackFiles, CycleOfExtendsIsRefused) {
  json first = good();
  json second = good();
  const std::string first_path = folder_.file("first.json");
  const std::string second_path = folder_.file("second.json");
  first["extends"] = second_path;
  second["extends"] = first_path;
  write("first.json", first);
  write("second.json", second);
  EXPECT_THAT(refusal([&] { load_stack(first_path); }), HasSubstr("extends itself"));
  json self = good();
  self["extends"] = folder_.file("self.json");
  EXPECT_THAT(refusal([&] { load_stack(write("self.json", self)); }), HasSubstr("extends itself"));
}

TEST_F(StackFiles, MistakesNamePlaceAndConstraint) {
  EXPECT_EQ(refusal_of(good()), "accepted");
  EXPECT_THAT(refusal_with("/chanels", 1),
              HasSubstr("/chanels = 1: key is unknown; did you mean \"channels\"? (one of: "));
  EXPECT_EQ(refusal_with("/channels", 0), "/channels = 0: must be >= 1");
  EXPECT_EQ(refusal_with("/channels", 65), "/channels = 65: must be <= 64");
  EXPECT_EQ(refusal_with("/collectives", "in-order"), "accepted");
  EXPECT_EQ(refusal_with("/memory_accesses", -1), "/memory_accesses = -1: must be >= 0");
  EXPECT_EQ(refusal_with("/memory_accesses", 17), "/memory_accesses = 17: must be <= 16");
  EXPECT_THAT(refusal_with("/collectives", "sometimes"), HasSubstr("in-order, concurrent"));
  EXPECT_EQ(refusal_with("/channels_of", "collective"), "accepted");
  EXPECT_THAT(refusal_with("/channels_of", "message"),
              HasSubstr("(one of: rank, collective, queue)"));
  EXPECT_THAT(refusal_with("/format", "forescale-stack-2"),
              HasSubstr("/format = \"forescale-stack-2\": is unknown"));
  EXPECT_THAT(refusal_with("/progress", "hardwar"), HasSubstr("did you mean \"hardware\"?"));
  EXPECT_THAT(refusal_with("/extends", "mvapich2-gdrr"),
              HasSubstr("= mvapich2-gdrr: unknown; did you mean \"mvapich2-gdr\"?"));
  EXPECT_EQ(refusal_with("/paths", json::array()), "/paths: must name at least one path");
  EXPECT_EQ(refusal_with("/paths/1/o_send_s", -1), "/paths/1/o_send_s = -1: must be >= 0");
  EXPECT_EQ(refusal_with("/paths/1/o_proxy_s", 1e-6), "accepted");
  EXPECT_EQ(refusal_with("/paths/1/o_proxy_s", -1), "/paths/1/o_proxy_s = -1: must be >= 0");
  EXPECT_EQ(refusal_with("/paths/1/read_cap_bytes_per_s", 0),
            "/paths/1/read_cap_bytes_per_s = 0: must be > 0");
  EXPECT_EQ(refusal_with("/paths/3/mechanism", "staged"),
            "/paths/3/mechanism = \"staged\": must be \"direct\" for buffers in host memory");
  EXPECT_EQ(refusal_with("/paths/0/segment_bytes", 1),
            "/paths/0: must be \"staged\" to have segments");
  EXPECT_EQ(refusal_with("/paths/2/segment_bytes", 0), "/paths/2/segment_bytes = 0: must be >= 1");
  EXPECT_EQ(refusal_with("/paths/2/o_proxy_s", 1e-6),
            "/paths/2/o_proxy_s = 1e-06: must be 0 for a staged path");
  EXPECT_THAT(refusal_with("/paths/0/where", "peers"), HasSubstr("did you mean \"peer\"?"));
  EXPECT_EQ(refusal_with("/host_reduction/place", "gpu"),
            "/host_reduction/place = \"gpu\": must not be \"gpu\" for buffers in host memory");
  EXPECT_EQ(refusal_with("/reduction/place", "fixed"),
            "/reduction/overhead_s: is required and missing");
  EXPECT_EQ(refusal_with("/selection/reduce/0/chain_size", 0),
            "/selection/reduce/0/chain_size = 0: must be >= 1");
  EXPECT_THAT(refusal_with("/selection/reduce/0/algoritm", "x"),
              HasSubstr("did you mean \"algorithm\"?"));
}

TEST_F(StackFiles, ChannelCapsAreOfQueuesAndOneForAProtocol) {
  json content = good();
  content["paths"][0]["channel_cap_bytes_per_s"] = "1GB/s";
  EXPECT_THAT(refusal_of(content), HasSubstr("\"channels_of\": \"queue\""));
  content["channels_of"] = "queue";
  const Stack stack = load_stack(write("mine.json", content));
  EXPECT_DOUBLE_EQ(stack.paths[0].channel_cap.value, 1e9);
  EXPECT_DOUBLE_EQ(stack.paths[1].channel_cap.value, 0);
  content["paths"][1]["channel_cap_bytes_per_s"] = "2GB/s";
  EXPECT_THAT(refusal_of(content), HasSubstr("must have the same channel_cap_bytes_per_s"));
  content["paths"][1].erase("channel_cap_bytes_per_s");
  content["paths"][2]["channel_cap_bytes_per_s"] = "1GB/s";
  EXPECT_THAT(refusal_of(content), HasSubstr("must be \"direct\" to have"));
}

TEST_F(StackFiles, RailsAreOfDirectPathsBetweenGpus) {
  EXPECT_EQ(refusal_with("/paths/1/by_rail", true), "accepted");
  for (const char* path : {"/paths/2/by_rail", "/paths/3/by_rail"})
    EXPECT_THAT(refusal_with(path, true), HasSubstr("must be false but for direct paths"));
}

TEST_F(StackFiles, MessagesMayHaveAProtocol) {
  json content = with_protocol(good());
  EXPECT_EQ(load_stack(write("mine.json", content)).message_protocol, 0);
  content["message_protocol"] = "low-latency";
  EXPECT_EQ(load_stack(write("mine.json", content)).message_protocol, 1);
  content["message_protocol"] = "low-latncy";
  EXPECT_THAT(refusal_of(content), HasSubstr("/message_protocol = \"low-latncy\": is of no path"));
}

TEST_F(StackFiles, EveryRequiredKeyIsAskedFor) {
  for (const char* key :
       {"format", "name", "description", "channels", "eager_limit_bytes", "latency_holds_ports",
        "progress", "reduction", "host_reduction", "paths", "selection"}) {
    json content = good();
    content.erase(key);
    EXPECT_EQ(refusal_of(content), "/" + std::string(key) + ": is required and missing");
  }
}

TEST(IdealStack, OptionsSetItsNumbers) {
  const Stack stack = load_stack(
      "ideal:reduce_bandwidth=20GB/"
      "s,reduce_overhead=10us,overlap=true,eager=8KiB,channels=4,memory_accesses=3");
  for (const ReductionRule& rule : {stack.reduction, stack.host_reduction}) {
    EXPECT_EQ(rule.place, ReductionPlace::kFixed);
    EXPECT_DOUBLE_EQ(rule.rate.value, 20e9);
    EXPECT_DOUBLE_EQ(rule.overhead.value, 10e-6);
    EXPECT_TRUE(rule.overlaps_transfer);
  }
  EXPECT_EQ(stack.eager_limit.value, 8192);
  EXPECT_EQ(stack.channels, 4);
  EXPECT_EQ(stack.memory_accesses, 3);
  const Stack plain = load_stack("ideal");
  EXPECT_EQ(plain.reduction.place, ReductionPlace::kFree);
  EXPECT_TRUE(plain.latency_holds_ports);
}

TEST(IdealStack, OptionsAreChecked) {
  EXPECT_THAT(refusal([] { load_stack("ideal:overlap=true"); }),
              HasSubstr("--stack ideal:reduce_bandwidth: is required"));
  EXPECT_THAT(refusal([] { load_stack("ideal:eagre=8KiB"); }),
              HasSubstr("did you mean \"eager\"?"));
  EXPECT_THAT(refusal([] { load_stack("ideal:channels=0"); }),
              HasSubstr("--stack ideal:channels = 0: must be >= 1"));
  EXPECT_THAT(refusal([] { load_stack("mvapich2-gdr:channels=2"); }),
              HasSubstr("takes no options"));
  EXPECT_THAT(refusal([] { load_stack("mvapich2-gdrr"); }),
              HasSubstr("did you mean \"mvapich2-gdr\"?"));
}

}  // namespace
}  // namespace forescale
