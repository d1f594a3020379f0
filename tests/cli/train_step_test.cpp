// calibrate/bench/gpu/train_step.py and torch_kernels.py, on a CPU where there is PyTorch.
#include <gtest/gtest.h>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

// A script's exit code and what it said.
Outcome run_script(const std::string& name, const std::string& options) {
  const Workshop workshop;
  const std::string said = workshop.path("said");
  const int status = std::system(
      ("timeout 120 /usr/bin/python3 " +  // NOLINT(cert-env33-c): a script, as typed
       source_file("calibrate/bench/gpu/" + name) + " " + options + " >" + said + " 2>&1")
          .c_str());
  return {.exit_code = WEXITSTATUS(status), .out = text_of(said), .err = ""};
}

Outcome train_step(const std::string& options) { return run_script("train_step.py", options); }

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

// Parameters of the paper's formula: embedding, head, and of each layer queries and output, keys
// and values, three products of the feed-forward, two norms; one norm at the end.
TEST(TrainStep, TakesALlamaByItsConfig) {
  const Workshop workshop;
  const std::string config = workshop.file("tiny.json", R"({
    "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 3, "vocab_size": 50})");
  const std::string file = workshop.path("step.json");
  const Outcome outcome =
      train_step("--device cpu --config " + config +
                 " --sequence 8 --batches 2 --precisions bf16 --steps 6 -o " + file);
  if (lacks_torch(outcome)) GTEST_SKIP() << outcome.out;
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  const nlohmann::json step = parse_json(text_of(file))["steps"][0];
  EXPECT_EQ(step["model"], "tiny");
  EXPECT_EQ(step["parameters"],
            2 * 50 * 64 + 3 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64) + 64);
  EXPECT_EQ(step["sequence"], 8);

  const std::string wrong = workshop.file("wrong.json", R"({"hidden_size": "many"})");
  const Outcome refused = train_step("--device cpu --config " + wrong);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.out.find("wrong.json: hidden_size must be a whole number"), std::string::npos)
      << refused.out;
}

// What it answers is a measurement of the kernels that were asked for.
TEST(TorchKernels, TimesARequestsKernels) {
  const Workshop workshop;
  const std::string request = workshop.file("request.json", R"({"layout": "nhwc", "kernels": [
    {"operation": "gemm", "m": 64, "n": 32, "k": 16, "transposes": "TN", "pass": "forward",
     "precision": "fp32"},
    {"operation": "convolution", "batch": 2, "channels": 8, "height": 9, "width": 9, "filters": 4,
     "filter_height": 3, "filter_width": 3, "pad_height": 1, "pass": "backward-weights",
     "precision": "fp32"},
    {"operation": "gemm", "m": 64, "n": 32, "k": 16, "transposes": "TN", "pass": "forward",
     "precision": "nvfp4"}]})");
  const std::string answer = workshop.path("answer.json");
  const Outcome outcome =
      run_script("torch_kernels.py",
                 request + " " + answer + " --device cpu --budget 20 --tokens 32 --hidden 128");
  if (lacks_torch(outcome)) GTEST_SKIP() << outcome.out;
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  expect_answer("calibrate show " + answer,
                {"gemm forward fp32", "convolution backward-weights fp32",
                 "LayerNorm backward bf16", "SwiGLU forward bf16", "AdamW forward fp32",
                 "convolutions in nhwc", "left out, 1 of: no PyTorch kernel in nvfp4"});

  const Outcome refused = run_script("torch_kernels.py", workshop.path("none.json") + " " + answer);
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
}

}  // namespace
}  // namespace forescale::testing
