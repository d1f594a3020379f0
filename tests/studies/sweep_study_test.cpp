#include "studies/sweep/sweep_study.hpp"

#include <set>

#include "tests/base/refusal.hpp"
#include "tests/studies/sweep_studies.hpp"

namespace forescale::testing {
namespace {

using Words = std::vector<std::string>;

TEST(SweepStudy, AGridIsTheProductOfItsLists) {
  const ScratchFolder folder("sweep");
  const Study study = toy_study(folder, R"("fixed": {"platform": "kesch"},
                           "grid": {"ranks": [16, 32], "bytes": ["1MiB", "8MiB", 5]})");
  EXPECT_EQ(study.name, "study");
  EXPECT_EQ(study.command, "toy");
  EXPECT_EQ(study.varied, (Words{"bytes", "ranks"}));
  ASSERT_EQ(study.points.size(), 2U * 3);
  EXPECT_EQ(study.points[0].arguments,
            (Words{"toy", "--bytes=1MiB", "--platform=kesch", "--ranks=16", "--json"}));
  EXPECT_EQ(study.points[1].arguments[3], "--ranks=32");  // the last option changes first
  EXPECT_EQ(study.points[5].inputs, R"({"bytes":5,"platform":"kesch","ranks":32})");
}

TEST(SweepStudy, PointsAreListed) {
  const ScratchFolder folder("sweep");
  const Study study = toy_study(folder, R"("fixed": {"bytes": 1}, "points": [
          {"option": ["a=1", "b=2"]}, {"interval": true}, {"interval": false}, {}])");
  EXPECT_EQ(study.varied, (Words{"interval", "option"}));
  ASSERT_EQ(study.points.size(), 4U);
  EXPECT_EQ(study.points[0].arguments,
            (Words{"toy", "--bytes=1", "--option=a=1", "--option=b=2", "--json"}));
  EXPECT_EQ(study.points[1].arguments, (Words{"toy", "--bytes=1", "--interval=true", "--json"}));
  EXPECT_EQ(study.points[2].arguments, (Words{"toy", "--bytes=1", "--interval=false", "--json"}));
  EXPECT_EQ(study.points[3].arguments, (Words{"toy", "--bytes=1", "--json"}));
}

TEST(SweepStudy, AKeyIsWhatIsAskedHoweverItIsWritten) {
  const ScratchFolder folder("sweep");
  const Study numbers = toy_study(folder, R"("grid": {"bytes": [1, 2]})");
  const Study texts = toy_study(folder, R"("points": [{"bytes": "1"}, {"bytes": "2"}])");
  const Study others = toy_study(folder, R"("grid": {"bytes": [2, 1]})");
  EXPECT_EQ(numbers.points[0].key, texts.points[0].key);
  EXPECT_EQ(numbers.id, texts.id);
  EXPECT_NE(numbers.points[0].key, numbers.points[1].key);
  EXPECT_NE(numbers.id, others.id);
}

TEST(SweepStudy, FilesThatItNamesCountWithTheirContent) {
  const ScratchFolder folder("sweep");
  const std::string platform = written(folder, "cluster.json", "{}");
  const std::string content =
      R"("grid": {"bytes": [1], "platform": ["kesch", ")" + platform + R"("]})";
  const auto files = toy_study(folder, content).files;
  ASSERT_EQ(files.size(), 1U);
  EXPECT_TRUE(files.contains(platform));
  written(folder, "cluster.json", "{ }");
  EXPECT_NE(toy_study(folder, content).files, files);
}

TEST(SweepStudy, RefusalsNameFilePathAndConstraint) {
  const ScratchFolder folder("sweep");
  const auto refused = [&](const std::string& content, const Words& parts) {
    const std::string said = refusal([&] { toy_study(folder, content); });
    expect_says(said, {"study.json"});
    expect_says(said, parts);
  };
  const std::string grid = R"("grid": {"bytes": [1]})";
  refused(grid + R"(, "fixd": {})", {":/fixd", "did you mean \"fixed\"?"});
  refused(R"("grid": {"byts": [1]})", {":/grid/byts", "option is unknown", "\"bytes\"?"});
  refused(R"("grid": {})", {":/grid: ", "must have at least one option"});
  refused(R"("grid": {"bytes": []})", {":/grid/bytes: ", "must have at least one value"});
  refused(R"("grid": {"bytes": 1})", {":/grid/bytes = 1", "array"});
  refused(R"("grid": {"bytes": [1, "1"]})", {":/grid/bytes/1 = \"1\"", "is in the list already"});
  refused(R"("grid": {"bytes": [1], "ranks": [2, 1000]})",
          {":/grid/ranks/1 = 1000", "`forescale toy` takes: --ranks: too many"});
  refused(R"("grid": {"ranks": [1]})", {":/grid", "a whole question", "--bytes is required"});
  refused(grid + R"(, "fixed": {"bytes": 1})", {":/grid/bytes", "is in \"fixed\" already"});
  refused(grid + R"(, "fixed": {"interval": 1})", {":/fixed/interval = 1", "true or false"});
  refused(grid + R"(, "fixed": {"ranks": [1, 2]})", {":/fixed/ranks", "cannot be repeated"});
  refused(grid + R"(, "fixed": {"ranks": true})", {":/fixed/ranks = true", "text or a number"});
  refused(grid + R"(, "fixed": {"ranks": ""})", {":/fixed/ranks", "must not be empty"});
  refused(grid + R"(, "points": [])", {"either \"grid\" or \"points\""});
  refused(R"("fixed": {})", {"either \"grid\" or \"points\""});
  refused(R"("points": [])", {":/points", "must have at least one point"});
  refused(R"("points": [{"bytes": 1}, {"ranks": 2}])", {":/points/1", "--bytes is required"});
  refused(R"("points": [{"bytes": 1}, {"bytes": "1"}])",
          {":/points/1", "is the same point as /points/0"});
  std::string list = "1";
  for (int i = 2; i <= 1001; ++i) list += "," + std::to_string(i);
  refused(R"("grid": {"bytes": [)" + list + R"(], "option": [)" + list + "]}",
          {":/grid", "at most 1000000 points"});
}

TEST(SweepStudy, OtherFilesAreRefused) {
  const ScratchFolder folder("sweep");
  expect_says(refusal([&] { read_study(folder.file("none.json")); }),
              {"none.json", "cannot be opened"});
  expect_says(refusal([&] { read_study(written(folder, "a.json", "{\"format\": ")); }),
              {"a.json", "must be complete JSON"});
  expect_says(refusal([&] { read_study(written(folder, "a.json", R"({"format": "x"})")); }),
              {"a.json:/format = \"x\"", "forescale-study-1"});
  expect_says(
      refusal([&] {
        read_study(written(folder, "a.json",
                           R"({"format": "forescale-study-1", "command": "tyo", "grid": {}})"));
      }),
      {"a.json:/command = \"tyo\"", "did you mean \"toy\"?"});
}

TEST(SweepShards, HoldEveryPointOnceAndAreOfOneSize) {
  const ScratchFolder folder("sweep");
  const Study study = numbered_study(folder, 103);
  std::set<std::size_t> all;
  for (int i = 0; i < 4; ++i) {
    const auto part = points_of(study, {.index = i, .count = 4});
    EXPECT_GE(part.size(), 103U / 4);
    EXPECT_LE(part.size(), 103U / 4 + 1);
    for (const std::size_t point : part) EXPECT_TRUE(all.insert(point).second) << point;
  }
  EXPECT_EQ(all.size(), 103U);
  EXPECT_TRUE(points_of(study, {.index = 103, .count = 104}).empty());
}

TEST(SweepShards, AreWrittenAsAFraction) {
  EXPECT_EQ(parse_shard("3/4").index, 3);
  EXPECT_EQ(parse_shard("3/4").count, 4);
  for (const char* text : {"4/4", "-1/4", "0/0", "1", "", "a/b", "1/", "/4", "0/100001", "1/4/2"})
    expect_says(refusal([&] { parse_shard(text); }), {"--shard", "must be i/N"});
}

}  // namespace
}  // namespace forescale::testing
