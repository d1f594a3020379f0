// `forescale system` and `forescale schedule`.
#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

nlohmann::json good() {
  return parse_json(R"({
    "format": "forescale-system-1", "name": "mine", "description": "a system of mine",
    "paper": "Somebody 2026", "section": "4.2", "schedule": "sc-obr",
    "stack": "ideal:reduce_bandwidth=20GB/s", "note": "made up",
    "collectives": {
      "reduce": {"algorithm": "cb", "chunk_bytes": "4MiB", "chain_size": 4},
      "broadcast": {"algorithm": "hierarchical", "levels": "chain:8,binomial"},
      "all-reduce": {"algorithm": "ring"}}})");
}

class SystemCommand : public ::testing::Test {
 protected:
  std::string file(const nlohmann::json& system) const {
    return workshop_.file("mine.json", system.dump(2));
  }

 private:
  Workshop workshop_;
};

TEST_F(SystemCommand, ShowsWhatItConsistsOf) {
  const std::string name = file(good());
  expect_answer("system show " + name,
                {"mine: a system of mine", "Somebody 2026, 4.2", "sc-obr: SC-OB with", "made up",
                 "cb", "4 MiB", "chain:8,binomial"});
  const nlohmann::json shown = expect_answer("system show " + name + " --json").json();
  EXPECT_EQ(shown["schedule"], "sc-obr");
  EXPECT_EQ(shown["stack"], "ideal:reduce_bandwidth=20GB/s");
  for (const nlohmann::json& choice : shown["collectives"]) {
    EXPECT_EQ(choice["chunk_bytes"].is_null(), choice["op"] != "reduce") << choice;
    if (choice["op"] == "reduce") {
      EXPECT_EQ(choice["chunk_bytes"], 4 << 20);
      EXPECT_EQ(choice["chain_size"], 4);
    }
  }
  expect_answer("system check " + name, {": ok, schedule sc-obr, stack ideal"});
}

TEST_F(SystemCommand, MayLeaveTheCollectivesToTheStack) {
  nlohmann::json system = good();
  system.erase("collectives");
  expect_answer("system show " + file(system), {"collectives: the stack's own choice"});
}

TEST_F(SystemCommand, NamesFilePathAndNearest) {
  const auto expect_wrong = [&](const char* pointer, const nlohmann::json& value,
                                const std::vector<std::string>& parts) {
    nlohmann::json system = good();
    system[nlohmann::json::json_pointer(pointer)] = value;
    expect_refused("system check " + file(system), parts);
  };
  expect_wrong("/schedule", "sc-obrr",
               {"mine.json:/schedule = \"sc-obrr\": unknown", "did you mean \"sc-obr\"?"});
  expect_wrong("/stack", "idael",
               {"mine.json:/stack = \"idael\": unknown", "did you mean \"ideal\"?"});
  expect_wrong("/stack", "ideal:chanels=2", {"ideal:chanels", "did you mean \"channels\"?"});
  expect_wrong("/descripton", "x",
               {"mine.json:/descripton = \"x\": key is unknown", "did you mean \"description\"?"});
  expect_wrong("/format", "forescale-system-2", {"mine.json:/format", "forescale-system-1"});
  expect_wrong("/collectives/redcue", {{"algorithm", "ring"}},
               {"mine.json:/collectives/redcue: key is unknown", "did you mean \"reduce\"?"});
  expect_wrong("/collectives/reduce/algorithm", "chian",
               {"mine.json:/collectives/reduce/algorithm = \"chian\"", "did you mean \"chain\"?"});
  expect_wrong("/collectives/reduce/chain_size", 0,
               {"mine.json:/collectives/reduce/chain_size = 0: must be >= 1"});
  expect_wrong("/collectives/reduce/chunk_bytes", 0,
               {"mine.json:/collectives/reduce/chunk_bytes = 0: must be >= 1"});
  expect_wrong("/collectives/reduce/chunk", 4, {"/chunk = 4: key is unknown", "chunk_bytes"});
  expect_wrong("/collectives/broadcast/levels", "chan:8,flat",
               {"mine.json:/collectives/broadcast/levels", "chan"});
  expect_wrong("/collectives/all-reduce/chain_size", 4,
               {"mine.json:/collectives/all-reduce/chain_size = 4: is not an option of "
                "all-reduce/ring"});
}

TEST_F(SystemCommand, NeedsAllItsKeys) {
  for (const char* key :
       {"format", "name", "description", "paper", "section", "schedule", "stack"}) {
    nlohmann::json system = good();
    system.erase(key);
    expect_refused("system show " + file(system),
                   {std::string("mine.json:/") + key + ": is required and missing"});
  }
}

TEST(ScheduleCommand, ShowsSummaryAndSource) {
  expect_answer("schedule show sc-obr", {"sc-obr: ", "source: S-Caffe, PPoPP 2017, section 4.3"});
  const nlohmann::json shown = expect_answer("schedule show phases --json").json();
  EXPECT_EQ(shown["name"], "phases");
  expect_answer("schedule check", {"phases: ok", "sc-ob: ok", "sc-ob-naive: ok", "sc-obr: ok"});
}

}  // namespace
}  // namespace forescale::testing
