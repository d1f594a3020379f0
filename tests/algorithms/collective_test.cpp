#include "algorithms/collective.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "algorithms/pieces/call_pieces.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

std::string refusal_of_call(const std::string& algorithm, CollectiveCall call) {
  const Collective& collective = find_collective(CollectiveOp::kAllReduce, algorithm, "test");
  return refusal([&] { check_call(collective, call); });
}

TEST(CollectiveOps, NamesAreReadBack) {
  EXPECT_EQ(all_collective_ops().size(), 9u);
  for (const CollectiveOp op : all_collective_ops())
    EXPECT_EQ(parse_collective_op(name_of(op), "--op"), op);
  EXPECT_THAT(refusal([] { parse_collective_op("all-redcue", "--op"); }),
              ::testing::HasSubstr("--op = all-redcue: unknown; did you mean \"all-reduce\"?"));
}

TEST(CollectiveOps, FourHaveARoot) {
  int with_root = 0;
  for (const CollectiveOp op : all_collective_ops()) with_root += has_root(op) ? 1 : 0;
  EXPECT_EQ(with_root, 4);
}

TEST(FindCollective, NamesTheNearestOfTheSameOperation) {
  EXPECT_EQ(find_collective(CollectiveOp::kReduce, "cb", "--algorithm").name, "reduce/cb");
  const std::string text =
      refusal([] { find_collective(CollectiveOp::kReduce, "binomal", "--algorithm"); });
  EXPECT_THAT(text, ::testing::HasSubstr("--algorithm = binomal"));
  EXPECT_THAT(text, ::testing::HasSubstr("did you mean \"binomial\"?"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("recursive-doubling")));
}

TEST(CheckCall, NamesOptionValueAndConstraint) {
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal_of_call("ring", {.rank_count = 4, .bytes = 64}), "accepted");
  EXPECT_EQ(refusal_of_call("ring", {.rank_count = 0}), "--ranks = 0: must be >= 1");
  EXPECT_EQ(refusal_of_call("ring", {.bytes = -4}), "--bytes = -4: must be >= 0");
  EXPECT_THAT(refusal_of_call("ring", {.rank_count = 4, .root = 4}), HasSubstr("--root = 4"));
  EXPECT_THAT(refusal_of_call("ring", {.rank_count = 4, .root = -1}), HasSubstr("--root = -1"));
  EXPECT_THAT(refusal_of_call("ring", {.element_bytes = 0}), HasSubstr("--element-bytes = 0"));

  CollectiveCall call{.rank_count = 6, .bytes = 64};
  call.options = {{"chunk_bytes", -1}};
  EXPECT_EQ(refusal_of_call("reduce-broadcast", call), "--chunk-bytes = -1: must be >= 1");
  call.options = {{"chunk_bytes", 0}};
  EXPECT_EQ(refusal_of_call("reduce-broadcast", call), "accepted") << "off, as it is by default";
  call.options = {{"chain_size", 0}};
  EXPECT_EQ(refusal_of_call("hierarchical", call), "--chain-size = 0: must be >= 1");
  EXPECT_EQ(refusal_of_call("ring", call), "--chain-size: is not an option of all-reduce/ring");
  call.options = {{"chain_size", 4}};
  EXPECT_THAT(refusal_of_call("2d-ring", call), HasSubstr("--algorithm = 2d-ring: needs"));
}

TEST(CheckCall, RefusesBadLevels) {
  using ::testing::HasSubstr;
  const auto with_levels = [](const std::string& levels) {
    CollectiveCall call{.rank_count = 6, .bytes = 64};
    call.options = {{"levels", levels}};
    const Collective& collective = find_collective(CollectiveOp::kReduce, "hierarchical", "test");
    return refusal([&] { check_call(collective, call); });
  };
  EXPECT_EQ(with_levels("chain:8,chain:8,binomial"), "accepted");
  EXPECT_EQ(with_levels("flat"), "accepted");
  EXPECT_THAT(with_levels("chian:8,binomial"), HasSubstr("did you mean \"chain\"?"));
  EXPECT_THAT(with_levels("chain:0,binomial"), HasSubstr("--levels = 0"));
  EXPECT_THAT(with_levels("chain:x,binomial"), HasSubstr("--levels"));
  EXPECT_THAT(with_levels("chain,binomial"), HasSubstr("every level but the last"));
  EXPECT_THAT(with_levels("chain:8"), HasSubstr("the last none"));
  EXPECT_THAT(with_levels("chain:8,"), HasSubstr("--levels"));
}

TEST(Chunks, AreWholeElementsAndTheLastIsSmaller) {
  CollectiveCall call{.bytes = 100};
  EXPECT_EQ(chunks_of_call(call).count(), 1);
  EXPECT_EQ(chunks_of_call(call).at(0).bytes, 100);
  call.options.set("chunk_bytes", 30);  // 28 in whole elements: 28 + 28 + 28 + 16
  EXPECT_EQ(chunks_of_call(call).count(), 4);
  EXPECT_EQ(chunks_of_call(call).at(1).offset, 28);
  EXPECT_EQ(chunks_of_call(call).at(3).bytes, 100 - 3 * 28);
  call.options.set("chunk_bytes", 1);
  EXPECT_EQ(chunks_of_call(call).count(), 25);
  call.bytes = 0;
  EXPECT_EQ(chunks_of_call(call).count(), 0);
}

TEST(BufferBytes, AllToAllReceivesBehindTheVector) {
  const CollectiveCall call{.rank_count = 3, .bytes = 4 * 7};  // blocks of 3, 2, 2 elements
  EXPECT_EQ(buffer_bytes(CollectiveOp::kAllReduce, call, 0), 4 * 7);
  EXPECT_EQ(buffer_bytes(CollectiveOp::kAllToAll, call, 0), 4 * (7 + 3 * 3));
  EXPECT_EQ(buffer_bytes(CollectiveOp::kAllToAll, call, 2), 4 * (7 + 3 * 2));
}

}  // namespace
}  // namespace forescale
