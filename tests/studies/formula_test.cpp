// Formulas of claims on hand-made results.
#include "studies/validate/formula.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

// 100 images/s on one GPU, 90 a GPU on two, 80 on four; at 8 the batch does not fit. Collective
// `fast` takes 1 us + 1 ns a byte, `slow` 0.5 us + 2 ns a byte: equal at 500 bytes.
class HandMade : public FormulaValues {
 public:
  double point(const std::string& request, int gpus, const std::string& value) override {
    if (request == "broken") throw Unavailable("no system of that name");
    if (gpus == 8) throw OutOfMemory("does not fit");
    const double images_per_s = std::map<int, double>{{1, 100}, {2, 180}, {4, 320}}.at(gpus);
    return value == "images_per_s" ? images_per_s : 64 / images_per_s;
  }
  double collective(const std::string& request, int ranks, std::int64_t bytes) override {
    const auto size = static_cast<double>(bytes);
    return ranks / 16.0 * (request == "fast" ? 1e-6 + 1e-9 * size : 0.5e-6 + 2e-9 * size);
  }
  double bound(const std::string& request, int ranks, std::int64_t bytes) override {
    return collective(request, ranks, bytes) / 2;
  }
  double claim(const std::string& id) override { return id == "Paper-01" ? 40.6 : 113.6; }
};

double value_of(const std::string& text) {
  HandMade values;
  return evaluate(read_formula(JsonInput::from_text(text, "claims.json")), values);
}

TEST(Formula, SumsProductsRatios) {
  EXPECT_DOUBLE_EQ(value_of("4.5"), 4.5);
  EXPECT_DOUBLE_EQ(value_of(R"({"sum": [1, 2, {"product": [3, 4]}]})"), 15);
  EXPECT_DOUBLE_EQ(value_of(R"({"ratio": [{"claim": "Paper-01"}, 20.3]})"), 2);
  EXPECT_DOUBLE_EQ(value_of(R"({"percent_more": [120, 100]})"), 20);
  EXPECT_DOUBLE_EQ(value_of(R"({"percent_less": [80, 100]})"), 20);
  EXPECT_DOUBLE_EQ(value_of(R"({"min": [3, 2, 7]})"), 2);
}

TEST(Formula, PoseidonsVolumes) {
  // (P - 1)^2 K (M + N), 2 P M N and P K (M + N) + P M N for P = 4, K = 256, M = N = 4096.
  EXPECT_DOUBLE_EQ(value_of(R"({"product": [9, 256, 8192]})"), 18874368);
  EXPECT_DOUBLE_EQ(value_of(R"({"product": [2, 4, 4096, 4096]})"), 134217728);
  EXPECT_DOUBLE_EQ(
      value_of(R"({"sum": [{"product": [4, 256, 8192]}, {"product": [4, 4096, 4096]}]})"),
      75497472);
}

TEST(Formula, PointsOfTrainingRuns) {
  EXPECT_DOUBLE_EQ(value_of(R"({"point": "a", "gpus": 2, "value": "images_per_s"})"), 180);
  EXPECT_DOUBLE_EQ(value_of(R"({"point": "a", "gpus": 4, "value": "iteration_s"})"), 0.2);
  EXPECT_DOUBLE_EQ(value_of(R"({"efficiency": "a", "gpus": 4, "base": 1})"), 80);
  EXPECT_NEAR(value_of(R"({"efficiency": "a", "gpus": 4, "base": 2})"), 100 * 80.0 / 90, 1e-9);
}

TEST(Formula, ExtremesLeaveOutWhatDoesNotFit) {
  const std::string fits = R"({"point": "a", "gpus": 2, "value": "images_per_s"})";
  const std::string too_big = R"({"point": "a", "gpus": 8, "value": "images_per_s"})";
  EXPECT_DOUBLE_EQ(value_of(R"({"max": [)" + fits + "," + too_big + "]}"), 180);
  EXPECT_DOUBLE_EQ(value_of(R"({"min": [)" + too_big + "," + fits + "]}"), 180);
  EXPECT_THROW(value_of(R"({"max": [)" + too_big + "]}"), OutOfMemory);
  EXPECT_THROW(value_of(R"({"sum": [)" + fits + "," + too_big + "]}"), OutOfMemory);
  EXPECT_THROW(value_of(R"({"max": [1, {"point": "broken", "gpus": 1, "value": "iteration_s"}]})"),
               Unavailable);
}

TEST(Formula, BoundsOfCollectives) {
  EXPECT_DOUBLE_EQ(value_of(R"({"ratio": [{"bound": "fast", "ranks": 16, "bytes": "1000"},
                                          {"collective": "fast", "ranks": 16, "bytes": "1000"}]})"),
                   0.5);
}

TEST(Formula, RatiosOverSizes) {
  const auto over = [](const std::string& how) {
    return value_of(R"({"over_sizes": ")" + how +
                    R"(", "ratio": ["slow", "fast"], "ranks": 16, "bytes": "500,1000,2000"})");
  };
  // slow over fast: 1.5 / 1.5, 2.5 / 2, 4.5 / 3.
  EXPECT_NEAR(over("min"), 1, 1e-12);
  EXPECT_NEAR(over("max"), 1.5, 1e-12);
  EXPECT_NEAR(over("mean"), std::cbrt(1 * 1.25 * 1.5), 1e-12);
}

TEST(Formula, CrossoverIsTheFirstSizeFromWhichTheSecondIsNeverSlower) {
  EXPECT_DOUBLE_EQ(
      value_of(R"({"crossover": ["slow", "fast"], "ranks": 16, "bytes": "125..4000"})"), 500);
  EXPECT_THROW(value_of(R"({"crossover": ["fast", "slow"], "ranks": 16, "bytes": "125..4000"})"),
               Unavailable);
}

TEST(Formula, LeastGivesTheKey) {
  EXPECT_DOUBLE_EQ(value_of(R"({"least": [[4, 3.0], [8, 1.0], [16, 2.0]]})"), 8);
}

TEST(Formula, FactsOfNetworks) {
  EXPECT_NEAR(value_of(R"({"model": "alexnet", "fact": "parameters"})"), 60965224, 0.5);
  const double convolutions = value_of(R"({"model": "alexnet", "fact": "convolution_parameters"})");
  const double connected =
      value_of(R"({"model": "alexnet", "fact": "fully_connected_parameters"})");
  EXPECT_DOUBLE_EQ(convolutions + connected, 60965224);
  // fc6 9216 x 4096, fc7 4096 x 4096, fc8 4096 x 1000, and their biases; 2 FLOP a weight.
  EXPECT_DOUBLE_EQ(connected, 9216.0 * 4096 + 4096.0 * 4096 + 4096.0 * 1000 + 4096 + 4096 + 1000);
  EXPECT_DOUBLE_EQ(value_of(R"({"model": "alexnet", "fact": "fully_connected_flops"})"),
                   2 * (9216.0 * 4096 + 4096.0 * 4096 + 4096.0 * 1000));
}

TEST(Formula, RefusesWhatIsNone) {
  const auto refused = [](const std::string& text, const std::string& part) {
    try {
      value_of(text);
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_EQ(error.parts().source, "claims.json");
    }
  };
  refused(R"({"quotient": [1, 2]})", "must be a formula");
  refused(R"({"ratio": [1]})", "/ratio");
  refused(R"({"ratio": [1, 2, 3]})", "2 operands");
  refused(R"({"sum": [1, "two"]})", "/sum/1");
  refused(R"({"point": "a", "gpus": 0, "value": "iteration_s"})", "/gpus");
  refused(R"({"point": "a", "gpus": 1, "value": "speed"})", "/value");
  refused(R"({"over_sizes": "max", "ratio": ["a"], "ranks": 2, "bytes": "8"})", "two requests");
  refused(R"({"model": "alexnett", "fact": "parameters"})", "did you mean \"alexnet\"?");
  refused(R"({"model": "alexnet", "fact": "weights"})", "weights");
}

}  // namespace
}  // namespace forescale
