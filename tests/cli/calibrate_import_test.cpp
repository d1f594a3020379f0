// `forescale calibrate import` and `calibrate show`, end to end.
#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string log(const std::string& name) { return source_file("tests/calibrate/data/" + name); }

TEST(CalibrateImport, SeveralLogsBecomeOneMeasurement) {
  const Workshop workshop;
  const std::string out = workshop.path("m.json");
  const std::string arguments = "calibrate import " + log("osu_latency_v7.1.txt") + " " +
                                log("imb_2018.txt") + " --machine 'our cluster' -o " + out;
  // 1 series of 4 points and 10 of 3 + 2 + 2 + 2 + 1 + 2 + 1 + 1 + 1 + 1.
  expect_answer(arguments, {"ping-pong", "reduce-scatter", "notes\n", "two neighbours",
                            out + ": 11 series, 20 points"});
  const std::string bytes = text_of(out);
  expect_answer(arguments);
  EXPECT_EQ(text_of(out), bytes);

  const nlohmann::json shown = expect_answer("calibrate show " + out + " --json").json();
  EXPECT_EQ(shown, parse_json(bytes));
  EXPECT_EQ(shown["machine"], "our cluster");
  const std::string csv = expect_answer("calibrate show " + out + " --csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 20);
  EXPECT_NE(csv.find("\nping-pong,,,2,host,1024,3.5e-06,"), std::string::npos) << csv;
  expect_answer("calibrate show " + out,
                {"machine: our cluster", "logs: osu_latency_v7.1.txt (osu)", "1 MiB", "105.2 us"});
}

TEST(CalibrateImport, PrintsJsonWithoutAnOutput) {
  const nlohmann::json document =
      expect_answer("calibrate import " + log("osu_collectives_v7.5.txt") + " --ranks 4").json();
  EXPECT_EQ(document["format"], "forescale-measurement-1");
  EXPECT_EQ(document["series"].size(), 3U);
}

TEST(CalibrateImport, CollectivesKnowTheirRanksPerHost) {
  const std::string of = "calibrate import " + log("osu_collectives_v7.5.txt") + " --ranks 4";
  const nlohmann::json shared = expect_answer(of + " --ranks-per-host 2").json();
  for (const nlohmann::json& series : shared.at("series"))
    EXPECT_EQ(series.value("ranks_per_host", 1), series.at("pattern") == "collective" ? 2 : 1);
  expect_refused(of + " --ranks-per-host 3", {"--ranks-per-host 3 must divide the 4 ranks"});
}

TEST(CalibrateImport, RefusesWithLineAndReason) {
  const Workshop workshop;
  const std::string foreign = workshop.file("foreign.txt", "Linpack\n1 2 3\n");
  const std::string empty = workshop.file("empty.txt", "");
  const std::string cut = workshop.file(
      "cut.txt", "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n8    1.5");
  expect_refused("calibrate import " + foreign, {foreign + ":line 1 = Linpack", "no log of"});
  expect_refused("calibrate import " + empty, {"the file is empty"});
  expect_refused("calibrate import " + cut, {":line 3 = 8    1.5", "--partial"});
  expect_refused("calibrate import " + log("osu_collectives_v7.5.txt"), {"give --ranks"});
  expect_refused("calibrate import " + log("nccl_alltoall_2.0.txt"), {"give --op"});
  expect_refused("calibrate import " + log("nccl_alltoall_2.0.txt") + " --op alltoall",
                 {"--op = alltoall", "did you mean \"all-to-all\""});
  expect_refused("calibrate import /nowhere", {"/nowhere: cannot be opened"});
  expect_refused("calibrate import", {"FILE is required"});
  expect_refused("calibrate import " + empty + " --from ibm", {"--from"});
  expect_refused("calibrate import " + empty + " --ranks 0", {"--ranks"});
  expect_refused("calibrate import " + log("osu_latency_v7.1.txt") + " -o /nowhere/m.json",
                 {"/nowhere/m.json: cannot be written: No such file or directory"});
}

// One bad log among good ones: all are read, the bad one is named, nothing is written.
TEST(CalibrateImport, WritesNothingWhenALogIsBad) {
  const Workshop workshop;
  const std::string out = workshop.path("m.json");
  const std::string empty = workshop.file("empty.txt", "");
  expect_refused("calibrate import " + log("osu_latency_v7.1.txt") + " " + empty + " -o " + out,
                 {"the file is empty"});
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(CalibrateImport, HelpHasExamples) {
  expect_answer("calibrate --help", {"Examples:\n  forescale calibrate import", "show"});
  expect_answer("calibrate import --help", {"Examples:\n  forescale calibrate import"});
  expect_answer("calibrate show --help", {"Examples:\n  forescale calibrate show"});
  expect_refused("calibrate", {"subcommand is required"});
}

TEST(CalibrateShow, RefusesWhatIsNoMeasurement) {
  const Workshop workshop;
  const std::string file = workshop.file("m.json", R"({"format": "forescale-stack-1"})");
  expect_refused("calibrate show " + file, {file + ":/format = \"forescale-stack-1\""});
  expect_refused("calibrate show /nowhere.json", {"cannot be opened"});
}

}  // namespace
}  // namespace forescale::testing
