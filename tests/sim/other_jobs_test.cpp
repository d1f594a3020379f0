// Jobs beside each other: alone on their links as if alone, and slower where they share one.
#include "sim/run/other_jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/ask/ask.hpp"
#include "sim/ask/load_question.hpp"
#include "tests/base/refusal.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

Question job_beside(const std::string& platform, const std::string& schedule, int gpus,
                    const std::string& beside) {
  return {.platform = platform,
          .stack = "mvapich2-gdr",
          .model = "alexnet",
          .schedule = schedule,
          .gpus = {gpus},
          .batch = 32 * gpus,
          .beside = beside};
}

Answer answer_to(const Question& question) {
  Asker asker;
  return asker.ask({question}, {}).front().nominal;
}

// Every schedule, with its servers: Owens has one GPU a node on one switch, so jobs share nothing.
TEST(OtherJobs, DoNotDisturbWhereNothingIsShared) {
  int tested = 0;
  for (const auto& [name, schedule] : Registry<Schedule>::all()) {
    ++tested;
    const Answer alone = answer_to(job_beside("owens", name, 4, ""));
    const Answer beside = answer_to(job_beside("owens", name, 4, "2"));
    EXPECT_NEAR(beside.time_s(), alone.time_s(), 1e-9 * alone.time_s()) << name;
    EXPECT_NEAR(beside.training.exposed_communication_s, alone.training.exposed_communication_s,
                1e-9 * alone.time_s())
        << name;
    EXPECT_EQ(beside.training.messages, 3 * alone.training.messages) << name;
  }
  EXPECT_GE(tested, 20);
}

TEST(OtherJobs, ShareWhatTheyBothCross) {
  // Hosts 0, 1 | 2, 3 on two leaves with one uplink: job 0 on hosts 0 and 2, job 1 on 1 and 3.
  Platform platform = load_platform("fat-tree:down=2x2,up=1,bandwidth=10GB/s,latency=1us");
  platform.endpoints = {0, 2, 1, 3};
  const Stack stack = load_stack("ideal");
  Schedule exchange;
  exchange.name = "exchange";
  exchange.run = [](Worker& worker, const TrainingJob& job) {
    for (int i = 0; i < job.iterations; ++i) {
      worker.run(
          CollectiveStep{.op = CollectiveOp::kBroadcast, .bytes = 100'000'000, .label = "weights"});
      worker.end_iteration();
    }
  };
  TrainingJob job;
  job.iterations = 3;
  job.batch = 1;
  const TrainingJobs jobs = jobs_of(2, job);
  const auto iteration_s = [&](const OtherJobs& others) {
    return in_child(
        [&] { return simulate_beside(platform, stack, exchange, jobs, others, {}).iteration_s; });
  };
  const double alone_s = 1e-6 * 4 + 0.01;
  EXPECT_NEAR(iteration_s({}), alone_s, 1e-6);
  EXPECT_NEAR(iteration_s({.count = 1}), alone_s + 0.01, 1e-6);
  // One that begins when the first has ended.
  EXPECT_NEAR(iteration_s({.count = 1, .after_s = 1}), alone_s, 1e-6);
}

// A server a node of each job, beside its workers: of Minsky's nodes of four GPUs the first three
// are on one, the next three on two.
TEST(OtherJobs, HaveAsManyServersAsTheFirst) {
  const auto asked = [](int gpus) { return job_beside("minsky", "poseidon", gpus, "1"); };
  const double alone_s = answer_to(job_beside("minsky", "poseidon", 8, "")).time_s();
  EXPECT_GE(answer_to(asked(8)).time_s(), alone_s * (1 - 1e-9));
  EXPECT_THAT(refusal([&] { answer_to(asked(3)); }), HasSubstr("must fill nodes"));
}

TEST(OtherJobs, AreRefusedWhereTheyDoNotFit) {
  const auto refused = [](const Question& question) {
    return refusal([&] {
      Asker asker;
      gpu_counts(question, asker.inputs(question));
    });
  };
  EXPECT_THAT(refused(job_beside("ri2", "phases", 16, "1")),
              HasSubstr("--beside = 1: asks for 2 jobs"));
  Question all = job_beside("ri2", "phases", 1, "1");
  all.gpus.clear();
  Asker asker;
  EXPECT_EQ(gpu_counts(all, asker.inputs(all)).back(), load_platform("ri2").slot_count() / 2);
  EXPECT_THAT(refusal([] { parse_other_jobs("0", "--beside"); }), HasSubstr("--beside"));
  EXPECT_THAT(refusal([] { parse_other_jobs("jobs=1,after=soon", "--beside"); }),
              HasSubstr("after"));
}

}  // namespace
}  // namespace forescale::testing
