// `forescale calibrate fit` on published measurements, end to end.
#include <gmock/gmock.h>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

const std::string kPublished =
    source_file("calibrate/published/google-compute-engine-8-nodes.json");

// The arguments, with the files in the workshop.
std::string fit(const Workshop& workshop, const std::string& more,
                const std::string& of = kPublished) {
  return "calibrate fit " + of + " --name gce --platform-file " + workshop.path("p.json") +
         " --stack-file " + workshop.path("s.json") + " " + more;
}

TEST(CalibrateFit, WritesFilesThatPredictionsTake) {
  const Workshop workshop;
  expect_answer(fit(workshop, ""), {"latency up to", "ping-pong", "link", "median |residual|",
                                    "platform: " + workshop.path("p.json")});
  const std::string machine =
      " --platform " + workshop.path("p.json") + " --stack " + workshop.path("s.json");
  expect_answer("collective --op all-reduce --algorithm ring --bytes 1MiB --interval" + machine,
                {"ring"});
  expect_answer("platform show " + workshop.path("p.json"), {"gce", "8 nodes"});
  expect_answer("stack show " + workshop.path("s.json"), {"in each collective"});
}

TEST(CalibrateFit, TakesMoreHostsAndMoreRanksThanWereMeasured) {
  const Workshop workshop;
  expect_answer(fit(workshop, "--hosts 64 --ranks-per-host 2"),
                {"hosts 8 to 63 were not measured", "10 GB/s are assumed"});
  const nlohmann::json platform = parse_json(text_of(workshop.path("p.json")));
  EXPECT_EQ(platform["node"]["count"], 64);
  EXPECT_EQ(platform["fabric"]["links"].size(), 64U);
  const std::string machine =
      " --platform " + workshop.path("p.json") + " --stack " + workshop.path("s.json");
  expect_answer("collective --op all-reduce --algorithm ring --ranks 128 --bytes 1MiB" + machine,
                {"ring"});
}

// 0 B to 4 MiB were measured; a broadcast to one of two sends all that is asked in one message.
TEST(CalibrateFit, AnswersWarnOfSizesThatNobodyMeasured) {
  const Workshop workshop;
  expect_answer(fit(workshop, ""));
  const nlohmann::json sizes = parse_json(text_of(workshop.path("s.json")))["measured_bytes"];
  EXPECT_EQ(sizes["from"], 0);
  EXPECT_EQ(sizes["to"], 4 << 20);
  const auto note = [&](const std::string& bytes) {
    const nlohmann::json answer =
        expect_answer("collective --op broadcast --algorithm binomial --ranks 2 --json --bytes " +
                      bytes + " --platform " + workshop.path("p.json") + " --stack " +
                      workshop.path("s.json"))
            .json();
    return answer.contains("warnings") ? answer["warnings"][0].get<std::string>() : "";
  };
  EXPECT_EQ(note("8MiB"), "");
  EXPECT_THAT(note("9MiB"), ::testing::HasSubstr("messages of 9 MiB are sent, and gce was measured "
                                                 "from 0 B to 4 MiB alone"));
  EXPECT_EQ(note("1"), "");
}

TEST(CalibrateFit, HoldsCollectivesOutAndPrintsTheError) {
  const Workshop workshop;
  expect_answer(fit(workshop, "--hold-out"), {"all-reduce", "64", "median |error|",
                                              "which plan the library took is not stated"});
  const nlohmann::json rows =
      expect_answer(fit(workshop, "--hold-out --force --json")).json()["held_out"];
  ASSERT_EQ(rows.size(), 19U);
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row["ranks_per_host"], 8);
    const double measured_s = row["measured_s"];
    for (const nlohmann::json& plan : row["plans"]) {
      EXPECT_NEAR(plan["error"].get<double>(), plan["predicted_s"].get<double>() / measured_s - 1,
                  1e-9);
      EXPECT_LE(plan["low_s"], plan["predicted_s"]);
    }
  }
}

// Every published file carries a fit; what it is worth stands in docs/calibration.md.
TEST(CalibrateFit, AnEmulatedGpuIsOneOfTheCatalogue) {
  const Workshop workshop;
  const Outcome result = run_program(fit(workshop, "--emulated-gpu k81"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("did you mean \"k80\""), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(workshop.path("p.json")));
}

TEST(CalibrateFit, FitsEveryPublishedMeasurement) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_file("calibrate/published"))) {
    const Workshop workshop;
    expect_answer(fit(workshop, "", entry.path()), {"latency", "link  "});
    expect_answer("calibrate show " + entry.path().string(), {"commit:", "all-reduce"});
    ++files;
  }
  EXPECT_GE(files, 6);
}

TEST(CalibrateFit, RefusesAndKeepsWhatIsThere) {
  const Workshop workshop;
  const std::string kept = workshop.file("p.json", "mine");
  expect_refused(fit(workshop, ""), {"--platform-file = " + kept, "--force replaces it"});
  EXPECT_EQ(text_of(kept), "mine");
  EXPECT_FALSE(std::filesystem::exists(workshop.path("s.json")));
  expect_refused(fit(workshop, "--force --ranks-per-host 2 --emulated-gpu k80"),
                 {"--ranks-per-host = 2", "must be 1 with --emulated-gpu"});
  EXPECT_EQ(text_of(kept), "mine");
  const std::string bare = workshop.file(
      "bare.json", R"({"format": "forescale-measurement-1", "series": [{"pattern": "barrier",
                       "ranks": 2, "points": [{"bytes": 0, "time_s": 1e-5}]}]})");
  expect_refused(fit(workshop, "--force", bare), {bare + ":/series", "must hold a ping-pong"});
  EXPECT_EQ(text_of(kept), "mine");
}

}  // namespace
}  // namespace forescale::testing
