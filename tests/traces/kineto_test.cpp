// Timelines of PyTorch's profiler that are damaged, or do not fit together.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sstream>

#include "base/registry.hpp"
#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kEnd = R"({"ph":"M","name":"end"}]})";

std::string head(int rank, int world) {
  return fmt::format(R"({{"distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[)", rank,
                     world);
}

std::string all_reduce(std::int64_t elements, double begin_us, const std::string& more = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING_LL_Sum_float","tid":1,)"
      R"("ts":{},"dur":10,"args":{{"stream":1,"In msg nelems":{},"dtype":"Float"{}}}}},)",
      begin_us, elements, more);
}

ImportedTrace import_kineto(const std::vector<std::string>& files,
                            const ImportOptions& options = {}) {
  return Registry<TraceFormat>::find("kineto", "test").import(files, options);
}

std::string refusal_of_text(const std::string& text) {
  const TraceFolder folder;
  const std::string file = folder.write("t.json", text);
  return refusal([&] { import_kineto({file}); });
}

TEST(Kineto, SaysWhereAFileIsDamaged) {
  const std::string good = head(0, 1) + all_reduce(8, 0);
  EXPECT_EQ(refusal_of_text(good + kEnd), "accepted");
  EXPECT_THAT(refusal_of_text(good), HasSubstr("ends"));
  EXPECT_THAT(refusal_of_text(good + "{\"ph\":\"X\""), HasSubstr("ends within the value"));
  EXPECT_THAT(refusal_of_text(good + "{\"ph\" \"X\"}" + kEnd), HasSubstr("byte"));
  EXPECT_THAT(refusal_of_text(good + "7," + kEnd), HasSubstr("must be an event"));
  EXPECT_THAT(refusal_of_text(good + R"({"ph":"X","ts":1},)" + kEnd), HasSubstr("name"));
  EXPECT_THAT(refusal_of_text(good + R"({"ph":"X","name":"a"},)" + kEnd), HasSubstr("ts"));
  EXPECT_THAT(refusal_of_text(good + R"({"ph":"X","name":"a","ts":1e300},)" + kEnd),
              HasSubstr("beyond all times"));
  EXPECT_THAT(refusal_of_text(good + R"({"ph":"X","name":"a","ts":5,"dur":-1},)" + kEnd),
              HasSubstr("dur: must be >= 0"));
  EXPECT_THAT(refusal_of_text(good + "{\"ph\":\"X\",\"name\":\"\xff\xfe\",\"ts\":1}," + kEnd),
              HasSubstr("UTF-8"));
  EXPECT_THAT(refusal_of_text(head(0, 1) + kEnd), HasSubstr("no complete events"));
}

TEST(Kineto, HoldsDeepValuesInBounds) {
  const std::string deep(10'000'000, '[');
  EXPECT_THAT(refusal_of_text(head(0, 1) + deep), HasSubstr("ends within"));
  EXPECT_THAT(refusal_of_text(head(0, 1) + deep + std::string(deep.size(), ']') + "]}"),
              HasSubstr("is no JSON"));
}

TEST(Kineto, RanksMustBeThereAndAgree) {
  const TraceFolder folder;
  const auto rank = [&](int number, int world, const std::string& events) {
    return folder.write(fmt::format("r{}.json", number), head(number, world) + events + kEnd);
  };
  const std::string zero = rank(0, 3, all_reduce(8, 0) + all_reduce(16, 20));
  const std::string one = rank(1, 3, all_reduce(8, 5) + all_reduce(16, 25));
  EXPECT_THAT(refusal([&] { import_kineto({zero, one}); }), HasSubstr("missing: 2"));
  EXPECT_THAT(refusal([&] { import_kineto({zero, zero}); }), HasSubstr("is of rank 0, and so is"));
  const std::string other = rank(2, 3, all_reduce(8, 0) + all_reduce(20, 20));
  EXPECT_THAT(refusal([&] {
                import_kineto({zero, one, other});
              }),
              HasSubstr("is collective 1 of its group; in"));
  const std::string fewer = rank(2, 3, all_reduce(8, 0));
  EXPECT_THAT(refusal([&] {
                import_kineto({zero, one, fewer});
              }),
              HasSubstr("must cover the same steps"));
  const std::string two = rank(2, 3, all_reduce(8, 100) + all_reduce(16, 120));
  const ImportedTrace imported = import_kineto({two, zero, one});
  EXPECT_EQ(imported.found.collectives.at("all-reduce").count, 6U);
  EXPECT_EQ(imported.found.collectives.at("all-reduce").bytes, 3 * 4 * (8 + 16));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("rank 1 5 us, rank 2 100 us")));
}

TEST(Kineto, OneRankStandsForAllOnlyWhereAllDoTheSame) {
  const TraceFolder folder;
  const std::string whole = folder.write("a.json", head(0, 4) + all_reduce(8, 0) + kEnd);
  EXPECT_EQ(import_kineto({whole}).program.ranks.size(), 4U);
  EXPECT_EQ(import_kineto({whole}, {.ranks = 64}).program.ranks.size(), 64U);
  const std::string part = folder.write(
      "b.json",
      head(0, 4) + all_reduce(8, 0, R"(,"Process Group Name":"1","Process Group Ranks":"[0, 1]")") +
          kEnd);
  EXPECT_THAT(refusal([&] { import_kineto({part}); }), HasSubstr("is a group of 2 of 4 ranks"));
}

TEST(Kineto, EveryMemberOfAGroupCallsItsCollectives) {
  const TraceFolder folder;
  const auto group = [](const char* ranks) {
    return fmt::format(R"(,"Process Group Name":"g","Process Group Ranks":"{}")", ranks);
  };
  const auto both = [&](const std::string& zero, const std::string& one) {
    return refusal([&] {
      import_kineto({folder.write("0.json", head(0, 2) + zero + kEnd),
                     folder.write("1.json", head(1, 2) + one + kEnd)});
    });
  };
  const std::string plain = all_reduce(8, 0);
  EXPECT_THAT(both(plain, plain + all_reduce(8, 30, group("[1]"))), "accepted");
  EXPECT_THAT(both(plain, plain + all_reduce(8, 30, R"(,"Process Group Name":"other")")),
              HasSubstr("must cover the same steps"));
  EXPECT_THAT(both(plain + all_reduce(8, 30, group("[1]")), plain),
              HasSubstr("is a group that this rank is not in"));
  EXPECT_THAT(both(plain + all_reduce(8, 30, group("[0, 7]")), plain), HasSubstr("below 2"));
}

TEST(Kineto, LongNamesAreCutBetweenCharacters) {
  const TraceFolder folder;
  std::string name(79, 'k');
  for (int i = 0; i < 3; ++i) name += "\u00e9";
  const std::string file = folder.write(
      "a.json", head(0, 1) +
                    fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","tid":1,"ts":0,"dur":1,)"
                                R"("args":{{"stream":1}}}},)",
                                name) +
                    kEnd);
  std::ostringstream text;
  write_program(import_kineto({file}).program, text);
  EXPECT_NE(text.str().find(std::string(79, 'k')), std::string::npos);
}

TEST(Kineto, AllToAllsAreMessagesOfNcclUnderTheirAnnotation) {
  const TraceFolder folder;
  const std::string launch =
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,"ts":5,"dur":1,)"
      R"("args":{"correlation":9}},)";
  const std::string annotation =
      R"({"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","tid":1,"ts":0,"dur":10,)"
      R"("args":{"Input Dims":[[2,1024]],"Input type":["c10::BFloat16"]}},)";
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"ncclKernel_SendRecv_RING_SIMPLE","tid":1,"ts":8,)"
      R"("dur":50,"args":{"stream":3,"correlation":9}},)";
  const ImportedTrace imported =
      import_kineto({folder.write("a.json", head(0, 2) + kernel + launch + annotation + kEnd)});
  EXPECT_EQ(imported.found.collectives.at("all-to-all").bytes, 2 * 1024 * 2);
  const ImportedTrace without =
      import_kineto({folder.write("b.json", head(0, 2) + kernel + launch + kEnd)});
  EXPECT_TRUE(without.found.collectives.empty());
  EXPECT_THAT(without.notes, Contains(HasSubstr("1 sends and receives of NCCL keep")));
}

}  // namespace
}  // namespace forescale::testing
