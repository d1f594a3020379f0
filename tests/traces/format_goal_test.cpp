// GOAL schedules: what the tasks and their dependencies become.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "tests/traces/goal_files.hpp"
#include "tests/traces/programs.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = Action::Kind;

// "thread kind id for" of every action of a rank, but for the three that end it.
std::vector<std::string> told(const ImportedTrace& trace, size_t rank) {
  const std::map<Kind, std::string> names{{Kind::kKernel, "kernel"},   {Kind::kSend, "send"},
                                          {Kind::kReceive, "receive"}, {Kind::kSpawn, "spawn"},
                                          {Kind::kSignal, "signal"},   {Kind::kWait, "wait"},
                                          {Kind::kSet, "set"},         {Kind::kHostWork, "work"}};
  std::vector<std::string> list;
  const std::vector<ProgramThread>& threads = trace.program.ranks.at(rank).threads;
  for (size_t thread = 0; thread < threads.size(); ++thread) {
    const ActionList& actions = threads[thread].actions;
    for (size_t i = 0; i + (thread == 0 ? 3 : 0) < actions.size(); ++i)
      list.push_back(fmt::format("{} {} {}", thread, names.at(actions[i].kind),
                                 actions[i].id >= 0 ? actions[i].id : actions[i].requests.at(0)));
  }
  return list;
}

TEST(FormatGoal, ReadsTasksAndTotals) {
  const ImportedTrace trace = import_goal(
      "num_ranks 2\n"
      "/* of two\n lines */\n"
      "rank 1 { a: recv 10b from 0 tag 7 // first\n"
      "}\n"
      "rank 0 {\r\n"
      "  l1: calc 1500 cpu 2\r\n"
      "  l2: send 10 b to 1 tag 7 cpu 2 nic 1\r\n"
      "  l2 requires l1\r\n"
      "}\n",
      {.images = 8});
  EXPECT_EQ(trace.program.title, "schedule.goal");
  EXPECT_EQ(trace.program.workers, 2);
  EXPECT_EQ(trace.program.iterations, 1);
  EXPECT_THAT(trace.program.images, ElementsAre(8, 8));
  EXPECT_THAT(told(trace, 0), ElementsAre("0 kernel 0", "0 wait 0", "0 send 1", "0 wait 1"));
  EXPECT_THAT(told(trace, 1), ElementsAre("0 receive 0", "0 wait 0"));
  const ActionList& actions = trace.program.ranks[0].threads[0].actions;
  EXPECT_DOUBLE_EQ(std::get<Kernel>(actions[0].what).duration_s, 1500e-9);
  EXPECT_EQ(std::get<Kernel>(actions[0].what).stream, 2);
  EXPECT_EQ(std::tuple(message_of(actions[2]).peer, message_of(actions[2]).tag,
                       message_of(actions[2]).bytes, message_of(actions[2]).on_host),
            std::tuple(1, 7, 10, true));
  EXPECT_EQ(trace.found.kernels, 1u);
  EXPECT_DOUBLE_EQ(trace.found.compute_s, 1500e-9);
  EXPECT_EQ(trace.found.messages.count, 1u);
  EXPECT_DOUBLE_EQ(trace.found.messages.bytes, 10);
  EXPECT_THAT(trace.found.collectives, IsEmpty());
  EXPECT_THAT(trace.notes, ElementsAre(HasSubstr("nanoseconds")));
}

TEST(FormatGoal, TakesTheUnitThatIsGiven) {
  const ImportedTrace trace = import_goal(rank_of("calc 3\n"), {.cycle_s = 1e-6});
  EXPECT_DOUBLE_EQ(trace.found.compute_s, 3e-6);
  EXPECT_THAT(trace.notes, IsEmpty());
}

// What depends on nothing, or on the same, starts together: rings of sends end.
TEST(FormatGoal, StartsTogetherWhatMayStartTogether) {
  const ImportedTrace trace = import_goal(
      "num_ranks 2\n"
      "rank 0 {\ns: send 9b to 1\nr: recv 9b from 1\n}\n"
      "rank 1 {\ns: send 9b to 0\nr: recv 9b from 0\n"
      "a: calc 1\nb: calc 2\na requires r\nb requires r\n}\n");
  EXPECT_THAT(told(trace, 0), ElementsAre("0 send 0", "0 receive 1", "0 wait 0", "0 wait 1"));
  EXPECT_THAT(told(trace, 1), ElementsAre("0 send 0", "0 receive 1", "0 wait 1", "0 kernel 2",
                                          "0 kernel 3", "0 wait 0", "0 wait 2", "0 wait 3"));
}

TEST(FormatGoal, ThreadsTellEachOtherBySignals) {
  const ImportedTrace trace = import_goal(
      "num_ranks 2\n"
      "rank 0 {\nr1: recv 1b from 1 tag 1\nr2: recv 2b from 1 tag 2\n"
      "a: calc 1\na requires r1\nb: calc 2\nb requires r2\nc: calc 3\nc irequires b\n"
      "c requires a\n}\n"
      "rank 1 {\nsend 1b to 0 tag 1\nsend 2b to 0 tag 2\n}\n");
  // Signals 0 and 1: that r2 and a have started. Thread 1 does b and then c, which waits for a.
  EXPECT_THAT(told(trace, 0),
              ElementsAre("0 signal 0", "0 signal 1", "0 spawn 2", "0 receive 3", "0 receive 4",
                          "0 set 0", "0 wait 3", "0 kernel 5", "0 set 1", "0 wait 2",  //
                          "1 wait 0", "1 wait 4", "1 kernel 6", "1 wait 1", "1 wait 5",
                          "1 kernel 7", "1 wait 6", "1 wait 7"));
}

TEST(FormatGoal, SeveralCpusComputeSideBySide) {
  const ImportedTrace trace = import_goal(rank_of("calc 1 cpu 0\ncalc 2 cpu 1\n"));
  EXPECT_THAT(told(trace, 0), ElementsAre("0 work 0", "0 work 1", "0 wait 0", "0 wait 1"));
  EXPECT_THAT(trace.notes.back(), HasSubstr("1 ranks compute on several CPUs"));
  // Those that take no time need no CPU.
  EXPECT_THAT(told(import_goal(rank_of("calc 0 cpu 0\ncalc 2 cpu 1\n")), 0),
              ElementsAre("0 kernel 0", "0 kernel 1", "0 wait 0", "0 wait 1"));
}

TEST(FormatGoal, LargeTagsStayApart) {
  const ImportedTrace trace = import_goal(
      "num_ranks 2\n"
      "rank 0 {\nsend 1b to 1 tag 5000000000\nsend 2b to 1 tag 9000000000\nsend 3b to 1 tag 5\n}\n"
      "rank 1 {\nrecv 2b from 0 tag 9000000000\nrecv 1b from 0 tag 5000000000\nrecv 3b from 0 tag "
      "5\n}\n");
  const auto tags = [&](size_t rank) {
    std::map<std::int64_t, int> list;
    for (const Action& action : trace.program.ranks[rank].threads[0].actions)
      if (std::holds_alternative<MessageStep>(action.what))
        list[message_of(action).bytes] = message_of(action).tag;
    return list;
  };
  EXPECT_EQ(tags(0), tags(1));
  EXPECT_NE(tags(0)[1], tags(0)[2]);
  EXPECT_EQ(tags(0)[3], 5);
}

TEST(FormatGoal, ProgramsAreReadBack) {
  const std::string text = program_text(
      import_goal("num_ranks 2\n"
                  "rank 0 {\nr1: recv 1b from 1 tag 1\nr2: recv 2b from 1 tag 2\na: calc 1\n"
                  "a requires r1\nb: calc 2 cpu 3\nb requires r2\n}\n"
                  "rank 1 {\nsend 1b to 0 tag 1\nsend 2b to 0 tag 2\ncalc 5\n}\n")
          .program);
  std::istringstream in(text);
  EXPECT_EQ(program_text(read_program(in, "p.jsonl")), text);
}

TEST(FormatGoal, IsTold) {
  const auto detects = [](const std::string& head) { return goal().detects("f.goal", head); };
  EXPECT_TRUE(detects("num_ranks 2\n"));
  EXPECT_TRUE(detects("\n\n  num_ranks 2\n"));
  EXPECT_TRUE(detects("// made by hand\nnum_ranks 2\n"));
  EXPECT_FALSE(detects(""));
  EXPECT_FALSE(detects("// made by hand\n"));
  EXPECT_FALSE(detects("{\"num_ranks\": 2}"));
  EXPECT_FALSE(detects("0 init\n"));
  EXPECT_FALSE(detects("# num_ranks\n"));
}

TEST(FormatGoal, RefusesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "must begin with \"num_ranks\""},
      {"num_ranks 0\n", "must be at least 1"},
      {"num_ranks 99999999\n", "a whole number from 0 to 1048576"},
      {"num_ranks 2\nrank 0 {\n}\n", "is the end, but rank 1 of 2 is missing"},
      {"num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n", "line 4 = 0: is a rank that is there for the"},
      {"num_ranks 2\nrank 2 {\n}\n", "a whole number from 0 to 1"},
      {"num_ranks 1\nrank 0 {\ncalc 5\n", "rank 0 is not closed"},
      {"num_ranks 1\n/* rank 0 {\n", "ends within a comment"},
      {rank_of("calc 5 5\n"), "line 3 = 5: must be \"tag\", \"cpu\" or \"nic\""},
      {rank_of("calc -5\n"), "line 3 = -5: must be a whole number"},
      {rank_of("calc nan\n"), "line 3 = nan: must be a whole number"},
      {rank_of("calc 99999999999999999999\n"), "must be a whole number"},
      {rank_of("calc 18000000000000000000\n"), "takes 18000000000 s, which is too long"},
      {rank_of("calc 5 cpu 65536\n"), "a whole number from 0 to 65535"},
      {rank_of("a: calc 5\na: calc 6\n"), "line 4 = a: is a label that this rank has"},
      {rank_of("a: calc 5\na requires b\n"), "line 4 = b: must be the label of a task above"},
      {rank_of("a: calc 5\nb requires a\n"), "line 4 = b: must be the label of a task above"},
      {rank_of("a: calc 5\na needs a\n"), "\"requires\" or \"irequires\""},
      {rank_of("a: calc 5\na requires a\n"), "line 3: is a task that depends on itself"},
      {rank_of("\xff\xfe\n"), "line 3 = ?: must be a task"},
      {rank_of("send 5b to 0\n"), "must be another rank"},
      {"num_ranks 2\nrank 0 {\nrecv 5b from -1\n}\n", "from any rank"},
      {"num_ranks 2\nrank 0 {\nrecv 5b from 1 tag -1\n}\n", "with any tag"},
      {"num_ranks 2\nrank 0 {\nsend 5 to 1\n}\n", "line 3 = to: must be \"b\""},
      {"num_ranks 2\nrank 0 {\nsend 5b from 1\n}\n", "must be \"to\""},
      {"num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\n}\n",
       "line 3: is among the messages from rank 0 to rank 1 with this tag: of all ranks together, "
       "+1 more messages and +5 more bytes"},
      {"num_ranks 2\nrank 0 {\nsend 5b to 1\n}\nrank 1 {\nrecv 4b from 0\n}\n", "+1 more bytes"},
  };
  for (const auto& [text, reason] : wrong) EXPECT_THAT(goal_refusal(text), HasSubstr(reason));
  EXPECT_THAT(goal_refusal(rank_of(""), {.ranks = 2}), HasSubstr("--ranks = 2: must be 1"));
  const std::string file = goal_file(rank_of(""));
  EXPECT_THROW(goal().import({file, file}, {}), InputError);
}

}  // namespace
}  // namespace forescale::testing
