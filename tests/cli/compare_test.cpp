// `forescale compare` as a person runs it.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

constexpr const char* kCompare =
    "compare --platform ri2,owens --system horovod-mpi-opt --model alexnet --batch 32 "
    "--scaling weak --gpus 1,4 --no-range ";

TEST(Compare, PutsContendersSideBySideAndAnswers) {
  const Workshop workshop;
  const std::string file = workshop.path("c.json");
  expect_answer(std::string(kCompare) + "--node-price 10 --time-value 100 -o " + file,
                {"ri2 images/s", "owens images/s", "stops paying", "costs least",
                 "the most that were asked for", "network is not the bottleneck", "1 % faster",
                 "GPU compute"});
  // The page draws what was compared.
  const std::string page = workshop.path("r.html");
  expect_answer("report " + file + " -o " + page, {"1 comparison"});
}

TEST(Compare, IsAlsoForSpreadsheets) {
  const std::string csv =
      expect_answer(std::string(kCompare) + "--csv --no-sensitivity --no-network").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4);
}

TEST(Compare, BadInputIsRefused) {
  expect_refused(std::string(kCompare) + "--efficiency 0", {"--efficiency", "above 0"});
  expect_refused(std::string(kCompare) + "--time-value 5", {"--time-value", "--node-price"});
  expect_refused("compare --platform kesh --model alexnet --batch 8 --system s-caffe-b",
                 {"did you mean \"kesch\""});
}

}  // namespace
}  // namespace forescale::testing
