#include "base/data_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/scratch_folder.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

TEST(DataFiles, CatalogueIsSortedAndWithoutSchemas) {
  const std::vector<std::string> stacks = catalogue("models/stacks");
  EXPECT_TRUE(std::is_sorted(stacks.begin(), stacks.end()));
  EXPECT_EQ(std::count(stacks.begin(), stacks.end(), "ideal"), 1);
  EXPECT_TRUE(catalogue("no/such/folder").empty());
}

TEST(DataFiles, NameIsAFileOfTheCatalogueOrAPath) {
  const std::string ideal = find_data_file("models/stacks", "ideal", "--stack");
  EXPECT_TRUE(std::filesystem::is_regular_file(ideal));
  EXPECT_EQ(find_data_file("elsewhere", ideal, "--stack"), ideal);
}

TEST(DataFiles, ErrorsNameOptionAndNearest) {
  EXPECT_THAT(refusal([] { find_data_file("models/stacks", "idael", "--stack"); }),
              HasSubstr("--stack = idael: unknown; did you mean \"ideal\"?"));
  EXPECT_EQ(refusal([] { find_data_file("models/stacks", "./ideal.json", "--stack"); }),
            "--stack = ./ideal.json: no such file");
  EXPECT_EQ(refusal([] { find_data_file("models/stacks", "models/stacks", "--stack"); }),
            "--stack = models/stacks: no such file");
}

TEST(DataFiles, EnvironmentChoosesAnotherRoot) {
  const ScratchFolder folder("data");
  const std::filesystem::path root = folder.path();
  std::filesystem::create_directories(root / "models/stacks");
  std::ofstream(root / "models/stacks/mine.json") << "{}";
  std::ofstream(root / "models/stacks/stack.schema.json") << "{}";
  std::ofstream(root / "models/stacks/notes.txt") << "";
  setenv("FORESCALE_DATA", root.c_str(), 1);
  EXPECT_EQ(catalogue("models/stacks"), (std::vector<std::string>{"mine"}));
  EXPECT_EQ(find_data_file("models/stacks", "mine", "--stack"),
            (root / "models/stacks/mine.json").string());
  EXPECT_THAT(refusal([] { find_data_file("models/stacks", "ideal", "--stack"); }),
              HasSubstr("one of: mine"));
  unsetenv("FORESCALE_DATA");
}

}  // namespace
}  // namespace forescale
