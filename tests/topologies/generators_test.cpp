// Every generator at several sizes: all pairs reachable, routes sound and as long back as there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

class EveryPair : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPair, IsConnectedSoundlyAndSymmetrically) {
  const Platform platform = load_platform(GetParam());
  EXPECT_TRUE(platform.is_generated);
  expect_all_pairs_sound(platform);
}

INSTANTIATE_TEST_SUITE_P(
    Generators, EveryPair,
    ::testing::Values(
        "star:hosts=1,bandwidth=1GB/s,latency=1us", "star:hosts=33,bandwidth=1GB/s,latency=0",
        "star:hosts=7,bandwidth=1GB/s,latency=1us,duplex=half", "star:hosts=5,link=edr",
        "fat-tree:radix=2,link=edr", "fat-tree:radix=8,link=edr",
        "fat-tree:radix=8,hosts=13,link=edr", "fat-tree:radix=6,levels=3,link=edr",
        "fat-tree:down=4x6,up=2,bandwidth=1GB/s,latency=1us,up_bandwidth=2GB/s,up_latency=2us",
        "fat-tree:down=3x2x4,up=2x3,link=fdr", "fat-tree:down=2x2x2x2,up=2x1x2,link=fdr",
        "fat-tree:down=9,link=edr", "dragonfly:groups=2,routers=1,hosts=3,globals=1,link=edr",
        "dragonfly:groups=9,routers=4,hosts=2,globals=2,link=edr",
        "dragonfly:groups=4,routers=4,hosts=2,globals=3,link=edr",
        "dragonfly:groups=3,routers=6,rows=2,hosts=2,globals=1,link=edr,column_link=fdr",
        "dragonfly:groups=5,routers=3,hosts=1,globals=2,link=edr,global_bandwidth=1GB/s,"
        "global_latency=3us",
        "dragonfly+:groups=2,leaves=1,spines=1,hosts=3,globals=1,link=edr",
        "dragonfly+:groups=5,leaves=3,spines=4,hosts=2,globals=2,link=edr,global_link=fdr",
        "dragonfly+:groups=3,leaves=2,spines=3,hosts=4,globals=3,bandwidth=1GB/s,latency=1us,"
        "local_bandwidth=2GB/s,local_latency=0",
        "torus:dims=2,link=edr", "torus:dims=5,link=edr", "torus:dims=2x3x4,link=edr",
        "torus:dims=4x4,hosts=3,link=edr",
        "torus:dims=1x6x2,bandwidth=1GB/s,latency=1us,"
        "host_bandwidth=9GB/s,host_latency=0",
        "pcie:gpu=k80", "pcie:gpu=k40,sockets=1,switches=0,cards=3",
        "pcie:gpu=k80,switches=2,cards=2,gpus=2,gpu_link=k80-card",
        "pcie:gpu=v100,sockets=4,cards=1,cpu=xeon-e5-2680v4,link=pcie3-x8"));

std::string platform_refusal(const std::string& text) {
  return refusal([&] { load_platform(text); });
}

TEST(GeneratorText, BadValuesNameTheKey) {
  EXPECT_EQ(platform_refusal("star:hosts=0,bandwidth=1GB/s,latency=1us"),
            "--platform star:/hosts = 0: must be >= 1");
  EXPECT_THAT(platform_refusal("star:hosts=-4,bandwidth=1GB/s,latency=1us"),
              HasSubstr("/hosts = -4"));
  EXPECT_THAT(platform_refusal("star:hosts=2.5,bandwidth=1GB/s,latency=1us"),
              HasSubstr("/hosts = \"2.5\": must be a whole number"));
  EXPECT_EQ(platform_refusal("star:hosts=2,bandwidth=0,latency=1us"),
            "--platform star:/bandwidth = 0: must be > 0");
  EXPECT_THAT(platform_refusal("star:hosts=2,bandwidth=0GB/s,latency=1us"),
              HasSubstr("/bandwidth = \"0GB/s\": must be > 0"));
  EXPECT_THAT(platform_refusal("star:hosts=2,bandwidth=1GB/s,latency=-1us"),
              HasSubstr("/latency = \"-1us\": must be >= 0"));
  EXPECT_THAT(platform_refusal("star:hosts=2,bandwidth=1GB,latency=1us"), HasSubstr("/bandwidth"));
  EXPECT_THAT(platform_refusal("star:hosts=2,bandwidth=1GB/s"),
              HasSubstr("/latency: is required and missing"));
  EXPECT_THAT(platform_refusal("star"), HasSubstr("/hosts: is required and missing"));
  EXPECT_THAT(platform_refusal("star:hosts=99999999999999999999,link=edr"), HasSubstr("/hosts"));
}

TEST(GeneratorText, BareHostsTakeACpu) {
  for (const char* text :
       {"star:hosts=4,link=edr", "fat-tree:radix=4,link=edr", "torus:dims=2x2,link=edr"}) {
    const Platform bare = load_platform(text);
    EXPECT_TRUE(bare.cpu_models.empty());
    EXPECT_EQ(bare.cores_per_node, 0);
    const Platform platform = load_platform(std::string(text) + ",cpu=xeon-e5-2690v3");
    ASSERT_EQ(platform.cpu_models.size(), 1U);
    EXPECT_EQ(platform.cpu_models.front().reduce_per_core.value, 4e9);
    EXPECT_EQ(platform.cores_per_node, 12);
  }
  EXPECT_THAT(platform_refusal("star:hosts=2,link=edr,cpu=xeon-e5-2690v4x"),
              HasSubstr("/cpu = xeon-e5-2690v4x: unknown; did you mean"));
}

TEST(GeneratorText, UnknownNamesSuggestTheNearest) {
  EXPECT_THAT(platform_refusal("star:host=2,bandwidth=1GB/s,latency=1us"),
              HasSubstr("/host: key is unknown; did you mean \"hosts\"?"));
  EXPECT_THAT(platform_refusal("stat:hosts=2"), HasSubstr("did you mean \"star\"?"));
  EXPECT_THAT(platform_refusal("star:hosts=2,link=edt"), HasSubstr("did you mean \"edr\"?"));
  EXPECT_THAT(platform_refusal("pcie:gpu=k81"), HasSubstr("did you mean \"k80\"?"));
  EXPECT_THAT(platform_refusal("kesh"), HasSubstr("did you mean \"kesch\"?"));
  EXPECT_THAT(platform_refusal("no/such.json"), HasSubstr("no such file"));
}

TEST(GeneratorText, ContradictionsAreRefused) {
  EXPECT_THAT(platform_refusal("star:hosts=2,hosts=3,link=edr"),
              HasSubstr("/hosts: is given twice"));
  EXPECT_THAT(platform_refusal("star:hosts"), HasSubstr("must be key=value"));
  EXPECT_THAT(platform_refusal("star:hosts=2,link=edr,bandwidth=1GB/s"),
              HasSubstr("must not be given beside \"bandwidth\""));
  EXPECT_THAT(platform_refusal("fat-tree:radix=7,link=edr"), HasSubstr("/radix = 7: must be even"));
  EXPECT_THAT(platform_refusal("fat-tree:down=4x4,up=2x2,link=edr"), HasSubstr("/up"));
  EXPECT_THAT(platform_refusal("fat-tree:radix=4,hosts=9,link=edr"),
              HasSubstr("/hosts = 9: must be <= 8"));
  EXPECT_THAT(platform_refusal("torus:dims=4x0,link=edr"), HasSubstr("/dims/1 = 0: must be >= 1"));
  EXPECT_THAT(platform_refusal("torus:dims=4096x4096,link=edr"), HasSubstr("/dims"));
  EXPECT_THAT(platform_refusal("dragonfly:groups=9,routers=2,hosts=1,globals=1,link=edr"),
              HasSubstr("must reach every other group"));
  EXPECT_THAT(platform_refusal("dragonfly:groups=2,routers=6,rows=4,hosts=1,globals=1,link=edr"),
              HasSubstr("/rows = 4: must divide the routers of a group, 6"));
  EXPECT_THAT(
      platform_refusal("dragonfly+:groups=9,leaves=4,spines=2,hosts=1,globals=3,link=edr"),
      HasSubstr(
          "/globals = 3: must reach every other group: spines * globals = 6 must be >= groups "
          "- 1 = 8"));
  EXPECT_THAT(platform_refusal("pcie:gpu=k80,sockets=1,socket_link=qpi"),
              HasSubstr("the tree has no such level"));
}

TEST(Generators, AreListedWithUsage) {
  std::vector<std::string> names;
  for (const GeneratorHelp& help : platform_generators()) {
    names.push_back(help.name);
    EXPECT_TRUE(help.usage.starts_with(help.name + ":")) << help.usage;
    EXPECT_FALSE(help.summary.empty());
  }
  EXPECT_THAT(names, ::testing::ElementsAre("dragonfly", "dragonfly+", "fat-tree", "pcie", "star",
                                            "torus"));
}

}  // namespace
}  // namespace forescale
