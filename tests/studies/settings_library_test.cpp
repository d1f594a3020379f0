// Every algorithm that is offered for Open MPI and MPICH, in the real library: its messages are
// those of the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/scratch_folder.hpp"
#include "studies/settings/settings.hpp"
#include "studies/settings/settings_verify.hpp"
#include "tests/calibrate/mpi_here.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::mpi_obstacle;

// The least sizes, a whole number of elements on 2, 3, 4 and 6 ranks: MPICH's ranks spin, and take
// the cores from each other, in every message.
constexpr std::int64_t kLeast_bytes = 3 << 10;
constexpr std::int64_t kLeastOfSegments_bytes = 48 << 10;

// The algorithms of an operation that run on so many ranks, one for each doubling of the size.
void add_regions(const SettingsFormat& format, CollectiveOp op, int ranks, std::int64_t bytes,
                 TunedSettings& settings) {
  for (const LibraryAlgorithm& algorithm : format.algorithms(op)) {
    // One size of segments is as good as another.
    if (!algorithm.refuse(ranks, bytes).empty()) continue;
    if (algorithm.segment_bytes != 0 && algorithm.segment_bytes != 16 << 10) continue;
    settings.regions.push_back({.op = op,
                                .ranks = ranks,
                                .from_bytes = bytes,
                                .to_bytes = 2 * bytes - 1,
                                .chosen = algorithm});
    bytes *= 2;
  }
}

std::vector<std::string> command(const std::string& library, int ranks,
                                 const std::vector<std::string>& more) {
  std::vector<std::string> words = loopback_command(library, ranks);
  words.insert(words.end(), more.begin(), more.end());
  words.push_back(mpi_program(library, FORESCALE_PROGRAM));
  return words;
}

Verification verified(const std::string& text, const std::string& library,
                      const VerifyRequest& request, const std::vector<std::string>& more = {}) {
  const ScratchFolder folder("settings");
  std::ofstream(folder.file("settings"), std::ios::binary) << text;
  return verify_settings(SettingsFile(folder.file("settings")), request,
                         command(library, request.ranks, more), {});
}

// The messages are those of the plan, or the library's own where the file leaves it the choice.
void expect_right(const VerifiedSize& row) {
  EXPECT_TRUE(row.proof == RuleProof::kActed || row.proof == RuleProof::kAsWithout)
      << name_of(row.op) << " of " << row.bytes << " B by " << row.rule.text << ": "
      << name_of(row.proof) << ", " << row.evidence;
}

// Of operations with up to `sizes` algorithms.
void expect_every_algorithm_acts(const std::string& format_name, const std::string& library,
                                 int ranks, std::int64_t least_bytes, int sizes) {
  const SettingsFormat& format = Registry<SettingsFormat>::find(format_name, "--emit");
  TunedSettings settings;
  for (const CollectiveOp op : all_collective_ops())
    add_regions(format, op, ranks, least_bytes, settings);
  std::vector<std::int64_t> all_sizes;
  for (int i = 0; i < sizes; ++i) all_sizes.push_back(least_bytes << i);
  const Verification verification =
      verified(emit_settings(format, settings), library,
               {.ops = {CollectiveOp::kReduce, CollectiveOp::kBroadcast, CollectiveOp::kAllReduce,
                        CollectiveOp::kAllGather},
                .ranks = ranks,
                .sizes = all_sizes,
                .budget_s = 0});
  EXPECT_FALSE(verification.counted_by.empty());
  EXPECT_TRUE(verification.is_proven());
  std::size_t with_plan = 0;
  for (const VerifiedSize& row : verification.rows) {
    expect_right(row);
    if (row.rule.algorithm) ++with_plan;
  }
  EXPECT_GE(with_plan, 5U);
}

class RealLibrary : public ::testing::TestWithParam<int> {};

TEST_P(RealLibrary, OpenMpiSendsWhatThePlansSend) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  expect_every_algorithm_acts("openmpi-rules", "openmpi", GetParam(), kLeastOfSegments_bytes, 4);
}

TEST_P(RealLibrary, MpichSendsWhatThePlansSend) {
  if (!mpi_obstacle("mpich").empty()) GTEST_SKIP() << mpi_obstacle("mpich");
  expect_every_algorithm_acts("mpich-json", "mpich", GetParam(), kLeast_bytes, 2);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RealLibrary, ::testing::Values(2, 3, 6, 8));

// Both operations whose buffers are not vectors alone; four ranks.
TEST(RealLibrary, ScattersAndExchangesBlocks) {
  for (const auto& [name, library] :
       {std::pair<std::string, std::string>{"openmpi-rules", "openmpi"}, {"mpich-json", "mpich"}}) {
    if (!mpi_obstacle(library).empty()) GTEST_SKIP() << mpi_obstacle(library);
    const SettingsFormat& format = Registry<SettingsFormat>::find(name, "--emit");
    TunedSettings settings;
    std::vector<CollectiveOp> ops;
    for (const CollectiveOp op : {CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll}) {
      if (format.algorithms(op).empty()) continue;
      add_regions(format, op, 4, kLeast_bytes, settings);
      ops.push_back(op);
    }
    const Verification verification = verified(
        emit_settings(format, settings), library,
        {.ops = ops, .ranks = 4, .sizes = {kLeast_bytes, 2 * kLeast_bytes}, .budget_s = 0});
    for (const VerifiedSize& row : verification.rows) expect_right(row);
  }
}

TEST(RealLibrary, ShowsARuleThatDoesNotAct) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const VerifyRequest request = {
      .ops = {CollectiveOp::kAllReduce}, .ranks = 3, .sizes = {kLeast_bytes}, .budget_s = 0};
  // Another component goes first.
  const Verification passed_over =
      verified("1 2 1 0 1 0 4 0 0", "openmpi", request, {"--mca", "coll_tuned_priority", "0"});
  EXPECT_EQ(passed_over.rows.front().proof, RuleProof::kDidNotAct);
  EXPECT_THAT(passed_over.rows.front().evidence, HasSubstr("; planned 12 messages"));
  EXPECT_FALSE(passed_over.is_proven());
  // On three ranks Rabenseifner's folds halves of vectors, which no plan does.
  const Verification unplanned = verified("1 2 1 0 1 0 6 0 0", "openmpi", request);
  EXPECT_EQ(unplanned.rows.front().proof, RuleProof::kActedUnplanned);
  EXPECT_THAT(unplanned.rows.front().evidence, HasSubstr("power of two"));
}

TEST(RealLibrary, IsNotGivenAFileThatItWouldIgnore) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const VerifyRequest request = {
      .ops = {CollectiveOp::kAllReduce}, .ranks = 2, .sizes = {kLeast_bytes}, .budget_s = 0};
  try {
    const Verification verification =
        verified("rule-file-version-2\n1 2 1 0 1 0 4 0 0", "openmpi", request);
    EXPECT_NE(verification.library.rfind("Open MPI 4.", 0), 0U);
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("ignore the file"));
  }
}

TEST(RealLibrary, EndsWithATreeThatItCannotFollow) {
  if (!mpi_obstacle("mpich").empty()) GTEST_SKIP() << mpi_obstacle("mpich");
  SelectionTree tree = mpich_default_tree();
  tree["collective=allreduce"]["comm_type=intra"] = {
      {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast", SelectionTree::object()}};
  EXPECT_THROW(
      verified(
          tree.dump(), "mpich",
          {.ops = {CollectiveOp::kAllReduce}, .ranks = 2, .sizes = {kLeast_bytes}, .budget_s = 0}),
      CheckFailed);
}

TEST(VerifySettings, RoundsSizesThatMpiCannotCut) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Verification verification = verified("1 0 1 0 1 0 4 0 0", "openmpi",
                                             {.ops = {CollectiveOp::kAllGather},
                                              .ranks = 3,
                                              .sizes = {8, 3072, 3076, 65536},
                                              .budget_s = 0});
  ASSERT_EQ(verification.rows.size(), 2U);  // 8 B are less than a number a rank
  EXPECT_EQ(verification.rows[0].bytes, 3072);
  EXPECT_EQ(verification.rows[1].bytes, 65532);
}

}  // namespace
}  // namespace forescale
