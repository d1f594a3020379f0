// The shipped files are what their scripts make of the rows of public tables that they name.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace forescale {
namespace {

const std::string kSource = FORESCALE_SOURCE_DIR;

void expect_unchanged(const std::string& script, const std::string& tables = "") {
  const std::string command = "python3 " + kSource + "/" + script + " " +
                              (tables.empty() ? "" : kSource + "/tests/" + tables) + " --check";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(Rebuild, ComputeTimesAreThoseOfThePublicTables) {
  expect_unchanged("models/compute/times/rebuild.py", "models/data/tables");
}

TEST(Rebuild, KernelMeasurementsAreThoseOfThePublicTables) {
  expect_unchanged("calibrate/published_gpus/rebuild.py", "calibrate/data/published_gpus");
}

TEST(Rebuild, NcclStacksAreThoseOfItsEstimates) {
  expect_unchanged("models/stacks/rebuild_nccl.py");
}

}  // namespace
}  // namespace forescale
