// A platform names the NCCL that runs on it, and who says nothing else gets that one.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/data_files.hpp"
#include "base/json_text.hpp"
#include "sim/ask/inputs.hpp"
#include "tests/cli/in_process.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

using testing::answer_here;
using testing::run_here;
using testing::Workshop;

TEST(PlatformNccl, EveryPresetsIsThereAndTakenWhereNobodySaysMore) {
  int named = 0;
  for (const std::string& preset : catalogue("topologies/presets")) {
    const Platform platform = load_platform(preset);
    const std::string nccl = stack_for(platform, kNccl, Scenario::kNominal).name;
    EXPECT_EQ(nccl, platform.nccl.empty() ? "nccl-2.3" : platform.nccl) << preset;
    if (platform.nccl.empty()) continue;
    ++named;
    EXPECT_EQ(stack_for(platform, "", Scenario::kNominal).name, platform.nccl) << preset;
    EXPECT_EQ(stack_for(platform, "nccl-2.3", Scenario::kNominal).name, "nccl-2.3") << preset;
  }
  EXPECT_GE(named, 12);
}

TEST(PlatformNccl, DdpTakesIt) {
  const std::string ask =
      "predict --gpus 8 --batch 256 --model resnet-50 --system ddp-nccl --no-range --json";
  const auto stack = [&](const std::string& more) {
    return parse_json(answer_here(ask + more)).at("stack");
  };
  EXPECT_EQ(stack(" --platform dgx-h100"), "nccl-2.23-h100");
  EXPECT_EQ(stack(" --platform dgx-h100 --stack nccl-2.3"), "nccl-2.3");
  EXPECT_EQ(stack(" --platform dgx-h100 --stack nccl-2.18"), "nccl-2.18-h100");
  EXPECT_EQ(stack(" --platform dgx-1-p100"), "nccl-2.3");
}

TEST(PlatformNccl, OneThatIsNotThereIsRefusedWithItsPlace) {
  const Workshop workshop;
  std::ostringstream read;
  read << std::ifstream(std::string(FORESCALE_SOURCE_DIR) + "/topologies/presets/dgx-h100.json")
              .rdbuf();
  std::string text = read.str();
  text.replace(text.find("nccl-2.23-h100"), 14, "nccl-2.23-h10");
  const std::string file = workshop.file("mine.json", text);
  const auto refused = run_here("platform show " + file);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("mine.json:/nccl"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("nccl-2.23-h100"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace forescale
