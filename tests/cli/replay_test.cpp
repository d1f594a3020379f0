// `predict --record` and `replay` as a person runs them.
#include <gtest/gtest.h>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

constexpr const char* kPredict =
    "predict --platform cluster-b --gpus 2,4 --model alexnet --batch 32 --system s-caffe-obr-hr ";

TEST(Replay, TakesTheTimeThatWasPredicted) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  const double predicted_s =
      expect_answer(std::string(kPredict) + "--no-range --json --record " + file)
          .json()["points"][1]["iteration_s"];
  const nlohmann::json replayed = expect_answer("replay " + file + " --json").json();
  EXPECT_NEAR(replayed["iteration_s"], predicted_s, 1e-9 * predicted_s);
  EXPECT_LT(replayed["iteration_fast_s"], replayed["iteration_s"]);
  EXPECT_EQ(replayed["ranks"], 4);
  expect_answer("replay " + file + " --platform kesch --trace " + workshop.path("t.json"),
                {"replayed on kesch", "iteration", "busiest"});
  EXPECT_NE(text_of(workshop.path("t.json")).find("traceEvents"), std::string::npos);
}

// Whoever replays a K80's run on V100s must not read its time as theirs.
TEST(Replay, SaysThatComputeIsAsRecordedOnAnotherGpu) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(
      "predict --platform kesch --gpus 4 --model alexnet --batch 128 --system "
      "s-caffe-obr-hr --no-range --record " +
      file);
  expect_answer("replay " + file + " --platform dgx-1-v100 --no-range",
                {"note: compute takes what it took on k80, not what it would on v100-sxm2: --gpu"});
  // It says itself where it was recorded.
  const auto iteration_s = [&](const std::string& more) {
    return expect_answer("replay " + file + " --platform dgx-1-v100 --no-range --json " + more)
        .json()["iteration_s"]
        .get<double>();
  };
  EXPECT_EQ(iteration_s("--gpu v100-sxm2"), iteration_s("--gpu v100-sxm2 --traced-gpu k80"));
  const std::string there = expect_answer("replay " + file + " --no-range").out;
  EXPECT_EQ(there.find("compute takes what it took"), std::string::npos);
}

TEST(Replay, BadInputIsRefused) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(std::string(kPredict) + "--no-range --record " + file);
  const std::string cut =
      workshop.file("cut.jsonl", text_of(file).substr(0, text_of(file).size() / 2));
  expect_refused("replay " + cut, {"cut.jsonl"});
  expect_refused("replay " + file + " --bucket 5MiB", {"--bucket", "format program"});
  expect_refused("replay " + file + " --ranks 9", {"--ranks", "the program's own"});
  expect_refused("import " + file + " --flops-per-s fast", {"--flops-per-s", "fast"});
  expect_answer("import " + file, {"(program): 4 ranks", "reduce", "compute tasks"});
  expect_refused("replay /nowhere.jsonl", {"/nowhere.jsonl", "cannot be opened"});
  expect_refused("replay " + workshop.file("empty.jsonl", ""), {"empty.jsonl", "is empty"});
  expect_refused("replay " + file + " --platform star:hosts=2,bandwidth=1GB/s,latency=1us",
                 {"the program's workers"});
  expect_refused(std::string(kPredict) + "--record /nowhere/p.jsonl",
                 {"--record", "cannot be written"});
}

}  // namespace
}  // namespace forescale::testing
