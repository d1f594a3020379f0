// Programs as files: what is written is read, what is wrong is named with its line.
#include "traces/program/program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/base/refusal.hpp"
#include "tests/traces/programs.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::program_text;
using testing::refusal;
using ::testing::SizeIs;

constexpr const char* kHeader =
    R"({"format": "forescale-program-1", "title": "t", "ranks": 2, "workers": 2, "iterations": 2, "images": [4, 4]})"
    "\n";
constexpr const char* kIterations = R"({"do": "end-iteration"}
{"do": "end-iteration"}
)";

Program read(const std::string& text) {
  std::istringstream in(text);
  return read_program(in, "p.jsonl");
}

std::string program_refusal(const std::string& text) {
  return refusal([&] { read(text); });
}

std::string program_of_two(const std::string& lines) {
  return std::string(kHeader) + "{\"rank\": 0}\n" + lines + kIterations +
         "{\"rank\": 1, \"same_as\": 0}\n";
}

TEST(Program, ReadsWhatItWrites) {
  const std::string text = program_of_two(
      R"({"do": "kernel", "id": 0, "stream": 1, "duration_s": 0.1, "phase": "forward", "label": "conv1"}
{"do": "collective", "id": 1, "op": "reduce", "bytes": 400, "root": 1, "communicator": 2, "phase": "aggregation", "label": "w", "group": [1, 0], "on_host": true, "value": 7, "control": true, "message": true}
{"do": "send", "id": 2, "peer": 1, "bytes": 8, "tag": 3, "phase": "aggregation", "label": "m"}
{"do": "receive", "id": 3, "peer": 1, "bytes": 8, "tag": 3, "phase": "aggregation", "label": "m"}
{"do": "put", "id": 4, "peer": 1, "bytes": 8, "phase": "aggregation", "label": "m"}
{"do": "host-work", "id": 5, "duration_s": 1e-3, "memory_bytes": 64, "phase": "update", "label": "u"}
{"do": "host-copy", "id": 6, "bytes": 12, "to_host": false, "phase": "propagation", "label": "c"}
{"do": "timer", "id": 7, "delay_s": 0.25, "what": "copy"}
{"do": "next-batch", "id": 8}
{"do": "spawn", "id": 9, "starts": 1}
{"do": "signal", "id": 10}
{"do": "wait", "for": [0]}
{"do": "wait-any", "for": [1, 2]}
{"do": "test", "for": [3]}
{"thread": 1, "do": "set", "for": [10]}
)");
  const Program program = read(text);
  EXPECT_EQ(program_text(read(program_text(program))), program_text(program));
  ASSERT_THAT(program.ranks, SizeIs(2));
  ASSERT_THAT(program.ranks[1].threads, SizeIs(2));
  const auto& actions = program.ranks[1].threads[0].actions;
  EXPECT_EQ(std::get<Kernel>(actions[0].what).duration_s, 0.1);
  const auto step = std::get<CollectiveStep>(actions[1].what);  // an action is made when asked for
  EXPECT_EQ(*step.group, (std::vector<int>{1, 0}));
  EXPECT_EQ(step.value, 7);
  EXPECT_TRUE(step.control && step.on_host);
  EXPECT_EQ(std::get<MessageStep>(actions[2].what).tag, 3);
  EXPECT_EQ(actions[12].requests, (std::vector<int>{1, 2}));
}

TEST(Program, ValuesHaveFourBytesUnlessItSaysOtherwise) {
  Program program = read(program_of_two(""));
  EXPECT_EQ(program.value_bytes, 4);
  EXPECT_EQ(program_text(program).find("value_bytes"), std::string::npos);
  program.value_bytes = 2;
  EXPECT_EQ(read(program_text(program)).value_bytes, 2);
  EXPECT_FALSE(read(program_text(program)).has_slowed_kernels);
  program.has_slowed_kernels = true;
  EXPECT_TRUE(read(program_text(program)).has_slowed_kernels);
}

TEST(Program, TimesSurviveToTheLastBit) {
  const double time_s = 0.1 + 0.2;
  Program program = read(program_of_two(""));
  ActionList& actions = program.ranks[0].threads[0].actions;
  actions.push_back({.kind = Action::Kind::kTimer, .id = 0, .what = Timer{time_s}});
  const Program again = read(program_text(program));
  EXPECT_EQ(std::get<Timer>(again.ranks[0].threads[0].actions.back().what).delay_s, time_s);
}

TEST(Program, ARankLikeAnotherHasNoActionsOfItsOwn) {
  EXPECT_THAT(program_refusal(program_of_two("") + "{\"do\": \"end-iteration\"}\n"),
              HasSubstr("must come after a line"));
}

TEST(Program, RanksThatAreAlikeAreWrittenOnce) {
  EXPECT_THAT(program_text(read(program_of_two(""))), HasSubstr("{\"rank\":1,\"same_as\":0}"));
}

TEST(Program, SaysTheLineOfWhatIsWrong) {
  EXPECT_THAT(program_refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(program_refusal("{\"format\": \"other\"}\n"), HasSubstr("p.jsonl line 1"));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"kernel\", \"id\"\n")),
              HasSubstr("p.jsonl line 3"));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"kernle\", \"id\": 0}\n")),
              HasSubstr("did you mean \"kernel\""));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"timer\", \"id\": 0, \"delay_s\": -1}\n")),
              HasSubstr("must be >= 0"));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"timer\", \"id\": 0, \"delay\": 1}\n")),
              HasSubstr("delay"));
  EXPECT_THAT(
      program_refusal(program_of_two(
          R"({"do": "send", "id": 0, "peer": 2, "bytes": 1, "phase": "update", "label": ""})"
          "\n")),
      HasSubstr("/peer = 2"));
  EXPECT_THAT(program_refusal(program_of_two("\xff\xfe\n")), HasSubstr("line 3"));
}

TEST(Program, SaysWhatDoesNotHangTogether) {
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"wait\", \"for\": [5]}\n")),
              HasSubstr("waits for request 5, which it does not make"));
  EXPECT_THAT(program_refusal(program_of_two(
                  "{\"do\": \"signal\", \"id\": 1}\n{\"do\": \"signal\", \"id\": 1}\n")),
              HasSubstr("makes request 1 for the second time"));
  EXPECT_THAT(program_refusal(program_of_two("{\"thread\": 1, \"do\": \"signal\", \"id\": 1}\n")),
              HasSubstr("does not start thread 1"));
  EXPECT_THAT(program_refusal(
                  program_of_two("{\"thread\": 1, \"do\": \"spawn\", \"id\": 1, \"starts\": 1}\n")),
              HasSubstr("does not start thread 1"));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"spawn\", \"id\": 1, \"starts\": 4}\n")),
              HasSubstr("starts thread 4, which does nothing"));
  EXPECT_THAT(program_refusal(std::string(kHeader) + "{\"rank\": 0}\n" + kIterations),
              HasSubstr("rank 1 is missing"));
  EXPECT_THAT(program_refusal(std::string(kHeader) + "{\"rank\": 0, \"same_as\": 1}\n"),
              HasSubstr("written above"));
  EXPECT_THAT(program_refusal(std::string(kHeader) + "{\"do\": \"end-iteration\"}\n"),
              HasSubstr("must come after a line"));
  EXPECT_THAT(program_refusal(program_of_two("{\"do\": \"end-iteration\"}\n")),
              HasSubstr("must end 2 iterations"));
}

}  // namespace
}  // namespace forescale
