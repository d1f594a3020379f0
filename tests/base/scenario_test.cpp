// Numbers read as if they were others.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

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

double drawn(int draw, const std::string& file, const std::string& path) {
  return Scenario::drawn(draw).position(file, path);
}

TEST(Scenario, DrawsAreTriangularBetweenTheEnds) {
  constexpr int kDraws = 4000;
  double sum = 0;
  double squares = 0;
  int outer = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double position = drawn(draw, "links/ib.json", "/latency_s");
    ASSERT_GE(position, -1);
    ASSERT_LE(position, 1);
    sum += position;
    squares += position * position;
    outer += std::abs(position) > 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.03);
  EXPECT_NEAR(squares / kDraws, 1.0 / 6, 0.01);
  EXPECT_NEAR(outer / static_cast<double>(kDraws), 0.25, 0.03);
}

TEST(Scenario, ADrawHasTheSameNumberWhereverItIsRead) {
  EXPECT_EQ(drawn(3, "/here/links/ib.json", "/latency_s"), drawn(3, "links/ib.json", "/latency_s"));
  EXPECT_NE(drawn(3, "links/ib.json", "/latency_s"), drawn(4, "links/ib.json", "/latency_s"));
  EXPECT_NE(drawn(3, "links/ib.json", "/latency_s"), drawn(3, "links/ib.json", "/bandwidth"));
  EXPECT_NE(drawn(3, "links/ib.json", "/latency_s"), drawn(3, "links/pcie.json", "/latency_s"));
  double products = 0;  // numbers do not go together
  for (int draw = 0; draw < 4000; ++draw)
    products += drawn(draw, "a.json", "/x") * drawn(draw, "a.json", "/y");
  EXPECT_NEAR(products / 4000, 0, 0.01);
}

TEST(Scenario, ADrawIsReadBetweenTheEnds) {
  for (int draw = 0; draw < 50; ++draw) {
    Provenance provenance{.scenario = Scenario::drawn(draw), .numbers = {}};
    const JsonInput input = JsonInput::from_text(kText, "net.json", &provenance);
    const double bandwidth = input.at("bandwidth_bytes_per_s").bandwidth().value;
    EXPECT_GE(bandwidth, 6e9);
    EXPECT_LE(bandwidth, 9e9);
    EXPECT_NE(bandwidth, 8e9);
    EXPECT_DOUBLE_EQ(input.at("latency_s").seconds().value, 2e-6);  // nothing uncertain
  }
}

TEST(Scenario, BetweenItsEndsANumberIsGeometricUnlessOneIsZero) {
  EXPECT_DOUBLE_EQ(value_at(-0.5, 4, 1, 0.25), 2);
  EXPECT_DOUBLE_EQ(value_at(0.5, 4, 1, 0.25), 0.5);
  EXPECT_DOUBLE_EQ(value_at(0, 4, 1, 0.25), 1);
  EXPECT_DOUBLE_EQ(value_at(-1, 4, 1, 0.25), 4);
  EXPECT_DOUBLE_EQ(value_at(-0.25, 0, 8e-6, 9e-6), 6e-6);
}

}  // namespace
}  // namespace forescale
