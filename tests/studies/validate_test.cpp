// Claims files, what is simulated for them, errors and the summary.
#include "studies/validate/validate.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "base/error.hpp"
#include "sim/ask/ask.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

ValidationChoice chosen(std::vector<std::string> papers, std::vector<std::string> ids,
                        std::vector<std::string> roles) {
  return {.papers = std::move(papers),
          .ids = std::move(ids),
          .roles = std::move(roles),
          .draws = Draws::kNominal};
}

class ClaimsFile : public ::testing::Test {
 protected:
  ClaimFile load(const json& document) const {
    const std::string file = folder_.file("mine.json");
    std::ofstream(file) << document.dump();
    return load_claims(file);
  }

  void expect_refused(const json& document, const std::string& path,
                      const std::string& part) const {
    try {
      load(document);
      ADD_FAILURE() << path;
    } catch (const InputError& error) {
      EXPECT_THAT(error.parts().source, HasSubstr("mine.json"));
      EXPECT_EQ(error.parts().path, path) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(part));
    }
  }

 private:
  const ScratchFolder folder_{"claims"};
};

// Two hosts with the papers' alpha-beta model: 1 us + bytes / 1 GB/s a message.
json two_hosts() {
  return parse_json(R"({
    "format": "forescale-claims-1", "paper": "mine", "title": "A paper of mine",
    "rules": {"size": {"input": "message size", "value": "1 kB", "rule": "the smallest"}},
    "requests": {
      "tree": {"collective": {"platform": "star:hosts=8,bandwidth=1GB/s,latency=1us",
                              "plan": "broadcast/binomial"}, "omitted": ["size"]},
      "again": {"extends": "tree"},
      "flat": {"extends": "tree", "collective": {"plan": "broadcast/flat"}}},
    "claims": [
      {"id": "Mine-1", "section": "1", "claim": "two ranks", "role": "prediction",
       "qualifier": "exact", "measured": 1e-6, "unit": "s",
       "formula": {"collective": "tree", "ranks": 2, "bytes": "1000"}},
      {"id": "Mine-2", "section": "2", "claim": "tree over flat", "role": "prediction",
       "qualifier": "ordering",
       "ordering": [{"text": "flat slower", "falling": [
         {"collective": "flat", "ranks": 8, "bytes": "1000"},
         {"collective": "again", "ranks": 8, "bytes": "1000"}]}]},
      {"id": "Mine-3", "section": "3", "claim": "no such machine", "role": "not predictable",
       "qualifier": "exact", "measured": "fast", "reason": "it was never built"}]})");
}

TEST_F(ClaimsFile, IsSimulatedAndCompared) {
  const Validation validation = validate({load(two_hosts())}, {});
  ASSERT_EQ(validation.rows.size(), 3U);
  const ValidationRow& time = validation.rows[0];
  EXPECT_NEAR(time.predicted.value(), 2e-6, 1e-12);  // 1 us + 1000 bytes at 1 GB/s
  EXPECT_NEAR(time.error_percent.value(), 100, 1e-6);
  EXPECT_TRUE(is_miss(time));
  EXPECT_NEAR(time.trivial.value(), 1e-6, 1e-12);  // the bytes at the link's rate, no more
  EXPECT_THAT(time.commands,
              Contains(HasSubstr("--plan broadcast/binomial --ranks 2 --bytes 1000")));
  // Seven messages in turn are slower than three rounds.
  EXPECT_TRUE(validation.rows[1].right.value());
  EXPECT_EQ(validation.rows[1].steps[0].values.size(), 2U);
  EXPECT_FALSE(validation.rows[2].predicted.has_value());
  // `again` is `tree`: 2 and 8 ranks of the tree and the flat broadcast.
  EXPECT_EQ(validation.runs, 3U);
  // Both that use the omitted size say so, of each other too.
  EXPECT_EQ(time.claim.omitted, std::vector<std::string>{"size"});
  EXPECT_EQ(time.shared_with, std::vector<std::string>{"Mine-2"});
  ASSERT_EQ(validation.rules.size(), 1U);
  const json document = to_json(validation);
  EXPECT_EQ(document["format"], "forescale-validation-1");
  EXPECT_NEAR(document["rows"][0]["error"].get<double>(), 1, 1e-8);
  EXPECT_EQ(document["rows"][2]["measured"], "fast");
  EXPECT_EQ(document["summary"]["mine"]["predictions"]["scored"], 1);
}

// Flat takes 2.33 times the tree's time: comparable with it within 134 %, not within 133.
TEST_F(ClaimsFile, WhatIsComparableTooMayLieAboveByAShare) {
  json document = two_hosts();
  json& step = document["claims"][1]["ordering"][0];
  std::swap(step["falling"][0], step["falling"][1]);
  const auto right = [&] { return validate({load(document)}, {}).rows[1].right.value(); };
  EXPECT_FALSE(right());
  step["within_percent"] = 133;
  EXPECT_FALSE(right());
  step["within_percent"] = 134;
  EXPECT_TRUE(right());
}

TEST_F(ClaimsFile, ARunThatFailsLeavesTheOthers) {
  json document = two_hosts();
  document["requests"]["flat"]["collective"]["platform"] =
      "star:hosts=0,bandwidth=1GB/s,latency=1us";
  const Validation validation = validate({load(document)}, {});
  EXPECT_TRUE(validation.rows[0].predicted.has_value());
  EXPECT_THAT(validation.rows[1].failure, HasSubstr("hosts"));
  EXPECT_FALSE(validation.rows[1].right.has_value());
  EXPECT_EQ(validation.summaries[0].failed, 1);
}

TEST_F(ClaimsFile, ChoosesByPaperIdAndRole) {
  const std::vector<ClaimFile> files{load(two_hosts())};
  EXPECT_EQ(validate(files, chosen({"mine"}, {"Mine-3"}, {})).rows.size(), 1U);
  EXPECT_EQ(validate(files, chosen({}, {}, {"not predictable"})).rows[0].claim.id, "Mine-3");
  EXPECT_THROW(validate(files, chosen({"yours"}, {}, {})), InputError);
  EXPECT_THROW(validate(files, chosen({}, {"Mine-4"}, {})), InputError);
  EXPECT_THROW(validate(files, chosen({}, {}, {"predictions"})), InputError);
}

TEST_F(ClaimsFile, SeriesAreCalibratedAtTheirSmallestScale) {
  json document = two_hosts();
  document["series"] = parse_json(R"([{"id": "tree-2", "claim": "two ranks", "request": "tree",
    "role": "adjusted", "ranks": 2, "source": "somebody's table", "unit": "s",
    "measured": {"1000": 3e-6, "9000": 20e-6}}])");
  const Validation validation =
      validate({load(document)}, chosen({}, {"tree-2-1000", "tree-2-9000"}, {}));
  EXPECT_EQ(validation.rows[0].claim.role, Role::kCalibration);
  EXPECT_NEAR(validation.rows[0].predicted.value(), 3e-6, 1e-15);
  EXPECT_EQ(validation.rows[1].claim.role, Role::kAdjusted);
  EXPECT_NEAR(validation.rows[1].trivial.value(), 27e-6, 1e-15);  // nine times the bytes
  // 3 us times (1 + 9) us over (1 + 1) us.
  EXPECT_NEAR(validation.rows[1].predicted.value(), 15e-6, 1e-12);
  EXPECT_NEAR(validation.rows[1].error_percent.value(), -25, 1e-6);
  document["series"][0]["network_scale"] = {{"9000", 0.5}};
  expect_refused(document, "/series/0/network_scale", "is of layouts");
  document["series"][0].erase("network_scale");
  // As they are: (1 + 1) and (1 + 9) us, and not below what the links need.
  document["series"][0]["absolute"] = true;
  const Validation absolute =
      validate({load(document)}, chosen({}, {"tree-2-1000", "tree-2-9000"}, {}));
  EXPECT_EQ(absolute.rows[0].claim.role, Role::kAdjusted);
  EXPECT_NEAR(absolute.rows[0].predicted.value(), 2e-6, 1e-12);
  EXPECT_NEAR(absolute.rows[1].predicted.value(), 10e-6, 1e-12);
  EXPECT_LE(absolute.rows[1].trivial.value(), 10e-6);
  EXPECT_GT(absolute.rows[1].trivial.value(), absolute.rows[0].trivial.value());
}

// A layout is a claim; what it needs in memory, and what did not fit, are claims too.
TEST_F(ClaimsFile, LayoutsAreClaimsEach) {
  json document = two_hosts();
  document["requests"] = parse_json(R"({"llama": {"predict": {"platform": "dgx-h100",
    "model": "llama-3-8b", "sequence": 4096, "framework": "nanotron"}}})");
  document["claims"] = json::array();
  document["series"] = parse_json(R"([
    {"id": "time", "claim": "Llama", "role": "adjusted", "request": "llama", "unit": "s",
     "source": "somebody's table", "value": "iteration_s", "layouts": [
       {"gpus": 8, "layout": "tp=8,global=16", "measured": 2, "role": "calibration"},
       {"gpus": 16, "layout": "tp=8,global=16", "measured": 1, "trivial": 1.5},
       {"gpus": 16, "layout": "tp=3", "measured": 1, "role": "not predictable",
        "reason": "it was not said"}]},
    {"id": "memory", "claim": "Llama", "role": "adjusted", "request": "llama", "unit": "GiB",
     "source": "somebody's table", "value": "memory_gib", "layouts": [
       {"gpus": 8, "layout": "tp=8,global=16", "measured": 20, "trivial": 40},
       {"gpus": 8, "layout": "tp=1,micro=2", "measured": 80, "out_of_memory": true},
       {"gpus": 8, "layout": "tp=8,micro=1", "measured": 80, "out_of_memory": true,
        "decided_by": "looking again"}]}])");
  const Validation validation = validate({load(document)}, {});
  ASSERT_EQ(validation.rows.size(), 6U);
  const auto row = [&](size_t i) -> const ValidationRow& { return validation.rows[i]; };
  EXPECT_EQ(row(0).claim.id, "time-8-tp8-global16");
  EXPECT_EQ(row(0).claim.role, Role::kCalibration);
  EXPECT_EQ(row(1).trivial.value(), 1.5);
  EXPECT_THAT(row(1).commands.at(0), HasSubstr("--layout tp=8,global=16"));
  EXPECT_THAT(row(1).commands.at(0), HasSubstr("--framework nanotron"));
  EXPECT_LT(row(1).predicted.value(), row(0).predicted.value());
  EXPECT_FALSE(row(2).predicted.has_value());
  EXPECT_EQ(row(2).claim.reason, "it was not said");
  // The same layout asked for twice, for its time and for its memory.
  EXPECT_GT(row(3).predicted.value(), 5);
  EXPECT_LT(row(3).predicted.value(), 80);
  EXPECT_EQ(validation.runs, 4U);
  EXPECT_EQ(row(4).right, true);
  EXPECT_EQ(row(5).right, false);
  // What was measured between that cluster's nodes, by GPU count.
  document["series"][0]["network_scale"] = {{"16", 0.25}};
  const Validation slower = validate({load(document)}, {});
  EXPECT_EQ(slower.rows[0].predicted, row(0).predicted);
  EXPECT_GT(slower.rows[1].predicted.value(), row(1).predicted.value());
  EXPECT_THAT(slower.rows[1].commands.at(0), HasSubstr("--network-scale 0.25"));
  document["series"][0]["network_scale"]["16"] = 0;
  expect_refused(document, "/series/0/network_scale/16", "must be >= 0.01");
  document["series"][0].erase("network_scale");
  document["series"][0]["layouts"][1].erase("trivial");
  expect_refused(document, "/series/0/layouts/1/trivial", "is required");
  document["series"][0]["value"] = "speed";
  expect_refused(document, "/series/0/value", "iteration_s");
}

// Throughputs of AlexNet on 2 and 4 GPUs, whose first calibrates.
json a_series() {
  json document = two_hosts();
  document["requests"] = parse_json(R"({"train": {"predict": {"platform": "cluster-b",
    "model": "alexnet", "batch": 64, "scaling": "weak", "system": "s-caffe-b"}}})");
  document["claims"] = json::array();
  document["series"] =
      parse_json(R"([{"id": "alexnet", "claim": "AlexNet", "role": "prediction", "request": "train",
    "source": "somebody's table", "unit": "images/s", "measured": {"2": 250, "4": 480}}])");
  return document;
}

TEST_F(ClaimsFile, ComputeIsScaledToTheMeasuredThroughput) {
  const Validation validation = validate({load(a_series())}, {});
  EXPECT_NEAR(validation.rows[0].predicted.value(), 250, 0.3);
  EXPECT_NE(validation.rows[0].compute_scale, 1);
  EXPECT_EQ(validation.rows[0].compute_scale, validation.rows[1].compute_scale);
  EXPECT_LT(validation.rows[1].predicted.value(), 500);
}

// One claim was once answered with the run of another that differed in its placement alone.
TEST_F(ClaimsFile, EveryDifferenceMakesARunOfItsOwn) {
  json document = two_hosts();
  document["requests"] = parse_json(R"({
    "dense": {"predict": {"platform": "kesch", "model": "cifar10-quick", "batch": 64,
                          "system": "s-caffe-b"}},
    "spread": {"extends": "dense", "predict": {"placement": "linear:per_node=1"}},
    "fed": {"extends": "dense", "predict": {"data": "image-files:decode=100ms"}}})");
  document["claims"] = json::array();
  for (const char* request : {"dense", "spread", "fed"})
    document["claims"].push_back(
        {{"id", request},
         {"section", "1"},
         {"claim", "time"},
         {"role", "prediction"},
         {"qualifier", "exact"},
         {"measured", 1},
         {"unit", "s"},
         {"trivial", 1},
         {"formula", {{"point", request}, {"gpus", 4}, {"value", "iteration_s"}}}});
  const std::vector<ClaimFile> files{load(document)};
  const Validation together = validate(files, {});
  EXPECT_EQ(together.runs, 3U);
  std::set<double> times_s;
  for (const ValidationRow& row : together.rows) {
    times_s.insert(row.predicted.value());
    const Validation alone = validate(files, chosen({}, {row.claim.id}, {}));
    EXPECT_EQ(alone.rows[0].predicted, row.predicted) << row.claim.id;
  }
  EXPECT_EQ(times_s.size(), 3U);
  EXPECT_THAT(together.rows[1].commands, Contains(HasSubstr("--placement linear:per_node=1")));
}

// The command that is printed gives the number that stands beside it.
TEST_F(ClaimsFile, CommandsSayTheScaleOfTheCalibration) {
  const Validation validation = validate({load(a_series())}, {});
  for (const ValidationRow& row : validation.rows) {
    ASSERT_EQ(row.commands.size(), 1U);
    EXPECT_THAT(row.commands[0], HasSubstr(fmt::format("--compute-scale {}", row.compute_scale)));
    Question again{.platform = "cluster-b",
                   .model = "alexnet",
                   .system = "s-caffe-b",
                   .gpus = {row.claim.id == "alexnet-2" ? 2 : 4},
                   .batch = 64,
                   .scaling = Scaling::kWeak,
                   .compute_scale = row.compute_scale};
    EXPECT_EQ(row.commands[0], command_of(again));
    EXPECT_EQ(Asker().ask({again}, {.label = "again"})[0].nominal.training.images_per_s,
              row.predicted.value());
  }
}

TEST_F(ClaimsFile, ErrorsNameFileAndPath) {
  const auto wrong = [&](const std::string& pointer, const json& value, const std::string& path,
                         const std::string& part) {
    json document = two_hosts();
    document[json::json_pointer(pointer)] = value;
    expect_refused(document, path, part);
  };
  wrong("/format", "forescale-claims-2", "/format", "forescale-claims-1");
  wrong("/claims/0/role", "predicted", "/claims/0/role", "prediction");
  wrong("/claims/0/qualifier", "about", "/claims/0/qualifier", "approximately");
  wrong("/claims/0/measured", json::array({2, 1}), "/claims/0/measured", "[low, high]");
  wrong("/claims/0/formula/ranks", 0, "/claims/0/formula/ranks", "must be >= 1");
  wrong("/requests/again/extends", "tre", "/requests/again/extends", "tree");
  wrong("/requests/again/extends", "again", "/requests/again", "extends itself");
  wrong("/requests/tree/collective/plan", "brodcast", "/requests/tree/collective/plan",
        "broadcast");
  wrong("/requests/tree/predict", json::object(), "/requests/tree", "either");
  wrong("/requests/tree/collective", {{"plan", "reduce"}}, "/requests/tree/collective/platform",
        "required");
  wrong("/claims/1/ordering/0/equal", json::array({1, 2}), "/claims/1/ordering/0", "either");
  wrong("/rules/size/why", "x", "/rules/size/why", "unknown");
  wrong("/claims/1/id", "Mine-1", "/claims/1", "another claim");
  wrong("/claims/0/omitted", json::array({"sizes"}), "/claims/0", "no rule");
  wrong("/claims/0/formula/collective", "bush", "/claims/0", "bush is no request");
  wrong("/claims/1/ordering/0/falling", json::array({1}), "/claims/1/ordering/0/falling",
        "at least two");
  wrong("/claims/0/cause", {{"text", "t"}, {"error_percent", {0, 1}}}, "/claims/0/cause", "either");
  wrong("/claims/0/cause", {{"text", "t"}, {"error_percent", {2, 1}}, {"test", "A.B"}},
        "/claims/0/cause/error_percent", "reversed");
  wrong("/claims/2/role", "duplicate", "/claims/2/same_as", "required");
  json document = two_hosts();
  document["claims"][2].erase("reason");
  expect_refused(document, "/claims/2/reason", "required");
  document = two_hosts();
  document["claims"][0].erase("role");
  expect_refused(document, "/claims/0/role", "required");
  document = two_hosts();
  document["claims"][2] = {{"id", "Mine-3"},      {"section", "3"},       {"claim", "same"},
                           {"role", "duplicate"}, {"qualifier", "exact"}, {"measured", 1},
                           {"same_as", "Mine-4"}};
  expect_refused(document, "/claims/2/same_as", "no row of this file that is scored");
  document = two_hosts();
  document["claims"][0]["formula"] = 2;
  expect_refused(document, "/claims/0/trivial", "required");
}

// A factor of one is no improvement: nothing to divide by.
TEST_F(ClaimsFile, NothingIsComparedWithNoImprovement) {
  json document = two_hosts();
  document["claims"][0].update({{"unit", "x"}, {"measured", 1}, {"trivial", 1}});
  expect_refused(document, "/claims/0/measured", "no improvement");
}

TEST_F(ClaimsFile, ACauseIsShownOrBroken) {
  json document = two_hosts();
  document["claims"][0]["cause"] = {
      {"text", "half of it is latency"},
      {"error_percent", {90, 110}},
      {"shown",
       {{"formula", {{"collective", "tree"}, {"ranks", 2}, {"bytes", "1"}}},
        {"between", {1e-6, 1.1e-6}}}}};
  const auto only = [&] { return validate({load(document)}, chosen({}, {"Mine-1"}, {})); };
  EXPECT_EQ(only().rows[0].broken_cause(), "");
  EXPECT_NEAR(only().rows[0].cause_value.value(), 1.001e-6, 1e-12);
  EXPECT_EQ(only().summaries[0].unexplained, 0);
  document["claims"][0]["cause"]["shown"]["between"] = {0, 1e-9};
  EXPECT_THAT(only().rows[0].broken_cause(), HasSubstr("what shows it is 1.001e-06"));
  document["claims"][0]["cause"]["error_percent"] = {10, 20};
  EXPECT_THAT(only().rows[0].broken_cause(), HasSubstr("the error is +100 %"));
  document["claims"][0].erase("cause");
  EXPECT_EQ(only().summaries[0].unexplained, 1);
}

Claim claim_of(const std::string& qualifier, std::vector<double> measured,
               const std::string& unit = "x") {
  Claim claim;
  claim.qualifier = qualifier;
  claim.measured = std::move(measured);
  claim.unit = unit;
  return claim;
}

TEST(Validate, ErrorsOfNumbersRangesAndImprovements) {
  EXPECT_NEAR(error_percent(claim_of("exact", {2.5}, "s"), 3), 20, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("range", {5, 17}, "s"), 11), 0, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("range", {5, 17}, "s"), 4), -20, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("range", {5, 17}, "s"), 34), 100, 1e-12);
  // A factor's improvement: 1.25 times as fast is half of 1.5 times, none of it is -100 %.
  EXPECT_NEAR(error_percent(claim_of("exact", {1.5}, "x"), 1.25), -50, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("exact", {1.5}, "x"), 1), -100, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("range", {5, 17}, "x"), 4), -25, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("exact", {20}, "% less time"), 50), 150, 1e-12);
  EXPECT_NEAR(error_percent(claim_of("exact", {20}, "% less time"), 0), -100, 1e-12);
}

ValidationRow validation_row(Role role, std::optional<double> error,
                             std::optional<double> trivial_error = std::nullopt) {
  ValidationRow row;
  row.claim.role = role;
  row.claim.measured = {100};
  row.error_percent = error;
  row.trivial_error_percent = trivial_error;
  if (error) row.predicted = 100 + *error;
  return row;
}

TEST(Validate, SummaryCountsPredictionsOnly) {
  std::vector<ValidationRow> rows{
      validation_row(Role::kPrediction, 10, 20), validation_row(Role::kPrediction, -40, 80),
      validation_row(Role::kPrediction, 15, 30), validation_row(Role::kPrediction, -20, 40),
      validation_row(Role::kAdjusted, 5, 50),    validation_row(Role::kDuplicate, 70),
      validation_row(Role::kCalibration, 90),    validation_row(Role::kArithmetic, 80)};
  rows.push_back(validation_row(Role::kPrediction, std::nullopt));
  rows.back().failure = "no such system";
  rows.push_back(validation_row(Role::kPrediction, std::nullopt));
  rows.back().right = false;
  rows.push_back(validation_row(Role::kAdjusted, std::nullopt));
  rows.back().right = true;
  std::vector<const ValidationRow*> pointers;
  for (const ValidationRow& row : rows) pointers.push_back(&row);
  const ValidationSummary summary = summarise("mine", pointers);
  EXPECT_EQ(summary.rows, 11);
  EXPECT_EQ(summary.predictions.scored, 4);
  EXPECT_EQ(summary.failed, 1);
  EXPECT_DOUBLE_EQ(summary.predictions.median_error_percent, 17.5);
  EXPECT_DOUBLE_EQ(summary.predictions.trivial_median_error_percent, 35);
  EXPECT_DOUBLE_EQ(summary.predictions.within_15_percent, 0.5);
  EXPECT_DOUBLE_EQ(summary.predictions.within_30_percent, 0.75);
  EXPECT_EQ(summary.adjusted.scored, 1);
  EXPECT_DOUBLE_EQ(summary.adjusted.median_error_percent, 5);
  EXPECT_DOUBLE_EQ(summary.adjusted.trivial_median_error_percent, 50);
  EXPECT_EQ(summary.unexplained, 1);
  EXPECT_EQ(summary.orderings_right, 1);
  EXPECT_EQ(summary.orderings_wrong, 1);
  EXPECT_EQ(summary.roles.at("prediction"), 6);
}

TEST(Validate, CoverageCountsWhatRangesHold) {
  std::vector<ValidationRow> rows{
      validation_row(Role::kPrediction, 10), validation_row(Role::kAdjusted, 20),
      validation_row(Role::kPrediction, -50), validation_row(Role::kCalibration, 0)};
  for (ValidationRow& row : rows) {
    row.low = 0.9 * *row.predicted;
    row.high = 1.1 * *row.predicted;
  }
  rows[1].low = 0.8 * *rows[1].predicted;
  rows.push_back(validation_row(Role::kPrediction, 10));  // without a range
  std::vector<const ValidationRow*> pointers;
  for (const ValidationRow& row : rows) pointers.push_back(&row);
  const Coverage coverage = summarise("mine", pointers).coverage;
  EXPECT_EQ(coverage.ranged, 3);
  EXPECT_EQ(coverage.holding, 2);  // 99 to 121 and 96 to 132 hold 100, 45 to 55 does not
  EXPECT_NEAR(coverage.median_half_width_percent, 10, 1e-9);
}

// Orders of a paper beside its list of numbers: PAPER-O1, ...
bool is_order(const std::string& id) {
  return std::regex_match(id, std::regex("[A-Za-z]+-O[0-9]+"));
}

// Every number of the five papers has its row.
TEST(Claims, AreComplete) {
  std::set<std::string> ids;
  int open = 0;
  for (const ClaimFile& file : load_all_claims())
    for (const Claim& claim : file.claims)
      if (file.is_open)
        ++open;
      else if (!is_order(claim.id))
        ids.insert(claim.id);
  std::set<std::string> expected;
  for (const auto& [paper, count] :
       {std::pair{"SCaffe", 37}, std::pair{"CaffeGPI", 21}, std::pair{"TFMPI", 16},
        std::pair{"Poseidon", 43}, std::pair{"MXNetMPI", 6}})
    for (int i = 1; i <= count; ++i) expected.insert(fmt::format("{}-{:02}", paper, i));
  EXPECT_EQ(ids, expected);
  EXPECT_EQ(ids.size(), 123U);
  EXPECT_GE(open, 30);
}

// Counts and formulas need no simulation, and agree with the papers but where these are wrong.
TEST(Claims, ArithmeticAgreesUnlessThePaperContradictsItself) {
  const Validation validation = validate(load_all_claims(), chosen({}, {}, {"arithmetic"}));
  EXPECT_EQ(validation.runs, 0U);
  for (const ValidationRow& row : validation.rows) {
    ASSERT_TRUE(row.error_percent.has_value()) << row.claim.id;
    if (row.claim.contradiction.empty()) {
      EXPECT_LT(std::abs(*row.error_percent), 5) << row.claim.id;
    }
  }
}

}  // namespace
}  // namespace forescale
