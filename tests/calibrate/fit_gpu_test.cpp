// Fits of GPU measurements: what was put in comes out, a shape is never on both sides of a split,
// and published kernels are predicted from others within 15 %.
#include "calibrate/fit/fit_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/median.hpp"
#include "base/scratch_folder.hpp"
#include "calibrate/fit/fit_gpu_hold_out.hpp"
#include "calibrate/fit/fit_gpu_kernels.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

constexpr KernelRoofline kTruth{.launch_s = 8e-6, .flops_per_s = 9e12, .bytes_per_s = 4e11};

// Products between 16 and 8192 whose efficiency falls with small m, and 2 % of noise.
std::vector<MeasuredKernel> products(int count) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(4, 13);
  std::normal_distribution<double> noise(0, 0.02);
  const auto size = [&] { return static_cast<std::int64_t>(std::exp2(exponent(random))); };
  std::vector<MeasuredKernel> kernels;
  for (int i = 0; i < count; ++i) {
    MeasuredKernel each;
    const GemmShape shape{.m = size(), .n = size(), .k = size()};
    each.kernel.shape = shape;
    each.time_s = kTruth.time_s(each.kernel) *
                  std::exp(0.3 * std::sin(std::log(static_cast<double>(shape.m))) + noise(random));
    each.low_s = each.high_s = each.time_s;
    kernels.push_back(each);
  }
  return kernels;
}

TEST(FitGpu, FindsTheRooflineAndTheShapeFactor) {
  const std::vector<KernelFit> fits = fit_kernels(products(120), {});
  ASSERT_EQ(fits.size(), 1U);
  const KernelFit& fit = fits.front();
  EXPECT_EQ(fit.count, 120);
  EXPECT_NEAR(fit.roofline.flops_per_s, kTruth.flops_per_s, 0.25 * kTruth.flops_per_s);
  EXPECT_LE(fit.ends.low.flops_per_s, fit.roofline.flops_per_s);
  EXPECT_GE(fit.ends.high.flops_per_s, fit.roofline.flops_per_s);
  EXPECT_NEAR(std::log(fit.roofline.launch_s / kTruth.launch_s), 0, std::log(1.5));
  EXPECT_LT(fit.ends.low.launch_s, fit.ends.high.launch_s);
  EXPECT_LT(fit.median_error, 0.05);
  EXPECT_LT(fit.ratio_low, 1);
  EXPECT_GT(fit.ratio_high, 1);
  EXPECT_LT(fit.ratio_high - fit.ratio_low, 0.1);
}

TEST(FitGpu, AnOutlierDoesNotMoveTheRoofline) {
  std::vector<MeasuredKernel> kernels = products(80);
  const KernelFit clean = fit_kernels(kernels, {.bootstrap_samples = 0}).front();
  for (int i = 0; i < 10; ++i) kernels[static_cast<size_t>(i)].time_s *= 50;
  const KernelFit dirty = fit_kernels(kernels, {.bootstrap_samples = 0}).front();
  std::vector<double> moved;
  for (const MeasuredKernel& each : kernels)
    moved.push_back(std::abs(
        std::log(dirty.roofline.time_s(each.kernel) / clean.roofline.time_s(each.kernel))));
  EXPECT_LT(median(moved), 0.1);
}

// More shapes than its lengths are found on.
TEST(FitGpu, ManyKernelsAllCount) {
  const std::vector<MeasuredKernel> kernels = products(500);
  const KernelFit fit = fit_kernels(kernels, {.bootstrap_samples = 0}).front();
  EXPECT_EQ(fit.shape.points.size(), 500U);
  EXPECT_LT(fit.median_error, 0.04);
  for (const MeasuredKernel& each : kernels)
    EXPECT_NEAR(std::log(fit.estimate(each.kernel).time_s / each.time_s), 0, 0.15);
}

TEST(FitGpu, AFewKernelsStillHaveARoofline) {
  std::vector<MeasuredKernel> kernels = products(3);
  const KernelFit fit = fit_kernels(kernels, {}).front();
  EXPECT_EQ(fit.shape.amplitude, 0);
  for (const MeasuredKernel& each : kernels)
    EXPECT_NEAR(std::log(fit.estimate(each.kernel).time_s / each.time_s), 0, 1);
}

TEST(FitGpu, TheSameTwiceAndInAnyOrder) {
  std::vector<MeasuredKernel> kernels = products(40);
  const auto text = [&] {
    FittedGpu gpu;
    gpu.kernels = fit_kernels(kernels, {});
    return to_json(gpu).dump();
  };
  const std::string once = text();
  std::reverse(kernels.begin(), kernels.end());
  EXPECT_EQ(text(), once);
}

Measurement gpu_measurement() {
  Measurement measurement;
  measurement.machine = "m";
  measurement.gpu = {{"name", "G"}};
  const auto point = [](std::int64_t bytes, double time_s) {
    return MeasuredPoint{.bytes = bytes,
                         .time_s = time_s,
                         .low_s = 0.99 * time_s,
                         .high_s = 1.01 * time_s,
                         .p10_s = time_s,
                         .p90_s = time_s,
                         .samples = 9};
  };
  Series copy{.pattern = Pattern::kHostToDevice, .ranks = 1, .place = "gpu"};
  for (std::int64_t bytes = 1024; bytes <= 1 << 26; bytes *= 4)
    copy.points.push_back(point(bytes, 9e-6 + static_cast<double>(bytes) / 12e9));
  Series shorter{.pattern = Pattern::kFill, .ranks = 1, .place = "gpu"};
  shorter.points = {point(8, 1e-6)};
  Series launch{.pattern = Pattern::kLaunch, .ranks = 1, .place = "gpu"};
  launch.points = {point(0, 4e-6)};
  measurement.series = {copy, shorter, launch};
  for (const std::int64_t batch : {8, 16, 32}) {
    MeasuredKernel layer;
    layer.kernel.shape =
        LayerShape{.type = "pooling", .batch = batch, .input_bytes = 1e6, .output_bytes = 1e5};
    layer.time_s = 2e-5 + static_cast<double>(batch) * 3e-6;
    layer.low_s = 0.9 * layer.time_s;
    layer.high_s = 1.1 * layer.time_s;
    layer.network = "net";
    layer.layer = "pool1";
    measurement.kernels.push_back(layer);
  }
  return measurement;
}

TEST(FitGpu, CopiesLaunchesAndLayersAreLines) {
  const Measurement measurement = gpu_measurement();
  EXPECT_TRUE(is_gpu_measurement(measurement));
  const FittedGpu gpu = fit_gpu(measurement, "m.json", {.name = "g"});
  ASSERT_EQ(gpu.copies.size(), 1U);
  const CopySegment& segment = gpu.copies.front().segments.front();
  EXPECT_NEAR(segment.alpha_s.value, 9e-6, 0.05 * 9e-6);
  EXPECT_NEAR(1 / segment.seconds_per_byte.value, 12e9, 0.01 * 12e9);
  EXPECT_LE(segment.seconds_per_byte.low, 1 / 12e9);
  EXPECT_GE(segment.seconds_per_byte.high, 1 / 12e9);
  EXPECT_EQ(gpu.launch_s->value, 4e-6);
  EXPECT_EQ(gpu.launch_s->high, 1.01 * 4e-6);
  EXPECT_FALSE(gpu.synchronize_s.has_value());
  EXPECT_THAT(gpu.notes.front(), HasSubstr("fill is not fitted"));
  const LayerLine* line = gpu.find_layer("net", "pool1", KernelPass::kForward, Precision::kFp32);
  ASSERT_NE(line, nullptr);
  EXPECT_NEAR(line->t0_s.value, 2e-5, 1e-9);
  EXPECT_NEAR(line->t1_s.value, 3e-6, 1e-10);
  EXPECT_NEAR(line->t1_s.low, 0.9 * 3e-6, 1e-10);
  EXPECT_EQ(line->batch_max, 32);
}

// Small batches take the same time but for scatter: what is written must be read again.
TEST(FitGpu, TimesThatFallWithTheBatchAreFlat) {
  Measurement measurement = gpu_measurement();
  for (MeasuredKernel& layer : measurement.kernels) {
    const auto batch = static_cast<double>(std::get<LayerShape>(layer.kernel.shape).batch);
    layer.time_s = 2e-5 - batch * 1e-8;
    layer.low_s = layer.time_s - batch * 1e-8;
    layer.high_s = layer.time_s + batch * 4e-8;
  }
  const FittedGpu gpu = fit_gpu(measurement, "m.json", {.name = "g"});
  const LayerLine& line = gpu.layers.front();
  EXPECT_EQ(line.t1_s.value, 0);
  EXPECT_EQ(line.t1_s.low, 0);
  EXPECT_GT(line.t1_s.high, 0);
  EXPECT_GT(line.t0_s.value, 2e-5 - 32 * 1e-8) << "a mean of what was measured";
  EXPECT_LT(line.t0_s.value, 2e-5 - 8 * 1e-8);
  const ScratchFolder folder("flat");
  std::ofstream(folder.file("g.json")) << to_json(gpu).dump();
  EXPECT_EQ(read_fitted_gpu(folder.file("g.json"), nullptr).layers.front().t1_s.value, 0);
}

TEST(FitGpu, RefusesWhatIsNoMeasurementOfAGpu) {
  Measurement hosts;
  hosts.series = {{.points = {{.bytes = 1, .time_s = 1}}}};
  EXPECT_FALSE(is_gpu_measurement(hosts));
  EXPECT_THROW(fit_gpu(hosts, "m.json", {}), InputError);
}

// The same shape in another pass is in the same part, so its time tells nothing of itself: kernels
// whose time is a property of the shape alone and not of its neighbours cannot be predicted.
TEST(HoldOut, AShapeIsNeverOnBothSides) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 0.5);
  Measurement measurement;
  for (MeasuredKernel each : products(60)) {
    each.time_s = kTruth.time_s(each.kernel) * std::exp(noise(random));
    for (int again = 0; again < 3; ++again) measurement.kernels.push_back(each);
  }
  const std::vector<HeldOutKernels> rows = hold_out_kernels({{"g", &measurement}}, {});
  EXPECT_GT(rows.back().median, 0.2);
  EXPECT_EQ(rows.back().kernels, "all");
  EXPECT_TRUE(rows.back().gpu.empty());
}

TEST(HoldOut, SmoothKernelsArePredicted) {
  Measurement measurement;
  measurement.kernels = products(160);
  const HeldOutKernels all = hold_out_kernels({{"g", &measurement}}, {}).back();
  EXPECT_LT(all.median, 0.05);
  EXPECT_GT(all.roofline_median, 0.1);
  EXPECT_NEAR(all.count, 80, 20);
}

TEST(HoldOut, RefusesSharesAndSplitsThatAreNone) {
  Measurement measurement;
  measurement.kernels = products(10);
  EXPECT_THROW(hold_out_kernels({{"g", &measurement}}, {.share = 1}), InputError);
  EXPECT_THROW(hold_out_kernels({{"g", &measurement}}, {.share = 0}), InputError);
  EXPECT_THROW(hold_out_kernels({{"g", &measurement}}, {.splits = 0}), InputError);
}

Measurement published(const std::string& name) {
  return read_measurement(data_path("calibrate/published_gpus/" + name + ".json"));
}

TEST(HoldOut, PublishedKernelsArePredictedWithin15Percent) {
  const Measurement p100 = published("p100");
  const Measurement v100 = published("v100");
  const Measurement caffe = published("titan-x-caffe");
  for (const bool by_layer : {false, true}) {
    const HoldOutOptions options{.splits = 3, .by_layer = by_layer};
    const HeldOutKernels deepbench =
        hold_out_kernels({{"p100", &p100}, {"v100", &v100}}, options).back();
    EXPECT_LT(deepbench.median, 0.15);
    EXPECT_LT(deepbench.median, 0.7 * deepbench.roofline_median);
    EXPECT_LT(hold_out_kernels({{"titan-x-caffe", &caffe}}, options).back().median, 0.15);
  }
}

// The shipped model is what the shipped measurement gives.
TEST(FitGpu, ShippedModelsAreThoseOfTheShippedMeasurements) {
  const FittedGpu fitted =
      fit_gpu(published("m40"), "m40.json", {.name = "m40", .bootstrap_samples = 0});
  const FittedGpu shipped = load_fitted_gpu("m40", "--gpu-model", nullptr);
  ASSERT_EQ(fitted.kernels.size(), shipped.kernels.size());
  for (const MeasuredKernel& each : published("m40").kernels) {
    const KernelKind kind = kind_of(each.kernel);
    const double now_s = fitted.find_kernels(kind)->estimate(each.kernel).time_s;
    EXPECT_NEAR(shipped.find_kernels(kind)->estimate(each.kernel).time_s, now_s, 1e-4 * now_s)
        << to_text(each.kernel);
  }
}

}  // namespace
}  // namespace forescale
