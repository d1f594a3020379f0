// Asking: answers of the simulator, kept by question, at the ends of uncertain numbers.
#include "sim/ask/ask.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"
#include "sim/ask/known_answers.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

constexpr const char* kStarOfEight = "star:hosts=8,bandwidth=1GB/s,latency=1us";

Question broadcast(std::int64_t ranks) {
  return {.about = Question::About::kCollective,
          .platform = kStarOfEight,
          .plan = "broadcast/binomial",
          .ranks = {ranks},
          .bytes = {1000}};
}

Question training(std::int64_t gpus) {
  return {.platform = "kesch",
          .model = "cifar10-quick",
          .system = "s-caffe-b",
          .gpus = {gpus},
          .batch = 64};
}

Question resnet_on_h100(std::int64_t gpus, std::int64_t batch, Scaling scaling) {
  return {.platform = "dgx-h100",
          .model = "resnet-50-v1.5",
          .system = "ddp-nccl",
          .gpus = {gpus},
          .batch = batch,
          .scaling = scaling,
          .precision = Precision::kFp16};
}

// 1 us + 1000 bytes at 1 GB/s a round, ceil(log2 P) rounds.
TEST(Ask, CollectivesAreSimulated) {
  Asker asker;
  const std::vector<RangedAnswer> answers =
      asker.ask({broadcast(2), broadcast(8), broadcast(2)}, {.label = "test"});
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_NEAR(answers[0].nominal.collective.time_s, 1 * 2e-6, 1e-15);
  EXPECT_NEAR(answers[1].nominal.collective.time_s, 3 * 2e-6, 1e-15);
  EXPECT_EQ(answers[2].nominal.collective.time_s, answers[0].nominal.collective.time_s);
  EXPECT_EQ(answers[1].nominal.collective.messages, 7U);
}

TEST(Ask, AnIterationIsWhatPredictSimulates) {
  Asker asker;
  const Answer answer = asker.ask({training(4)}, {.label = "test"}).front().nominal;
  EXPECT_EQ(answer.training.gpus, 4);
  EXPECT_EQ(answer.training.images_per_iteration, 64);
  EXPECT_GE(answer.training.iteration_s, answer.training.bound_s);
}

// The slowest of 8 alike GPUs takes 1.4236 standard deviations longer than the mean one: 0.7 % of
// H100, 1.5 % where nobody measured it. Servers that answer each gradient alone let nobody wait;
// who is at most so many iterations ahead waits in the end.
TEST(Ask, AnIterationWaitsForTheSlowestOfAlikeGpus) {
  Asker asker;
  const auto slowest = [&](Question question) {
    return asker.ask({question}, {.label = "test"}).front().nominal.training.slowest_gpu;
  };
  EXPECT_EQ(slowest(resnet_on_h100(1, 64, Scaling::kWeak)), 1);
  EXPECT_NEAR(slowest(resnet_on_h100(8, 64, Scaling::kWeak)), 1.0099652, 1e-6);
  EXPECT_NEAR(slowest(training(8)), 1.0213540, 1e-6);
  Question servers = training(8);
  servers.schedule = "parameter-server-async";
  EXPECT_EQ(slowest(servers), 1);
  Question stale = training(8);
  stale.system = "poseidon-ssp";
  EXPECT_NEAR(slowest(stale), 1.0213540, 1e-6);
  Question alike = training(8);
  alike.number_scales = {{"models/compute/assumptions.json:/compute/gpu_variation", 1e-3}};
  EXPECT_NEAR(slowest(alike), 1.0000214, 1e-6);
}

TEST(TrainingRun, KernelsAreThoseOfTheSlowestGpuThatIsWaitedFor) {
  PredictionInputs inputs = load_inputs(resnet_on_h100(8, 64, Scaling::kWeak), Scenario::kNominal);
  constexpr double kVariation = 0.007;
  const TrainingJob alone = *training_run(inputs, 1).jobs.front();
  const auto ratio = [&](int gpus) {
    const TrainingJob job = *training_run(inputs, gpus).jobs.back();
    for (size_t i = 0; i < job.stages.size(); ++i) {
      EXPECT_NEAR(job.stages[i].forward_s * alone.stages[0].backward_s,
                  alone.stages[i].forward_s * job.stages[0].backward_s, 1e-15);
      EXPECT_NEAR(job.stages[i].update_s * alone.stages[0].backward_s,
                  alone.stages[i].update_s * job.stages[0].backward_s, 1e-15);
    }
    return job.stages[0].backward_s / alone.stages[0].backward_s;
  };
  EXPECT_NEAR(ratio(8), 1 + kVariation * 1.42360, 1e-6);
  EXPECT_NEAR(ratio(64), 1 + kVariation * 2.34373, 1e-6);
  inputs.waited_for = 64;  // eight that stand for them
  EXPECT_NEAR(ratio(8), 1 + kVariation * 2.34373, 1e-6);
}

// Eight GPUs take what eight GPUs took, to a ten-thousandth, whatever else is asked with it; one of
// them is faster than an eighth of them.
TEST(Ask, AThroughputOfANodeIsMetOnTheNode) {
  Question node = resnet_on_h100(8, 400, Scaling::kWeak);
  node.cuda_graphs = true;
  node.throughput = parse_throughput("56068.6images/s@400x8", "--throughput");
  Question one = node;
  one.gpus = {1};
  Question more = node;
  more.gpus = {64};
  more.batch = 3200;
  more.scaling = Scaling::kStrong;
  Asker asker;
  const auto answers = asker.ask({node, one, more}, {.label = "test", .draws = Draws::kEnds});
  const auto images_per_s = [&](size_t i) {
    const PredictionPoint& point = answers[i].nominal.training;
    return static_cast<double>(point.images_per_iteration) / point.iteration_s;
  };
  EXPECT_NEAR(images_per_s(0) / 56068.6, 1, 1e-4);
  EXPECT_GT(8 * images_per_s(1), 56068.6);
  EXPECT_LT(8 * images_per_s(1), 1.1 * 56068.6);
  // MLPerf 3.0, NVIDIA: 294,894 on 64 GPUs; linear scaling says 448,549.
  EXPECT_NEAR(images_per_s(2) / 294'894, 1, 0.1);
  EXPECT_GE(answers[0].time().time_s, answers[0].time().low_s);
}

// Also where most of what its kernels lose goes to waiting for the exchange: 10 Gbit/s Ethernet.
TEST(Ask, AThroughputOfANodeThatExchangesIsMet) {
  Question question = resnet_on_h100(8, 64, Scaling::kWeak);
  question.platform = "k40-ethernet-10g";
  question.model = "alexnet";
  question.precision.reset();
  question.throughput = parse_throughput("1000images/s@64x8", "--throughput");
  Asker asker;
  const auto answers = asker.ask({question}, {.label = "test"});
  EXPECT_NEAR(answers[0].nominal.time_s(), 0.512, 1e-4 * 0.512);
}

// Kernels are those of the batch that each count leaves a GPU, asked together or apart.
TEST(Ask, CountsThatShareABatchAreAskedAsIfAlone) {
  const Question question = resnet_on_h100(8, 512, Scaling::kStrong);
  const Question more = resnet_on_h100(64, 512, Scaling::kStrong);
  Asker together;
  const auto both = together.ask({question, more}, {.label = "test", .draws = Draws::kEnds});
  Asker alone;
  const auto one = alone.ask({more}, {.label = "test", .draws = Draws::kEnds});
  EXPECT_EQ(both[1].nominal.time_s(), one[0].nominal.time_s());
  EXPECT_EQ(both[1].time().low_s, one[0].time().low_s);
  EXPECT_EQ(both[1].time().high_s, one[0].time().high_s);
}

TEST(Ask, AThroughputThatNoNodeHasIsRefused) {
  Question question = resnet_on_h100(8, 32, Scaling::kWeak);
  question.platform = "dgx-a100";
  question.model = "vgg-16";
  question.precision.reset();
  question.throughput = parse_throughput("60000images/s@32x8", "--throughput");
  Asker asker;
  for (int again = 0; again < 2; ++again)
    EXPECT_THAT(testing::refusal([&] { asker.ask({question}, {.label = "test"}); }),
                HasSubstr("--throughput = 60000@32x8:2%: is more than 8 GPUs reach"));
  question.throughput = parse_throughput("8000images/s@100000x8", "--throughput");
  EXPECT_THAT(testing::refusal([&] { asker.ask({question}, {.label = "test"}); }),
              HasSubstr("does not fit into the GPUs' memory"));
}

// One that has not settled after the schedule's own count of iterations is asked for twice as many,
// unless the count was said.
TEST(Ask, GoesOnUntilIterationsSettle) {
  Question question{.platform = "piz-daint",
                    .model = "cifar10-quick",
                    .system = "poseidon-three-level",
                    .gpus = {12},
                    .batch = 32,
                    .scaling = Scaling::kWeak};
  Question said = question;
  said.iterations = load_inputs(question, {}).iterations;
  Question twice = said;
  twice.iterations *= 2;
  Asker asker;
  const auto answers = asker.ask({question, said, twice}, {.label = "test"});
  EXPECT_FALSE(answers[1].nominal.training.is_steady);
  EXPECT_TRUE(answers[2].nominal.training.is_steady);
  EXPECT_TRUE(answers[0].nominal.training.is_steady);
  EXPECT_EQ(answers[0].nominal.time_s(), answers[2].nominal.time_s());
  EXPECT_NE(answers[0].nominal.time_s(), answers[1].nominal.time_s());
}

// Never by a clock: the same question has the same answer on a slow machine.
TEST(Ask, WhatDoesNotSettleEndsByIterationsOrMessages) {
  EXPECT_EQ(iterations_to_settle(3, 1000), 6);
  EXPECT_EQ(iterations_to_settle(12, 1000), 24);
  EXPECT_EQ(iterations_to_settle(24, 1000), 0);
  EXPECT_EQ(iterations_to_settle(3, 250'000), 6);
  EXPECT_EQ(iterations_to_settle(3, 250'001), 0);
}

TEST(Ask, RangesHoldTheNominalTime) {
  Asker asker;
  const RangedAnswer answer =
      asker.ask({training(4)}, {.label = "test", .draws = Draws::kEnds}).front();
  ASSERT_TRUE(answer.fast && answer.slow);
  const TimeRange time = answer.time();
  EXPECT_EQ(time.time_s, answer.nominal.training.iteration_s);
  EXPECT_LT(time.low_s, time.time_s);
  EXPECT_GT(time.high_s, time.time_s);
  // What is simulated at the ends computes as ever; what kernels would take there stands beside.
  for (const char* pass : {"forward", "backward"})
    EXPECT_NEAR(answer.fast->training.root_s.at(pass), answer.nominal.training.root_s.at(pass),
                1e-12);
  EXPECT_LE(answer.fast->compute_ratio, 1);
  EXPECT_GE(answer.slow->compute_ratio, 1);
}

TEST(Ask, DrawsAreJointAndRepeat) {
  const auto drawn_s = [](const Draws& draws) {
    Asker asker;
    std::vector<double> times_s;
    const std::vector<RangedAnswer> answers =
        asker.ask({training(4)}, {.label = "test", .draws = draws});
    for (const Answer& answer : answers.front().drawn)
      times_s.push_back(answer.training.iteration_s);
    return times_s;
  };
  const std::vector<double> three = drawn_s({.drawn = 3});
  ASSERT_EQ(three.size(), 3U);
  EXPECT_NE(three[0], three[1]);
  const std::vector<double> two = drawn_s({.drawn = 2});
  EXPECT_EQ(two[0], three[0]);
  EXPECT_EQ(two[1], three[1]);
}

// Its platform's file is gone: a second simulation would have nothing to read.
TEST(Ask, WhatWasAskedIsNotSimulatedAgain) {
  const ScratchFolder folder("ask");
  Question question = training(4);
  question.platform = folder.file("mine.json");
  std::filesystem::copy_file(data_path("topologies/presets/kesch.json"), question.platform);
  Asker asker;
  const double first_s = asker.ask({question}, {.label = "test"})[0].nominal.training.iteration_s;
  std::filesystem::remove(question.platform);
  EXPECT_EQ(asker.ask({question}, {.label = "test"})[0].nominal.training.iteration_s, first_s);
  EXPECT_THROW(Asker().ask({question}, {.label = "test"}), InputError);
}

// As points of a sweep do, in processes of their own.
TEST(Ask, WhatAnotherPointHasToldIsNotSimulatedAgain) {
  Question question = broadcast(4);
  question.bytes = {1234};
  KnownAnswers& known = KnownAnswers::of_this_process();
  const auto asked_s = [&](Asker& asker) {
    return asker.ask({question}, {.label = "test"}).front().nominal.time_s();
  };
  Asker alone;
  const double time_s = asked_s(alone);
  EXPECT_EQ(known.told(), "{}") << "nothing is shared yet";

  known.begin_sharing();
  Asker first;
  EXPECT_EQ(asked_s(first), time_s);
  nlohmann::json told = parse_json(known.told());
  ASSERT_EQ(told.size(), 1U);
  nlohmann::json other = parse_json(told.front().get<std::string>());
  other["collective"]["time_s"] = 42.0;
  told.front() = other.dump();
  known.gather(told.dump().substr(0, 40));  // of one that was killed
  Asker second;
  EXPECT_EQ(asked_s(second), time_s);
  known.gather(told.dump());
  Asker third;
  EXPECT_EQ(asked_s(third), 42.0);
  EXPECT_EQ(asked_s(first), time_s) << "what it has asked itself stays";
  const std::vector<QuestionMachine> machines = {load_machine(question, Scenario::kNominal)};
  Asker of_given(machines);
  EXPECT_EQ(asked_s(of_given), time_s) << "of machines that the question does not name";
}

TEST(Ask, FailuresAreKeptOrThrown) {
  Question wrong = broadcast(2);
  wrong.ranks = {9};
  Asker asker;
  const auto answers = asker.ask({wrong, broadcast(2)}, {.label = "test", .keep_failures = true});
  EXPECT_THAT(answers[0].nominal.failure, HasSubstr("must be <= 8"));
  EXPECT_EQ(answers[1].nominal.failure, "");
  EXPECT_THROW(Asker().ask({wrong, broadcast(2)}, {.label = "test"}), InputError);
}

TEST(Ask, NumbersAreScaledWhereTheyAreRead) {
  Question slow = training(32);
  slow.network_scale = 0.01;
  Question cable = training(32);
  cable.number_scales["models/hardware/links/connect-ib-dual-fdr.json:/bandwidth_bytes_per_s"] =
      0.01;
  Asker asker;
  const auto answers = asker.ask({training(32), slow, cable}, {.label = "test"});
  const double nominal_s = answers[0].nominal.training.iteration_s;
  EXPECT_GT(answers[1].nominal.training.iteration_s, 1.1 * nominal_s);
  EXPECT_NEAR(answers[2].nominal.training.iteration_s, answers[1].nominal.training.iteration_s,
              1e-9 * nominal_s);
  Question misspelt = training(32);
  misspelt.number_scales["models/hardware/links/connect-ib-dual-fdr.json:/bandwith"] = 2;
  EXPECT_THROW(asker.ask({misspelt}, {.label = "test"}), InputError);
}

TEST(LoadInputs, FewerValuesAreFewerOfTablesToo) {
  Question question;
  question.platform = "dgx-a100";
  question.system = "ddp-nccl";
  question.model = "dlrm";
  question.batch = 8;
  question.bytes_scale = 0.5;
  EXPECT_EQ(load_inputs(question, {}).network.tables().looked_up, 13 * 128);
}

}  // namespace
}  // namespace forescale
