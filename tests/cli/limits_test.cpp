// More ranks than are allowed, or more memory: refused before, or ended when it shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

const std::string kHorovod =
    "predict --platform piz-daint --model googlenet --batch 64 --scaling weak --system "
    "horovod-mpi-opt --no-range --json ";
const std::string kChains =
    "collective --platform star:hosts=300,bandwidth=10GB/s,latency=1us --op reduce --algorithm cb "
    "--chain-size 8 --chunk-bytes 1MiB --bytes 4MiB --ranks 300 --json ";

TEST(Limits, MoreRanksThanAllowedAreRefusedWithTheReason) {
  expect_refused(kHorovod + "--gpus 32 --max-ranks 16",
                 {"--gpus = 32", "the workers of horovod do not all do the same",
                  "more than --max-ranks 16", "MiB"});
  expect_refused(
      "predict --platform dgx-h100 --gpus 128 --model resnet-50 --batch 64 --scaling weak --system "
      "ddp-nccl --no-range --max-ranks 100",
      {"--gpus = 128", "so few are never folded"});
  EXPECT_EQ(expect_answer(kHorovod + "--gpus 32 --max-ranks 32").json()["points"].size(), 1U);
}

// Few stand for all, as far off as is said, or it is said why they cannot.
TEST(Limits, EverySystemOnVeryManyGpusAnswersOrSaysWhyNot) {
  int answered = 0;
  for (const auto& system : expect_answer("system list --json").json()) {
    const std::string name = system["name"];
    const Outcome outcome = run_program(
        "predict --platform kesch:nodes=600 --gpus 9600 --model alexnet --batch 16 --scaling weak "
        "--no-range --json --system " +
        name);
    if (outcome.exit_code == 0) {
      ++answered;
      const nlohmann::json point = outcome.json()["points"][0];
      EXPECT_LT(point["simulated_ranks"], 4096) << name;
      EXPECT_GT(point["folded_error"], 0) << name;
      EXPECT_LE(point["folded_error"], 0.5) << name;
      continue;
    }
    EXPECT_EQ(outcome.exit_code, 2) << name << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("--gpus = 9600"), HasSubstr("--max-ranks 4096"),
                                   AnyOf(HasSubstr("do not all do the same"),
                                         HasSubstr("copied through the host"))))
        << name;
  }
  EXPECT_GE(answered, 1);
}

TEST(Limits, WorkersWhoseKernelsVaryAreCountedAll) {
  const std::string question =
      "predict --platform dgx-h100 --gpus 160 --model alexnet --batch 64 --scaling weak --system "
      "ddp-nccl --iterations 2 --no-range --json --max-ranks 150 ";
  expect_refused(question + "--noise sigma=0.1", {"--gpus = 160", "kernels vary"});
  const nlohmann::json slow = expect_answer(question + "--straggler 9:1.5").json();
  EXPECT_EQ(slow["points"][0]["simulated_workers"], 2);
}

TEST(Limits, MoreMemoryThanAllowedIsRefusedWithWhatWouldFit) {
  const Outcome outcome = run_program(kHorovod + "--gpus 1000 --max-memory 100MB");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  // 300 kB each, beside each other on as many cores as there are, three at most.
  const size_t about = outcome.err.find("about ", outcome.err.find("allowed by --max-memory"));
  ASSERT_NE(about, std::string::npos) << outcome.err;
  const int fits = std::stoi(outcome.err.substr(about + 6));
  EXPECT_GE(fits, 111);
  EXPECT_LE(fits, 333);
}

TEST(Limits, WhatFoldsIsNotCounted) {
  const std::string ring =
      "collective --platform star:hosts=5000,bandwidth=10GB/s,latency=1us --plan all-reduce/ring "
      "--ranks 5000 --bytes 50MB --json --max-ranks 100";
  EXPECT_EQ(expect_answer(ring).json()["simulated_ranks"], 10);
}

// Where a few would stand for all; these come near, as they say.
TEST(Limits, AllRanksAreSimulatedWhereThatIsAskedFor) {
  const std::string ring =
      "collective --platform star:hosts=500,bandwidth=10GB/s,latency=1us --plan all-reduce/ring "
      "--ranks 500 --bytes 50MB --engine sim --json ";
  const nlohmann::json few = expect_answer(ring).json();
  const nlohmann::json all = expect_answer(ring + "--whole").json();
  EXPECT_LT(few["simulated_ranks"], 500);
  EXPECT_EQ(all["simulated_ranks"], 500);
  EXPECT_NEAR(few["time_s"].get<double>() / all["time_s"].get<double>(), 1, 1e-9);
  expect_refused(ring + "--whole --max-ranks 499", {"= 500", "--whole asks for them"});

  const std::string training =
      "predict --platform dgx-h100 --gpus 160 --model alexnet --batch 64 --scaling weak --system "
      "ddp-nccl --iterations 2 --no-range --json ";
  const nlohmann::json one = expect_answer(training).json()["points"][0];
  const nlohmann::json each = expect_answer(training + "--whole").json()["points"][0];
  EXPECT_EQ(one["simulated_workers"], 1);
  EXPECT_GT(one["folded_error"], 0.0);
  EXPECT_EQ(each["folded_error"], 0.0);
  EXPECT_NEAR(one["iteration_s"].get<double>() / each["iteration_s"].get<double>(), 1,
              one["folded_error"].get<double>());
  // Rings that share links and do not begin at once: what few workers say of them is too little.
  const std::string skewed =
      "predict --platform dgx-1-v100:nodes=17 --gpus 136 --model alexnet --batch 32 --scaling weak "
      "--system ddp-nccl --iterations 2 --no-range --json ";
  EXPECT_EQ(expect_answer(skewed).json()["points"][0]["folded_error"], 0.0);
  EXPECT_GT(expect_answer(skewed + "--max-ranks 135").json()["points"][0]["folded_error"], 0.25);
  expect_refused(
      "predict --platform dgx-h100 --model llama-3-8b --gpus 8 --layout tp=8,global=8 "
      "--whole",
      {"--whole", "--layout"});
}

TEST(Limits, TheCostEngineAnswersAlone) {
  const nlohmann::json both = expect_answer(kChains + "--max-ranks 299").json();
  EXPECT_TRUE(both["simulated_s"].is_null());
  EXPECT_GT(both["cost_engine_s"], 0.0);
  EXPECT_NE(both["not_simulated"].get<std::string>().find("--max-ranks 299"), std::string::npos);
  expect_refused(kChains + "--max-ranks 299 --engine sim", {"--ranks = 300", "--max-ranks 299"});
  const nlohmann::json all = expect_answer(kChains + "--max-ranks 300").json();
  EXPECT_NEAR(all["simulated_s"].get<double>(), all["cost_engine_s"].get<double>(), 1e-12);
  EXPECT_FALSE(all.contains("not_simulated"));
}

// All ranks of a few steps are counted as all; where some stand for others, these.
TEST(Limits, AFewStepsOfAllRanksAreThoseOfAll) {
  std::string slots;
  for (int i = 0; i < 512; ++i)
    slots += (slots.empty() ? "" : ",") + std::to_string(i % 16 * 32 + i / 16);
  const std::string ring =
      "collective --platform fat-tree:down=32x16,up=8,bandwidth=12.5GB/s,latency=1us "
      "--plan all-reduce/ring --engine sim --json --slots " +
      slots;
  const std::string of_two_sizes = ring + " --bytes 67108868B";  // a block has an element more
  expect_refused(of_two_sizes + " --max-ranks 511", {"= 512", "--max-ranks 511"});
  EXPECT_EQ(expect_answer(of_two_sizes + " --max-ranks 512").json()["simulated_ranks"], 512);
  EXPECT_EQ(expect_answer(ring + " --bytes 64MiB --max-ranks 511").json()["simulated_ranks"], 1);
}

// Messages to servers: what they take nobody knows before.
TEST(Limits, ASimulationThatBecomesTooLargeIsEnded) {
  expect_refused(
      "predict --platform piz-daint --gpus 24 --model resnet-50 --batch 64 --scaling weak --system "
      "mxnet-kvstore --no-range --max-memory 60MB",
      {"--max-memory: a simulation needs more than", "ask for fewer ranks"});
}

// What few nodes say is simulated in processes that a simulation starts.
TEST(Limits, ProcessesOfASimulationShareWhatItMayTake) {
  expect_refused(
      "collective --platform gb200-nvl72:nodes=128 --ranks 9216 --bytes 1GiB --op all-reduce "
      "--max-memory 80MB",
      {"--max-memory: a simulation needs more than", "its share of what"});
}

TEST(Limits, BothLimitsAreNamedWhereBothAreTooSmall) {
  expect_refused(kHorovod + "--gpus 5000 --max-memory 100MB",
                 {"--gpus = 5000", "--max-ranks 4096", "allowed by --max-memory", "would fit"});
}

// Before servers are placed, which takes longer the more there are.
TEST(Limits, WorkersOfServersAreCountedBeforeThem) {
  expect_refused(
      "predict --platform dgx-h100:nodes=8192 --gpus 65536 --model resnet-50 --batch 64 --scaling "
      "weak --system mxnet-kvstore --no-range",
      {"--gpus = 65536", "do not all do the same", "--max-ranks 4096"});
}

TEST(Limits, WhatFewNodesSayTooLittleOfIsNotCalledFew) {
  expect_refused(
      "collective --platform dgx-h100:nodes=1024 --ranks 8192 --bytes 64MiB --op all-reduce --link "
      "node3/nic0=0.25 --engine sim",
      {"--ranks = 8192", "a few nodes in place of all would say it within", "--max-ranks 4096"});
}

}  // namespace
}  // namespace forescale::testing
