// Failures, links that are not as they should be, noise and other jobs, as a person asks for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTraining =
    "predict --platform owens --gpus 4,16 --model alexnet --batch 1024 --system horovod-mpi-opt "
    "--no-range --json ";

nlohmann::json point_of(const std::string& arguments, size_t place) {
  const Outcome result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.json().at("points").at(place);
}

// Owens has one GPU a node: 16 GPUs fail four times as often as 4. Daly's equation 13.
TEST(Failures, AreInEpochsAndSaidBesideThem) {
  const std::string failures = "--failures mtbf=100h,checkpoint=60s,restart=10min,every=30min";
  for (const size_t place : {0, 1}) {
    const nlohmann::json without = point_of(kTraining, place);
    const nlohmann::json with = point_of(kTraining + failures, place);
    const double mtbf_s = 360000.0 / (place == 0 ? 4 : 16);
    const double goodput = 1800 / (mtbf_s * std::exp(600 / mtbf_s) * std::expm1(1860 / mtbf_s));
    EXPECT_EQ(with.at("iteration_s"), without.at("iteration_s"));
    EXPECT_EQ(without.at("goodput"), 1);
    EXPECT_NEAR(with.at("goodput").get<double>(), goodput, 1e-12);
    EXPECT_NEAR(with.at("epoch_s").get<double>(), without.at("epoch_s").get<double>() / goodput,
                1e-9);
    EXPECT_NEAR(with.at("failures").at("mtbf_s").get<double>(), mtbf_s, 1e-6);
  }
  expect_answer(
      "predict --platform owens --gpus 16 --model alexnet --batch 1024 --system "
      "horovod-mpi-opt --no-range " +
          failures,
      {"failures at 16 nodes: one every 6.25 h; a checkpoint every 30 min of work"});
}

TEST(Failures, AreInDaysAndCostsOfALayout) {
  const std::string layout =
      "predict --platform dgx-h100 --model llama-3-8b --seq 4096 --gpus 16 --layout "
      "tp=2,micro=1,global=64,zero=optimizer --tokens 1e12 --price 2 --no-range ";
  const auto training = [&](const std::string& more) {
    return run_program(layout + "--json " + more).json().at("predictions").at(0).at("training");
  };
  const nlohmann::json without = training("");
  const nlohmann::json with = training("--failures mtbf=6300h,checkpoint=60s,restart=10min");
  const double share = with.at("goodput");
  EXPECT_GT(share, 0.9);
  EXPECT_LT(share, 1);
  for (const char* key : {"days", "gpu_hours", "cost"})
    EXPECT_NEAR(with.at(key).get<double>() * share / without.at(key).get<double>(), 1, 1e-12)
        << key;
  expect_answer(layout + "--failures mtbf=6300h,checkpoint=60s,restart=10min",
                {"goodput %", "failures at 2 nodes: one every 131 days"});
  expect_refused(
      "predict --platform dgx-h100 --model llama-3-8b --seq 4096 --gpus 16 --layout "
      "tp=2,micro=1,global=64 --failures mtbf=1h,checkpoint=1s,restart=1s",
      {"--failures", "needs --tokens"});
}

const std::string kLayout =
    "predict --platform dgx-h100 --model llama-3-8b --seq 4096 --gpus 16 --layout "
    "tp=2,micro=1,global=64,zero=optimizer --no-range ";

// A slow GPU makes its copy of the model late, and all others wait for its gradients; what that
// costs stands beside the rest, and the shares are those of all.
TEST(Variation, GoesIntoLayouts) {
  const auto prediction = [](const std::string& more) {
    return run_program(kLayout + "--json " + more).json().at("predictions").at(0);
  };
  const nlohmann::json healthy = prediction("");
  const nlohmann::json slow = prediction("--straggler 3:1.5");
  const double healthy_s = healthy.at("iteration_s");
  const double added_s = slow.at("times").at("variation_s");
  EXPECT_FALSE(healthy.at("times").contains("variation_s"));
  EXPECT_NEAR(slow.at("iteration_s").get<double>(), healthy_s + added_s, 1e-12);
  // Of the kernels half as much again; less where they hide more of the gradients.
  const double kernels_s = healthy.at("times").at("compute_s");
  EXPECT_GT(added_s, 0.45 * kernels_s);
  EXPECT_LT(added_s, 0.51 * kernels_s);
  EXPECT_EQ(prediction("--straggler 3:1.5,2:1.4").at("iteration_s"), slow.at("iteration_s"));
  EXPECT_GT(prediction("--link node1/nic2=0.05").at("iteration_s").get<double>(), 1.05 * healthy_s);
  expect_answer(kLayout + "--straggler 3:1.5", {"variation %", "16 GPUs as they should be: "});
  const std::string csv = expect_answer(kLayout + "--straggler 3:1.5 --csv").out;
  EXPECT_THAT(csv, HasSubstr("variation_share"));
}

// Four jobs on a fabric with a quarter of the uplinks: their gradients meet there, what goes on
// within nodes does not. With a full fabric they are none the slower.
TEST(Variation, JobsBesideLayoutsShareTheFabric) {
  const Workshop workshop;
  const auto times = [&](const std::string& oversubscription, const std::string& more) {
    const std::string file = workshop.path("fabric.json");
    expect_answer("platform new --gpu h100 --gpus 8 --nodes 32 --radix 64 --oversubscription " +
                  oversubscription + " -o " + file);
    return run_program("predict --platform " + file +
                       " --model llama-3-8b --seq 4096 --gpus 64 --layout "
                       "tp=8,micro=1,global=64 --no-range --json " +
                       more)
        .json()
        .at("predictions")
        .at(0)
        .at("times");
  };
  const nlohmann::json alone = times("4", "");
  const nlohmann::json beside = times("4", "--beside 3");
  EXPECT_GT(beside.at("data_s"), 1.5 * alone.at("data_s").get<double>());
  EXPECT_EQ(beside.at("tensor_s"), alone.at("tensor_s"));
  EXPECT_EQ(times("1", "--beside 3"), times("1", ""));
}

// Where nodes fail often, fewer of them are the cheapest.
TEST(Failures, MoveTheCheapestCount) {
  const std::string compare =
      "compare --platform owens --system horovod-mpi-opt --model resnet-50 --batch 32 --scaling "
      "weak --gpus 1..64 --no-range --no-sensitivity --no-network --node-price 1 --time-value 100 "
      "--json ";
  const auto cheapest = [&](const std::string& more) {
    return run_program(compare + more)
        .json()
        .at("contenders")
        .at(0)
        .at("cheapest")
        .at("gpus")
        .get<int>();
  };
  EXPECT_LT(cheapest("--failures mtbf=5h,checkpoint=300s,restart=10min"), cheapest(""));
}

TEST(Variation, GoesIntoSweeps) {
  const Workshop workshop;
  std::ofstream(workshop.path("study.json")) << R"({
    "format": "forescale-study-1", "command": "predict",
    "fixed": {"platform": "owens", "model": "alexnet", "batch": 1024, "gpus": "16",
              "system": "horovod-mpi-opt", "no-range": true},
    "grid": {"link": ["node3=0.5", "node3=0.25"],
             "failures": ["mtbf=100h,checkpoint=60s,restart=10min"]}
  })";
  const std::string csv = expect_answer("sweep " + workshop.path("study.json") + " -o " +
                                        workshop.path("s.sqlite") + " --csv")
                              .out;
  EXPECT_THAT(csv, HasSubstr("goodput"));
  EXPECT_THAT(csv, HasSubstr("node3=0.25"));
}

// The largest count decides: the smaller ones are asked for beside it.
TEST(Variation, FaultsWhereNoRankIsAreSaid) {
  const std::string said = "of node20, where no rank is";
  const std::string training =
      "predict --platform owens:nodes=32 --model alexnet --batch 1024 --system horovod-mpi-opt "
      "--no-range --link node20=0.25 ";
  EXPECT_THAT(expect_answer(training + "--gpus 4,8").out, HasSubstr(said));
  EXPECT_THAT(expect_answer(training + "--gpus 4,32").out, Not(HasSubstr(said)));
  EXPECT_THAT(expect_answer(training + "--gpus 8 --placement random:seed=3").out,
              Not(HasSubstr(said)));
  const std::string sums =
      "collective --platform owens:nodes=32 --stack mvapich2-gdr --op reduce "
      "--bytes 1KiB --link node20=0.25 --engine cost --ranks ";
  EXPECT_THAT(expect_answer(sums + "8,32").out, HasSubstr("note: 8 ranks: the links"));
  EXPECT_THAT(expect_answer(sums + "32").out, Not(HasSubstr(said)));
}

TEST(Variation, BadInputIsRefused) {
  expect_refused(kTraining + "--link node3", {"--link = node3", "LINK=SHARE"});
  expect_refused(kTraining + "--link node3=2", {"at most 1, down or lost"});
  expect_refused(kTraining + "--link node33/nic9=0.5", {"--link = node33/nic9", "unknown"});
  expect_refused(kTraining + "--failures mtbf=3", {"--failures failures:mtbf", "unit"});
  expect_refused(kTraining + "--beside 0", {"--beside", ">= 1"});
  expect_refused(kTraining + "--beside 1000", {"--beside", "holds"});
  expect_refused(kTraining + "--message-noise sigma=7", {"--message-noise", "0 to 1"});
  expect_refused(kTraining + "--beside 1 --record out.jsonl", {"--record", "leave out --beside"});
  expect_refused(kTraining + "--link node3=0.5 --record out.jsonl",
                 {"--record", "leave out --link"});
  expect_refused(kTraining + "--message-noise sigma=0.1 --record out.jsonl",
                 {"--record", "leave out --message-noise"});
  expect_refused(kLayout + "--beside jobs=1,after=1ms", {"--beside", "all at once"});
  expect_refused(kLayout + "--beside 100", {"--beside = 100", "101 jobs of 16 GPUs"});
  expect_refused(kLayout + "--beside 1 --record out.jsonl", {"--record", "leave out --beside"});
  expect_refused(kLayout + "--link node0=down", {"--link = node0=down", "must be a share"});
  expect_refused(kLayout + "--straggler 16:2", {"--straggler", "must be a rank below 16"});
  expect_refused(kLayout + "--noise sigma=0.1", {"--noise", "file=steps.csv"});
  expect_refused(kLayout + "--message-noise sigma=0.1",
                 {"--message-noise", "does not go with --layout"});
  expect_refused(kLayout + "--link node0=0.5 --record out.jsonl", {"--record", "leave out --link"});
  const Outcome lost = run_program(kTraining + "--link node3=lost");
  EXPECT_EQ(lost.exit_code, 3);
  EXPECT_THAT(lost.err, HasSubstr("are lost on"));
}

}  // namespace
}  // namespace forescale::testing
