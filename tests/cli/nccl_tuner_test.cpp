// The tuner plug-in for NCCL, loaded and called as NCCL does (src/plugin/tuner.cc, src/enqueue.cc),
// by each version of the interface.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/data_files.hpp"
#include "base/scratch_folder.hpp"
#include "library/nccl_tuner/tuner_api.hpp"
#include "studies/settings/settings.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

std::string& logged() {
  static std::string text;
  return text;
}

void keep_log(nccl::LogLevel /*level*/, unsigned long /*flags*/, const char* /*file*/, int /*line*/,
              const char* format, ...) {
  std::array<char, 1000> text{};
  va_list values;
  va_start(values, format);
  std::vsnprintf(text.data(), text.size(), format, values);
  va_end(values);
  logged() += std::string(text.data()) + "\n";
}

constexpr float kImpossible = -1;

// What NCCL would take: the cheapest of its own estimates after the plug-in has seen them.
struct Taken {
  int algorithm = -1;
  int protocol = -1;
  int channels = 0;  // NCCL's own
  std::size_t chunk_bytes = 0;
  bool operator==(const Taken&) const = default;
};

// Rings of LL128, as NCCL estimates everywhere; trees of LL are impossible on nine ranks.
class Estimates {
 public:
  explicit Estimates(std::size_t ranks) {
    for (auto& row : costs_) row.fill(100);
    costs_[nccl::kRing][nccl::kLl128] = 10;
    if (ranks == 9) costs_[nccl::kTree][nccl::kLl] = kImpossible;
  }
  float** argument() { return reinterpret_cast<float**>(costs_.data()); }
  void take_cheapest(Taken& taken) const {
    float least = 1e30F;
    for (int a = 0; a < kAlgorithms; ++a)
      for (int p = 0; p < kProtocols; ++p) {
        const float cost = costs_[static_cast<size_t>(a)][static_cast<size_t>(p)];
        if (cost < 0 || cost >= least) continue;
        least = cost;
        taken.algorithm = a;
        taken.protocol = p;
      }
  }
  static constexpr int kAlgorithms = 7;
  static constexpr int kProtocols = 3;

 private:
  std::array<std::array<float, kProtocols>, kAlgorithms> costs_{};
};

class NcclTuner : public ::testing::Test {
 protected:
  NcclTuner() : library_(dlopen(library_path("libnccl-tuner-forescale.so").c_str(), RTLD_NOW)) {
    EXPECT_NE(library_, nullptr) << dlerror();
    logged().clear();
  }
  ~NcclTuner() override { dlclose(library_); }

  template <class Tuner>
  const Tuner& tuner(const char* symbol) const {
    const auto* found = static_cast<const Tuner*>(dlsym(library_, symbol));
    EXPECT_NE(found, nullptr) << symbol;
    return *found;
  }

  void write(const std::string& table) const {
    const std::string path = folder_.file("table.csv");
    std::ofstream(path) << table;
    setenv("NCCL_TUNER_CONFIG_FILE", path.c_str(), 1);
  }

  // Of a communicator, by version 6 of the interface.
  nccl::Result start(std::size_t ranks, std::size_t nodes, void*& context) const {
    return tuner<nccl::Tuner6>("ncclTunerPlugin_v6")
        .init(&context, 7, ranks, nodes, keep_log, nullptr, nullptr);
  }
  Taken taken(std::size_t ranks, std::size_t nodes, nccl::Function function,
              std::size_t bytes) const {
    const auto& tuner6 = tuner<nccl::Tuner6>("ncclTunerPlugin_v6");
    void* context = nullptr;
    EXPECT_EQ(start(ranks, nodes, context), nccl::kSuccess) << logged();
    Estimates estimates(ranks);
    Taken taken{.chunk_bytes = 1000};
    EXPECT_EQ(
        tuner6.get_collective(context, function, bytes, 1, estimates.argument(),
                              Estimates::kAlgorithms, Estimates::kProtocols, 0, &taken.channels),
        nccl::kSuccess);
    estimates.take_cheapest(taken);
    // By the bytes of one of 16 channels.
    EXPECT_EQ(tuner6.get_chunk(context, function, bytes / 16, taken.algorithm, taken.protocol, 1,
                               &taken.chunk_bytes),
              nccl::kSuccess);
    EXPECT_EQ(tuner6.finalize(context), nccl::kSuccess);
    return taken;
  }

  const Taken kOwn{.algorithm = nccl::kRing, .protocol = nccl::kLl128, .chunk_bytes = 1000};
  const ScratchFolder folder_{"nccl-tuner"};

 private:
  void* library_;
};

constexpr const char* kTable =
    "# a comment\n"
    "\n"
    "allreduce,1024,4095,tree,ll,-1,2,16,0\n"
    "allreduce,4096,9223372036854775807,nvls_tree,simple,12,2,16,65536\r\n"
    "allgather,0,100,ring,simple,-1,-1,-1,0\n"
    "allreduce,0,100,tree,ll,-1,3,9,0\n"
    "allreduce,0,8,collnet_chain,simple,-1,2,16,262144\n";

TEST_F(NcclTuner, TakesWhatTheTableSaysAndLeavesTheRest) {
  write(kTable);
  const Taken tree{.algorithm = nccl::kTree, .protocol = nccl::kLl, .chunk_bytes = 1000};
  EXPECT_EQ(taken(16, 2, nccl::kAllReduce, 1023), kOwn);
  EXPECT_EQ(taken(16, 2, nccl::kAllReduce, 1024), tree);
  EXPECT_EQ(taken(16, 2, nccl::kAllReduce, 4095), tree);
  EXPECT_EQ(taken(16, 2, nccl::kAllReduce, 4096), (Taken{.algorithm = nccl::kNvlsTree,
                                                         .protocol = nccl::kSimple,
                                                         .channels = 12,
                                                         .chunk_bytes = 65536}));
  EXPECT_EQ(
      taken(16, 2, nccl::kAllReduce, 8),
      (Taken{.algorithm = nccl::kCollNetChain, .protocol = nccl::kSimple, .chunk_bytes = 262144}));
  EXPECT_EQ(taken(16, 4, nccl::kAllReduce, 2000), kOwn);
  EXPECT_EQ(taken(8, 2, nccl::kAllReduce, 2000), kOwn);
  EXPECT_EQ(taken(16, 2, nccl::kReduceScatter, 2000), kOwn);
  EXPECT_EQ(taken(5, 5, nccl::kAllGather, 100).protocol, nccl::kSimple);
  EXPECT_THAT(logged(), HasSubstr("4 lines of"));
}

TEST_F(NcclTuner, WhatNcclFindsImpossibleStaysSo) {
  write(kTable);
  EXPECT_EQ(taken(9, 3, nccl::kAllReduce, 50), kOwn);
}

// NCCL took another algorithm than the line's, as NCCL_ALGO said so: its chunks are not the line's.
TEST_F(NcclTuner, ChunksAreOfTheLinesAlgorithmAlone) {
  write(kTable);
  const auto& tuner6 = tuner<nccl::Tuner6>("ncclTunerPlugin_v6");
  void* context = nullptr;
  ASSERT_EQ(start(16, 2, context), nccl::kSuccess);
  const auto chunk_after = [&](std::size_t bytes, nccl::Algorithm algorithm) {
    Estimates estimates(16);
    int channels = 0;
    tuner6.get_collective(context, nccl::kAllReduce, bytes, 1, estimates.argument(),
                          Estimates::kAlgorithms, Estimates::kProtocols, 0, &channels);
    std::size_t chunk = 1000;
    tuner6.get_chunk(context, nccl::kAllReduce, bytes / 16, algorithm, nccl::kSimple, 1, &chunk);
    return chunk;
  };
  EXPECT_EQ(chunk_after(5000, nccl::kTree), 1000U);
  EXPECT_EQ(chunk_after(5000, nccl::kNvlsTree), 65536U);
  EXPECT_EQ(chunk_after(500, nccl::kNvlsTree), 1000U);  // a call that no line is for
  tuner6.finalize(context);
}

TEST_F(NcclTuner, SpeaksTheOlderInterfacesToo) {
  write(kTable);
  void* context = nullptr;
  const auto& tuner5 = tuner<nccl::Tuner5>("ncclTunerPlugin_v5");
  ASSERT_EQ(tuner5.init(&context, 7, 16, 2, keep_log, nullptr, nullptr), nccl::kSuccess);
  Estimates of_5(16);
  Taken by_5;
  tuner5.get_collective(context, nccl::kAllReduce, 5000, 1, of_5.argument(), Estimates::kAlgorithms,
                        Estimates::kProtocols, 0, &by_5.channels);
  of_5.take_cheapest(by_5);
  EXPECT_EQ(by_5.algorithm, nccl::kNvlsTree);
  EXPECT_EQ(by_5.channels, 12);
  tuner5.finalize(context);

  const auto& tuner4 = tuner<nccl::Tuner4>("ncclTunerPlugin_v4");
  ASSERT_EQ(tuner4.init(16, 2, keep_log, &context), nccl::kSuccess);
  Estimates of_4(16);
  Taken by_4;
  tuner4.get_collective(context, nccl::kAllReduce, 5000, 1, of_4.argument(), Estimates::kAlgorithms,
                        Estimates::kProtocols, 1, &by_4.channels);
  of_4.take_cheapest(by_4);
  EXPECT_EQ(by_4, by_5);
  tuner4.destroy(context);

  const auto& tuner3 = tuner<nccl::Tuner3>("ncclTunerPlugin_v3");
  ASSERT_EQ(tuner3.init(16, 2, keep_log, &context), nccl::kSuccess);
  Estimates of_3(16);
  Taken by_3;
  tuner3.get_collective(context, nccl::kAllReduce, 5000, 1, of_3.argument(), Estimates::kAlgorithms,
                        Estimates::kProtocols, &by_3.channels);
  of_3.take_cheapest(by_3);
  EXPECT_EQ(by_3, by_5);
  tuner3.destroy(context);
}

TEST_F(NcclTuner, WrongTablesEndTheStart) {
  void* context = nullptr;
  const auto refused = [&](const std::string& table) {
    write(table);
    logged().clear();
    EXPECT_EQ(start(16, 2, context), nccl::kInvalidUsage) << table;
    EXPECT_EQ(context, nullptr);
    return logged();
  };
  EXPECT_THAT(refused("\nallreduce,0,1,tree,ll,-1,2,16\n"), HasSubstr("line 2: has 8 cells"));
  EXPECT_THAT(refused("allreduse,0,1,tree,ll,-1,2,16,0\n"), HasSubstr("\"allreduse\" is none of"));
  EXPECT_THAT(refused("allreduce,0,1,tree,ll64,-1,2,16,0\n"), HasSubstr("ll, ll128, simple"));
  EXPECT_THAT(refused("allreduce,5,1,tree,ll,-1,2,16,0\n"), HasSubstr("from 5 on"));
  EXPECT_THAT(refused("allreduce,0,1,tree,ll,many,2,16,0\n"), HasSubstr("\"many\""));
  // Wrong whatever communicator it is for.
  EXPECT_THAT(refused("allreduce,0,1e6,tree,ll,-1,9,9,0\n"), HasSubstr("\"1e6\""));
  setenv("NCCL_TUNER_CONFIG_FILE", "/no/such/table.csv", 1);
  EXPECT_EQ(start(16, 2, context), nccl::kInvalidUsage);
  EXPECT_THAT(logged(), HasSubstr("cannot be read"));
  unsetenv("NCCL_TUNER_CONFIG_FILE");
  EXPECT_EQ(start(16, 2, context), nccl::kInvalidUsage);
  EXPECT_THAT(logged(), HasSubstr("names no table"));
}

// What is emitted is what is taken, at both ends of every region and where NCCL chooses.
TEST_F(NcclTuner, TakesWhatWasEmitted) {
  TunedSettings settings;
  const auto add = [&](std::int64_t from, std::int64_t to, const std::string& choice) {
    settings.regions.push_back({.op = CollectiveOp::kAllReduce,
                                .ranks = 64,
                                .nodes = 8,
                                .from_bytes = from,
                                .to_bytes = to});
    if (!choice.empty())
      settings.regions.back().chosen =
          told_algorithm(CollectiveOp::kAllReduce, AlternativeChoice::parse(choice, "test"));
  };
  add(1000, 1999, "tree/ll");
  add(2000, 2999, "");
  add(3000, 3999, "tree/ll128:chunk_bytes=18000");
  write(emit_settings(Registry<SettingsFormat>::find("nccl-plugin", "--emit"), settings));
  const Taken ll{.algorithm = nccl::kTree, .protocol = nccl::kLl, .chunk_bytes = 1000};
  const Taken ll128{.algorithm = nccl::kTree, .protocol = nccl::kLl128, .chunk_bytes = 18000};
  for (const auto& [bytes, expected] : {std::pair{999U, kOwn},
                                        {1000U, ll},
                                        {1999U, ll},
                                        {2000U, kOwn},
                                        {2999U, kOwn},
                                        {3000U, ll128},
                                        {3999U, ll128},
                                        {4000U, kOwn}})
    EXPECT_EQ(taken(64, 8, nccl::kAllReduce, bytes), expected) << bytes;
}

}  // namespace
}  // namespace forescale
