// forescale-gpu's own code from request to answer, on a CUDA runtime that is made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "calibrate/measure/measure_gpu.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class MadeUpGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    program_ = std::filesystem::path(FORESCALE_PROGRAM).parent_path() / "forescale-gpu-made-up";
    if (access(program_.c_str(), X_OK) != 0)
      GTEST_SKIP() << "forescale-gpu is not built: no CUDA toolkit";
  }

  // `variables` as made_up_cuda.cpp has them.
  MeasureOutcome measure(const std::vector<std::string>& variables,
                         const std::vector<Precision>& precisions = {Precision::kFp32}) const {
    std::vector<std::string> command = {"env"};
    command.insert(command.end(), variables.begin(), variables.end());
    command.push_back(program_);
    return measure_gpu(command,
                       {.device = device_,
                        .budget_s = 30,
                        .bytes_max = bytes_max_,
                        .networks = {"cifar10-quick", "gnmt"},
                        .batches = {2},
                        .precisions = precisions},
                       [](const std::string&) {});
  }
  static const Series& series_of(const MeasureOutcome& outcome, Pattern pattern) {
    for (const Series& one : outcome.measurement.series)
      if (one.pattern == pattern) return one;
    ADD_FAILURE() << name_of(pattern);
    return outcome.measurement.series.front();
  }

  std::string program_;
  int device_ = 0;
  std::int64_t bytes_max_ = 64 << 10;
};

// cifar10-quick has two fully connected layers, gnmt another two.
TEST_F(MadeUpGpuTest, MeasuresAllThatOneGpuCan) {
  const MeasureOutcome outcome = measure({});
  EXPECT_EQ(outcome.failure, "");
  const Measurement& measurement = outcome.measurement;
  EXPECT_EQ(measurement.gpu.at("name"), "made-up");
  EXPECT_EQ(measurement.series.size(), measurable_patterns().size() - 2);
  EXPECT_EQ(series_of(outcome, Pattern::kReductionBesideKernel).points.back().bytes, 64 << 10);
  EXPECT_EQ(measurement.kernels.size(), (2U + 2U) * 3);
  EXPECT_THAT(measurement.notes, AllOf(Contains(HasSubstr("peer-copy needs two GPUs")),
                                       Contains(HasSubstr("built without cuDNN")),
                                       Not(Contains(HasSubstr("memory")))));
}

TEST_F(MadeUpGpuTest, CopiesBetweenItAndTheOthers) {
  device_ = 1;
  const MeasureOutcome outcome = measure({"MADE_UP_GPUS=3"});
  std::vector<std::vector<int>> pairs;
  for (const Series& one : outcome.measurement.series)
    if (one.pattern == Pattern::kPeerCopy) pairs.push_back(one.members);
  EXPECT_THAT(pairs, ElementsAre(ElementsAre(1, 0), ElementsAre(1, 2)));
}

TEST_F(MadeUpGpuTest, LeavesOutWhatDoesNotFit) {
  bytes_max_ = 8 << 20;
  const MeasureOutcome outcome = measure({"MADE_UP_MEMORY_BYTES=9e6"});
  EXPECT_EQ(outcome.failure, "");
  // One buffer of 8 MiB fits, two do not.
  EXPECT_EQ(series_of(outcome, Pattern::kHostToDevice).points.back().bytes, 8 << 20);
  EXPECT_EQ(series_of(outcome, Pattern::kMemoryCopy).points.back().bytes, 4 << 20);
  // Neither do weights of 2048 x 4096; cifar10-quick's are small.
  EXPECT_EQ(outcome.measurement.kernels.size(), 2U * 3);
  EXPECT_THAT(outcome.measurement.notes,
              Contains("left out, out of memory: reduction of 8388608 bytes"));
}

TEST_F(MadeUpGpuTest, AFullGpuIsNone) {
  EXPECT_THROW(measure({"MADE_UP_MEMORY_BYTES=1"}), InputError);
}

TEST_F(MadeUpGpuTest, OldGpusHaveNoTf32) {
  const MeasureOutcome outcome =
      measure({"MADE_UP_CAPABILITY=7"}, {Precision::kTf32, Precision::kFp16});
  EXPECT_EQ(outcome.measurement.kernels.size(), 12U);
  EXPECT_THAT(outcome.measurement.notes, Contains(HasSubstr("12 times: left out, tf32 needs")));
}

TEST_F(MadeUpGpuTest, AFaultKeepsWhatWasMeasured) {
  const MeasureOutcome outcome = measure({"MADE_UP_FAULT_AT_PRODUCT=1"});
  EXPECT_THAT(outcome.failure, AllOf(HasSubstr("illegal memory access"), HasSubstr("gemm")));
  EXPECT_EQ(outcome.measurement.series.size(), measurable_patterns().size() - 2);
  EXPECT_TRUE(outcome.measurement.kernels.empty());
  EXPECT_THAT(outcome.measurement.notes, Contains(outcome.failure));
}

TEST_F(MadeUpGpuTest, AWrongSumIsAFault) {
  EXPECT_THAT(measure({"MADE_UP_WRONG_SUMS_OF=1023"}).failure,
              HasSubstr("the reduction of 1023 values is wrong"));
  // 16 KiB, when its turn comes.
  const MeasureOutcome later = measure({"MADE_UP_WRONG_SUMS_OF=4096"});
  EXPECT_THAT(later.failure, HasSubstr("(reduction of 16384 bytes)"));
  EXPECT_EQ(series_of(later, Pattern::kReduction).points.back().bytes, 4096);
}

TEST_F(MadeUpGpuTest, ThereIsNoSuchGpu) {
  device_ = 3;
  try {
    measure({"MADE_UP_GPUS=3"});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_THAT(error.parts().constraint, HasSubstr("there is no GPU 3"));
  }
}

}  // namespace
}  // namespace forescale::testing
