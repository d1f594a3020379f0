// `forescale tune schedule` as a person runs it.
#include <gtest/gtest.h>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

constexpr const char* kDdp =
    "tune schedule --platform kesch --stack mvapich2-gdr --schedule ddp --model alexnet "
    "--batch 64 --gpus 2,4 --only bucket_bytes ";

TEST(TuneSchedule, SaysTheBestAndWhatEachValueCosts) {
  expect_answer(kDdp, {"iteration before", "tuned", "bucket_bytes", "25 MiB", "over the choice"});
  const std::string horovod =
      "tune schedule --platform owens --system horovod-mpi-opt --model resnet-50 --batch 64 "
      "--scaling weak --gpus 16 --only fusion_threshold --no-range ";
  // Fusion off is faster by less than the model can tell: it stays on.
  expect_answer(horovod, {"1.000x  fusion_threshold=64 MiB",
                          "note: fusion_threshold=0 B would take 1.3 % less; settings stay"});
  expect_answer(horovod + "--tolerance 0", {"fusion_threshold=0 B", "0 B *"});
}

TEST(TuneSchedule, EmitsWhatTheFrameworkIsTold) {
  const Workshop workshop;
  const std::string file = workshop.path("ddp.txt");
  const json answer =
      expect_answer(std::string(kDdp) + "--no-range --json --emit ddp --settings " + file).json();
  const std::string text = text_of(file);
  EXPECT_NE(text.find("bucket_cap_mb"), std::string::npos) << text;
  EXPECT_NE(text.find("kesch"), std::string::npos);
  EXPECT_EQ(answer["rows"].size(), 2U);
  EXPECT_EQ(answer["settings"]["file"], file);
}

TEST(TuneSchedule, BadInputIsRefused) {
  const std::string ddp(kDdp);
  expect_refused(ddp + "--settings x", {"--settings", "--emit"});
  expect_refused(ddp + "--emit dpp", {"--emit", "did you mean \"ddp\""});
  expect_refused(ddp + "-o /nowhere/x.json", {"--out", "cannot be written"});
  expect_refused(ddp + "--option bucket_bytes=0", {"bucket_bytes", "must be"});
}

}  // namespace
}  // namespace forescale::testing
