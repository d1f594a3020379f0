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
  const auto part = [&](const char* members) {
    return folder.write("b.json", head(0, 4) +
                                      all_reduce(8, 0,
                                                 fmt::format(R"(,"Process Group Name":"1",)"
                                                             R"("Process Group Ranks":"{}")",
                                                             members)) +
                                      kEnd);
  };
  const ImportedTrace pairs = import_kineto({part("[0, 1]")});
  EXPECT_EQ(pairs.program.ranks.size(), 4U);
  EXPECT_THAT(pairs.notes, Contains(HasSubstr("by symmetry: in the grid 2 x 2")));
  EXPECT_THAT(refusal([&] { import_kineto({part("[0, 1]")}, {.ranks = 8}); }),
              HasSubstr("is a group of 2 of 4 ranks"));
  for (const char* members : {"[0, 3]", "[0, 0]"})
    EXPECT_THAT(refusal([&] { import_kineto({part(members)}); }),
                HasSubstr("every rank's trace is needed"))
        << members;
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

// Nothing but the sizes says of how many ranks: an output of 8 times the input is one of 8.
TEST(Kineto, SizesSayHowManyRanksAGroupHas) {
  const TraceFolder folder;
  const auto kernel = [](const char* op, int in, int out, int at_us) {
    return fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_{0}","tid":1,"ts":{3},"dur":20,)"
        R"("args":{{"stream":3,"Collective name":"{0}","In msg nelems":{1},)"
        R"("Out msg nelems":{2},"dtype":"Float"}}}},)",
        op, in, out, at_us);
  };
  const ImportedTrace imported =
      import_kineto({folder.write("a.json", head(9, 16) + kernel("_allgather_base", 100, 800, 0) +
                                                kernel("_reduce_scatter_base", 400, 100, 50) +
                                                kernel("_allgather_base", 100, 1600, 100) + kEnd)});
  ASSERT_EQ(imported.found.groups.size(), 3U);
  std::map<size_t, std::vector<int>> by_size;
  for (const GroupVolume& of_group : imported.found.groups)
    by_size[of_group.ranks.size()] = of_group.ranks;
  EXPECT_EQ(by_size.at(8), (std::vector<int>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(by_size.at(4), (std::vector<int>{8, 9, 10, 11}));
  EXPECT_EQ(by_size.at(16).size(), 16U);
  EXPECT_THAT(imported.notes, Contains(HasSubstr("are of 8 ranks, which the trace does not name")));
}

// Between the stages of a pipeline: a send and its receive are one message.
TEST(Kineto, SendsAndReceivesAreMessages) {
  const TraceFolder folder;
  const auto message = [](const char* what, const char* peer, double begin_us) {
    return fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","tid":1,"ts":{},)"
        R"("dur":20,"args":{{"stream":3,"Collective name":"{}","In msg nelems":500,)"
        R"("Out msg nelems":500,"dtype":"BFloat16","Group size":2,"Process Group Name":"5",)"
        R"("{} Rank":{}}}}},)",
        begin_us, what, peer[0] == 'd' ? "Dst" : "Src", peer[1]);
  };
  const std::string zero = folder.write(
      "0.json", head(0, 3) + message("send", "d1", 0) + message("recv", "s1", 90) + kEnd);
  const std::string one =
      folder.write("1.json", head(1, 3) + message("recv", "s0", 0) + message("send", "d2", 30) +
                                 message("recv", "s2", 60) + message("send", "d0", 90) + kEnd);
  const std::string two = folder.write(
      "2.json", head(2, 3) + message("recv", "s1", 30) + message("send", "d1", 60) + kEnd);
  const ImportedTrace imported = import_kineto({zero, one, two});
  EXPECT_EQ(imported.found.messages.count, 4U);
  EXPECT_EQ(imported.found.messages.bytes, 4 * 500 * 2);
  EXPECT_TRUE(imported.found.collectives.empty());
  EXPECT_EQ(imported.found.kernels, 0U);
  std::map<int, std::vector<std::pair<int, int>>> calls;  // of rank 1: from, to, by communicator
  for (const ProgramThread& thread : imported.program.ranks[1].threads)
    for (const Action& action : thread.actions)
      if (const auto* step = std::get_if<CollectiveStep>(&action.what)) {
        const int from = (*step->group)[static_cast<size_t>(step->root)];
        const int to = (*step->group)[static_cast<size_t>(1 - step->root)];
        calls[step->communicator].emplace_back(from, to);
      }
  std::vector<std::pair<int, int>> of_rank_1;
  for (const auto& [communicator, of_it] : calls) {
    EXPECT_EQ(of_it.size(), 1U);
    of_rank_1.push_back(of_it.front());
  }
  EXPECT_THAT(of_rank_1, ::testing::UnorderedElementsAre(std::pair(0, 1), std::pair(1, 2),
                                                         std::pair(2, 1), std::pair(1, 0)));
  // Stages differ: one cannot stand for the others; and a message needs its other end.
  EXPECT_THAT(refusal([&] { import_kineto({one}); }), HasSubstr("between stages of a pipeline"));
  const std::string silent = folder.write("3.json", head(2, 3) + message("recv", "s1", 30) + kEnd);
  EXPECT_THAT(refusal([&] {
                import_kineto({zero, one, silent});
              }),
              HasSubstr("must cover the same steps"));
}

TEST(Kineto, KernelsOfOtherLibrariesAreCollectives) {
  const TraceFolder folder;
  const auto kernel = [](const char* name, int stream) {
    return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","tid":1,"ts":{},"dur":50,)"
                       R"("args":{{"stream":{},"correlation":{}}}}},)",
                       name, 100 * stream, stream, stream) +
           fmt::format(R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,)"
                       R"("ts":{},"dur":1,"args":{{"correlation":{}}}}},)",
                       10 * stream, stream);
  };
  const std::string file = folder.write(
      "a.json",
      head(0, 8) + kernel("void deep_ep::internode::notify_dispatch<false, 8>(int const*)", 1) +
          kernel("void deep_ep::internode::dispatch<false, 8, true, 8>(int4*)", 2) +
          kernel("void deep_ep::internode::combine<false, 8, __nv_bfloat16>(int4*)", 3) +
          kernel("void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(int)", 4) +
          R"({"ph":"X","cat":"cpu_op","name":"_C_custom_ar::all_reduce","tid":1,"ts":39,"dur":5,)"
          R"("args":{"Input Dims":[[64,1024],[],[64,1024]],"Input type":["c10::BFloat16","Scalar",)"
          R"("c10::BFloat16"]}},)" +
          kernel("void cub::DispatchReduceByKey<long>(int)", 5) + kEnd);
  EXPECT_THAT(refusal([&] { import_kineto({file}); }),
              HasSubstr("1 of combine, 1 of dispatch: without a size"));
  const ImportedTrace sized =
      import_kineto({file}, {.sizes = {{"dispatch", 1000}, {"combine", 3000}}});
  EXPECT_EQ(sized.found.collectives.at("all-to-all").count, 2U);
  EXPECT_EQ(sized.found.collectives.at("all-to-all").bytes, 4000);
  EXPECT_EQ(sized.found.collectives.at("all-reduce").count, 2U);
  EXPECT_EQ(sized.found.collectives.at("all-reduce").bytes, 4 + 64 * 1024 * 2);
  EXPECT_EQ(sized.found.kernels, 1U);
  const ImportedTrace kept =
      import_kineto({file}, {.sizes = {{"dispatch", 1000}, {"combine", std::nullopt}}});
  EXPECT_EQ(kept.found.collectives.at("all-to-all").count, 1U);
  EXPECT_EQ(kept.found.kernels, 1U);
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
  EXPECT_THAT(without.notes, Contains(HasSubstr("of 1 kernels of NCCL the trace does not say")));
  EXPECT_EQ(without.found.kernels, 0U);
  ASSERT_EQ(without.program.ranks.size(), 2U);  // kept as communication, not as compute
  int kept = 0;
  for (const ProgramThread& thread : without.program.ranks[0].threads)
    for (const Action& action : thread.actions)
      if (const auto* timer = std::get_if<Timer>(&action.what))
        kept += timer->what == Timer::For::kCommunication ? 1 : 0;
  EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace forescale::testing
