// `forescale predict --layout` end to end.
#include <gtest/gtest.h>

#include <map>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using testing::expect_answer;
using testing::expect_refused;
using testing::Outcome;
using testing::run_program;
using testing::text_of;
using testing::Workshop;

constexpr const char* kLlama = "predict --platform dgx-h100 --model llama-3-8b --seq 4096 ";

TEST(PredictLayout, PrintsTimesSharesAndMemory) {
  const Outcome result =
      run_program(kLlama + std::string("--gpus 8,16 --layout tp=4,global=32,zero=optimizer"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {"llama-3-8b (8,030,261,248 parameters) on dgx-h100, bf16",
                           "stack nccl-2.23-h100", "tokens/s/GPU", "MFU %", "memory at 8 GPUs:",
                           "memory at 16 GPUs:", "fits (parameters", "from, to: 90 % interval"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
}

// A table for people has no columns that say nothing; CSV has all.
TEST(PredictLayout, LeavesOutColumnsOfZeros) {
  const std::string asked = std::string(kLlama) + "--no-range --gpus 8,16 --layout global=32,tp=8";
  const std::string out = expect_answer(asked, {"GPUs  tp  pp  dp", "tensor %", "data %"}).out;
  for (const char* left_out : {" cp ", "context %", "expert %", "recompute %", "pipeline %"})
    EXPECT_EQ(out.find(left_out), std::string::npos) << left_out;
  expect_answer(asked + " --csv", {"context_share", "expert_share", "recompute_share"});
  expect_answer(asked + ",recompute=full", {"recompute %"});
  expect_answer(std::string(kLlama) + "--no-range --gpus 16 --layout global=32,tp=8,cp=2",
                {"tp  cp  pp", "context %"});
}

TEST(PredictLayout, SaysWhereTensorsAreExchangedBetweenNodes) {
  const auto out = [](const std::string& more) {
    return expect_answer(std::string(kLlama) + "--no-range --gpus 16 --layout global=32,tp=" + more)
        .out;
  };
  EXPECT_NE(out("16").find("note: tp=16 is more than the 8 GPUs of a node"), std::string::npos);
  EXPECT_EQ(out("8").find("of a node"), std::string::npos);
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

// nanotron's measured rows of each kind (docs/llm.md): an interval is of the layout's own.
TEST(PredictLayout, SaysWhichMeasuredRowsItsIntervalIsOf) {
  const auto predicted = [](const std::string& rest) {
    return run_program(
               "predict --platform aws-p5 --framework nanotron --seq 4096 --model nanotron-" +
               rest + " --json")
        .json()
        .at("predictions")
        .at(0);
  };
  const auto times_longer = [](const nlohmann::json& prediction) {
    return prediction.at("iteration_high_s").get<double>() /
           prediction.at("iteration_s").get<double>();
  };
  const auto plain = predicted("1b --gpus 16 --layout micro=2,global=256");
  EXPECT_EQ(plain.at("interval_rows"), "without a pipeline");
  EXPECT_LT(times_longer(plain), 1.3);
  const auto sharded = predicted("1b --gpus 16 --layout pp=2,micro=1,global=256,zero=optimizer");
  EXPECT_EQ(sharded.at("interval_rows"), "with a pipeline");
  EXPECT_LT(times_longer(sharded), 1.5);
  const auto whole = predicted("1b --gpus 16 --layout pp=2,micro=1,global=256");
  EXPECT_EQ(whole.at("interval_rows"), "with copies of a pipeline on several nodes and zero=none");
  EXPECT_GT(times_longer(whole), 30);
  EXPECT_EQ(predicted("1b --gpus 8 --layout pp=2,micro=1,global=256").at("interval_rows"),
            "with a pipeline");
  const auto wide = predicted("1b --gpus 16 --layout tp=16,micro=1,global=256");
  EXPECT_EQ(wide.at("interval_rows"), "with tensor parallelism over nodes");
  EXPECT_LT(times_longer(wide), 1.4);
  // 256 micro-batches through 16 layers, which 16 GPUs of two nodes share: 0.48 ms of the CPU's for
  // each.
  EXPECT_NEAR(wide.at("iteration_s").get<double>(), 256 * 16 * 16 * 0.00048, 0.05);
  const auto full =
      predicted("8b --gpus 8 --layout pp=2,micro=1,global=256,zero=optimizer,split=cost");
  EXPECT_EQ(full.at("interval_rows"), "that fill the memory");
  EXPECT_GT(times_longer(full), 13);
  const Outcome table = run_program(
      "predict --platform aws-p5 --framework nanotron --seq 4096 --model nanotron-1b --gpus 16 "
      "--layout tp=16,micro=1,global=256");
  EXPECT_NE(table.out.find("; of measured rows with tensor parallelism over nodes"),
            std::string::npos)
      << table.out;
}

// 4.194304e10 tokens are 10,000 iterations of 1,024 sequences of 4,096.
TEST(PredictLayout, SaysWhatItsIntervalComesFrom) {
  const std::string question =
      kLlama + std::string("--gpus 16 --layout tp=4,global=32,zero=optimizer ");
  const auto influences =
      run_program(question + "--json").json().at("predictions").at(0).at("influences");
  double sum = 0;
  for (const auto& [name, share] : influences.items()) sum += share.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_GT(influences.at("machine"), 0);
  EXPECT_GT(influences.at("unmodelled"), influences.at("machine"));
  const Outcome table = run_program(question);
  EXPECT_NE(table.out.find("the interval at 16 GPUs comes from: "), std::string::npos);
  EXPECT_NE(table.out.find("what the model leaves out"), std::string::npos);
}

TEST(PredictLayout, SaysWhatAWholeTrainingTakes) {
  const std::string question =
      kLlama + std::string("--gpus 8 --layout tp=2,pp=2,global=1024 --interval ");
  const auto json = run_program(question + "--tokens 4.194304e10 --price 2.50 --json").json();
  const auto& prediction = json.at("predictions").at(0);
  const auto& training = prediction.at("training");
  const double iteration_s = prediction.at("iteration_s").get<double>();
  constexpr double kIterations = 1e4;
  constexpr double kRelative = 1e-12;
  const auto is = [&](const char* key, double value) {
    EXPECT_NEAR(training.at(key).get<double>() / value, 1, kRelative) << key;
  };
  is("days", kIterations * iteration_s / 86400);
  is("days_low", kIterations * prediction.at("iteration_low_s").get<double>() / 86400);
  is("days_high", kIterations * prediction.at("iteration_high_s").get<double>() / 86400);
  is("gpu_hours", kIterations * iteration_s / 3600 * 8);
  is("cost", kIterations * iteration_s / 3600 * 8 * 2.5);
  const Outcome table = run_program(question + "--tokens 4.194304e10 --price 2.50");
  for (const char* text :
       {"GPU hours", "of 4.1943e+10 tokens at this speed", "cost at 2.5 a GPU hour"})
    EXPECT_NE(table.out.find(text), std::string::npos) << text << "\n" << table.out;
  expect_refused(question + "--price 2", {"--price = 2: needs --tokens"});
  expect_refused(question + "--tokens -1", {"--tokens = -1: must be a number > 0"});
  expect_refused(question + "--tokens nan", {"--tokens: nan must be finite"});
  expect_refused("predict --platform kesch --model alexnet --batch 256 --tokens 1e9",
                 {"--tokens = 1e+09: needs --layout"});
}

// Two pipeline ranks, eight micro-batches forward and backward each, and the optimizer.
TEST(PredictLayout, WritesATimelineOfItsPasses) {
  const Workshop workshop;
  const std::string file = workshop.path("t.json");
  const Outcome result = run_program(
      kLlama + std::string("--gpus 8,16 --layout tp=4,pp=2,global=16,zero=1 --trace ") + file);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, int> counts;
  const auto trace = parse_json(text_of(file));
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X") {
      const std::string name = event.at("name");
      ++counts[name.substr(0, name.find(','))];
    }
  EXPECT_EQ(counts["forward"], 2 * 8);
  EXPECT_EQ(counts["backward"], 2 * 8);
  EXPECT_EQ(counts["optimizer"], 2);
  EXPECT_EQ(counts["gradients"], 2);
  EXPECT_EQ(counts["parameters"], 2);
}

// Every rank simulated on the same machine: no shorter, and near where little is shared.
TEST(PredictLayout, ItsRecordIsReplayedRankByRank) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  const auto predicted =
      run_program(kLlama + std::string("--gpus 16 --layout tp=4,pp=2,global=16,zero=1 --json ") +
                  "--record " + file)
          .json();
  const auto replayed = run_program("replay " + file + " --no-range --json").json();
  const double folded_s = predicted.at("predictions").at(0).at("iteration_s").get<double>();
  const double simulated_s = replayed.at("iteration_s").get<double>();
  EXPECT_GT(simulated_s, 0.99 * folded_s);
  EXPECT_LT(simulated_s, 1.1 * folded_s);
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
  expect_refused(question + "--gpus 8 --trace no/such/t.json",
                 {"--trace = no/such/t.json: cannot"});
  expect_refused(
      "predict --platform dgx-h100 --model llama-3-70b --seq 4096 --gpus 8 --layout tp=1 "
      "--record /dev/null",
      {"--record = /dev/null: nothing fits in GPU memory"});
  expect_refused(question + "--gpus 8 --draws 40", {"--draws = 40: does not go with"});
  expect_refused(
      "predict --platform dgx-a100 --model llama-3-8b --gpus 8 --layout tp=8 --precision fp8",
      {"--precision = fp8: is not among the peaks of"});
  expect_refused(kLlama + std::string("--gpus 8 --layout tp=3"), {"must divide the 8 GPUs"});
  expect_refused(kLlama + std::string("--gpus 8 --layout tensor=3"), {"unknown"});
  expect_refused("predict --platform dgx-h100 --model alexnet --gpus 8 --layout tp=2",
                 {"must be a transformer"});
  expect_refused("predict --platform kesch --model alexnet --system s-caffe-b", {"--batch"});
}

// Twice the predicted time as measured: kernels are scaled until it is predicted, others follow,
// and the question that is printed gives the same again.
TEST(PredictLayout, StartsFromAMeasuredIteration) {
  const std::string question =
      "predict --platform dgx-h100 --model llama-3.2-1b --seq 2048 --no-range --layout "
      "micro=1,global=16,zero=optimizer --gpus 8,16 --json";
  const nlohmann::json without = expect_answer(question).json()["predictions"];
  const double measured_s = 1.2 * without[0]["iteration_s"].get<double>();
  const nlohmann::json answer =
      expect_answer(question + " --measured " + std::to_string(measured_s) + "s@8").json();
  EXPECT_NEAR(answer["predictions"][0]["iteration_s"], measured_s, 1e-5 * measured_s);
  EXPECT_GT(answer["predictions"][1]["iteration_s"], without[1]["iteration_s"]);
  const auto scale = answer["question"]["compute_scale"].get<std::string>();
  EXPECT_GT(std::stod(scale), 1.2);
  const nlohmann::json again =
      expect_answer(question + " --compute-scale " + scale).json()["predictions"];
  EXPECT_EQ(again[1]["iteration_s"], answer["predictions"][1]["iteration_s"]);

  expect_answer(
      "predict --platform dgx-h100 --model llama-3.2-1b --seq 2048 --layout "
      "micro=1,global=16 --gpus 16 --measured 100ms@8",
      {"from 100 ms measured on 8 GPUs: kernels take",
       "of measured rows that were predicted from a measured one"});
  expect_refused(question + " --measured 1s", {"--measured = 1s: must be TIME@GPUS"});
  expect_refused(question + " --measured 1s@8 --compute-scale 2",
                 {"--compute-scale = 2: is what --measured finds out"});
  expect_refused(question + " --measured 1h@8", {"is not what this training takes on 8 GPUs"});
  expect_refused("predict --platform dgx-h100 --model alexnet --batch 64 --gpus 2 --measured 1s@1",
                 {"--measured = 1s@1: needs --layout"});
}

// What knows nothing of layouts says so and answers no other question.
TEST(PredictLayout, OthersRefuseALayout) {
  const std::string asked =
      " --platform dgx-h100 --system ddp-nccl --model llama-3-8b --seq 1024 --batch 1 "
      "--scaling weak --gpus 8 --layout tp=2";
  expect_refused("tune schedule" + asked, {"--layout", "is for predict, compare and tune layout"});
  expect_refused("compare" + asked, {"does not go with --layout"});
}

}  // namespace
}  // namespace forescale
