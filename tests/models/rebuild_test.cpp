// The shipped files are what their scripts make, those of public tables where these are at hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace forescale {
namespace {

const std::string kSource = FORESCALE_SOURCE_DIR;
const std::string kTables = kSource + "/../shared/data";

void expect_unchanged(const std::string& script, const std::string& tables) {
  if (!std::filesystem::exists(tables))
    GTEST_SKIP() << "no public tables at " << tables << " to rebuild from";
  const std::string command = "python3 " + kSource + "/" + script + " " + tables + " --check";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(Rebuild, ComputeTimesAreThoseOfThePublicTables) {
  expect_unchanged("models/compute/times/rebuild.py", kTables);
}

TEST(Rebuild, KernelMeasurementsAreThoseOfThePublicTables) {
  expect_unchanged("calibrate/published_gpus/rebuild.py", kTables + "/single_gpu");
}

TEST(Rebuild, NcclStacksAreThoseOfItsEstimates) {
  const std::string command = "python3 " + kSource + "/models/stacks/rebuild_nccl.py --check";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace forescale
