// Horovod's timelines that are damaged, lack something, or are none.
#include <gmock/gmock.h>

#include "base/registry.hpp"
#include "tests/traces/horovod_files.hpp"

namespace forescale::testing::horovod {
namespace {

using ::testing::HasSubstr;

TEST(HorovodRefusals, SaysWhatIsDamagedAndWhere) {
  const std::string good = two_ranks();
  EXPECT_EQ(refusal(good), "accepted");
  EXPECT_THAT(refusal(good + "{\"ph\": \"B\", \"na"),
              HasSubstr(fmt::format("byte {}", good.size())));
  EXPECT_THAT(refusal(good + "{\"ph\": \"B\", \"na"), HasSubstr("ends within this event"));
  EXPECT_THAT(refusal(good + "{\"ph\" \"B\"},"), HasSubstr("is no JSON"));
  EXPECT_THAT(refusal(good + "{\"ph\": \"B\", \"pid\": 1, \"name\": \"\xff\"},"),
              HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(good + "7,"), HasSubstr("must be an event"));
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 299)),
              HasSubstr("is before the event above it"));
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", -1)), HasSubstr("that is not negative"));
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 1e300)), HasSubstr("beyond all times"));
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 2e15)), HasSubstr("too long after"));
  EXPECT_THAT(refusal(good + R"({"ph": "B", "name": "a", "pid": 1, "ts": NaN},)"),
              HasSubstr("is no JSON"));
  EXPECT_THAT(refusal(good + R"({"ph": "Q", "ts": 400, "pid": 1},)"), HasSubstr("is no phase"));
  EXPECT_THAT(refusal(good + R"({"ph": "B", "name": "x", "ts": 400},)"), HasSubstr("a pid"));
  EXPECT_THAT(refusal(good + end(1, 400)), HasSubstr("a: ends what has not begun"));
  EXPECT_THAT(refusal(good + tick(1, 0, 400)), HasSubstr("outside of a negotiation"));
  EXPECT_THAT(refusal(good + begin(1, "NEGOTIATE_ALLREDUCE", 400) + tick(1, -1, 400)),
              HasSubstr("must be a rank"));
  EXPECT_THAT(refusal(good + begin(1, "SLEEP", 400)), HasSubstr("is no operation of Horovod"));
  for (const char* shape : {"1;", "-3", "1,", "1 2", "x", "9999999999999999999"})
    EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 400) + end(1, 400, shape)),
                HasSubstr("must be a shape"))
        << shape;
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 400) + end(1, 400, "99999999, 99999999")),
              HasSubstr("too large a tensor"));
  EXPECT_THAT(refusal(good + begin(1, "ALLREDUCE", 400) + end(1, 400, "1", "float3")),
              HasSubstr("is no element type"));
}

TEST(HorovodRefusals, SaysWhatIsMissing) {
  const std::string good = two_ranks();
  EXPECT_THAT(refusal(good + negotiation(1, {400, 401, 402}) +
                      begin(1, "NEGOTIATE_ALLREDUCE", 403) + tick(1, 4, 404)),
              HasSubstr("ranks up to 4, but none of rank 3"));
  EXPECT_THAT(refusal(good + named(3, "c") + negotiation(3, {400, 401}) +
                      begin(3, "ALLREDUCE", 402) + end(3, 403)),
              HasSubstr("lacks the sizes of 1 of 3 tensors, c first"));
  EXPECT_THAT(refusal(timeline(named(1, "a") + operation(1, 0, 10, "1"))),
              HasSubstr("HOROVOD_CACHE_CAPACITY=0"));
  EXPECT_THAT(refusal(timeline("")), HasSubstr("holds no operation"));
  EXPECT_THAT(testing::refusal([] {
                const TraceFolder folder;
                const std::string file = folder.write("a.json", two_ranks());
                import_trace({file, file}, {});
              }),
              HasSubstr("holds all ranks"));
}

TEST(HorovodRefusals, HoldsDepthAndLengthInBounds) {
  const std::string open = timeline(named(1, "a"));
  EXPECT_THAT(refusal(open + std::string(10'000'000, '[')), HasSubstr("must be an event"));
  EXPECT_THAT(refusal(open + std::string(10'000'000, '{')), HasSubstr("more than 1 MiB"));
  EXPECT_THAT(refusal(open + "{\"a\": \"" + std::string(10'000'000, 'x')),
              HasSubstr("more than 1 MiB"));
  std::string deep = open + negotiation(1, {0, 0}) + begin(1, "ALLREDUCE", 0);
  for (int depth = 0; depth < 100'000; ++depth) deep += begin(1, "QUEUE", 1);
  for (int depth = 0; depth < 100'000; ++depth) deep += end(1, 2);
  EXPECT_EQ(import(deep + end(1, 3, "1")).found.collectives.at("all-reduce").bytes, 2 * 4.0);
  EXPECT_THAT(refusal(deep), HasSubstr("holds no operation"));
}

TEST(HorovodRefusals, IsNotTakenForOthersArrays) {
  const TraceFormat& format = Registry<TraceFormat>::find("horovod", "test");
  EXPECT_TRUE(format.detects("t.json", two_ranks()));
  EXPECT_TRUE(format.detects("t.json", "[\n" + named(1, "a") + negotiation(1, {0})));
  EXPECT_FALSE(format.detects(
      "t.json",
      R"([{"name": "a", "ph": "X", "ts": 1, "dur": 2, "tid": 1, "pid": "CPU functions"}])"));
  EXPECT_FALSE(format.detects("t.json", "[\n" + named(1, "GPU 0")));
  EXPECT_FALSE(format.detects("t.json", R"({"traceEvents": ["NEGOTIATE_ALLREDUCE"]})"));
}

}  // namespace
}  // namespace forescale::testing::horovod
