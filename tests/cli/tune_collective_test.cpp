// `forescale tune collective` as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTuneOnStar =
    "tune collective --platform star:hosts=4,bandwidth=1GB/s,latency=5us ";

TEST(TuneCollective, SaysTheBestTheNextAndTheRegions) {
  const std::string out =
      expect_answer(std::string(kTuneOnStar) + "--ranks 2..4 --bytes 4KiB,4MiB",
                    {"best", "next", "over it", "all-reduce/", "up to", "4 MiB", "simulated"})
          .out;
  EXPECT_EQ(out.find("best offered"), std::string::npos);
}

TEST(TuneCollective, IsTheSameEveryTime) {
  const std::string command =
      std::string(kTuneOnStar) + "--ranks 3,4 --bytes 64KiB --op reduce --json";
  EXPECT_EQ(expect_answer(command).out, expect_answer(command).out);
}

TEST(TuneCollective, MapAndReportShowEveryPoint) {
  const Workshop workshop;
  const std::string tuned = workshop.path("tuned.json");
  const std::string map = workshop.path("map.svg");
  const std::string page = workshop.path("report.html");
  expect_answer(std::string(kTuneOnStar) + "--ranks 2,4 --bytes 4KiB..64KiB --map " + map +
                " --out " + tuned);
  const std::string svg = text_of(map);
  size_t cells = 0;
  for (size_t at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1))
    ++cells;
  EXPECT_EQ(cells, 2U * 5);
  expect_answer("report " + tuned + " -o " + page, {"1 tuning"});
  EXPECT_NE(text_of(page).find("forescale-tuned-1"), std::string::npos);
}

TEST(TuneCollective, ReportRefusesATuningThatIsNone) {
  const Workshop workshop;
  const std::string file = workshop.file(
      "t.json", R"({"format": "forescale-tuned-1", "points": [{"op": "reduce", "ranks": 4}]})");
  expect_refused("report " + file + " -o " + workshop.path("r.html"),
                 {"t.json", "/points/0", "bytes"});
}

// As if killed while a line was written: what is whole is kept, the rest asked again.
TEST(TuneCollective, GoesOnFromWhatItKept) {
  const Workshop workshop;
  const std::string kept = workshop.path("kept.jsonl");
  const std::string command =
      std::string(kTuneOnStar) + "--ranks 2..4 --bytes 4KiB,1MiB --json --resume " + kept;
  const json whole = expect_answer(command).json();
  std::string text = text_of(kept);
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 4);
  const size_t third = text.find('\n', text.find('\n') + 1) + 1;
  workshop.file("kept.jsonl", text.substr(0, third + 40));
  EXPECT_EQ(expect_answer(command).json(), whole);
  // What it keeps is taken: a point with a time of its own is not simulated.
  std::string changed = text_of(kept);
  const size_t at = changed.find("\"time_s\":") + 9;
  changed.replace(at, changed.find_first_of(",}", at) - at, "123.0");
  workshop.file("kept.jsonl", changed);
  EXPECT_NE(expect_answer(command).out.find("123.0"), std::string::npos);
}

TEST(TuneCollective, KeptAnswersOfAnotherPlatformAreRefused) {
  const Workshop workshop;
  const std::string kept = workshop.path("kept.jsonl");
  expect_answer(std::string(kTuneOnStar) + "--ranks 2 --bytes 4KiB --resume " + kept);
  const std::string before = text_of(kept);
  expect_refused(
      "tune collective --platform star:hosts=4,bandwidth=2GB/s,latency=5us --ranks 2 --bytes 4KiB "
      "--resume " +
          kept,
      {"kept.jsonl", "line 1", "choose another --resume"});
  EXPECT_EQ(text_of(kept), before);
}

TEST(TuneCollective, OffersALibraryOnlyWhatItHas) {
  const Workshop workshop;
  const std::string rules = workshop.path("rules.conf");
  const Outcome answer =
      expect_answer(std::string(kTuneOnStar) + "--ranks 4 --bytes 4KiB..1MiB --json " +
                    "--emit openmpi-rules --settings " + rules);
  const json document = answer.json();
  for (const json& point : document.at("points")) {
    const std::string plan = point["offered"]["best"]["plan"];
    EXPECT_EQ(plan.rfind("all-reduce/", 0), 0U);
    EXPECT_GE(point["offered"]["loss"].get<double>(), 0);
  }
  const std::string text = text_of(rules);
  EXPECT_NE(text.find("star:hosts=4"), std::string::npos);
  EXPECT_EQ(answer.json()["settings"]["file"], rules);
}

TEST(TuneCollective, ATableForPeopleTakesAnyPlan) {
  const Workshop workshop;
  const std::string table = workshop.path("t.csv");
  const json points = expect_answer(std::string(kTuneOnStar) +
                                    "--op reduce --ranks 4 --bytes 1MiB --json --emit csv "
                                    "--settings " +
                                    table)
                          .json()["points"];
  EXPECT_NE(text_of(table).find(points[0]["known"]["best"]["plan"]), std::string::npos);
}

TEST(TuneCollective, BadInputIsRefusedBeforeTheSearch) {
  const std::string star(kTuneOnStar);
  expect_refused(star + "--ranks 1", {"--ranks", "must be >= 2"});
  expect_refused(star + "--ranks 5", {"--ranks", "5"});
  expect_refused(star + "--bytes 6B", {"--bytes", "whole FP32 elements"});
  expect_refused(star + "--op all-reduces", {"--op", "did you mean \"all-reduce\""});
  expect_refused(star + "--emit openmp-rules", {"--emit", "did you mean \"openmpi-rules\""});
  expect_refused(star + "--emit openmpi-rules --library-version 9.9",
                 {"--library-version", "9.9", "4.1"});
  expect_refused(star + "--settings x.conf", {"--settings", "--emit"});
  expect_refused(star + "--map /nowhere/map.svg", {"--map", "cannot be written"});
  expect_refused(star + "--op gather --emit openmpi-rules", {"--emit", "openmpi-rules"});
  expect_refused(star + "--op reduce --among chain cb:chain_size=3",
                 {"--among", "cb:chain_size=3", "no candidate"});
}

constexpr const char* kTuneNccl = "tune collective --platform dgx-h100:nodes=2 --ranks 16 ";

// What NCCL is told is never slower than what it does by itself, by forescale's own prediction, and
// where nothing is faster nothing is told.
// Eight groups of a GPU a node each, two on an adapter: a group is tuned beside the others, to the
// time of `collective --split`, and slower than alone.
TEST(TuneCollective, TunesAGroupBesideTheOthers) {
  const std::string asked = "--platform aws-p4de --ranks 32 --split mod8 --bytes 1MiB,16MiB ";
  const auto tuned = run_program("tune collective " + asked + "--json").json();
  const auto told = run_program("collective --op all-reduce " + asked + "--json").json();
  ASSERT_EQ(tuned["points"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(tuned["points"][i]["ranks"], 4);
    EXPECT_EQ(tuned["points"][i]["groups"], 8);
    EXPECT_EQ(tuned["points"][i]["default"]["time_s"], told["points"][i]["time_s"]);
    EXPECT_LE(tuned["points"][i]["known"]["best"]["time_s"].get<double>(),
              told["points"][i]["time_s"].get<double>());
  }
  const auto alone = run_program(
                         "collective --op all-reduce --platform aws-p4de --slots 0,8,16,24 "
                         "--bytes 1MiB,16MiB --json")
                         .json();
  EXPECT_GT(tuned["points"][1]["default"]["time_s"].get<double>(),
            1.5 * alone["points"][1]["time_s"].get<double>());
  expect_answer("tune collective " + asked, {"8 groups of 4 ranks at once"});
}

TEST(Collective, RefusesGroupsOfOneRank) {
  expect_refused(
      "collective --platform dgx-h100 --op all-reduce --ranks 32 --split mod32 --bytes 1MiB",
      {"--split = mod32", "one has nobody to talk to"});
  expect_answer("stack show nccl-2.23-h100",
                {"up to ranks  of each node  from nodes  up to nodes"});
  EXPECT_EQ(expect_answer("stack show openmpi-1.10").out.find("of each node"), std::string::npos);
}

// NCCL's choice is estimated for 1, 2, 4 of a node's GPUs and for whole nodes.
TEST(TuneCollective, SaysOfWhichGroupsNcclsChoiceIsNotKnown) {
  const std::string all_reduce = "collective --platform aws-p4de --bytes 1MiB --op all-reduce ";
  expect_answer(all_reduce + "--slots 0,1,2,8,9,10",
                {"note: what nccl-2.23-a100-efa takes for 3 of a node's 8 GPUs is not known"});
  expect_answer(all_reduce + "--slots 0,1,2,8",
                {"takes where nodes have different numbers of GPUs is not known"});
  expect_answer("tune collective --platform aws-p4de --ranks 12 --split mod2 --bytes 1MiB",
                {"takes where nodes have different numbers of GPUs is not known"});
  for (const char* known : {"--ranks 32", "--slots 0,8,16,24", "--slots 0,1,8,9",
                            "--slots 0,1,2,8 --plan all-reduce/ring"})
    EXPECT_EQ(expect_answer(all_reduce + known).out.find("is not known"), std::string::npos)
        << known;
  // Sends are sends: nothing is chosen.
  const std::string sends = "collective --platform dgx-h100 --op all-to-all --bytes 1MiB --slots ";
  EXPECT_EQ(expect_answer(sends + "0,1,2,8,9,10").out.find("is not known"), std::string::npos);
}

// What is faster by too little to tell does not take the place of NCCL's own choice, and is no tie
// of a choice with itself.
TEST(TuneCollective, SaysWhereTheOwnChoiceStaysThoughAnotherIsFaster) {
  const std::string asked = "tune collective --platform aws-p4de --ranks 64 --split mod8 ";
  const std::string out = expect_answer(asked + "--bytes 2MiB",
                                        {"note: the library's own choice stays at 1 of 1 sizes"})
                              .out;
  EXPECT_EQ(out.find("+-"), std::string::npos);
  EXPECT_EQ(out.find("+0.0 % tie"), std::string::npos);
}

// Plans too, of a stack that is told none: what is best has the time of that plan asked for.
TEST(TuneCollective, TunesPlansOfAGroupBesideTheOthers) {
  const std::string asked =
      "--platform kesch --stack mvapich2-gdr --ranks 64 --split mod16 "
      "--bytes 1MiB ";
  const auto point =
      run_program("tune collective --op reduce " + asked + "--json").json()["points"][0];
  const auto told = run_program("collective --op reduce " + asked + "--json --plan " +
                                point["known"]["best"]["plan"].get<std::string>())
                        .json();
  EXPECT_NEAR(point["known"]["best"]["time_s"].get<double>(), told["time_s"].get<double>(),
              1e-9 * told["time_s"].get<double>());
}

TEST(TuneCollective, RefusesGroupsThatAreNone) {
  const std::string asked = "tune collective --platform aws-p4de --bytes 1MiB ";
  expect_refused(asked + "--ranks 32 --split mod3", {"--split = 3", "must divide the 32 ranks"});
  expect_refused(asked + "--ranks 16,32 --split mod8", {"--split", "one count of --ranks"});
  expect_refused(asked + "--ranks 32 --split mod32", {"in a group must be >= 2"});
  expect_refused(asked + "--ranks 32 --split eight", {"--split = eight"});
}

TEST(TuneCollective, TellsNcclWhatIsFasterForSure) {
  const Workshop workshop;
  const std::string table = workshop.path("table.csv");
  const json tuned =
      expect_answer(std::string(kTuneNccl) +
                    "--bytes 4KiB,16MiB,64MiB --json --emit nccl-plugin --settings " + table)
          .json();
  int told = 0;
  for (const json& point : tuned["points"]) {
    const double best_s = point["known"]["best"]["time_s"];
    const double own_s = point["default"]["time_s"];
    if (point["known"]["best"]["plan"] == "own choice") {
      EXPECT_EQ(best_s, own_s);
      continue;
    }
    ++told;
    EXPECT_GT(own_s, 1.1 * best_s) << point;
    EXPECT_GT(point["default"]["low_s"].get<double>(),
              point["known"]["best"]["low_s"].get<double>());
    // As the simulator says when it is asked for that alternative.
    std::string take = point["known"]["best"]["plan"];
    std::replace(take.begin(), take.end(), ':', ',');
    const json asked =
        expect_answer("collective --platform dgx-h100:nodes=2 --stack nccl:take=" + take +
                      " --op all-reduce --ranks 16 --json --bytes " +
                      std::to_string(point["bytes"].get<std::int64_t>()))
            .json();
    EXPECT_DOUBLE_EQ(asked["simulated_s"].get<double>(), best_s);
  }
  const std::string text = text_of(table);
  const auto lines = std::count_if(text.begin(), text.end(), [](char c) { return c == ','; });
  EXPECT_EQ(lines > 8, told > 0) << text;
  EXPECT_EQ(tuned["points"][0]["own"], "tree/ll");
}

// NCCL loads one tuner: a table for another says what AWS's would have taken, where that said it.
TEST(TuneCollective, SaysTheChoicesOfTheTunerThatItReplaces) {
  const Workshop workshop;
  const auto table_of = [&](const std::string& stack) {
    const std::string table = workshop.path("table.csv");
    expect_answer(
        "tune collective --platform aws-p6-b200:nodes=4 --op all-reduce --ranks 32 "
        "--bytes 1MiB --emit nccl-plugin --stack " +
        stack + " --settings " + table);
    return text_of(table);
  };
  const std::string tuned = table_of("nccl");
  for (const char* line : {"allreduce,0,393216,tree,ll,-1,4,32,0",
                           "allreduce,133693441,435159042,nvls_tree,simple,-1,4,32,0",
                           "allgather,1572865,456130560,ring,ll128,-1,4,32,0"})
    EXPECT_THAT(tuned, HasSubstr(line));
  EXPECT_THAT(tuned, HasSubstr("aws-ofi-nccl"));
  EXPECT_THAT(tuned, Not(HasSubstr("\nbroadcast"))) << "of which AWS's tuner says nothing";
  const std::string plain = table_of("nccl:NCCL_TUNER_PLUGIN=none");
  EXPECT_THAT(plain, Not(HasSubstr("aws-ofi-nccl")));
  EXPECT_THAT(plain, Not(HasSubstr("\nallgather")));
}

TEST(TuneCollective, MapAndTableNameTheOwnChoice) {
  const Workshop workshop;
  const std::string map = workshop.path("map.svg");
  const std::string tuned = workshop.path("tuned.json");
  expect_answer(std::string(kTuneNccl) + "--bytes 4KiB --map " + map + " --out " + tuned,
                {"own choice: tree/ll"});
  EXPECT_NE(text_of(map).find("own choice"), std::string::npos);
  expect_answer("report " + tuned + " -o " + workshop.path("report.html"), {"1 tuning"});
}

TEST(TuneCollective, OfTheExampleAllIsSaid) {
  const Workshop workshop;
  const std::string table = workshop.path("table.conf");
  expect_answer(std::string(kTuneNccl) + "--bytes 4KiB --emit nccl-tuner --settings " + table);
  const std::string text = text_of(table);
  for (const char* op : {"allreduce", "allgather", "reducescatter", "broadcast", "reduce"}) {
    EXPECT_NE(text.find(std::string("\n") + op + ",0,"), std::string::npos) << op;
    EXPECT_NE(text.find(std::string("\n") + op + ",0,", text.find("# other")), std::string::npos)
        << op;
  }
}

TEST(TuneCollective, WhatNcclCannotBeToldIsRefused) {
  expect_refused(
      "tune collective --platform minsky --stack nccl-2.3 --ranks 4 --bytes 4KiB --emit "
      "nccl-plugin",
      {"--emit", "nccl-plugin", "nccl-2.23-h100", "nccl-2.3 does not"});
  expect_refused(
      std::string(kTuneNccl) + "--bytes 4KiB --stack nccl:take=ring/ll --emit nccl-plugin",
      {"--emit", "nccl-2.23-h100:take=ring/ll does not"});
  expect_refused(std::string(kTuneNccl) + "--bytes 4KiB --op all-to-all --emit nccl-plugin",
                 {"--emit", "all-to-all on 16 ranks"});
  expect_refused(
      "collective --platform dgx-h100:nodes=2 --stack nccl:take=tree/ll64 --op all-reduce "
      "--ranks 16 --bytes 4KiB",
      {"--stack nccl-2.23-h100:take", "tree/ll64", "tree/ll128"});
}

}  // namespace
}  // namespace forescale::testing
