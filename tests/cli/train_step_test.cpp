// calibrate/bench/gpu/train_step.py, on a CPU where there is PyTorch.
#include <gtest/gtest.h>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

// The script's exit code and what it said.
Outcome train_step(const std::string& options) {
  const Workshop workshop;
  const std::string said = workshop.path("said");
  const int status = std::system(
      ("timeout 120 /usr/bin/python3 " +  // NOLINT(cert-env33-c): a script, as typed
       source_file("calibrate/bench/gpu/train_step.py") + " " + options + " >" + said + " 2>&1")
          .c_str());
  return {.exit_code = WEXITSTATUS(status), .out = text_of(said), .err = ""};
}

bool lacks_torch(const Outcome& outcome) {
  return outcome.out.find("PyTorch is needed") != std::string::npos;
}

TEST(TrainStep, SaysWhatIsMissing) {
  const Outcome outcome = train_step("--models transformer --layers 1 --batches 1 --budget 1");
  if (outcome.exit_code == 0) GTEST_SKIP() << "PyTorch sees a GPU here";
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_EQ(outcome.out.rfind("train_step.py: PyTorch ", 0), 0U) << outcome.out;
}

// ResNet-50's published 25.6 million parameters; a transformer layer's 12 H^2 and its biases and
// norms, 13 H.
TEST(TrainStep, TimesBothNetworks) {
  const Workshop workshop;
  const std::string file = workshop.path("step.json");
  const Outcome outcome = train_step(
      "--device cpu --batches 2 --image 32 --layers 2 --sequence 4 --precisions fp32 --steps 6 "
      "-o " +
      file);
  if (lacks_torch(outcome)) GTEST_SKIP() << outcome.out;
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  const nlohmann::json result = parse_json(text_of(file));
  ASSERT_EQ(result["steps"].size(), 2U);
  EXPECT_EQ(result["steps"][0]["parameters"], 25'557'032);
  EXPECT_EQ(result["steps"][1]["parameters"], 2 * (12 * 1024 * 1024 + 13 * 1024));
  for (const nlohmann::json& step : result["steps"]) {
    EXPECT_EQ(step["samples"], 6);
    EXPECT_GT(step["low_s"], 0.0);
    EXPECT_LE(step["low_s"], step["time_s"]);
    EXPECT_LE(step["time_s"], step["high_s"]);
  }
}

}  // namespace
}  // namespace forescale::testing
