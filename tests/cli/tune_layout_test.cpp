// `forescale tune layout` end to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

#include "algorithms/layout/layout.hpp"
#include "base/json_text.hpp"
#include "studies/tune/tune_layout.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using testing::expect_refused;
using testing::Outcome;
using testing::run_program;
using testing::text_of;
using testing::Workshop;

constexpr const char* kSmall =
    "tune layout --platform dgx-h100 --model llama-3-8b:num_hidden_layers=8 --seq 4096 --gpus 16 "
    "--layout global=64,micro=1,cp=1 ";

// The first row is what `predict` says of its layout, interval and all.
TEST(TuneLayoutCommand, TheBestIsAPrediction) {
  const auto tuned = run_program(kSmall + std::string("--best 2 --json")).json();
  EXPECT_EQ(tuned.at("format"), "forescale-layouts-1");
  ASSERT_EQ(tuned.at("predictions").size(), 2U);
  const std::string best = tuned.at("tunings").at(0).at("best");
  auto predicted = run_program(
                       "predict --platform dgx-h100 --model llama-3-8b:num_hidden_layers=8 "
                       "--seq 4096 --gpus 16 --json --layout " +
                       best)
                       .json();
  EXPECT_EQ(predicted.at("predictions").at(0), tuned.at("predictions").at(0));
}

TEST(TuneLayoutCommand, SaysWhatWasTriedAndLeftOut) {
  const Outcome result = run_program(kSmall + std::string("--only tp,pp --no-range"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text :
       {"llama-3-8b:num_hidden_layers=8 on 16 GPUs of dgx-h100, bf16, sequences of 4096 tokens, 64 "
        "an iteration",
        "tried: pp 1 2 4 8; tp 1 2 4 8\n", "13 combinations: ", "slower %", " fits\n"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
}

TEST(TuneLayoutCommand, WritesItsAnswer) {
  const Workshop folder;
  const std::string file = folder.path("tuned.json");
  EXPECT_EQ(run_program(kSmall + std::string("--only tp --no-range -o ") + file).exit_code, 0);
  EXPECT_EQ(parse_json(text_of(file)).at("tunings").at(0).at("gpus"), 16);
}

// Of 8 GPUs the fastest may not fit. The fastest that surely does stands behind the best that are
// shown, once, and among them if they are many. What is named stays, at its default too.
TEST(TuneLayoutCommand, TheFastestThatSurelyFitsIsThereOnce) {
  const std::string line =
      "tune layout --platform aws-p5 --model nanotron-8b --framework nanotron --gpus 8 --no-range "
      "--layout global=256,split=cost,recompute=none,zero=none,vpp=1,cp=1 --json --best ";
  for (const auto& [best, shown] : {std::pair{1, 2U}, {8, 8U}}) {
    const auto answer = run_program(line + std::to_string(best)).json();
    const auto& tuning = answer.at("tunings").at(0);
    EXPECT_FALSE(tuning.at("tried").contains("zero"));
    EXPECT_FALSE(tuning.at("tried").contains("recompute"));
    ASSERT_TRUE(tuning.contains("surely_fits"));
    ASSERT_EQ(answer.at("predictions").size(), shown);
    std::set<std::string> layouts;
    bool has_one_that_surely_fits = false;
    for (const auto& each : answer.at("predictions")) {
      EXPECT_TRUE(layouts.insert(each.at("layout")).second) << each.at("layout");
      has_one_that_surely_fits |= each.at("memory_high_bytes") <= each.at("gpu_memory_bytes");
    }
    EXPECT_TRUE(has_one_that_surely_fits);
  }
}

// As nanotron's grid was measured (docs/llm.md).
TEST(TuneLayoutCommand, SaysWhatFullMemoryDoes) {
  const std::string layout =
      " --platform aws-p5 --model nanotron-8b --framework nanotron --gpus 8 --no-range "
      "--layout pp=2,micro=1,global=256,zero=optimizer,split=cost";
  const char* note =
      "memory predicted to be 96 % full: all layouts measured so, of 90 % and more, took 2.8 to "
      "13.3 times their predicted time";
  EXPECT_NE(run_program("predict" + layout).out.find(note), std::string::npos);
  EXPECT_NE(run_program("tune layout" + layout + " --only tp").out.find(note), std::string::npos);
  EXPECT_EQ(
      run_program("predict" + layout + " --json").json().at("predictions").at(0).at("full_memory"),
      (nlohmann::json{{"times_low", 2.8}, {"times_high", 13.3}}));
  const Outcome roomy = run_program("predict" + layout + ",tp=2");
  EXPECT_EQ(roomy.exit_code, 0);
  EXPECT_EQ(roomy.out.find("% full"), std::string::npos);
}

// Numbers of the framework too, and intervals of those that were measured.
TEST(LayoutSources, ListWhatTheFrameworkAdds) {
  const Outcome listed = run_program(
      "predict --platform aws-p5 --model nanotron-1b --framework nanotron --gpus 8 --no-range "
      "--layout global=256 --sources");
  EXPECT_THAT(listed.out,
              ::testing::ContainsRegex("/frameworks/nanotron/kernels +1.29 +1.25 .. 1.45 "));
  EXPECT_THAT(listed.out,
              ::testing::ContainsRegex("/frameworks/nanotron/memory +1.16 +1.05 .. 1.46 "));
}

// Every field of a layout can be looked up there.
TEST(TuneLayoutCommand, HelpExplainsEveryField) {
  const Outcome help = run_program("tune layout --help");
  for (const LayoutField& field : layout_fields())
    EXPECT_NE(help.out.find(field.doc), std::string::npos) << field.name;
  for (const auto& [field, values] : searched_layout_fields())
    EXPECT_NE(help.out.find(field + ": " + values), std::string::npos) << field;
}

TEST(TuneLayoutCommand, RefusesWhatItWouldLeaveOut) {
  expect_refused(kSmall + std::string("--best 0"), {"--best = 0: must be at least 1"});
  expect_refused(kSmall + std::string("--draws 40"), {"--draws = 40: does not go with layouts"});
  expect_refused(kSmall + std::string("--batch 64"), {"--batch is not expected here"});
  // 384 GPUs are 128 x 3, and 3 divides neither 512 sequences nor 32 layers.
  expect_refused(
      "tune layout --platform dgx-a100:nodes=48 --model llama-3-8b --seq 8192 --gpus 384 --layout "
      "global=512",
      {"--gpus = 384: hold no layout", "prime factors"});
  // A word that is no product is nobody's prime factor.
  expect_refused(
      "tune layout --platform dgx-h100 --model llama-3-8b --seq 8192 --gpus 64 --layout "
      "global=128,lora=8,lora_targets=linear_qvk",
      {"--layout: lora_targets = linear_qvk: unknown; did you mean \"linear_qkv\"?"});
  expect_refused("tune layout --platform dgx-h100 --model resnet-50 --gpus 8 --layout global=8",
                 {"--model = resnet-50: must be a transformer"});
}

}  // namespace
}  // namespace forescale
