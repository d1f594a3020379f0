// What all catalogue commands have in common: verbs, help, three forms of output, one bad file
// among good ones.
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

class EveryCatalogue : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryCatalogue, ListsTheSameRowsInAllForms) {
  const std::string list = std::string(GetParam()) + " list";
  const nlohmann::json rows = expect_answer(list + " --json").json();
  const std::string table = expect_answer(list).out;
  const std::string csv = expect_answer(list + " --csv").out;
  ASSERT_TRUE(rows.is_array());
  // A heading and a line a row; sources have no line breaks.
  EXPECT_EQ(static_cast<size_t>(std::count(csv.begin(), csv.end(), '\n')), rows.size() + 1);
  for (const nlohmann::json& row : rows) {
    const std::string name = row.value("name", row.value("algorithm", ""));
    EXPECT_FALSE(name.empty()) << row;
    EXPECT_NE(table.find(name), std::string::npos) << name;
    EXPECT_NE(csv.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(table, run_program(list).out);  // the same bytes again
}

TEST_P(EveryCatalogue, HelpHasExamplesOfEveryVerb) {
  const std::string command = GetParam();
  expect_answer(command + " --help", {"Examples:\n  forescale " + command});
  for (const std::string verb : {"list", "show", "check"})
    expect_answer(command + " " + verb + " --help",
                  {"Examples:\n  forescale " + command + " " + verb});
}

TEST_P(EveryCatalogue, NeedsAVerb) { expect_refused(GetParam(), {"subcommand is required"}); }

TEST_P(EveryCatalogue, NeedsANameToShow) {
  expect_refused(std::string(GetParam()) + " show", {"is required"});
}

TEST_P(EveryCatalogue, ChecksItsOwnFiles) {
  // Rank counts make an algorithm's check long; its own test covers them.
  const bool is_algorithm = std::string(GetParam()) == "algorithm";
  const Outcome result =
      expect_answer(std::string(GetParam()) + " check" + (is_algorithm ? " --ranks 5,8" : ""));
  EXPECT_EQ(result.out.find('\033'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Commands, EveryCatalogue,
                         ::testing::Values("platform", "model", "stack", "schedule", "system",
                                           "algorithm"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Catalogue, MisspeltOptionsAreAnsweredWithTheNearest) {
  expect_refused("model list --jsn", {"--jsn", "did you mean --json?"});
  expect_refused("platform show kesch --source", {"--source", "did you mean --sources?"});
}

TEST(Catalogue, MisspeltNamesAreAnsweredWithTheNearest) {
  expect_refused("platform show keshc", {"keshc", "did you mean \"kesch\"?"});
  expect_refused("model show alxnet", {"alxnet", "did you mean \"alexnet\"?"});
  expect_refused("stack show idael", {"idael", "did you mean \"ideal\"?"});
  expect_refused("schedule show sc-obrr", {"sc-obrr", "did you mean \"sc-obr\"?"});
  expect_refused("algorithm show all-reduce rign", {"rign", "did you mean \"ring\"?"});
  expect_refused("algorithm show redcue chain", {"redcue", "did you mean \"reduce\"?"});
}

// One broken file neither hides the good ones nor passes.
TEST(Catalogue, ListsWhatIsGoodAndFailsForWhatIsBad) {
  const Workshop workshop;
  const std::string ideal = text_of(source_file("models/stacks/ideal.json"));
  workshop.file("models/stacks/ideal.json", ideal);
  workshop.file("models/stacks/cut.json", ideal.substr(0, ideal.size() / 2));
  const Outcome result = run_program("stack list", "FORESCALE_DATA=" + workshop.path(""));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.out.find("ideal"), std::string::npos);
  EXPECT_NE(result.err.find("cut.json: must be complete JSON: the text ends too early"),
            std::string::npos)
      << result.err;
}

TEST(Catalogue, ChecksAllNamesBeforeItFails) {
  const Outcome result = run_program("schedule check sc-obx sc-ob phses sc-obr");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.out.find("sc-ob: ok"), std::string::npos);
  EXPECT_NE(result.out.find("sc-obr: ok"), std::string::npos);
  for (const char* part : {"= sc-obx: unknown", "= phses: unknown", "2 of 4 are bad"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

// A terminal gets bold headings, unless NO_COLOR says otherwise; a pipe never does.
TEST(Catalogue, ColourIsForTerminalsOnly) {
  const auto on_a_terminal = [](const std::string& environment) {
    const std::string program = std::string(FORESCALE_PROGRAM) + " schedule list";
    const Workshop workshop;
    const std::string file = workshop.path("typescript");
    const std::string command =
        environment + " script -qec '" + program + "' " + file + " >/dev/null 2>&1 </dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return text_of(file);
  };
  EXPECT_EQ(expect_answer("schedule list").out.find('\033'), std::string::npos);
  if (std::system("command -v script >/dev/null") != 0) GTEST_SKIP() << "no script(1) here";
  EXPECT_NE(on_a_terminal("env -u NO_COLOR").find("\033[1mschedule"), std::string::npos);
  const std::string plain = on_a_terminal("NO_COLOR=1");
  EXPECT_NE(plain.find("schedule"), std::string::npos);
  EXPECT_EQ(plain.find("\033[1m"), std::string::npos);
}

}  // namespace
}  // namespace forescale::testing
