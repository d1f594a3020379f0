// Chakra traces: what of them becomes a program, and that it does each node after all that the node
// depends on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/chakra_making.hpp"
#include "tests/traces/programs.hpp"

namespace forescale::chakra_test {
namespace {

using ::testing::HasSubstr;

TEST(Chakra, NodesRunAfterAllThatTheyNeed) {
  //   1 (10) -> 2 (20) -> 4 (5) -> 5 (1)
  //          -> 3 (40) ------^
  // and the file names them backwards.
  const ImportedTrace imported =
      import({trace({kernel(5, 1, {4}), kernel(4, 5, {2, 3}), kernel(3, 40, {1}),
                     kernel(2, 20, {1}), kernel(1, 10)})});
  const Clock clock(imported.program.ranks.at(0));
  EXPECT_TRUE(clock.is_finished());
  EXPECT_DOUBLE_EQ(clock.end_s("n2"), 30e-6);
  EXPECT_DOUBLE_EQ(clock.end_s("n3"), 50e-6);
  EXPECT_DOUBLE_EQ(clock.end_s("n5"), 56e-6);
  EXPECT_EQ(imported.found.kernels, 5u);
  EXPECT_DOUBLE_EQ(imported.found.compute_s, 76e-6);
  EXPECT_EQ(imported.program.iterations, 1);
}

TEST(Chakra, RandomGraphsEndWithTheirLongestPath) {
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (int graph = 0; graph < 50; ++graph) {
    std::vector<NodeText> nodes;
    std::map<std::uint64_t, double> longest_s;
    for (std::uint64_t id = 0; id < 40; ++id) {
      nodes.push_back(kernel(id, 1 + random(20)));
      NodeText& node = nodes.back();
      if (random(3) == 0) node.type = kMetadata, node.duration_us = 0;
      for (std::uint64_t i = random(4); i > 0 && id > 0; --i) node.needs.push_back(random(id));
      double begin_s = 0;
      for (const std::uint64_t needed : node.needs)
        begin_s = std::max(begin_s, longest_s.at(needed));
      longest_s[id] = begin_s + static_cast<double>(node.duration_us) * 1e-6;
    }
    const Clock clock(import({trace(nodes)}).program.ranks.at(0));
    ASSERT_TRUE(clock.is_finished());
    for (const NodeText& node : nodes)
      if (node.type == kCompute) {
        EXPECT_NEAR(clock.end_s("n" + std::to_string(node.id)), longest_s.at(node.id), 1e-12);
      }
  }
}

TEST(Chakra, StreamsAndCpuThreadsRunInOrder) {
  NodeText first = kernel(1, 10), second = kernel(2, 20);
  first.numbers["stream"] = second.numbers["stream"] = 7;
  NodeText host = kernel(3, 5), host_too = kernel(4, 6);
  host.numbers = host_too.numbers = {{"is_cpu_op", 1}, {"tid", 9}};
  const Clock clock(import({trace({first, second, host, host_too})}).program.ranks.at(0));
  EXPECT_DOUBLE_EQ(clock.end_s("n2"), 30e-6);
  EXPECT_DOUBLE_EQ(clock.end_s("n4"), 11e-6);
}

TEST(Chakra, OperationsNeedASpeed) {
  NodeText node = kernel(1, 0);
  node.numbers["num_ops"] = 3000;
  EXPECT_THAT(error_of_trace(trace({node})), HasSubstr("--flops-per-s"));
  const ImportedTrace imported = import({trace({node})}, {.flops_per_s = 1e9});
  EXPECT_DOUBLE_EQ(imported.found.compute_s, 3000 / 1e9);
  const ImportedTrace without = import({trace({kernel(1, 0)})});
  EXPECT_THAT(joined(without.notes), HasSubstr("1 tasks without a duration"));
}

TEST(Chakra, CollectivesOfAllRanks) {
  const std::string text =
      trace({kernel(1, 10),
             collective(2, kAllReduce, 4096, {1}),
             collective(3, kAllGather, 100),
             collective(4, kBroadcast, 50),
             {.id = 5, .type = kCollective, .needs = {4}, .numbers = {{"comm_type", kBarrier}}}});
  const ImportedTrace imported = import({text, text});
  ASSERT_EQ(imported.program.ranks.size(), 2u);
  const std::vector<CollectiveStep> steps = collectives_of(imported.program.ranks[1]);
  ASSERT_EQ(steps.size(), 4u);
  for (const CollectiveStep& step : steps) EXPECT_EQ(step.group, nullptr);
  EXPECT_EQ(imported.found.collectives.at("all-reduce").count, 2u + 2u);  // and the barrier
  EXPECT_EQ(imported.found.collectives.at("all-reduce").bytes, 2 * 4096.0);
  EXPECT_EQ(imported.found.collectives.at("allgather").bytes, 2 * (2 * 100.0));  // of both ranks
  EXPECT_EQ(imported.found.collectives.at("broadcast").bytes, 2 * 50.0);
  EXPECT_THAT(joined(imported.notes), HasSubstr("2 collectives with a root"));
  EXPECT_THAT(joined(imported.notes), HasSubstr("2 barriers"));
  EXPECT_TRUE(Clock(imported.program.ranks[0]).is_finished());
}

TEST(Chakra, CollectivesOfAGroupKeepTheOrderOfTheirNumbers) {
  const ImportedTrace imported =
      import({trace({collective(9, kAllReduce, 9), collective(3, kAllReduce, 3),
                     collective(5, kAllReduce, 5)})},
             {.ranks = 4});
  std::vector<std::int64_t> bytes;
  for (const CollectiveStep& step : collectives_of(imported.program.ranks.at(3)))
    bytes.push_back(step.bytes);
  EXPECT_THAT(bytes, ::testing::ElementsAre(3, 5, 9));
  EXPECT_THAT(joined(imported.notes), HasSubstr("one rank stands for all 4"));
  EXPECT_EQ(imported.found.collectives.at("all-reduce").count, 3u);
}

TEST(Chakra, CollectivesWithoutASizeAreCounted) {
  NodeText host{.id = 1, .type = kCollective, .duration_us = 30, .numbers = {{"is_cpu_op", 1}}};
  NodeText device{.id = 2, .type = kCollective, .duration_us = 40, .numbers = {{"is_cpu_op", 0}}};
  const ImportedTrace imported = import({trace({host, device, kernel(3, 5, {1, 2})})});
  EXPECT_TRUE(imported.found.collectives.empty());
  EXPECT_THAT(joined(imported.notes), HasSubstr("1 communication nodes of the GPU"));
  EXPECT_THAT(joined(imported.notes), HasSubstr("40 us"));
  EXPECT_THAT(joined(imported.notes), HasSubstr("1 communication nodes of the CPU"));
  EXPECT_DOUBLE_EQ(Clock(imported.program.ranks.at(0)).end_s("n3"), 35e-6);
}

TEST(Chakra, ProcessGroupsOfTheTrace) {
  const std::string list =
      R"(['[{"pg_name": "0", "ranks": [], "group_size": 4}, {"pg_name": "7", "ranks": [2, 0]}]'])";
  const auto with_groups = [&](const std::vector<NodeText>& nodes) {
    std::string file = trace({});
    chakra::Node init = message({.id = 100, .type = kMetadata, .name = "## process_group:init ##"});
    init.mutable_inputs()->set_values(list);
    delimited(init, file);
    for (const NodeText& node : nodes) delimited(message(node), file);
    return file;
  };
  const std::string member =
      with_groups({collective(1, kAllReduce, 8, {}, "0"), collective(2, kAllGather, 6, {}, "7")});
  const std::string other = with_groups({collective(1, kAllReduce, 8, {}, "0")});
  const ImportedTrace imported = import({member, other, member, other});
  const std::vector<CollectiveStep> steps = collectives_of(imported.program.ranks.at(2));
  ASSERT_EQ(steps.size(), 2u);
  const CollectiveStep& grouped = steps[0].group ? steps[0] : steps[1];
  ASSERT_NE(grouped.group, nullptr);
  EXPECT_THAT(*grouped.group, ::testing::ElementsAre(2, 0));
  EXPECT_EQ(grouped.bytes, 2 * 6);
  EXPECT_NE(steps[0].communicator, steps[1].communicator);

  EXPECT_THAT(error_of(write_all({member, member, member, other})),
              HasSubstr("is used by rank 1, which is not in it"));
  EXPECT_THAT(error_of(write_all({member, other})), HasSubstr("2 files of 4 ranks"));
  for (const int ranks : {0, 1, 8})
    EXPECT_THAT(error_of(write_all({member}), {.ranks = ranks}),
                HasSubstr("every rank's trace is needed"));
  EXPECT_EQ(import({other}).program.ranks.size(), 4u);  // the trace says so
}

TEST(Chakra, ProcessGroupsThatNoFileDefinesAreThoseThatUseThem) {
  const std::string even = trace({collective(1, kAllReduce, 8, {}, "a")});
  const std::string odd = trace({collective(1, kAllReduce, 8, {}, "b")});
  const ImportedTrace imported = import({even, odd, even, odd});
  EXPECT_THAT(*collectives_of(imported.program.ranks.at(3)).at(0).group,
              ::testing::ElementsAre(1, 3));
  EXPECT_THAT(joined(imported.notes), HasSubstr("process group \"a\""));
}

TEST(Chakra, RanksThatDisagreeAreRefused) {
  const std::string first = trace({collective(1, kAllReduce, 8), collective(2, kAllReduce, 16)});
  const std::string second = trace({collective(1, kAllReduce, 8), collective(2, kBroadcast, 24)});
  const std::string error = error_of(write_all({first, second}));
  EXPECT_THAT(error, HasSubstr("broadcast of 24 bytes"));
  EXPECT_THAT(error, HasSubstr("is collective 1 of all ranks on rank 1"));
  EXPECT_THAT(error, HasSubstr("on rank 0 it is all-reduce of 16 bytes"));
  EXPECT_THAT(error_of(write_all({first, trace({collective(1, kAllReduce, 8)})})),
              HasSubstr("rank 0 has 2"));
}

TEST(Chakra, Messages) {
  const auto send = [](std::uint64_t id, int peer, int bytes, int tag) {
    return NodeText{.id = id,
                    .type = kSend,
                    .numbers = {{"comm_dst", peer}, {"comm_size", bytes}, {"comm_tag", tag}}};
  };
  const auto receive = [](std::uint64_t id, int peer, int bytes, int tag) {
    return NodeText{.id = id,
                    .type = kReceive,
                    .numbers = {{"comm_src", peer}, {"comm_size", bytes}, {"comm_tag", tag}}};
  };
  const ImportedTrace imported = import({trace({send(1, 1, 100, 5), send(2, 1, 30, 5)}),
                                         trace({receive(1, 0, 30, 5), receive(2, 0, 100, 5)})});
  EXPECT_EQ(imported.found.messages.count, 2u);
  EXPECT_EQ(imported.found.messages.bytes, 130.0);
  std::map<std::int64_t, int> tag_of_bytes;
  for (const ProgramRank& rank : imported.program.ranks)
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions)
        if (const auto* step = std::get_if<MessageStep>(&action.what)) {
          EXPECT_EQ(tag_of_bytes.try_emplace(step->bytes, step->tag).first->second, step->tag);
        }
  EXPECT_NE(tag_of_bytes.at(30), tag_of_bytes.at(100));  // or the wrong ones would meet

  EXPECT_THAT(error_of(write_all({trace({send(1, 1, 8, 0)}), trace({})})),
              HasSubstr("1 messages of 8 bytes with tag 0 from rank 0 to rank 1: are sent"));
  EXPECT_THAT(error_of(write_all({trace({send(1, 2, 8, 0)}), trace({})})),
              HasSubstr("must be with another rank than 0, below 2"));
  EXPECT_THAT(error_of(write_all({trace({send(1, 1, 8, 0)})}), {.ranks = 2}),
              HasSubstr("every rank's trace is needed"));
}

TEST(Chakra, RemoteMemoryIsCopied) {
  const ImportedTrace imported =
      import({trace({{.id = 1, .type = kLoad, .numbers = {{"tensor_size", 1024}}}})});
  EXPECT_THAT(joined(imported.notes), HasSubstr("1 loads from and stores to remote memory"));
  EXPECT_THAT(testing::program_text(imported.program),
              HasSubstr("\"bytes\":1024,\"do\":\"host-copy\""));
}

}  // namespace
}  // namespace forescale::chakra_test
