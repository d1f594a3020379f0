// Logs of NCCL: one of Jean Zay (tests/models/data/README.md), and lines as later releases write
// them (src/transport/net.cc, src/graph/connect.cc of v2.27).
#include "models/nccl_log.hpp"

#include <gtest/gtest.h>

#include "base/input_text.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

NcclLog jean_zay() {
  const std::string file = FORESCALE_SOURCE_DIR "/tests/models/data/nccl_jean_zay.log";
  return read_nccl_log(read_input_text(file, 1 << 20), file);
}

// A node of eight, whose channels 0 and 1 leave through adapters 0 and 1.
constexpr const char* kLater =
    "[1,0]<stdout>:node-1:10:20 [0] NCCL INFO NCCL_ALGO set by environment to Ring.\n"
    "node-1:10:20 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB "
    "eth0:10.0.0.1<0>\n"
    "node-1:10:20 [0] NCCL INFO Using network IB\n"
    "node-1:10:20 [0] NCCL INFO Channel 00/2 : 0 1 2 3\n"
    "node-1:10:20 [0] NCCL INFO Channel 01/2 : 1 0 3 2\n"
    "node-1:10:20 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/IB/0/GDRDMA\n"
    "node-1:10:20 [1] NCCL INFO Channel 01/0 : 2[0] -> 1[1] [receive] via NET/IB/1(0)/GDRDMA\n"
    "node-1:10:20 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/1/GDRDMA/Shared\n"
    "node-1:10:20 [0] NCCL INFO Channel 01/0 : 0[0] -> 3[1] [send] via NET/IB/0/GDRDMA\n"
    "node-1:10:20 [0] NCCL INFO Channel 03/1 : 0[0] -> 3[1] [send] via NET/IB/5\n"
    "node-1:10:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
    "node-1:10:20 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1 - Init COMPLETE\n"
    "node-1:10:20 [0] NCCL INFO ncclCommInitRank comm 0x2 rank 0 nranks 4 cudaDev 0 - Init "
    "COMPLETE\n"
    "node-1:10:20 [1] NCCL INFO ncclCommInitRank comm 0x3 rank 1 nranks 4 cudaDev 1 - Init "
    "COMPLETE\n"
    "node-1:10:20 [1] NCCL INFO ncclCommInitRank comm 0x4 rank 0 nranks 2 cudaDev 1 - Init "
    "COMPLETE\n";

TEST(NcclLog, SaysThatJeanZayUsesOneOfFourAdapters) {
  const NcclLog log = jean_zay();
  EXPECT_EQ(log.version, "2.10.3");
  EXPECT_EQ(log.network, "IB");
  EXPECT_EQ(log.ranks, 16);
  EXPECT_EQ(log.ranks_of_host.size(), 4u);
  EXPECT_EQ(log.ranks_of_host.at("jean-zay-iam41"), (std::set<int>{8, 9, 10, 11}));
  EXPECT_EQ(log.adapters.size(), 4u);
  EXPECT_EQ(log.adapters[1], "hfi1_0:1/IB");
  EXPECT_EQ(log.channels, 2);
  EXPECT_EQ(log.rings.at(1).size(), 16u);
  EXPECT_EQ(log.rings.at(1)[15], 15);
  EXPECT_EQ(log.inside.at("P2P/IPC/read"), 4);
  EXPECT_EQ(log.with_gpudirect, 0);
  EXPECT_EQ(log.without_gpudirect, 9);
  EXPECT_EQ(adapters_in_use(log), 1);
  const std::vector<std::string> found = remarks(log);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].find("no GDRDMA"), std::string::npos);
  EXPECT_NE(found[1].find("of 4 adapters one is in use"), std::string::npos);
  EXPECT_NE(found[1].find("25 %"), std::string::npos);
}

TEST(NcclLog, ReadsWhatLaterReleasesWrite) {
  const NcclLog log = read_nccl_log(kLater, "nccl.txt");
  EXPECT_EQ(log.version, "");
  EXPECT_EQ(log.ranks, 4);  // the larger communicator's, not the last one's
  EXPECT_EQ(log.ranks_of_host.at("node-1"), (std::set<int>{0, 1}));
  EXPECT_EQ(log.adapters, (std::vector<std::string>{"mlx5_0:1/RoCE", "mlx5_1:1/RoCE"}));
  EXPECT_EQ(log.rings.at(1), (std::vector<int>{1, 0, 3, 2}));
  EXPECT_EQ(log.channels, 2);
  EXPECT_EQ(log.adapters_of_host.at("node-1").sending, (std::set<int>{0, 1}));  // not 5: sends'
  EXPECT_EQ(adapters_in_use(log), 2);
  EXPECT_EQ(log.with_gpudirect, 4);
  EXPECT_EQ(log.without_gpudirect, 0);
  EXPECT_EQ(log.variables.at("NCCL_ALGO"), "Ring");
  const std::vector<std::string> found = remarks(log);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("SHM/direct/direct"), std::string::npos);
}

TEST(NcclLog, CountsTheLesserDirectionOfTheHostThatHasFewest) {
  NcclLog log;
  EXPECT_EQ(adapters_in_use(log), 0);
  log.adapters_of_host["a"] = {.sending = {0, 1, 2}, .receiving = {0, 1}};
  EXPECT_EQ(adapters_in_use(log), 2);
  log.adapters_of_host["b"] = {.sending = {0}, .receiving = {0, 1, 2, 3}};
  EXPECT_EQ(adapters_in_use(log), 1);
}

TEST(NcclLog, SaysThatAllGoesThroughTcp) {
  const NcclLog log = read_nccl_log(
      "a:1:2 [0] NCCL INFO Using network Socket\n"
      "a:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0\n"
      "a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 - Init COMPLETE\n",
      "nccl.txt");
  ASSERT_EQ(remarks(log).size(), 1u);
  EXPECT_NE(remarks(log)[0].find("TCP"), std::string::npos);
}

TEST(NcclLog, RefusesWhatTellsNothing) {
  EXPECT_EQ(testing::refusal([] { read_nccl_log("hello\n", "a.txt"); }),
            "a.txt: has no line of NCCL: run the program with NCCL_DEBUG=INFO in its environment");
  EXPECT_NE(testing::refusal([] {
              read_nccl_log("a:1:2 [0] NCCL INFO Bootstrap : Using eth0\n", "a.txt");
            }).find("tells of no communicator"),
            std::string::npos);
  // Numbers that no communicator has, cut lines.
  EXPECT_NE(testing::refusal([] {
              read_nccl_log(
                  "a:1:2 [0] NCCL INFO comm 0x1 rank 7 nranks 4\n"
                  "a:1:2 [0] NCCL INFO comm 0x1 rank 99999999999 nranks 4\n"
                  "a:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/\n"
                  "a:1:2 [0] NCCL INFO Channel \n NCCL INFO \n",
                  "a.txt");
            }).find("tells of no communicator"),
            std::string::npos);
}

}  // namespace
}  // namespace forescale
