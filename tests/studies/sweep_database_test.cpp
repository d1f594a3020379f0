#include "studies/sweep/sweep_database.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/base/refusal.hpp"
#include "tests/studies/sweep_studies.hpp"

namespace forescale::testing {
namespace {

std::set<std::string> keys_of(const Study& study, const std::vector<std::size_t>& places) {
  std::set<std::string> keys;
  for (const std::size_t place : places) keys.insert(study.points[place].key);
  return keys;
}

TEST(SweepDatabase, KeepsWhatIsStored) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 4);
  const std::string file = folder.file("a.sqlite");
  {
    SweepDatabase database(file, facts_of(study, kVersion));
    EXPECT_EQ(database.tally().missing, 4);
    database.store({done_row(study, 2, R"({"time_s":0.1})"), failed_row(study, 0, "too large")});
  }
  SweepDatabase database(file, facts_of(study, kVersion));  // goes on with it
  database.store({done_row(study, 1, "{}")});
  SweepDatabase reader(file);
  EXPECT_EQ(reader.facts().study, study.id);
  EXPECT_EQ(reader.facts().points, "4");
  const std::vector<SweepRow> rows = reader.rows();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].reason, "too large");
  EXPECT_EQ(rows[0].exit_code, 2);
  EXPECT_EQ(rows[0].answer, "");
  EXPECT_EQ(rows[1].place, 1);
  EXPECT_EQ(rows[2].key, study.points[2].key);
  EXPECT_EQ(rows[2].inputs, R"({"bytes":2})");
  EXPECT_EQ(rows[2].answer, R"({"time_s":0.1})");
  EXPECT_EQ(rows[2].wall_s, 0.5);
  EXPECT_EQ(rows[2].host, "here");
  EXPECT_EQ(rows[2].finished, "2026-01-31T23:59:59Z");
  EXPECT_EQ(reader.tally().done, 2);
  EXPECT_EQ(reader.tally().failed, 1);
  EXPECT_EQ(reader.tally().missing, 1);
}

TEST(SweepDatabase, WhatWasKilledFromOutsideRunsAgain) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 7);
  SweepDatabase database(folder.file("a.sqlite"), facts_of(study, kVersion));
  database.store({done_row(study, 0, "{}"), failed_row(study, 1, "too large", 2),
                  failed_row(study, 2, "Aborted", 128 + SIGABRT),
                  failed_row(study, 3, "Killed", 128 + SIGKILL),
                  failed_row(study, 4, "Terminated", 128 + SIGTERM),
                  failed_row(study, 5, "no answer", 0)});
  EXPECT_EQ(database.settled_keys(false), keys_of(study, {0, 1, 2, 5}));
  EXPECT_EQ(database.settled_keys(true), keys_of(study, {0}));
  database.store({done_row(study, 3, "{}")});
  EXPECT_EQ(database.settled_keys(false), keys_of(study, {0, 1, 2, 3, 5}));
  EXPECT_EQ(database.rows().size(), 6U);
}

TEST(SweepDatabase, ReasonsCountTheCommonestFirst) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 4);
  SweepDatabase database(folder.file("a.sqlite"), facts_of(study, kVersion));
  database.store({failed_row(study, 0, "rare"), failed_row(study, 1, "common"),
                  failed_row(study, 3, "common")});
  const std::vector<FailureReason> reasons = database.reasons();
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_EQ(reasons[0].text, "common");
  EXPECT_EQ(reasons[0].count, 2);
  EXPECT_EQ(reasons[0].first_place, 1);
  EXPECT_EQ(reasons[1].text, "rare");
}

TEST(SweepDatabase, AnotherQuestionIsRefused) {
  const ScratchFolder folder("sweep");
  const std::string file = folder.file("a.sqlite");
  const Study study = numbered_study(folder, 3);
  { SweepDatabase database(file, facts_of(study, kVersion)); }
  const std::string content = text_of(file);
  const auto refused = [&](const SweepFacts& facts, const std::string& what) {
    expect_says(refusal([&] { SweepDatabase(file, facts); }),
                {"a.sqlite", "another question (" + what, "name another file"});
  };
  refused(facts_of(numbered_study(folder, 4), kVersion), "study: ");
  refused(facts_of(study, "1.2.4"), "version: 1.2.3 there, 1.2.4 here");
  Study with_file = study;
  with_file.files["cluster.json"] = "0123";
  refused(facts_of(with_file, kVersion), "input files: {} there, {\"cluster.json\":\"0123\"} here");
  EXPECT_EQ(text_of(file), content);
}

TEST(SweepDatabase, OneWriterAtATime) {
  const ScratchFolder folder("sweep");
  const std::string file = folder.file("a.sqlite");
  const Study study = numbered_study(folder, 3);
  SweepDatabase first(file, facts_of(study, kVersion));
  expect_says(refusal([&] { SweepDatabase(file, facts_of(study, kVersion)); }),
              {"a.sqlite", "is being written by another process"});
  SweepDatabase reader(file);
  first.store({done_row(study, 0, "{}")});
  EXPECT_EQ(reader.tally().done, 1);
}

// One that is killed dies before what it has begun, which keeps what it had open a little longer.
TEST(SweepDatabase, GoesOnBesideWhatAKilledOneLeavesForAMoment) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 4);
  const std::string file = folder.file("a.sqlite");
  const pid_t writer = fork();
  if (writer == 0) {
    const SweepDatabase database(file, facts_of(study, kVersion));
    if (fork() == 0) usleep(200'000);
    _exit(0);
  }
  ASSERT_GT(writer, 0);
  waitpid(writer, nullptr, 0);
  EXPECT_EQ(SweepDatabase(file, facts_of(study, kVersion)).tally().missing, 4);
}

TEST(SweepDatabase, OtherFilesAreRefusedAndLeftAlone) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 3);
  const std::string text = written(folder, "notes.txt", std::string(5000, 'x'));
  expect_says(refusal([&] { SweepDatabase(text, facts_of(study, kVersion)); }),
              {"notes.txt", "file is not a database"});
  EXPECT_EQ(text_of(text), std::string(5000, 'x'));
  const std::string other = folder.file("other.sqlite");
  Sqlite(other, Sqlite::Access::kWrite).execute("CREATE TABLE mine (x)");
  expect_says(refusal([&] { SweepDatabase(other, facts_of(study, kVersion)); }),
              {"other.sqlite", "none that `forescale sweep` has made"});
  expect_says(refusal([&] { SweepDatabase(folder.file("none.sqlite")); }),
              {"none.sqlite", "No such file or directory"});
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.sqlite")));
  expect_says(
      refusal([&] { SweepDatabase(folder.file("no/folder.sqlite"), facts_of(study, kVersion)); }),
      {"no/folder.sqlite", "cannot be written: No such file or directory"});
}

// A limit of files' sizes in place of a full disk, which tests/cli/sweep_test.cpp has.
TEST(SweepDatabase, WhatDoesNotFitIsNotStored) {
  const ScratchFolder folder("sweep");
  const std::string file = folder.file("a.sqlite");
  const Study study = numbered_study(folder, 3);
  SweepDatabase database(file, facts_of(study, kVersion));
  database.store({done_row(study, 0, "{}")});
  const std::string long_answer = "\"" + std::string(1 << 20, 'x') + "\"";
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  struct rlimit small = before;
  small.rlim_cur = 1 << 18;
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string said = refusal([&] {
    database.store({done_row(study, 1, "{}"), done_row(study, 2, long_answer)});
  });
  setrlimit(RLIMIT_FSIZE, &before);
  expect_says(said, {"a.sqlite", "disk I/O error"});
  EXPECT_EQ(database.settled_keys(false), keys_of(study, {0}));
  database.store({done_row(study, 2, long_answer)});
  EXPECT_EQ(database.settled_keys(false), keys_of(study, {0, 2}));
}

// Two rows from a "points" list, one from an answer without, one without an answer.
TEST(SweepViews, AreTables) {
  const ScratchFolder folder("sweep");
  Study study = toy_study(folder, R"("points": [{"bytes": 1, "ranks": 4}, {"bytes": "2KiB"},
                                                {"bytes": 3, "interval": true}])");
  study.command = "collective";
  SweepDatabase database(folder.file("a.sqlite"), facts_of(study, kVersion));
  database.store(
      {done_row(study, 0, R"({"points": [{"ranks": 4, "bytes": 1, "time_s": 0.5, "messages": 3},
                                         {"ranks": 8, "bytes": 1, "time_s": null}]})"),
       done_row(study, 1, R"({"bytes": 2048, "time_s": 0.25, "root_s": {"moving": 0.125}})"),
       failed_row(study, 2, "too large")});
  const SweepTable table = database.results();
  const auto cell = [&](std::size_t row, const std::string& column) {
    const auto found = std::find(table.columns.begin(), table.columns.end(), column);
    if (found == table.columns.end()) return "no column " + column;
    return table.rows.at(row).at(static_cast<std::size_t>(found - table.columns.begin()));
  };
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(cell(0, "time_s"), "0.5");
  EXPECT_EQ(cell(0, "messages"), "3");
  EXPECT_EQ(cell(1, "place"), "0");
  EXPECT_EQ(cell(1, "ranks"), "8");
  EXPECT_EQ(cell(1, "time_s"), "");
  EXPECT_EQ(cell(2, "bytes"), "2048");  // the answer's, where it has one
  EXPECT_EQ(cell(2, "ranks"), "");
  EXPECT_EQ(cell(3, "status"), "failed");
  EXPECT_EQ(cell(3, "reason"), "too large");
  EXPECT_EQ(cell(3, "bytes"), "3");
  EXPECT_EQ(cell(3, "interval"), "1");
  Sqlite sqlite(database.file(), Sqlite::Access::kRead);
  SqliteStatement number(sqlite, "SELECT value FROM number WHERE place = 1 AND name = ?");
  number.bind(1, std::string("root_s.moving"));
  ASSERT_TRUE(number.step());
  EXPECT_EQ(number.number(0), 0.125);
  EXPECT_EQ(sqlite.integer("SELECT count(*) FROM number WHERE place = 0"), 4 + 2);
}

}  // namespace
}  // namespace forescale::testing
