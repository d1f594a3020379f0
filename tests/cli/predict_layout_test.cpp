// `forescale predict --layout` end to end.
#include <gtest/gtest.h>

#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using testing::expect_refused;
using testing::Outcome;
using testing::run_program;

constexpr const char* kLlama = "predict --platform dgx-h100 --model llama-3-8b --seq 4096 ";

TEST(PredictLayout, PrintsTimesSharesAndMemory) {
  const Outcome result =
      run_program(kLlama + std::string("--gpus 8,16 --layout tp=4,global=32,zero=optimizer"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {"llama-3-8b (8,030,261,248 parameters) on dgx-h100, bf16",
                           "stack nccl-2.20-h100", "tokens/s/GPU", "MFU %", "memory at 8 GPUs:",
                           "memory at 16 GPUs:", "fits (parameters", "from, to: 90 % interval"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
}

TEST(PredictLayout, JsonHasTheSameNumbersAsCsv) {
  const std::string question = kLlama + std::string("--gpus 8 --layout tp=2,pp=2,global=16 ");
  const auto json = run_program(question + "--json").json();
  EXPECT_EQ(json.at("question").at("layout"), "tp=2,pp=2,global=16");
  EXPECT_EQ(json.at("question").at("sequence"), "4096");
  const auto& prediction = json.at("predictions").at(0);
  EXPECT_EQ(prediction.at("layout"), "tp=2,pp=2,dp=2,etp=2,global=16");
  double sum_s = 0;
  for (const auto& [name, time_s] : prediction.at("times").items()) sum_s += time_s.get<double>();
  EXPECT_NEAR(sum_s, prediction.at("iteration_s").get<double>(), 1e-12);
  const Outcome csv = run_program(question + "--csv");
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_NE(csv.out.find("tokens_per_s_gpu"), std::string::npos);
  EXPECT_NE(csv.out.find(prediction.at("iteration_s").dump()), std::string::npos);
}

TEST(PredictLayout, SaysWhatIsOutOfMemory) {
  const Outcome result = run_program(
      "predict --platform dgx-h100 --model llama-3-70b --seq 4096 --gpus 8 --layout tp=1");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("OUT OF MEMORY, most of it optimizer"), std::string::npos);
  EXPECT_NE(result.out.find(" 1          -     -   -"), std::string::npos) << "no time of it\n"
                                                                           << result.out;
}

TEST(PredictLayout, RefusesWhatItWouldLeaveOut) {
  const std::string question = kLlama + std::string("--layout tp=4 ");
  expect_refused(question, {"--gpus"});
  expect_refused(question + "--gpus 8 --batch 64", {"--batch = 64: does not go with"});
  expect_refused(question + "--gpus 8 --system ddp-nccl",
                 {"--system = ddp-nccl: does not go with"});
  expect_refused(question + "--gpus 8 --trace out/t.json",
                 {"--trace = out/t.json: does not go with"});
  expect_refused(question + "--gpus 8 --draws 40", {"--draws = 40: does not go with"});
  expect_refused(kLlama + std::string("--gpus 8 --layout tp=3"), {"must divide the 8 GPUs"});
  expect_refused(kLlama + std::string("--gpus 8 --layout tensor=3"), {"unknown"});
  expect_refused("predict --platform dgx-h100 --model alexnet --gpus 8 --layout tp=2",
                 {"must be a transformer"});
  expect_refused("predict --platform kesch --model alexnet --system s-caffe-b", {"--batch"});
}

// What knows nothing of layouts says so and answers no other question.
TEST(PredictLayout, OthersRefuseALayout) {
  expect_refused(
      "compare --platform dgx-h100 --system ddp-nccl --model llama-3-8b --seq 1024 --batch 1 "
      "--scaling weak --gpus 8 --layout tp=2",
      {"--layout", "is for predict alone"});
}

}  // namespace
}  // namespace forescale
