// `forescale calibrate measure --gpu`.
#include "base/json_text.hpp"
#include "calibrate/measure/measure_gpu.hpp"

#include "base/error.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

bool is_built() {
  try {
    gpu_program(FORESCALE_PROGRAM);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

const std::string kShort = "calibrate measure --gpu --budget 1s --max-bytes 1KiB --networks none ";

TEST(CalibrateMeasureGpuCommand, RefusesBadOptions) {
  expect_refused("calibrate measure --gpu --networks alexnot", {"--networks", "alexnet"});
  expect_refused("calibrate measure --gpu --patterns ping-pong", {"--patterns", "peer-copy"});
  expect_refused("calibrate measure --gpu --patterns launhc",
                 {"--patterns", "did you mean \"launch\"?"});
  expect_refused("calibrate measure --gpu --precisions fp8", {"--precisions", "fp16"});
  expect_refused("calibrate measure --gpu --batches 0 --networks alexnet", {"--batches"});
  expect_refused("calibrate measure --gpu --budget 0s", {"--budget"});
  expect_refused("calibrate measure --gpu --max-bytes 1", {"--max-bytes"});
  expect_refused("calibrate measure --gpu --patterns none --networks none", {"--networks"});
  expect_refused("calibrate measure --gpu --layout cnhw", {"--layout"});
  expect_refused("calibrate measure --gpu --ranks 2", {"--ranks"});
  expect_refused("calibrate measure --ranks 2 --batches 8", {"--gpu"});
}

TEST(CalibrateMeasureGpuCommand, SaysWhatIsMissing) {
  const Workshop workshop;
  if (!is_built()) {
    expect_refused(kShort, {"--gpu", "forescale-gpu is not built", "nvidia-cuda-toolkit"});
    return;
  }
  const Outcome outcome = run_program(kShort + "-o " + workshop.path("m.json"));
  if (outcome.exit_code == 0) GTEST_SKIP() << "a GPU is here: nothing is missing";
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err.rfind("forescale: --gpu: ", 0), 0U) << outcome.err;
  const auto says = [&](const char* words) { return outcome.err.find(words) != std::string::npos; };
  EXPECT_TRUE(says("no NVIDIA driver") || says("too old") || says("no GPU was found") ||
              says("cannot be used"))
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(workshop.path("m.json")));
}

TEST(CalibrateMeasureGpuCommand, MeasuresWhereThereIsAGpu) {
  if (!is_built()) GTEST_SKIP() << "forescale-gpu is not built: no CUDA toolkit";
  const Workshop workshop;
  const std::string file = workshop.path("m.json");
  const Outcome outcome = run_program(
      "calibrate measure --gpu --budget 20s --max-bytes 1MiB --networks cifar10-quick "
      "--batches 8 --precisions fp32 --machine mine -o " +
      file);
  if (outcome.exit_code == 2) GTEST_SKIP() << outcome.err;
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Measurement measurement = read_measurement(file);
  EXPECT_EQ(measurement.machine, "mine");
  EXPECT_FALSE(measurement.gpu.at("name").empty());
  EXPECT_GE(measurement.series.size(), 11U);  // all that one GPU can do
  EXPECT_FALSE(measurement.kernels.empty());
}

// For a machine that has only forescale-gpu.
TEST(CalibrateMeasureGpuCommand, WritesTheRequestAlone) {
  const Workshop workshop;
  const std::string file = workshop.path("request.json");
  expect_answer(
      "calibrate measure --gpu --device 1 --networks alexnet --batches 32 --precisions "
      "bf16 --patterns launch --request " +
          file,
      {file + ": forescale-gpu " + file});
  const nlohmann::json request = parse_json(text_of(file));
  EXPECT_EQ(request["device"], 1);
  EXPECT_EQ(request["series"].size(), 1U);
  EXPECT_EQ(request["kernels"].size(), 3U * 8 - 1);
  EXPECT_EQ(request["provenance"]["command"],
            "forescale calibrate measure --gpu --device 1 --budget 60s --patterns launch "
            "--networks alexnet --batches 32 --precisions bf16");
}

}  // namespace
}  // namespace forescale::testing
