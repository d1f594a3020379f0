// Every file of models/hardware loads, and every number in it has a source or is marked assumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data_files.hpp"
#include "models/hardware.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::refusal;

void expect_sourced(const Provenance& provenance, size_t count) {
  EXPECT_EQ(provenance.numbers.size(), count);
  for (const NumberSource& number : provenance.numbers) {
    const std::string place = number.file + number.path;
    // A bare number has only "given in FILE": no source.
    EXPECT_THAT(number.source, ::testing::Not(::testing::StartsWith("given in"))) << place;
    EXPECT_GT(number.source.size(), 8u) << place;
    const bool smaller_is_faster = number.path.ends_with("_s") && !number.path.ends_with("per_s");
    if (!number.assumed) continue;
    if (smaller_is_faster) {
      EXPECT_LT(number.fast, number.slow) << place;
    } else {
      EXPECT_GT(number.fast, number.slow) << place;
    }
  }
}

TEST(HardwareCatalogue, EveryGpuIsSourced) {
  for (const std::string& name : catalogue("models/hardware/gpus")) {
    Provenance provenance;
    const GpuModel gpu = load_gpu(name, "test", &provenance);
    EXPECT_EQ(gpu.name, name);
    const size_t more = (name == "b200" ? 1 : 0)  // products_elsewhere
                        + (gpu.variation ? 1 : 0);
    expect_sourced(provenance, 6 + more);
    EXPECT_GE(gpu.memory, Bytes{std::int64_t{5} << 30});
    EXPECT_GT(gpu.memory_bandwidth, 5 * gpu.host_copy);
  }
}

TEST(HardwareCatalogue, EveryCpuIsSourced) {
  for (const std::string& name : catalogue("models/hardware/cpus")) {
    Provenance provenance;
    const CpuModel cpu = load_cpu(name, "test", &provenance);
    expect_sourced(provenance, 3);
    EXPECT_GE(cpu.cores, 8);
    EXPECT_GT(cpu.memory_bandwidth, cpu.copy_per_core);
  }
}

TEST(HardwareCatalogue, EveryLinkIsSourced) {
  for (const std::string& name : catalogue("models/hardware/links")) {
    Provenance provenance;
    EXPECT_GT(load_link(name, "test", &provenance).bandwidth.value, 1e8);
    expect_sourced(provenance, 2);
  }
}

TEST(HardwareCatalogue, LinksStayBelowTheirLineRate) {
  EXPECT_LT(load_link("pcie3-x16", "test", nullptr).bandwidth.value, 16 * 8e9 * 128 / 130 / 8);
  EXPECT_LT(load_link("pcie2-x16", "test", nullptr).bandwidth.value, 16 * 5e9 * 8 / 10 / 8);
  EXPECT_LT(load_link("fdr", "test", nullptr).bandwidth.value, 4 * 14.0625e9 * 64 / 66 / 8);
  EXPECT_LT(load_link("edr", "test", nullptr).bandwidth.value, 4 * 25.78125e9 * 64 / 66 / 8);
  EXPECT_NEAR(load_link("ethernet-10g", "test", nullptr).bandwidth.value, 10e9 / 8 * 1460 / 1538,
              1);
}

TEST(HardwareCatalogue, ScenarioTakesTheEnds) {
  Provenance fast{.scenario = Scenario::kFast, .numbers = {}};
  Provenance slow{.scenario = Scenario::kSlow, .numbers = {}};
  const LinkClass fast_link = load_link("edr", "test", &fast);
  const LinkClass slow_link = load_link("edr", "test", &slow);
  EXPECT_GT(fast_link.bandwidth, slow_link.bandwidth);
  EXPECT_LT(fast_link.latency, slow_link.latency);
}

TEST(HardwareCatalogue, UnknownGpuSuggestsTheNearest) {
  const std::string message = refusal([] { load_gpu("k8O", "--gpu", nullptr); });
  EXPECT_THAT(message, HasSubstr("--gpu = k8O: unknown; did you mean \"k80\"?"));
}

TEST(ReadLink, HalfDuplex) {
  const JsonInput in = JsonInput::from_text(
      R"({"bandwidth_bytes_per_s": "1GB/s", "latency_s": 0, "duplex": "half"})", "x.json");
  const LinkClass link = read_link(in, "x");
  EXPECT_FALSE(link.full_duplex);
  EXPECT_EQ(link.bandwidth.value, 1e9);
}

TEST(ReadLink, BadValuesAreNamed) {
  const auto message = [](const char* json) {
    return refusal([&] { read_link(JsonInput::from_text(json, "x.json"), "x"); });
  };
  EXPECT_EQ(message(R"({"bandwidth_bytes_per_s": 1e9, "latency_s": -1})"),
            "x.json:/latency_s = -1: must be >= 0");
  EXPECT_THAT(message(R"({"bandwidth_bytes_per_s": 0, "latency_s": 1})"),
              HasSubstr("x.json:/bandwidth_bytes_per_s = 0: must be > 0"));
  EXPECT_THAT(message(R"({"bandwidth_byte_per_s": 1e9, "latency_s": 1})"),
              HasSubstr("did you mean \"bandwidth_bytes_per_s\"?"));
  EXPECT_THAT(message(R"({"bandwidth_bytes_per_s": 1e9, "latency_s": 1, "duplex": "hal"})"),
              HasSubstr("did you mean \"half\"?"));
}

}  // namespace
}  // namespace forescale
