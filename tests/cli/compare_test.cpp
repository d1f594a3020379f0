// `forescale compare` as a person runs it.
#include <fmt/format.h>
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

constexpr const char* kOffers =
    "compare --platform gcp-a3-high,gcp-a3-mega --model llama-3-8b:num_hidden_layers=8 "
    "--seq 4096 --gpus 8,32 --layout tp=2,pp=1,global=64,zero=optimizer --only recompute ";

TEST(Compare, OffersForATransformerWithLayoutsDaysAndCost) {
  const Workshop workshop;
  const std::string file = workshop.path("offers.json");
  const std::string paid = std::string(kOffers) + "--tokens 1e9 --price 2,3 ";
  expect_answer(
      paid + "--within 3 -o " + file,
      {"network %", "32 GPUs: gcp-a3-mega is fastest, ", " times as fast as gcp-a3-high (",
       "gcp-a3-high: 50 % efficiency and more up to", "1e+09 tokens cost least: ",
       "of the other platforms: ", "within 3 days costs least: ", "tp=2,zero=optimizer,global=64"});
  const std::string page = workshop.path("r.html");
  expect_answer("report " + file + " -o " + page, {"1 layout prediction"});
  const auto offers = run_program(paid + "--json --no-range").json()["predictions"];
  ASSERT_EQ(offers.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& training = offers[i]["training"];
    EXPECT_EQ(offers[i]["platform"], i < 2 ? "gcp-a3-high" : "gcp-a3-mega");
    EXPECT_DOUBLE_EQ(training["cost"], (i < 2 ? 2 : 3) * training["gpu_hours"].get<double>());
  }
  // What is cheapest among those in time, by hand.
  const double days = offers[0]["training"]["days"];
  EXPECT_GT(days, offers[1]["training"]["days"].get<double>());
  expect_answer(paid + fmt::format("--no-range --within {}", days / 1.01), {" with 32 GPUs"});
  expect_answer(paid + "--no-range --within 1e-9", {"no offer is done within 1e-09 days"});
  const std::string csv = expect_answer(paid + "--no-range --csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 4);
}

TEST(Compare, OffersTakeNoOptionsOfOtherNetworksNorTheseTheirs) {
  const std::string offers = kOffers;
  expect_refused(offers + "--price 2", {"--price", "needs --tokens"});
  expect_refused(offers + "--within 2", {"--within", "needs --tokens"});
  expect_refused(offers + "--failures mtbf=1h,checkpoint=1s,restart=1s",
                 {"--failures", "needs --tokens"});
  expect_refused(offers + "--tokens 1e9 --price 1,2,3", {"--price = 1,2,3", "one for each of 2"});
  expect_refused(offers + "--tokens 1e9 --node-price 3", {"--node-price", "give --price"});
  expect_refused(offers + "--time-value 3", {"--time-value", "--within"});
  expect_refused(offers + "--system horovod-mpi", {"--system", "does not go with --layout"});
  expect_refused(
      "compare --platform dgx-h100,dgx-h100 --model llama-3-8b --gpus 8 --layout global=8",
      {"--platform = dgx-h100", "named twice"});
  for (const char* option : {"--tokens 0", "--tokens 1e9 --within 0", "--tokens 1e9 --price 0"})
    expect_refused(offers + option, {"--"});
  expect_refused(offers + "--draws 50", {"--draws", "does not go with --layout"});
  for (const char* option : {"--tokens 1", "--price 1", "--within 1", "--only tp"})
    expect_refused(std::string(kCompare) + option, {"needs --layout"});
  expect_refused("compare --platform ri2 --model alexnet --system horovod-mpi",
                 {"--batch", "is required"});
}

TEST(Compare, BadInputIsRefused) {
  expect_refused(std::string(kCompare) + "--efficiency 0", {"--efficiency", "above 0"});
  expect_refused(std::string(kCompare) + "--time-value 5", {"--time-value", "--node-price"});
  expect_refused("compare --platform kesh --model alexnet --batch 8 --system s-caffe-b",
                 {"did you mean \"kesch\""});
}

}  // namespace
}  // namespace forescale::testing
