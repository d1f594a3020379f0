#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

constexpr const char* kStar = "star:hosts=6,bandwidth=12.5GB/s,latency=1us";

// Two bare hosts on a switch, one number assumed.
std::string two_hosts(const std::string& latency) {
  return R"({"format": "forescale-platform-1", "name": "two",
  "link_classes": {"wire": {"bandwidth_bytes_per_s": 1e9, "latency_s": )" +
         latency + R"(}},
  "node": {"count": 2, "layout": "explicit",
           "devices": [{"name": "host0", "kind": "host"}], "links": []},
  "fabric": {"layout": "star", "link": "wire"}})";
}
constexpr const char* kAssumed =
    R"({"value": 2e-6, "assumed": "a guess", "fast": 1e-6, "slow": 4e-6})";

TEST(PlatformCommand, ListsPresetsAndGenerators) {
  expect_answer("platform list", {"kesch", "star:hosts=N,bandwidth=B,latency=T"});
  bool has_preset = false;
  bool has_generator = false;
  for (const nlohmann::json& row : expect_answer("platform list --json").json()) {
    if (row["name"] == "kesch") {
      has_preset = true;
      EXPECT_EQ(row["nodes"], 12);
      EXPECT_EQ(row["slots"], 12 * 16);
      EXPECT_EQ(row["kind"], "preset");
    }
    has_generator = has_generator || (row["name"] == "star" && row["kind"] == "generator");
  }
  EXPECT_TRUE(has_preset);
  EXPECT_TRUE(has_generator);
}

TEST(PlatformCommand, ShowsTheTreeOfANodeAndTheFabric) {
  const Outcome result = expect_answer(
      "platform show kesch", {"cpu0", "gpu15", "nic0", "fabric: star", "bisection", "assumed"});
  EXPECT_EQ(result.out.find("\nnumbers\n"), std::string::npos);
}

TEST(PlatformCommand, ShowsAGeneratorAsJson) {
  const nlohmann::json shown =
      expect_answer(std::string("platform show ") + kStar + " --json").json();
  EXPECT_EQ(shown["slots"], 6);
  EXPECT_EQ(shown["link_classes"].size(), 1U);
  EXPECT_DOUBLE_EQ(shown["link_classes"][0]["bandwidth_bytes_per_s"], 12.5e9);
  EXPECT_DOUBLE_EQ(shown["bisection_bytes_per_s"], 6.0 / 2 * 12.5e9);
}

TEST(PlatformCommand, EverySourceIsListedAndAssumptionsSayTheirEnds) {
  const Workshop workshop;
  const std::string file = workshop.file("two.json", two_hosts(kAssumed));
  expect_answer("platform show " + file + " --sources",
                {"2 numbers, 1 of them assumed", "two.json:/link_classes/wire/latency_s", "2e-06",
                 "1e-06 .. 4e-06", "assumed: a guess", "two.json:/link_classes/wire/bandwidth"});
  const nlohmann::json numbers =
      expect_answer("platform show " + file + " --json").json()["numbers"];
  ASSERT_EQ(numbers.size(), 2U);
  for (const nlohmann::json& number : numbers) {
    const bool assumed = number["path"] == "/link_classes/wire/latency_s";
    EXPECT_EQ(number["assumed"], assumed) << number;
    EXPECT_EQ(number.contains("fast"), assumed) << number;
    EXPECT_TRUE(number.contains(assumed ? "reason" : "source")) << number;
  }
}

TEST(PlatformCommand, WritesGraphviz) {
  const Workshop workshop;
  const std::string file = workshop.path("star.dot");
  expect_answer(std::string("platform show ") + kStar + " --dot " + file);
  const std::string dot = text_of(file);
  EXPECT_EQ(dot.rfind("graph", 0), 0U) << dot;
  EXPECT_NE(dot.find("--"), std::string::npos) << dot;
  expect_refused(std::string("platform show ") + kStar + " --dot /nowhere/star.dot",
                 {"--dot = /nowhere/star.dot: cannot be written"});
}

TEST(PlatformCommand, CheckSaysCounts) {
  const Workshop workshop;
  const std::string file = workshop.file("two.json", two_hosts(kAssumed));
  expect_answer("platform check " + file,
                {file + ": ok, 2 nodes, 2 slots, 2 links, 2 numbers, 1 of them assumed"});
}

TEST(PlatformCommand, CheckNamesFilePathValueAndConstraint) {
  const Workshop workshop;
  const std::string negative = workshop.file("negative.json", two_hosts("-1"));
  expect_refused("platform check " + negative,
                 {negative + ":/link_classes/wire/latency_s = -1: must be >= 0"});
  const std::string whole = two_hosts("1e-6");
  const std::string cut = workshop.file("cut.json", whole.substr(0, whole.size() / 2));
  expect_refused("platform check " + cut, {cut, "the text ends too early at line 3"});
  std::string misspelt = whole;
  misspelt.replace(misspelt.find("latency_s"), 9, "latncy_s");
  const std::string file = workshop.file("misspelt.json", misspelt);
  expect_refused("platform check " + file,
                 {file + ":/link_classes/wire/", "latncy_s", "did you mean \"latency_s\"?"});
  expect_refused("platform check " + workshop.path("none.json"), {"none.json: no such file"});
}

TEST(PlatformCommand, CheckReportsAllBadFiles) {
  const Workshop workshop;
  const std::string good = workshop.file("good.json", two_hosts("1e-6"));
  const std::string negative = workshop.file("negative.json", two_hosts("-1"));
  const std::string empty = workshop.file("empty.json", "");
  const Outcome result = run_program("platform check " + negative + " " + good + " " + empty);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out.find(good + ": ok"), 0U) << result.out;
  for (const std::string& part : {negative + ":/link", empty + ": must be complete JSON",
                                  std::string("platform check: 2 of 3 are bad")})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

}  // namespace
}  // namespace forescale::testing
