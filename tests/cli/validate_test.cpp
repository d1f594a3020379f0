// `forescale validate`.
#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

TEST(ValidateCommand, PrintsRowsAndSummary) {
  expect_answer("validate --paper poseidon --role arithmetic",
                {"Poseidon-26", "fc6-fc7, factors broadcast peer to peer", "18.9 M parameters",
                 "18.87", "arithmetic", "rows of", "poseidon"});
}

TEST(ValidateCommand, WritesTheSameJsonToAFile) {
  const Workshop workshop;
  const Outcome printed =
      expect_answer("validate --id SCaffe-34,CaffeGPI-15 --json -o " + workshop.path("v.json"));
  const nlohmann::json document = printed.json();
  EXPECT_EQ(parse_json(text_of(workshop.path("v.json"))), document);
  EXPECT_EQ(document["format"], "forescale-validation-1");
  ASSERT_EQ(document["rows"].size(), 2U);
  const nlohmann::json& row = document["rows"][0];
  EXPECT_EQ(row["id"], "CaffeGPI-15");
  EXPECT_EQ(row["role"], "arithmetic");
  EXPECT_NEAR(row["error"].get<double>(), 0.4, 1e-9);  // 140 h beside the printed 100 h
  EXPECT_NE(row["contradiction"], "");
  EXPECT_EQ(document["summary"]["papers"]["rows"], 2);
}

TEST(ValidateCommand, SimulatesWhatARowNeeds) {
  const nlohmann::json document =
      expect_answer("validate --id SCaffe-24,CaffeGPI-19 --json").json();
  EXPECT_EQ(document["runs"], 2);  // one and four nodes of CaffeGPI; SCaffe-24 is arithmetic
  for (const nlohmann::json& row : document["rows"]) EXPECT_EQ(row["failure"], "") << row["id"];
}

TEST(ValidateCommand, RefusesWhatDoesNotExist) {
  expect_refused("validate --paper s-cafe", {"--paper", "did you mean \"s-caffe\"?"});
  expect_refused("validate --id SCaffe-99", {"--id", "SCaffe-99"});
  expect_refused("validate --role guess", {"--role", "prediction"});
  expect_refused("validate --leave-out s-cafe", {"--leave-out", "did you mean \"s-caffe\"?"});
  expect_refused("validate --leave-out open-nccl", {"--leave-out = open-nccl"});
  expect_refused("validate --leave-out s-caffe --paper poseidon", {"--leave-out", "--paper"});
  expect_refused("validate --id SCaffe-34 -o /no/such/folder/v.json", {"-o", "cannot be written"});
}

TEST(ValidateCommand, NamesFileAndPathOfABadClaim) {
  const Workshop workshop;
  workshop.file("studies/claims/mine.json",
                R"({"format": "forescale-claims-1", "paper": "mine", "title": "t",
                    "claims": [{"id": "x"}]})");
  expect_refused("validate", {"mine.json:/claims/0/section: is required"},
                 "FORESCALE_DATA=" + workshop.path("."));
}

}  // namespace
}  // namespace forescale::testing
