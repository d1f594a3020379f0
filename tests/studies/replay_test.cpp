// Recorded predictions replayed: on their own platform, on another, with another plan.
#include "studies/replay/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/data_files.hpp"
#include "base/scratch_folder.hpp"
#include "studies/predict/prediction.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

constexpr double kExact = 1e-9;  // relative

Question prediction_of(const std::string& schedule, const std::string& platform) {
  return {.platform = platform,
          .stack = "mvapich2-gdr",
          .model = "alexnet",
          .schedule = schedule,
          .gpus = {4},
          .batch = 30};  // shares of 8 and 7 images
}

Row predicted_row(const Question& question, const std::string& record = "") {
  return run_prediction(question, {.draws = Draws::kNominal, .files = {.record = record}})
      .rows.front();
}

double predicted_s(const Question& question, const std::string& record = "") {
  return predicted_row(question, record).point.iteration_s;
}

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string replay_refusal(const ReplayText& text) {
  return refusal([&] { replay(text); });
}

class EverySchedule : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Replay, EverySchedule, ::testing::ValuesIn(Registry<Schedule>::names()),
                         [](const auto& one) {
                           std::string name = one.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(EverySchedule, TakesTheSameTimeWhereItWasRecorded) {
  const ScratchFolder folder("replay");
  const std::string record = folder.file("program.jsonl");
  const Row row = predicted_row(prediction_of(GetParam(), "kesch"), record);
  const Replay again = replay({.files = {record}, .range = false});
  EXPECT_NEAR(again.iteration.time_s, row.point.iteration_s, kExact * row.point.iteration_s);
  EXPECT_EQ(again.messages, row.point.messages);
  EXPECT_EQ(again.bytes_sent, row.point.bytes_sent);
  EXPECT_EQ(again.root_s.size(), row.point.root_s.size());
  for (const auto& [phase, time_s] : row.point.root_s)
    EXPECT_NEAR(again.root_s.at(phase), time_s, kExact * row.point.iteration_s) << phase;
  double path_s = 0;
  for (const auto& [cause, time_s] : again.critical_path) {
    EXPECT_NE(cause, "start") << "the critical path has a hole";
    path_s += time_s;
  }
  if (again.is_steady) {  // the path is of the last iteration, which may draw an order of its own
    const double same = GetParam() == "poseidon-managed" ? 5e-2 : 1e-2;
    EXPECT_NEAR(path_s, again.iteration.time_s, same * again.iteration.time_s);
  }
}

// The same nodes, one GPU each in use, on a slower fabric.
TEST_P(EverySchedule, TakesTheTimeOfAFreshPredictionElsewhere) {
  const ScratchFolder folder("replay");
  std::string slower = content_of(data_path("topologies/presets/kesch.json"));
  const std::string fabric = "connect-ib-dual-fdr";
  slower.replace(slower.find(fabric), fabric.size(), "ethernet-10g");
  const std::string elsewhere = folder.file("slower.json");
  std::ofstream(elsewhere) << slower;
  Question question = prediction_of(GetParam(), "kesch");
  question.placement = "linear:per_node=1";
  const std::string record = folder.file("program.jsonl");
  predicted_row(question, record);
  const Replay there = replay(
      {.files = {record}, .platform = elsewhere, .placement = question.placement, .range = false});
  Question fresh = prediction_of(GetParam(), elsewhere);
  fresh.placement = question.placement;
  fresh.iterations = there.iterations;  // as many as settled where it was recorded
  const double fresh_s = predicted_s(fresh);
  EXPECT_NEAR(there.iteration.time_s, fresh_s, kExact * fresh_s);
  EXPECT_NE(there.iteration.time_s, replay({.files = {record}, .range = false}).iteration.time_s);
}

class Recorded : public ::testing::Test {
 protected:
  Recorded()
      : folder_("replay"),
        record_(folder_.file("program.jsonl")),
        question_(prediction_of("sc-obr", "kesch")) {}
  ScratchFolder folder_;
  std::string record_;
  Question question_;
};

TEST_F(Recorded, KeepsTheConditionsOfItsRun) {
  question_.data = "lmdb";
  question_.noise = "sigma=0.1,seed=3";
  question_.stragglers = "1:1.5";
  question_.placement = "random:seed=5";
  const double recorded_s = predicted_s(question_, record_);
  const Replay again = replay({.files = {record_}, .range = false});
  EXPECT_NEAR(again.iteration.time_s, recorded_s, kExact * recorded_s);
}

// Recorded where all is as it should be, replayed where it is not: what a prediction says there.
TEST_F(Recorded, SlowRanksAndLinksAreThoseOfAPrediction) {
  question_.placement = "linear:per_node=1";
  const double healthy_s = predicted_s(question_, record_);
  for (const auto& [name, text] :
       {std::pair{"stragglers", "1:6"},
        {"links", "node1=0.05"},
        {"network_scale", "0.05"},
        {"number_scales",
         "models/hardware/links/connect-ib-dual-fdr.json:/bandwidth_bytes_per_s=0.2"}}) {
    ReplayText there{.files = {record_}, .range = false};
    Question fresh = question_;
    for (Question* question : {&there.varied, &fresh})
      question_field(name).parse(*question, text, name);
    const Replay varied = replay(there);
    fresh.iterations = varied.iterations;
    const double fresh_s = predicted_s(fresh);
    EXPECT_NEAR(varied.iteration.time_s, fresh_s, kExact * fresh_s) << name;
    EXPECT_GT(varied.iteration.time_s, 1.01 * healthy_s) << name;
  }
}

TEST_F(Recorded, NoiseThatIsAskedForReplacesWhatWasRecorded) {
  question_.placement = "linear:per_node=1";
  const double healthy_s = predicted_s(question_, record_);
  Question varied;
  varied.message_noise = "sigma=1,seed=3";
  EXPECT_GT(replay({.files = {record_}, .varied = varied, .range = false}).iteration.time_s,
            1.01 * healthy_s);
  question_.stragglers = "1:10";
  EXPECT_GT(predicted_s(question_, record_), 1.5 * healthy_s);
  varied = {};
  varied.stragglers = "0:1";
  EXPECT_NEAR(replay({.files = {record_}, .varied = varied, .range = false}).iteration.time_s,
              healthy_s, kExact * healthy_s);
}

TEST_F(Recorded, RefusesSlowRanksAndLinksThatItHasNot) {
  predicted_row(question_, record_);
  ReplayText text{.files = {record_}, .range = false};
  text.varied.stragglers = "4:2";
  EXPECT_THAT(replay_refusal(text), HasSubstr("--straggler = 4: must be a rank below 4"));
  text.varied = {};
  text.varied.links = {{"nodex", "0.5"}};
  EXPECT_THAT(replay_refusal(text), HasSubstr("--link = nodex: device is unknown"));
}

TEST_F(Recorded, TakesAnotherPlan) {
  const double recorded_s = predicted_s(question_, record_);
  const Replay chain =
      replay({.files = {record_}, .plans = {"reduce/chain:chunk_bytes=1MiB"}, .range = false});
  EXPECT_NE(chain.messages, replay({.files = {record_}, .range = false}).messages);
  EXPECT_NE(chain.iteration.time_s, recorded_s);
}

// A number that the recorded order may have spoilt says so; the others say nothing.
TEST_F(Recorded, SaysWhereItIsTiedToTheTimesOfItsRun) {
  predicted_row(question_, record_);
  EXPECT_TRUE(replay({.files = {record_}, .platform = "cluster-b", .range = false}).notes.empty());
  const std::string timed = folder_.file("timed.jsonl");
  std::ofstream(timed)
      << R"({"format": "forescale-program-1", "title": "t", "ranks": 1, "workers": 1,)"
      << R"( "iterations": 1, "images": [4], "platform": "kesch", "stack": "ideal"})"
      << "\n{\"rank\": 0}\n{\"do\": \"next-batch\", \"id\": 0}\n"
      << "{\"do\": \"timer\", \"id\": 1, \"delay_s\": 1}\n"
      << "{\"do\": \"wait\", \"for\": [1]}\n{\"do\": \"end-iteration\"}\n";
  EXPECT_TRUE(replay({.files = {timed}, .range = false}).notes.empty());
  const Replay there = replay({.files = {timed}, .platform = "cluster-b", .range = false});
  EXPECT_EQ(there.iteration.time_s, 1);
  ASSERT_EQ(there.notes.size(), 1U);
  EXPECT_THAT(there.notes.front(), HasSubstr("timer"));
}

// Poseidon has a server on every node: other nodes would need others.
TEST_F(Recorded, RefusesOtherNodesThanItsServersStandOn) {
  question_.schedule = "poseidon";
  question_.placement = "linear:per_node=1";
  predicted_row(question_, record_);
  EXPECT_THAT(replay_refusal({.files = {record_}, .platform = "kesch", .range = false}),
              HasSubstr("servers"));
}

TEST_F(Recorded, SlowerKernelsTakeLonger) {
  const double recorded_s = predicted_s(question_, record_);
  const Replay slow = replay({.files = {record_}, .compute_scale = 2, .range = false});
  EXPECT_GT(slow.iteration.time_s, recorded_s);
  EXPECT_LE(slow.iteration.time_s, 2 * recorded_s);
}

TEST_F(Recorded, RefusesWhatDoesNotFit) {
  predicted_row(question_, record_);
  EXPECT_THAT(replay_refusal({.files = {"/nowhere.jsonl"}}), HasSubstr("cannot be opened"));
  EXPECT_THAT(replay_refusal({.files = {record_}, .platform = "kesh"}),
              HasSubstr("did you mean \"kesch\""));
  EXPECT_THAT(replay_refusal({.files = {record_}, .plans = {"reduce/chian"}}), HasSubstr("--plan"));
  EXPECT_THAT(replay_refusal({.files = {record_}, .compute_scale = 0}),
              HasSubstr("--compute-scale"));
  EXPECT_THAT(
      replay_refusal({.files = {record_}, .platform = "star:hosts=2,bandwidth=1GB/s,latency=1us"}),
      HasSubstr("the program's workers"));
}

}  // namespace
}  // namespace forescale
