// Numbers read as if they were others.
#include <gtest/gtest.h>

#include "base/json_input.hpp"

namespace forescale {
namespace {

constexpr const char* kText =
    R"({"bandwidth_bytes_per_s": {"value": 8e9, "assumed": "guess", "fast": 9e9, "slow": 6e9},
        "latency_s": 2e-6})";

TEST(Scenario, AnEndIsReadForTheNominalValue) {
  for (const auto& [end, bandwidth] :
       {std::pair{Scenario::kNominal, 8e9}, std::pair{Scenario::kFast, 9e9},
        std::pair{Scenario::kSlow, 6e9}}) {
    Provenance provenance{.scenario = end, .numbers = {}};
    const JsonInput input = JsonInput::from_text(kText, "net.json", &provenance);
    EXPECT_DOUBLE_EQ(input.at("bandwidth_bytes_per_s").bandwidth().value, bandwidth);
  }
}

TEST(Scenario, TheScaledNumberAloneIsAnother) {
  const Scenario nominal;
  const Scenario scaled = nominal.scaled("net.json", "/bandwidth_bytes_per_s", 1.5);
  Provenance provenance{.scenario = scaled, .numbers = {}};
  const JsonInput input = JsonInput::from_text(kText, "net.json", &provenance);
  EXPECT_DOUBLE_EQ(input.at("bandwidth_bytes_per_s").bandwidth().value, 1.5 * 8e9);
  EXPECT_DOUBLE_EQ(input.at("latency_s").seconds().value, 2e-6);
  EXPECT_DOUBLE_EQ(provenance.numbers.at(0).value, 1.5 * 8e9);
  EXPECT_DOUBLE_EQ(provenance.numbers.at(0).fast, 1.5 * 9e9);
  EXPECT_EQ(nominal.factor("net.json", "/bandwidth_bytes_per_s"), 1);
}

TEST(Scenario, AnotherFileStaysAsItIs) {
  Provenance provenance{
      .scenario = Scenario(Scenario::kFast).scaled("net.json", "/bandwidth_bytes_per_s", 1.5),
      .numbers = {}};
  const JsonInput input = JsonInput::from_text(kText, "other.json", &provenance);
  EXPECT_DOUBLE_EQ(input.at("bandwidth_bytes_per_s").bandwidth().value, 9e9);
}

}  // namespace
}  // namespace forescale
