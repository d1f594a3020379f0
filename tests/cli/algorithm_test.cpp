#include "algorithms/collective.hpp"
#include "base/error.hpp"
#include "cli/catalogue/algorithm_check.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

// Only in this test program: ranks other than the root send, and nobody receives.
OpStream send_only(CollectiveCall call, int rank) {
  if (rank != call.root && call.bytes > 0)
    co_yield Op{.kind = OpKind::kSend, .peer = call.root, .bytes = call.bytes};
}

const bool kSendOnlyRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "send-only",
                         .summary = "wrong",
                         .source = "this test",
                         .plan = send_only,
                         .closed_form = [](const CollectiveCall&, const StepCost&) {
                           return std::optional<double>();
                         }});

TEST(AlgorithmCheck, FailsForAPlanThatIsWrong) {
  ::testing::internal::CaptureStdout();
  EXPECT_THROW(check_algorithms({.op = "reduce", .algorithm = "send-only", .ranks = "2..3"}),
               CheckFailed);
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("reduce/send-only: wrong for 2 ranks, 4 bytes"), std::string::npos) << said;
}

TEST(AlgorithmCheck, SaysWhatWasCheckedBesideWhatIsWrong) {
  ::testing::internal::CaptureStdout();
  EXPECT_THROW(check_algorithms({.op = "reduce", .algorithm = "", .ranks = "4"}), CheckFailed);
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("reduce/chain: ok"), std::string::npos) << said;
  EXPECT_NE(said.find("reduce/send-only: wrong"), std::string::npos) << said;
}

TEST(AlgorithmCommand, ListsOneOperation) {
  const nlohmann::json rows = expect_answer("algorithm list --op reduce --json").json();
  bool has_cb = false;
  for (const nlohmann::json& row : rows) {
    EXPECT_EQ(row["op"], "reduce");
    if (row["algorithm"] != "cb") continue;
    has_cb = true;
    EXPECT_EQ(row["options"], nlohmann::json({"chunk-bytes", "chain-size"}));
  }
  EXPECT_TRUE(has_cb);
  expect_refused("algorithm list --op redcue", {"--op = redcue", "did you mean \"reduce\"?"});
}

// S-Caffe's equation 2: (n + P - 2) (alpha + c beta).
TEST(AlgorithmCommand, ShowsTheClosedFormOfAnExample) {
  const nlohmann::json shown =
      expect_answer(
          "algorithm show reduce chain --ranks 8 --bytes 1MiB --chunk-bytes 256KiB --alpha 2us "
          "--bandwidth 1GB/s --rank 3 --json")
          .json();
  const double expected_s = (4 + 8 - 2) * (2e-6 + 262144 / 1e9);
  EXPECT_NEAR(shown["closed_form_s"], expected_s, 1e-9 * expected_s);
  // In the middle of the chain: receive and pass on each of 4 chunks.
  ASSERT_EQ(shown["operations"].size(), 2U * 4);
  EXPECT_EQ(shown["operations"][0]["kind"], "recv_reduce");
  EXPECT_EQ(shown["operations"][0]["peer"], 4);
  EXPECT_EQ(shown["operations"][1]["kind"], "send");
  EXPECT_EQ(shown["operations"][1]["peer"], 2);
  EXPECT_FALSE(shown["has_more_operations"]);
}

TEST(AlgorithmCommand, ShowsTheFirstOperationsOfALongPlan) {
  const Outcome result = expect_answer("algorithm show all-reduce ring --ranks 4096 --rank 4095",
                                       {"plan of rank 4095, first 20 operations", "closed form:"});
  EXPECT_EQ(result.out.find("\n20 "), std::string::npos);
  EXPECT_NE(result.out.find("\n19 "), std::string::npos);
}

TEST(AlgorithmCommand, RefusesExamplesThatCannotBe) {
  const std::string chain = "algorithm show reduce chain ";
  expect_refused(chain + "--ranks 0", {"--ranks = 0: must be from 1 to 1048576"});
  expect_refused(chain + "--ranks 4 --rank 4", {"--rank = 4", "below the 4 ranks"});
  expect_refused(chain + "--ranks 4 --root 4", {"--root = 4", "below the 4 ranks"});
  expect_refused(chain + "--chunk-bytes 0", {"--chunk-bytes = 0: must be >= 1"});
  expect_refused(chain + "--chain-size 4", {"--chain-size = 4: is not an option of reduce/chain"});
  expect_refused(chain + "--alpha 1", {"--alpha = 1: needs a unit"});
}

TEST(AlgorithmCommand, ChecksPlansOverRankCounts) {
  expect_answer("algorithm check reduce chain --ranks 1..17", {"reduce/chain: ok", "1 to 17"});
  expect_answer("algorithm check all-reduce", {"all-reduce/ring: ok", "1 to 33 ranks"});
  expect_refused("algorithm check reduce chain --ranks 3..2", {"--ranks = 3..2"});
  expect_refused("algorithm check reduce chain --ranks 1..1000",
                 {"--ranks = 1000: must be from 1 to 256"});
  expect_refused("algorithm check reduce chian", {"did you mean \"chain\"?"});
}

}  // namespace
}  // namespace forescale::testing
