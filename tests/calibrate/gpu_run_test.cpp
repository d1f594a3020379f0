// The measuring loop of forescale-gpu and its answer, on a GPU that is made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/scratch_folder.hpp"
#include "calibrate/bench/gpu/gpu_answer.hpp"
#include "calibrate/bench/gpu/gpu_run.hpp"
#include "calibrate/bench/gpu/repeat.hpp"
#include "calibrate/measure/measurement.hpp"
#include "tests/calibrate/json_forms.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Time passes only where something is measured.
struct MadeUpTime {
  double now_s = 0;
  GpuClock clock() {
    return [this] { return now_s; };
  }
};

class MadeUpWork : public Repeatable {
 public:
  MadeUpWork(MadeUpTime& time, std::function<double(int call)> once_s)
      : time_(time), once_s_(std::move(once_s)) {}
  double mean_s(int count) override {
    const double one_s = once_s_(calls_++);
    time_.now_s += count * one_s;
    counts_.push_back(count);
    return one_s;
  }
  std::string algorithm() const override { return "made-up"; }
  const std::vector<int>& counts() const { return counts_; }

 private:
  MadeUpTime& time_;
  std::function<double(int call)> once_s_;
  int calls_ = 0;
  std::vector<int> counts_;
};

// Takes `once_s` for anything; fails as it is told to.
class MadeUpGpu : public GpuBench {
 public:
  explicit MadeUpGpu(MadeUpTime& time) : time_(time) {}
  std::map<std::string, std::string> facts() const override { return {{"name", "made-up"}}; }
  std::vector<std::string> warnings_before() override { return before; }
  std::vector<std::string> warnings_after() override {
    ++asked_after;
    return after;
  }
  std::vector<std::vector<int>> groups(const std::string& pattern) const override {
    if (pattern == "peer-copy") return {};
    return {{0}};
  }
  std::unique_ptr<Repeatable> start(const GpuPatternPoint& point) override {
    started.push_back(point.pattern + " " + std::to_string(point.bytes));
    return attempt(started.back());
  }
  std::unique_ptr<Repeatable> start(const GpuKernel& kernel) override {
    started.push_back(to_text(kernel) + " " + name_of(kernel.precision));
    return attempt(started.back());
  }

  std::function<double(int call)> once_s = [](int) { return 1e-3; };
  std::function<void(const std::string& what)> trouble = [](const std::string&) {};
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::vector<std::string> started;
  int asked_after = 0;

 private:
  std::unique_ptr<Repeatable> attempt(const std::string& what) {
    trouble(what);
    return std::make_unique<MadeUpWork>(time_, once_s);
  }
  MadeUpTime& time_;
};

json gemm_of_rows(int m, const char* precision = "fp32") {
  return {{"operation", "gemm"},
          {"m", m},
          {"n", 4},
          {"k", 5},
          {"transposes", "TN"},
          {"pass", "forward"},
          {"network", "alexnet"},
          {"layer", "fc8"},
          {"precision", precision}};
}

json small_request_json() {
  return {{"format", "forescale-gpu-request-1"},
          {"device", 0},
          {"budget_s", 100},
          {"relative_interval", 0.03},
          {"samples_max", 20},
          {"layout", "nchw"},
          {"machine", "made-up"},
          {"provenance", {{"command", "forescale"}}},
          {"series",
           {{{"pattern", "launch"}, {"bytes", {0}}},
            {{"pattern", "reduction"}, {"bytes", {256, 1024, 4096}}}}},
          {"kernels", {gemm_of_rows(2), gemm_of_rows(3)}}};
}

class GpuRunTest : public ::testing::Test {
 protected:
  std::string measure(const json& request, int calls_until_stop = 1 << 30) {
    const GpuRequest asked = gpu_request_from(request);
    GpuAnswer answer(asked, file_);
    int calls = 0;
    return measure_all(asked, gpu_, answer,
                       {.clock = time_.clock(),
                        .is_stopped = [&] { return ++calls > calls_until_stop; },
                        .on_progress = [](const std::string&) {}});
  }
  Measurement written() const { return read_measurement(file_); }

  MadeUpTime time_;
  MadeUpGpu gpu_{time_};
  const ScratchFolder folder_{"gpu"};
  const std::string file_ = folder_.file("answer.json");
};

TEST_F(GpuRunTest, MeasuresInTheOrderAskedFor) {
  EXPECT_EQ(measure(small_request_json()), "");
  EXPECT_THAT(gpu_.started,
              ElementsAre("launch 0", "reduction 256", "reduction 1024", "reduction 4096",
                          "gemm 2x4x5 TN fp32", "gemm 3x4x5 TN fp32"));
  const Measurement measurement = written();
  EXPECT_EQ(measurement.machine, "made-up");
  EXPECT_EQ(measurement.gpu.at("name"), "made-up");
  EXPECT_EQ(measurement.provenance.at("command"), "forescale");
  EXPECT_THAT(measurement.notes, IsEmpty());
  ASSERT_EQ(measurement.series.size(), 2U);
  EXPECT_EQ(measurement.series[1].pattern, Pattern::kReduction);
  EXPECT_EQ(measurement.series[1].place, "gpu");
  EXPECT_THAT(measurement.series[1].members, ElementsAre(0));
  EXPECT_EQ(measurement.series[1].points[2].bytes, 4096);
  EXPECT_EQ(measurement.series[1].points[2].time_s, 1e-3);
  ASSERT_EQ(measurement.kernels.size(), 2U);
  EXPECT_EQ(std::get<GemmShape>(measurement.kernels[1].kernel.shape).m, 3);
  EXPECT_EQ(measurement.kernels[1].algorithm, "made-up");
  EXPECT_EQ(measurement.kernels[1].layer, "fc8");
}

TEST_F(GpuRunTest, TheBudgetEndsItCleanly) {
  json request = small_request_json();
  request["budget_s"] = 10;
  gpu_.once_s = [](int) { return 1.0; };
  EXPECT_EQ(measure(request), "");
  // A warm-up, and two samples before a time that takes long is enough: 3 s each.
  const int done = static_cast<int>(std::ceil(10.0 / 3));
  EXPECT_EQ(gpu_.started.size(), static_cast<std::size_t>(done));
  EXPECT_THAT(written().notes,
              ElementsAre("the budget of 10 s ended it with 4 of 4 sizes of patterns and 0 of 2 "
                          "kernels done"));
}

TEST_F(GpuRunTest, ASignalEndsItCleanly) {
  EXPECT_EQ(measure(small_request_json(), 2), "");
  EXPECT_EQ(written().series.size(), 2U);
  EXPECT_THAT(written().notes, ElementsAre(HasSubstr("interrupted with 2 of 4 sizes")));
}

TEST_F(GpuRunTest, WhatIsTooLargeIsLeftOutAndTheRestGoesOn) {
  gpu_.trouble = [](const std::string& what) {
    if (what == "reduction 1024" || what == "gemm 2x4x5 TN fp32")
      throw GpuTrouble(GpuTrouble::Kind::kOutOfMemory, "out of memory");
  };
  EXPECT_EQ(measure(small_request_json()), "");
  const Measurement measurement = written();
  EXPECT_EQ(measurement.series[1].points.size(), 1U);  // 4096 bytes fit no better
  EXPECT_EQ(measurement.kernels.size(), 1U);
  EXPECT_THAT(measurement.notes,
              ElementsAre("left out, out of memory: reduction of 1024 bytes",
                          "left out, out of memory: gemm 2x4x5 TN, forward, fp32"));
}

TEST_F(GpuRunTest, ASeriesOfNothingIsNone) {
  gpu_.trouble = [](const std::string& what) {
    if (what == "reduction 256") throw GpuTrouble(GpuTrouble::Kind::kOutOfMemory, "out of memory");
  };
  EXPECT_EQ(measure(small_request_json()), "");
  EXPECT_EQ(written().series.size(), 1U);
}

TEST_F(GpuRunTest, WhatTheGpuCannotDoIsNotedOnce) {
  json request = small_request_json();
  request["kernels"] = {gemm_of_rows(2, "bf16"), gemm_of_rows(3), gemm_of_rows(4, "bf16"),
                        gemm_of_rows(5, "bf16")};
  gpu_.trouble = [](const std::string& what) {
    if (what.find("bf16") != std::string::npos)
      throw GpuTrouble(GpuTrouble::Kind::kUnsupported, "bf16 needs a newer GPU");
  };
  EXPECT_EQ(measure(request), "");
  EXPECT_EQ(written().kernels.size(), 1U);
  EXPECT_THAT(written().notes, ElementsAre("3 times: left out, bf16 needs a newer GPU (first: gemm "
                                           "2x4x5 TN, forward, bf16)"));
}

TEST_F(GpuRunTest, AFaultEndsItWithWhatWasMeasured) {
  gpu_.trouble = [](const std::string& what) {
    if (what == "reduction 4096") throw GpuTrouble(GpuTrouble::Kind::kFault, "an illegal address");
  };
  EXPECT_EQ(measure(small_request_json()), "an illegal address (reduction of 4096 bytes)");
  EXPECT_EQ(written().series[1].points.size(), 2U);
  EXPECT_THAT(written().notes, ElementsAre("an illegal address (reduction of 4096 bytes)"));
  EXPECT_EQ(gpu_.asked_after, 0);
}

TEST_F(GpuRunTest, AGpuThatIsNoneIsNoMeasurement) {
  gpu_.trouble = [](const std::string&) {
    throw GpuTrouble(GpuTrouble::Kind::kUnusable, "not built for this GPU");
  };
  EXPECT_THROW(measure(small_request_json()), GpuTrouble);
}

TEST_F(GpuRunTest, BusyGpusAreFlagged) {
  gpu_.before = {"busy: 1 other process computes on this GPU"};
  gpu_.after = {"slowed down: heat"};
  gpu_.once_s = [](int call) { return call % 2 == 0 ? 1e-3 : 2e-3; };
  EXPECT_EQ(measure(small_request_json()), "");
  EXPECT_THAT(written().notes,
              ElementsAre("busy: 1 other process computes on this GPU", "slowed down: heat",
                          HasSubstr("busy: 6 of 6 times scatter")));
}

TEST_F(GpuRunTest, PatternsOfSeveralGpusAreLeftOutOnOne) {
  json request = small_request_json();
  request["series"].push_back({{"pattern", "peer-copy"}, {"bytes", {1024}}});
  EXPECT_EQ(measure(request), "");
  EXPECT_THAT(written().notes, ElementsAre("left out, peer-copy needs two GPUs"));
}

// Whoever looks, and whenever this program ends, finds a whole file.
TEST_F(GpuRunTest, TheFileIsWholeAtAnyTime) {
  std::vector<std::size_t> seen;
  gpu_.trouble = [&](const std::string&) {
    if (std::filesystem::exists(file_)) seen.push_back(written().series.size());
    // So long that the answer is written again.
    std::this_thread::sleep_for(std::chrono::milliseconds(350));
  };
  EXPECT_EQ(measure(small_request_json()), "");
  EXPECT_THAT(seen, ElementsAre(1, 2, 2, 2, 2));
}

TEST(Repeat, StopsWhenTheMedianIsKnown) {
  MadeUpTime time;
  MadeUpWork work(time, [](int) { return 1e-6; });
  const SampleSummary times_s =
      repeat(work, {.samples_max = 50, .sample_s = 99.5e-6, .end_s = 10}, time.clock());
  EXPECT_EQ(times_s.samples, 6);  // the fewest that have an interval
  EXPECT_EQ(times_s.median, 1e-6);
  EXPECT_EQ(work.counts().back(), 100);
  EXPECT_EQ(work.counts().size(), 3U + 6U);
}

TEST(Repeat, TakesAllSamplesOfWhatScatters) {
  MadeUpTime time;
  MadeUpWork work(time, [](int call) { return call % 2 == 0 ? 1e-6 : 3e-6; });
  EXPECT_EQ(repeat(work, {.samples_max = 30, .end_s = 10}, time.clock()).samples, 30);
}

TEST(Repeat, TakesOneSampleAfterTheEnd) {
  MadeUpTime time;
  MadeUpWork work(time, [](int) { return 2.0; });
  const SampleSummary times_s = repeat(work, {.end_s = 1}, time.clock());
  EXPECT_EQ(times_s.samples, 1);
  EXPECT_EQ(work.counts(), (std::vector<int>{1, 1}));
}

TEST(Repeat, WarmUpDoesNotCount) {
  MadeUpTime time;
  MadeUpWork work(time, [](int call) { return call == 0 ? 5.0 : 1.0; });
  EXPECT_EQ(repeat(work, {.end_s = 100}, time.clock()).high, 1.0);
}

}  // namespace
}  // namespace forescale::testing
