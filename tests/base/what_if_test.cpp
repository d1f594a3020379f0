// Numbers read as if they were others.
#include "base/what_if.hpp"

#include <gtest/gtest.h>

#include "base/json_input.hpp"

namespace forescale {
namespace {

constexpr const char* kText =
    R"({"bandwidth_bytes_per_s": {"value": 8e9, "assumed": "guess", "fast": 9e9, "slow": 6e9},
        "latency_s": 2e-6})";

TEST(WhatIf, TheScaledNumberAloneIsAnother) {
  scale_number("net.json", "/bandwidth_bytes_per_s", 1.5);
  Provenance provenance;
  const JsonInput input = JsonInput::from_text(kText, "net.json", &provenance);
  EXPECT_DOUBLE_EQ(input.at("bandwidth_bytes_per_s").bandwidth().value, 12e9);
  EXPECT_DOUBLE_EQ(input.at("latency_s").seconds().value, 2e-6);
  EXPECT_DOUBLE_EQ(provenance.numbers.at(0).value, 12e9);
  EXPECT_DOUBLE_EQ(provenance.numbers.at(0).fast, 13.5e9);
}

TEST(WhatIf, AnotherFileStaysAsItIs) {
  scale_number("net.json", "/bandwidth_bytes_per_s", 1.5);
  Provenance provenance;
  const JsonInput input = JsonInput::from_text(kText, "other.json", &provenance);
  EXPECT_DOUBLE_EQ(input.at("bandwidth_bytes_per_s").bandwidth().value, 8e9);
}

TEST(WhatIf, NothingSaidIsAFactorOfOne) {
  EXPECT_EQ(number_factor("net.json", "/latency_s"), 1);
  scale_number("net.json", "/latency_s", 2);
  EXPECT_EQ(number_factor("net.json", "/latency_s"), 2);
}

}  // namespace
}  // namespace forescale
