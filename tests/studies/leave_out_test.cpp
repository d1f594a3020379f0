// Constants that papers share, fitted without one of them.
#include "studies/validate/leave_out.hpp"
#include "base/data_files.hpp"
#include "base/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "studies/validate/fit_positions.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Loss x^2 / 2 / 0.3^2 of what is left, 3 x^2 of the position: with 0.3 to gain from -0.24,
// (0.3 x - 0.24) 0.3 / 0.09 + 6 x = 0.
TEST(FitPositions, WeighTheRowsAgainstTheNominalValue) {
  const FitRow row{.nominal = -0.24, .at_ends = {{-0.1, 0.3}}};
  EXPECT_NEAR(fit_positions({row}, 1).at(0), 0.8 / 7, 0.005);
  // Ten such rows say the same ten times.
  EXPECT_NEAR(fit_positions(std::vector<FitRow>(10, row), 1).at(0), 8.0 / 16, 0.005);
}

TEST(FitPositions, GoToTheFastEndWhereRowsAreTooSlow) {
  const FitRow row{.nominal = 0.24, .at_ends = {{-0.3, 0.1}}};
  EXPECT_NEAR(fit_positions({row}, 1).at(0), -0.8 / 7, 0.005);
}

TEST(FitPositions, StayWhereNothingMovesARow) {
  EXPECT_EQ(fit_positions({{.nominal = -1, .at_ends = {{0, 0}}}}, 1), std::vector<double>{0});
  EXPECT_EQ(fit_positions({}, 2), (std::vector<double>{0, 0}));
}

// A row that is off by more than anything can mend pulls with 0.3, not with all of it:
// 10 * 0.3 * 0.3 / 0.09 = 10 = 6 x.
TEST(FitPositions, AreNotTornAwayByAnOutlier) {
  const FitRow outlier{.nominal = -5, .at_ends = {{0, 0.3}}};
  EXPECT_NEAR(fit_positions({outlier}, 1).at(0), 1.0 / 6, 0.005);
}

// Two rows ask for both constants, ten hold them together: alone neither can move far. With both
// at x, (x - 0.6) / 0.09 of each of two rows and 6 x of each of two constants: 22.2 (0.6 - x) = 12
// x.
TEST(FitPositions, FollowAValley) {
  std::vector<FitRow> rows(2, {.nominal = -0.6, .at_ends = {{-0.5, 0.5}, {-0.5, 0.5}}});
  rows.resize(12, {.nominal = 0, .at_ends = {{-2, 2}, {2, -2}}});
  const std::vector<double> positions = fit_positions(rows, 2);
  EXPECT_NEAR(positions.at(0), 0.39, 0.005);
  EXPECT_NEAR(positions.at(1), 0.39, 0.005);
}

// Papers with a message between two hosts, 1 us by the link and what the stack adds: 10 us, 5 to
// 40.
class LeavingOutAPaper : public ::testing::Test {
 protected:
  LeavingOutAPaper() {
    std::ifstream ideal(data_path("models/stacks/ideal.json"));
    json stack = parse_json(ideal);
    for (json& path : stack["paths"])
      path["latency_s"] = {
          {"value", 1e-5}, {"assumed", "of a test"}, {"fast", 5e-6}, {"slow", 4e-5}};
    std::ofstream(stack_) << stack.dump();
  }

  ClaimFile paper(const std::string& name, double measured_s, const std::string& stack,
                  bool is_open = false) const {
    const json request = {{"platform", "star:hosts=8,bandwidth=1GB/s,latency=1us"},
                          {"stack", stack},
                          {"plan", "broadcast/binomial"}};
    const json claim = {{"id", name + "-1"},
                        {"section", "1"},
                        {"claim", "a message"},
                        {"role", "prediction"},
                        {"qualifier", "exact"},
                        {"measured", measured_s},
                        {"unit", "s"},
                        {"formula", {{"collective", "send"}, {"ranks", 2}, {"bytes", "8"}}}};
    json document = {{"format", "forescale-claims-1"},
                     {"paper", name},
                     {"title", name},
                     {"requests", {{"send", {{"collective", request}}}}},
                     {"claims", json::array({claim})}};
    if (is_open) document["open"] = true;
    const std::string file = folder_.file(name + "-claims.json");
    std::ofstream(file) << document.dump();
    return load_claims(file);
  }

  const ScratchFolder folder_{"leave_out"};
  const std::string stack_ = folder_.file("stack.json");
};

// The other's 20 us are log(20 / 11) = 0.598 above 11 us, log(41 / 11) = 1.316 more at the slow
// end: (1.316 x - 0.598) 1.316 / 0.09 + 6 x = 0 at 0.346, and 10 us * 4^0.346 = 16.2 us.
TEST_F(LeavingOutAPaper, FitsWhatItSharesToTheOthers) {
  const LeftOut found =
      leave_out("left", {paper("left", 17.2e-6, stack_), paper("other", 20e-6, stack_),
                         paper("open", 300e-6, stack_, true)});
  ASSERT_EQ(found.constants.size(), 1U);
  const SharedConstant& constant = found.constants.front();
  EXPECT_EQ(constant.names, (std::vector<std::string>{stack_ + ":/paths/0/latency_s",
                                                      stack_ + ":/paths/1/latency_s"}));
  EXPECT_EQ(constant.papers, (std::set<std::string>{"left", "other"}));
  EXPECT_NEAR(constant.position, 0.346, 0.006);
  EXPECT_NEAR(constant.fitted(), 16.2e-6, 0.2e-6);
  EXPECT_EQ(found.fitted_rows, 1);
  ASSERT_EQ(found.shipped.rows.size(), 2U);
  EXPECT_NEAR(found.shipped.rows.at(0).error_percent.value(), 100 * (11 / 17.2 - 1), 0.1);
  EXPECT_NEAR(found.refitted.rows.at(0).error_percent.value(), 0, 1);
  const json document = to_json(found);
  EXPECT_EQ(document["format"], "forescale-left-out-1");
  EXPECT_NEAR(document["rows"][0]["error_refitted"].get<double>(), 0, 0.01);
}

TEST_F(LeavingOutAPaper, LeavesConstantsOfItsOwnAlone) {
  const LeftOut found =
      leave_out("left", {paper("left", 17.2e-6, stack_), paper("other", 20e-6, "ideal")});
  EXPECT_TRUE(found.constants.empty());
  EXPECT_EQ(found.fitted_rows, 0);
  EXPECT_EQ(found.refitted.rows.at(0).predicted, found.shipped.rows.at(0).predicted);
}

TEST_F(LeavingOutAPaper, RefusesWhatIsNoPaper) {
  for (const char* name : {"open", "nobody"}) {
    try {
      leave_out(name, {paper("other", 20e-6, stack_), paper("open", 20e-6, stack_, true)});
      ADD_FAILURE() << name;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("--leave-out"), HasSubstr(name)));
    }
  }
}

}  // namespace
}  // namespace forescale
