// `forescale predict` end to end, and what the S-Caffe paper's designs must show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using testing::expect_answer;
using testing::expect_refused;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::run_program;

double iteration_s(const std::string& how, const std::string& model, int gpus) {
  const Outcome result =
      run_program("predict --platform kesch --no-range --json --batch 1024 --model " + model +
                  " --gpus " + std::to_string(gpus) + " " + how);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.json().at("points").at(0).at("iteration_s");
}

// S-Caffe, PPoPP 2017: SC-OB improves on SC-B, SC-OBR on SC-OB (sections 4.2, 4.3, 6.6).
TEST(SCaffe, DesignsComeInThePapersOrder) {
  for (const char* model : {"googlenet", "caffenet"})
    for (const int gpus : {16, 32, 64})
      for (const std::string hr : {"", "-hr"}) {
        const double b = iteration_s("--system s-caffe-b" + hr, model, gpus);
        const double ob = iteration_s("--system s-caffe-ob" + hr, model, gpus);
        const double obr = iteration_s("--system s-caffe-obr" + hr, model, gpus);
        EXPECT_LT(ob, b) << model << " on " << gpus << hr;
        EXPECT_LT(obr, ob) << model << " on " << gpus << hr;
      }
}

// DESIGN: with progress only inside calls the gain of SC-OB goes; SC-OBR sits in the reduce while
// its helper computes, so its own gain over SC-OB stays.
TEST(SCaffe, WhoProgressesACollectiveDecides) {
  const std::string calls = " --stack mvapich2-gdr-calls";
  const std::string hardware = " --stack mvapich2-gdr";
  for (const int gpus : {16, 32}) {
    const double b = iteration_s("--schedule phases" + hardware, "caffenet", gpus);
    const double gain_ob = b - iteration_s("--schedule sc-ob" + hardware, "caffenet", gpus);
    const double ob_calls = iteration_s("--schedule sc-ob" + calls, "caffenet", gpus);
    const double gain_obr = iteration_s("--schedule sc-ob" + hardware, "caffenet", gpus) -
                            iteration_s("--schedule sc-obr" + hardware, "caffenet", gpus);
    const double gain_obr_calls =
        ob_calls - iteration_s("--schedule sc-obr" + calls, "caffenet", gpus);
    // Blocking calls progress themselves: phases do not care.
    EXPECT_NEAR(iteration_s("--schedule phases" + calls, "caffenet", gpus), b, 1e-9 * b);
    EXPECT_LT(b - ob_calls, gain_ob / 3) << gpus;
    EXPECT_GT(gain_obr_calls, 0.9 * gain_obr) << gpus;
  }
}

// The comparison at 160 ranks and 256 MiB: chain-binomial with GPU reductions against the
// flat binomial of MVAPICH2 2.2, and the causes.
TEST(SCaffe, ChainBinomialBeatsTheReduceOnTheHostForNamedCauses) {
  const std::string reduce =
      "collective --platform kesch --op reduce --ranks 160 --bytes 256MiB --json";
  const auto cb = run_program(reduce +
                              " --stack mvapich2-gdr --algorithm cb --chain-size 8 "
                              "--chunk-bytes 512KiB")
                      .json();
  const auto flat = run_program(reduce + " --stack mvapich2-2.2").json();
  EXPECT_EQ(flat.at("algorithm"), "near-scatter-gather");
  EXPECT_LT(1.8 * cb.at("time_s").get<double>(), flat.at("time_s").get<double>());
  // The CPU's additions and the copies to the host are what the flat one loses by.
  EXPECT_GT(flat.at("root_s").at("reducing").get<double>(),
            3 * cb.at("root_s").at("reducing").get<double>());
  EXPECT_GT(flat.at("root_s").at("copying").get<double>(), 0);
  EXPECT_EQ(cb.at("root_s").at("copying").get<double>(), 0);
}

TEST(Predict, SaysWhatDoesNotFit) {
  const auto points = run_program(
                          "predict --platform kesch --model googlenet --batch 1024 --gpus 1..16 "
                          "--system s-caffe-b-hr --no-range --json")
                          .json()
                          .at("points");
  EXPECT_FALSE(points.at(0).at("fits").get<bool>());
  EXPECT_EQ(points.at(0).at("iteration_s"), 0);
  EXPECT_TRUE(points.back().at("fits").get<bool>());
}

TEST(Predict, RangeBracketsTheNominal) {
  const auto point = run_program(
                         "predict --platform kesch --model googlenet --batch 1024 --gpus 64 "
                         "--system s-caffe-b-hr --json")
                         .json()
                         .at("points")
                         .at(0);
  EXPECT_LT(point.at("iteration_fast_s"), point.at("iteration_s"));
  EXPECT_GT(point.at("iteration_slow_s"), point.at("iteration_s"));
}

TEST(Predict, WeakScalingKeepsTheShare) {
  const auto points =
      run_program(
          "predict --platform kesch --model alexnet --batch 64 --scaling weak --gpus 2,8 "
          "--system s-caffe-obr-hr --no-range --json")
          .json()
          .at("points");
  for (const auto& point : points) {
    EXPECT_EQ(point.at("batch_per_gpu"), 64);
    EXPECT_EQ(point.at("images_per_iteration"), 64 * point.at("gpus").get<int>());
  }
}

TEST(Predict, RefusesWhatCannotBe) {
  const std::string good = "predict --platform kesch --model googlenet --system s-caffe-b-hr ";
  expect_refused(good + "--batch 0 --gpus 16", {"--batch = 0", "must be >= 1"});
  expect_refused(good + "--batch 8 --gpus 16", {"--batch = 8", "must be >= 16"});
  expect_refused(good + "--batch 1024 --gpus 400", {"--gpus = 400", "192", "kesch"});
  expect_refused(good + "--batch 1024 --gpus 16 --iterations 1", {"--iterations = 1", ">= 2"});
  expect_refused("predict --platform kesch --model googlenet --batch 64 --gpus 8", {"--system"});
  expect_refused("predict --platform kesch --model googlnet --batch 64 --system s-caffe-b",
                 {"--model = googlnet", "did you mean \"googlenet\""});
  expect_refused("predict --platform kesch --model googlenet --batch 64 --system s-cafe-b",
                 {"--system = s-cafe-b", "s-caffe-b"});
  expect_refused(
      "predict --platform star:hosts=4,bandwidth=1GB/s,latency=1us --model googlenet "
      "--batch 64 --system s-caffe-b",
      {"--platform", "has no GPUs"});
  expect_refused("predict --platform kesch --gpus 32 --model googlenet --batch 1024 --system caffe",
                 {"caffe-p2p", "inter-node"});
}

// One GPU's server moves everything through its own process.
TEST(PredictCommand, AnEfficiencyAboveOneHundredIsExplained) {
  const std::string question =
      "predict --platform owens --system mxnet-kvstore --model alexnet --batch 64 --scaling "
      "weak --no-range --json --gpus ";
  const nlohmann::json above = expect_answer(question + "1,2").json();
  const nlohmann::json& one = above["points"][0];
  const nlohmann::json& two = above["points"][1];
  ASSERT_GT(two["efficiency"], 1.01);
  const double alone =
      100 * two["images_per_s"].get<double>() / 2 / (64 / one["compute_s"].get<double>());
  EXPECT_THAT(above["warnings"].dump(), HasSubstr("above 100 % because the baseline waits"));
  EXPECT_THAT(above["warnings"].dump(), HasSubstr(fmt::format("it is {:.0f} %", alone)));
  EXPECT_LT(alone, 100);
  EXPECT_THAT(expect_answer(question + "2").json()["warnings"].dump(), Not(HasSubstr("above 100")));
}

}  // namespace
}  // namespace forescale
