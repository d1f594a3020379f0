// SimGrid/SMPI time-independent traces: what each call becomes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "tests/traces/programs.hpp"
#include "tests/traces/smpi_files.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Action::Kind;

// Of a rank, but for the batch and the end of the iteration that close it.
std::vector<Action> actions(const ImportedTrace& trace, size_t rank) {
  const ActionList& all = trace.program.ranks.at(rank).threads.at(0).actions;
  std::vector<Action> list(all.begin(), all.end());
  EXPECT_EQ(list.back().kind, Kind::kEndIteration);
  list.resize(list.size() - 3);
  return list;
}

std::vector<Kind> kinds(const std::vector<Action>& actions) {
  std::vector<Kind> list;
  for (const Action& action : actions) list.push_back(action.kind);
  return list;
}

const CollectiveStep& collective_of(const Action& action) {
  return std::get<CollectiveStep>(action.what);
}

TEST(FormatSmpi, ComputesSendsAndReduces) {
  const ImportedTrace trace = import_smpi(ranks(2,
                                                "0 compute 5e8\n"
                                                "0 send 1 3 1e6\n"
                                                "1 recv 0 3 1e6\n"
                                                "0 allreduce 5e4 2e8\n"
                                                "1 allreduce 5e4 1e8\n"));
  EXPECT_EQ(trace.program.workers, 2);
  EXPECT_EQ(trace.program.iterations, 1);
  EXPECT_THAT(trace.program.images, ElementsAre(0, 0));
  EXPECT_EQ(trace.program.title, "trace.txt");
  const std::vector<Action> first = actions(trace, 0);
  ASSERT_THAT(kinds(first),
              ElementsAre(Kind::kKernel, Kind::kWait, Kind::kSend, Kind::kWait, Kind::kCollective,
                          Kind::kWait, Kind::kKernel, Kind::kWait));
  EXPECT_DOUBLE_EQ(std::get<Kernel>(first[0].what).duration_s, 5e8 / 1e9);
  EXPECT_THAT(first[1].requests, ElementsAre(first[0].id));
  EXPECT_EQ(message_of(first[2]).peer, 1);
  EXPECT_EQ(message_of(first[2]).tag, 3);
  EXPECT_EQ(message_of(first[2]).bytes, 1000000);
  EXPECT_TRUE(message_of(first[2]).on_host);
  EXPECT_EQ(collective_of(first[4]).op, CollectiveOp::kAllReduce);
  EXPECT_EQ(collective_of(first[4]).bytes, 50000);
  EXPECT_DOUBLE_EQ(std::get<Kernel>(first[6].what).duration_s, 2e8 / 1e9);
  EXPECT_EQ(trace.found.kernels, 3u);
  EXPECT_DOUBLE_EQ(trace.found.compute_s, 5e8 / 1e9 + 2e8 / 1e9 + 1e8 / 1e9);
  EXPECT_EQ(trace.found.messages.count, 1u);
  EXPECT_DOUBLE_EQ(trace.found.messages.bytes, 1e6);
  EXPECT_EQ(trace.found.collectives.at("all-reduce").count, 2u);
  EXPECT_DOUBLE_EQ(trace.found.collectives.at("all-reduce").bytes, 2 * 5e4);
}

TEST(FormatSmpi, OneFileAllFilesAndAListAreTheSame) {
  const std::string one = "0 init\n0 send 1 0 100\n0 finalize\n";
  const std::string other = "# a comment\n\n1 init\n\t1  recv 0 0 100\r\n1 finalize";
  const std::string first = in_file("first.txt", one);
  const std::string second = in_file("second.txt", other);
  const std::string list = in_file("list.txt", "\nfirst.txt\nsecond.txt\n");
  Program together = import_smpi(one + other).program;
  Program apart = smpi().import({second, first}, {}).program;
  Program listed = smpi().import({list}, {}).program;
  together.title = apart.title = listed.title = "";
  EXPECT_EQ(program_text(together), program_text(apart));
  EXPECT_EQ(program_text(together), program_text(listed));
}

TEST(FormatSmpi, CountsAreOfTheDatatype) {
  const auto bytes = [](const std::string& call, const std::string& init) {
    return collective_of(actions(import_smpi(ranks(1, "0 " + call + "\n", init)), 0).at(0)).bytes;
  };
  EXPECT_EQ(bytes("bcast 10", "init"), 10);          // MPI_BYTE
  EXPECT_EQ(bytes("bcast 10", "init 1"), 10 * 8);    // MPI_DOUBLE
  EXPECT_EQ(bytes("bcast 10 0 3", "init"), 10 * 2);  // MPI_SHORT
  EXPECT_EQ(bytes("reduce 16 0 0 26", "init"), 16 * 16);
  EXPECT_EQ(bytes("gather 68 68 0 0 0", "init"), 68 * 8);
  EXPECT_EQ(bytes("allgather 68 68 1 1", "init"), 68 * 4);
  EXPECT_EQ(bytes("reducescatter 7 0 1", "init"), 7 * 4);
  EXPECT_EQ(bytes("allgatherv 7 7 0 0", "init"), 7 * 8);
}

// SMPI: below 64 KiB a send returns at once. A ring of them would not end otherwise.
TEST(FormatSmpi, SmallSendsDoNotBlock) {
  const auto ring = [](int bytes) {
    return kinds(actions(import_smpi(ranks(2, fmt::format("0 send 1 0 {0}\n1 send 0 0 {0}\n"
                                                          "0 recv 1 0 {0}\n1 recv 0 0 {0}\n",
                                                          bytes))),
                         0));
  };
  EXPECT_THAT(ring(65535), ElementsAre(Kind::kSend, Kind::kReceive, Kind::kWait, Kind::kWait));
  EXPECT_THAT(ring(65536), ElementsAre(Kind::kSend, Kind::kWait, Kind::kReceive, Kind::kWait));
}

TEST(FormatSmpi, ReceivesWhatIsSent) {
  const ImportedTrace trace = import_smpi(ranks(2,
                                                "1 irecv 0 0 -1\n1 recv 0 0 900\n1 wait 0 1 0\n"
                                                "0 send 1 0 70\n0 send 1 0 80\n"));
  EXPECT_EQ(message_of(actions(trace, 1).at(0)).bytes, 70);
  EXPECT_EQ(message_of(actions(trace, 1).at(1)).bytes, 80);
}

TEST(FormatSmpi, WaitsNameTheOldestRequest) {
  const std::vector<Action> list = actions(
      import_smpi(ranks(2,
                        "0 irecv 1 0 10\n0 irecv 1 0 20\n0 irecv 1 4 30\n0 isend 1 5 40\n"
                        "0 test 1 0 0\n0 wait 1 0 0\n0 wait 1 0 0\n0 wait 1 0 0\n0 waitall\n"
                        "0 sendRecv 2 1 3 1\n"
                        "1 send 0 0 10\n1 send 0 0 20\n1 send 0 4 30\n1 recv 0 5 40\n"
                        "1 sendRecv 3 0 2 0\n")),
      0);
  std::vector<int> waited;
  for (const Action& action : list)
    if (!action.requests.empty()) waited.push_back(action.requests.front());
  // test 0, wait 0, wait 1, a wait for nothing, waitall; the exchange receives, then sends.
  EXPECT_THAT(waited, ElementsAre(0, 0, 1, 2, 3, 4, 5));
  EXPECT_EQ(list[4].kind, Kind::kTest);
  EXPECT_EQ(message_of(list[9]).bytes, 3);
}

TEST(FormatSmpi, PartsOfOneSizeAreACollective) {
  const ImportedTrace trace =
      import_smpi(ranks(3, all(3, "alltoallv 9 4 4 4 9 4 4 4") + all(3, "alltoall 4 4") +
                               all(3, "gatherv 5 5 5 5 1") + all(3, "scatterv 6 6 6 6 2")));
  const std::vector<Action> list = actions(trace, 1);
  ASSERT_THAT(list, SizeIs(8));
  EXPECT_EQ(collective_of(list[0]).op, CollectiveOp::kAllToAll);
  EXPECT_EQ(collective_of(list[0]).bytes, 3 * 4);
  EXPECT_EQ(collective_of(list[2]).bytes, 3 * 4);
  EXPECT_EQ(collective_of(list[4]).op, CollectiveOp::kGather);
  EXPECT_EQ(collective_of(list[4]).bytes, 3 * 5);
  EXPECT_EQ(collective_of(list[4]).root, 1);
  EXPECT_EQ(collective_of(list[6]).op, CollectiveOp::kScatter);
  EXPECT_EQ(collective_of(list[6]).root, 2);
  EXPECT_THAT(trace.notes, IsEmpty());
}

TEST(FormatSmpi, PartsOfManySizesAreMessages) {
  const ImportedTrace trace = import_smpi(ranks(3,
                                                "0 alltoallv 100 1 40 30 1000 1 80 100\n"
                                                "1 alltoallv 1000 80 1 40 1000 40 1 30\n"
                                                "2 alltoallv 1000 100 0 1 1000 30 40 1\n"));
  std::vector<std::tuple<Kind, int, std::int64_t>> moves;
  const std::vector<Action> list = actions(trace, 1);
  for (const Action& action : list)
    if (action.id >= 0)
      moves.emplace_back(action.kind, message_of(action).peer, message_of(action).bytes);
  EXPECT_THAT(moves, ElementsAre(std::tuple(Kind::kReceive, 0, 40), std::tuple(Kind::kSend, 0, 80),
                                 std::tuple(Kind::kSend, 2, 40)));
  EXPECT_EQ(list.size(), 2 * moves.size());
  EXPECT_EQ(trace.found.messages.count, 0u);
  EXPECT_EQ(trace.found.collectives.at("all-to-all").count, 3u);
  EXPECT_DOUBLE_EQ(trace.found.collectives.at("all-to-all").bytes,
                   1 + 40 + 30 + 80 + 1 + 40 + 100 + 0 + 1);
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("a message for each pair")));
}

TEST(FormatSmpi, SharesOfManySizesAreEvened) {
  const ImportedTrace trace = import_smpi(ranks(
      2, "0 allgatherv 30 30 10\n1 allgatherv 10 30 10\n" + all(2, "reducescatter 30 10 1e9")));
  EXPECT_EQ(collective_of(actions(trace, 0).at(0)).bytes, 30 + 10);
  EXPECT_EQ(collective_of(actions(trace, 0).at(2)).bytes, 30 + 10);
  EXPECT_DOUBLE_EQ(trace.found.compute_s, 2 * 1e9 / 1e9);
  EXPECT_THAT(trace.notes.at(0), HasSubstr("2 allgathers"));
  EXPECT_THAT(trace.notes.at(0), HasSubstr("1.5 times"));  // 30 / ((30 + 10) / 2)
}

TEST(FormatSmpi, BarriersAndScansAreCountedApart) {
  const ImportedTrace trace =
      import_smpi(ranks(2, all(2, "barrier") + all(2, "scan 10 0") + all(2, "exscan 20 0")));
  EXPECT_TRUE(collective_of(actions(trace, 0).at(0)).control);
  EXPECT_EQ(collective_of(actions(trace, 0).at(0)).bytes, 4);
  EXPECT_EQ(collective_of(actions(trace, 0).at(2)).bytes, 10);
  EXPECT_THAT(trace.found.collectives, SizeIs(3));
  EXPECT_EQ(trace.found.collectives.at("barrier").count, 2u);
  EXPECT_DOUBLE_EQ(trace.found.collectives.at("scan").bytes, 2 * 10);
  EXPECT_DOUBLE_EQ(trace.found.collectives.at("exscan").bytes, 2 * 20);
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("1 barriers"), HasSubstr("2 scans")));
}

TEST(FormatSmpi, WhatCostsNothingAndWhatSleeps) {
  const ImportedTrace trace =
      import_smpi(ranks(1,
                        "0 location file.c 12\n0 comm_size 1\n0 comm_split\n0 sleep 0.5\n"
                        "0 isend 0 1 8\n0 recv 0 1 8\n0 wait 0 0 1\n"),
                  {});
  const std::vector<Action> list = actions(trace, 0);
  ASSERT_THAT(kinds(list), ElementsAre(Kind::kTimer, Kind::kWait));
  EXPECT_DOUBLE_EQ(std::get<Timer>(list[0].what).delay_s, 0.5);
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("make communicators"), HasSubstr("to itself"),
                                       HasSubstr("1 sleeps")));
}

TEST(FormatSmpi, AsksForTheSpeed) {
  EXPECT_THAT(smpi_refusal(ranks(1, "0 compute 5e8\n"), {}),
              HasSubstr("trace.txt:line 2 = compute: computes 500000000 operations: say with "
                        "--flops-per-s"));
  EXPECT_EQ(smpi_refusal(ranks(1, "0 compute 0\n"), {}), "accepted");
}

TEST(FormatSmpi, KeepsItsRanks) {
  EXPECT_THAT(smpi_refusal(ranks(2, ""), {.ranks = 4}), HasSubstr("--ranks = 4: must be 2"));
  EXPECT_THAT(import_smpi(ranks(2, ""), {.ranks = 2, .images = 32}).program.images,
              ElementsAre(32, 32));
}

TEST(FormatSmpi, ProgramsAreReadBack) {
  const ImportedTrace trace = import_smpi(
      ranks(3, "0 compute 5\n0 isend 1 2 7\n1 recv 0 2 7\n2 sleep 1\n" + all(3, "bcast 5 2") +
                   "0 alltoallv 9 1 2 3 9 1 2 3\n1 alltoallv 9 2 2 3 9 1 2 3\n"
                   "2 alltoallv 9 1 2 3 9 1 2 3\n" +
                   all(3, "barrier")));
  const std::string text = program_text(trace.program);
  std::istringstream in(text);
  EXPECT_EQ(program_text(read_program(in, "p.jsonl")), text);
}

TEST(FormatSmpi, IsTold) {
  const auto detects = [](const std::string& head) { return smpi().detects("f.txt", head); };
  EXPECT_TRUE(detects("0 init\n1 init\n"));
  EXPECT_TRUE(detects("# comment\n\n12 compute 5e8"));
  EXPECT_FALSE(detects(""));
  EXPECT_FALSE(detects("{\"traceEvents\": []}"));
  EXPECT_FALSE(detects("[\n{\"name\": 1}"));
  EXPECT_FALSE(detects("# nThread 1 nGpus 8\n#   size count\n     8     2     float     sum\n"));
  EXPECT_FALSE(detects("num_ranks 2\nrank 0 {"));
  EXPECT_FALSE(detects("MPI_Init:-:140737488343500:140737488344604\n"));
  in_file("member.txt", ranks(1, ""));
  EXPECT_TRUE(smpi().detects(in_file("list.txt", "member.txt\n"), "member.txt\n"));
  in_file("prose.txt", "no trace\n");
  EXPECT_FALSE(smpi().detects(in_file("list.txt", "prose.txt\n"), "prose.txt\n"));
}

}  // namespace
}  // namespace forescale::testing
