// Kernel times by shape, GPU models as files, and compute tables from them.
#include "models/compute/kernel_time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/scratch_folder.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/layer_kernel.hpp"
#include "models/compute/network_kernels.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::refusal;

GpuKernel product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.shape = GemmShape{.m = m, .n = n, .k = k}};
}

KernelFit fit_of(const GpuKernel& like) {
  KernelFit fit;
  fit.kind = kind_of(like);
  fit.roofline = {.launch_s = 5e-6, .flops_per_s = 1e12, .bytes_per_s = 1e11};
  fit.ends = {.low = fit.roofline, .high = fit.roofline};
  fit.count = 1;
  fit.shape.lengths.assign(shape_features(like).size(), 2);
  return fit;
}

TEST(KernelTime, IsTheRooflineTimesTheShapeFactor) {
  const GpuKernel kernel = product(100, 200, 300);
  KernelFit fit = fit_of(kernel);
  const double roofline_s =
      5e-6 + 2.0 * 100 * 200 * 300 / 1e12 + 4.0 * (100 * 300 + 300 * 200 + 100 * 200) / 1e11;
  EXPECT_NEAR(fit.estimate(kernel).time_s, roofline_s, 1e-9 * roofline_s);
  EXPECT_FALSE(fit.estimate(kernel).is_near);
  fit.shape.offset = 0.1;
  fit.shape.amplitude = 0.5;
  fit.shape.points = {{.features = shape_features(product(200, 200, 300)), .weight = 2}};
  const double distance = std::sqrt(3) * std::log(2) / 2;
  const double correlation = (1 + distance) * std::exp(-distance);
  EXPECT_NEAR(fit.estimate(kernel).time_s, roofline_s * std::exp(0.1 + 2 * 0.25 * correlation),
              1e-9 * roofline_s);
  EXPECT_TRUE(fit.estimate(kernel).is_near);
  EXPECT_FALSE(fit.estimate(product(100'000, 200, 300)).is_near);
}

GpuKernel convolution(KernelPass pass, std::int64_t filter = 3, std::int64_t stride = 1) {
  return {.shape = ConvolutionShape{.batch = 8,
                                    .channels = 16,
                                    .height = 32,
                                    .width = 32,
                                    .filters = 32,
                                    .filter_height = filter,
                                    .filter_width = filter,
                                    .pad_height = filter / 2,
                                    .pad_width = filter / 2,
                                    .stride_height = stride,
                                    .stride_width = stride},
          .pass = pass};
}

// The last two features: 1x1 is a product, 3x3 at stride 1 is what Winograd does.
TEST(KernelTime, FiltersWithKernelsOfTheirOwnAreFarFromOthers) {
  const auto own = [](std::int64_t filter, std::int64_t stride) {
    const std::vector<double> all =
        shape_features(convolution(KernelPass::kForward, filter, stride));
    return std::vector<double>(all.end() - 2, all.end());
  };
  EXPECT_EQ(own(1, 1), (std::vector<double>{1, 0}));
  EXPECT_EQ(own(3, 1), (std::vector<double>{0, 1}));
  EXPECT_EQ(own(3, 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(own(5, 1), (std::vector<double>{0, 0}));
}

TEST(KernelTime, ALayersKernelIsItsShape) {
  const Network network = load_network("googlenet", "--model");
  const auto kernels = layer_kernels(network, {.batch = 4});
  ASSERT_EQ(kernels.size(), network.layers.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Layer& layer = network.layers[i];
    EXPECT_EQ(kernels[i].size(), layer.traffic_per_image.value > 0 ? 1 : 0) << layer.name;
    if (kernels[i].empty()) continue;
    const GpuKernel& kernel = kernels[i][0];
    const double bytes = 4.0 * static_cast<double>(layer.traffic_per_image.value) +
                         static_cast<double>(layer.parameter_bytes().value);
    if (layer.forward_flops > 0) {
      EXPECT_EQ(flops_of(kernel), 4 * layer.forward_flops) << layer.name;
    } else {
      EXPECT_NEAR(bytes_moved_by(kernel), bytes, 1) << layer.name;
    }
  }
}

FittedGpu full() {
  FittedGpu gpu;
  gpu.name = "g";
  gpu.facts = {{"name", "G 1"}, {"memory_bytes", "1000"}};
  gpu.provenance = {{"source", "s"}};
  gpu.notes = {"n"};
  gpu.launch_s = RangedNumber{.value = 4e-6, .low = 3e-6, .high = 5e-6, .source = "launch"};
  gpu.synchronize_s = RangedNumber{.value = 8e-6, .low = 7e-6, .high = 9e-6, .source = "sync"};
  for (const auto& [path, slope] :
       {std::pair{"host-to-device", 1e-10}, {"device-to-host", 3e-10}, {"reduction", 6e-12}}) {
    const RangedNumber number{.value = slope, .low = slope, .high = slope, .source = path};
    const RangedNumber alpha{.value = 1e-5, .low = 1e-5, .high = 1e-5, .source = path};
    gpu.copies.push_back(
        {.path = path,
         .segments = {{.up_to_bytes = 1000, .alpha_s = alpha, .seconds_per_byte = number}}});
  }
  KernelFit fit = fit_of(product(1, 1, 1));
  fit.shape.points = {{.features = shape_features(product(10, 20, 30)), .weight = 0.5}};
  gpu.kernels.push_back(fit);
  gpu.layers.push_back({.network = "cifar10-quick",
                        .layer = "conv1",
                        .batch_min = 8,
                        .batch_max = 64,
                        .t0_s = {.value = 1e-5, .low = 1e-5, .high = 2e-5, .source = "l"},
                        .t1_s = {.value = 1e-6, .low = 1e-6, .high = 1e-6, .source = "l"}});
  return gpu;
}

FittedGpu read_text(const std::string& text, Provenance* provenance = nullptr) {
  const ScratchFolder folder("gpu");
  std::ofstream(folder.file("g.json")) << text;
  return read_fitted_gpu(folder.file("g.json"), provenance);
}

std::string refusal_with(const std::string& pointer, const json& value) {
  json changed = to_json(full());
  changed[json::json_pointer(pointer)] = value;
  return refusal([&] { read_text(changed.dump()); });
}

TEST(FittedGpu, WhatIsWrittenIsReadBack) {
  const json once = to_json(full());
  EXPECT_EQ(to_json(read_text(once.dump())), once);
}

TEST(FittedGpu, AScenarioTakesTheEndOfAnInterval) {
  Provenance slow{.scenario = Scenario::kSlow, .numbers = {}};
  const FittedGpu gpu = read_text(to_json(full()).dump(), &slow);
  EXPECT_EQ(gpu.launch_s->value, 5e-6);
  EXPECT_EQ(gpu.layers.front().t0_s.value, 2e-5);
  EXPECT_FALSE(slow.numbers.empty());
}

TEST(FittedGpu, MeasuredNumbersReplaceTheDataSheets) {
  const GpuModel sheet = load_gpu("k80", "--gpu", nullptr);
  const GpuModel gpu = with_measured(sheet, full(), nullptr);
  EXPECT_EQ(gpu.kernel_launch.value, 4e-6);
  EXPECT_EQ(gpu.synchronize.value, 8e-6);
  EXPECT_NEAR(gpu.memory_bandwidth.value, 3 / 6e-12, 1);
  EXPECT_NEAR(gpu.host_copy.value, 2 / 4e-10, 1);
  EXPECT_EQ(gpu.memory.value, 1000);
  EXPECT_EQ(gpu.peak_flops.value, sheet.peak_flops.value);
  EXPECT_EQ(with_measured(sheet, FittedGpu{}, nullptr).memory.value, sheet.memory.value);
  EXPECT_NEAR(full().find_copy("reduction")->time_s(1e6), 1e-5 + 1e6 * 6e-12, 1e-15);
  // A reduction moves three bytes a byte, a copy two.
  FittedGpu copies = full();
  copies.copies.back().path = "memory-copy";
  EXPECT_NEAR(with_measured(sheet, copies, nullptr).memory_bandwidth.value, 2 / 6e-12, 1);
}

TEST(FittedGpu, WhatItReplacesIsForgotten) {
  Provenance provenance;
  const GpuModel sheet = load_gpu("k80", "--gpu", &provenance);
  const size_t before = provenance.numbers.size();
  provenance.numbers.push_back(provenance.numbers.front());
  provenance.numbers.back().file = "cpu.json";
  with_measured(sheet, full(), &provenance);
  EXPECT_EQ(provenance.numbers.size(), before + 1 - 5) << "the peak's and the CPU's are left";
  EXPECT_EQ(provenance.numbers.back().file, "cpu.json");
}

TEST(FittedGpu, RefusesByPlaceValueAndConstraint) {
  EXPECT_THAT(refusal_with("/format", "x"), HasSubstr("g.json:/format"));
  EXPECT_THAT(refusal_with("/kernel", json::array()), HasSubstr("did you mean \"kernels\""));
  EXPECT_THAT(refusal_with("/kernels/0/flops_per_s", 0), HasSubstr("must be > 0"));
  EXPECT_THAT(refusal_with("/kernels/0/pass", "up"), HasSubstr("/kernels/0/pass = \"up\""));
  EXPECT_THAT(refusal_with("/kernels/0/shape/lengths", {1, 2}), HasSubstr("one a feature: 5"));
  EXPECT_THAT(refusal_with("/kernels/0/shape/points/0", {1, 2}),
              HasSubstr("the features and a weight: 6"));
  EXPECT_THAT(refusal_with("/kernels/0/launch_ends_s", {1}), HasSubstr("low and the high end"));
  EXPECT_THAT(refusal_with("/copies/0/segments", json::array()), HasSubstr("at least one segment"));
  EXPECT_THAT(refusal_with("/launch_s", -1), HasSubstr("/launch_s = -1"));
}

TEST(FittedCompute, SaysWhereEachPassComesFrom) {
  const Network network = load_network("cifar10-quick", "--model");
  const GpuModel gpu = with_measured(load_gpu("k80", "--gpu", nullptr), full(), nullptr);
  const FittedCompute compute = fitted_compute(full(), gpu, network, {}, nullptr);
  ASSERT_EQ(compute.table.layers.size(), network.layers.size());
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    if (layer.name == "conv1") {
      EXPECT_EQ(compute.forward[i], LayerTimeSource::kMeasured);
      EXPECT_EQ(compute.table.layers[i].forward_t0_s, 1e-5);
      EXPECT_EQ(compute.table.layers[i].forward_t1_s, 1e-6);
      EXPECT_EQ(compute.backward[i], LayerTimeSource::kScaled);  // from products
    } else if (layer.type == "Convolution") {
      EXPECT_EQ(compute.forward[i], LayerTimeSource::kScaled) << layer.name;
    } else if (layer.type == "InnerProduct") {
      EXPECT_EQ(compute.forward[i], LayerTimeSource::kRoofline);  // one shape, far away
      EXPECT_EQ(compute.backward[i], LayerTimeSource::kRoofline);
    } else if (layer.traffic_per_image.value > 0) {
      EXPECT_EQ(compute.forward[i], LayerTimeSource::kDataSheet) << layer.name;
    } else {
      EXPECT_EQ(compute.forward[i], LayerTimeSource::kNone) << layer.name;
      EXPECT_EQ(compute.table.layers[i].forward_t1_s, 0);
    }
  }
  EXPECT_THAT(compute.table.description, HasSubstr("from the roofline fitted on measured kernels"));
  EXPECT_FALSE(compute.table.assumed);
}

// The first layer's data need no gradient: its backward pass is that of the weights alone.
TEST(FittedCompute, TheFirstConvolutionHasNoGradientOfItsInput) {
  const Network network = load_network("vgg-16", "--model");
  FittedGpu fitted;
  fitted.name = "g";
  double flops_per_s = 1e12;
  for (const KernelPass pass :
       {KernelPass::kForward, KernelPass::kBackwardData, KernelPass::kBackwardWeights}) {
    KernelFit fit = fit_of(convolution(pass));
    fit.roofline = {.launch_s = 1e-12, .flops_per_s = flops_per_s, .bytes_per_s = 1e30};
    fitted.kernels.push_back(fit);
    flops_per_s /= 2;
  }
  const FittedCompute compute =
      fitted_compute(fitted, load_gpu("p100", "--gpu", nullptr), network, {}, nullptr);
  const auto backward = [&](const std::string& name) {
    for (size_t i = 0; i < network.layers.size(); ++i)
      if (network.layers[i].name == name)
        return compute.table.layers[i].backward_t1_s / network.layers[i].forward_flops;
    return 0.0;
  };
  EXPECT_NEAR(backward("conv1_1"), 4e-12, 1e-16);
  EXPECT_NEAR(backward("conv1_2"), 4e-12 + 2e-12, 1e-16);
}

TEST(FittedCompute, HalfPrecisionMovesHalfTheBytes) {
  const Network network = load_network("vgg-16", "--model");
  const GpuModel gpu = load_gpu("p100", "--gpu", nullptr);
  const auto pool_s = [&](Precision precision) {
    return fitted_compute(full(), gpu, network, {.precision = precision}, nullptr)
        .table.layers[5]
        .forward_t1_s;
  };
  ASSERT_EQ(network.layers[5].type, "Pooling");
  EXPECT_NEAR(pool_s(Precision::kFp16), 0.5 * pool_s(Precision::kFp32), 1e-12);
  // What was measured is FP32: half precision of the rest is said to be a guess.
  const auto description = [&](Precision precision) {
    return fitted_compute(full(), gpu, network, {.precision = precision}, nullptr)
        .table.description;
  };
  EXPECT_THAT(description(Precision::kFp16),
              HasSubstr("32 from measured kernels of another precision or kind, scaled"));
  EXPECT_THAT(description(Precision::kFp32), Not(HasSubstr("peak")));
  EXPECT_THAT(fitted_compute(FittedGpu{}, gpu, network, {.precision = Precision::kFp16}, nullptr)
                  .table.description,
              HasSubstr("; 32 of convolutions and products were not measured and are taken at half "
                        "of the fp16 peak"));
  EXPECT_EQ(pool_s(Precision::kTf32), pool_s(Precision::kFp32));
}

// By DeepBench's medians (assumptions.json), and by the peaks of P100: 9.3 and 18.7 TFLOP/s.
TEST(FittedCompute, AConvolutionIsAProductWhereNoneWasMeasured) {
  const Network network = load_network("vgg-16", "--model");
  FittedGpu fitted;
  fitted.kernels.push_back(fit_of(product(1, 1, 1)));
  fitted.kernels.front().roofline = {.launch_s = 1e-12, .flops_per_s = 1e12, .bytes_per_s = 1e30};
  const GpuModel gpu = load_gpu("p100", "--gpu", nullptr);
  const auto conv1_2 = [&](Precision precision) {
    const FittedCompute compute = fitted_compute(
        fitted, gpu, network,
        {.precision = precision, .memory_format = MemoryFormat::kNhwc, .is_dispatched = false},
        nullptr);
    for (size_t i = 0; i < network.layers.size(); ++i)
      if (network.layers[i].name == "conv1_2") return compute.table.layers[i];
    return LayerTime{};
  };
  double flops = 0;
  for (const Layer& layer : network.layers)
    if (layer.name == "conv1_2") flops = layer.forward_flops;
  ASSERT_GT(flops, 0);
  const LayerTime single = conv1_2(Precision::kFp32);
  EXPECT_NEAR(single.forward_t1_s, 0.99 * flops / 1e12, 1e-6 * single.forward_t1_s);
  EXPECT_NEAR(single.backward_t1_s, (1.13 + 1.12) * flops / 1e12, 1e-6 * single.backward_t1_s);
  EXPECT_NEAR(single.forward_t0_s, 3e-6, 1e-9) << "what a framework adds to a kernel";
  const LayerTime half = conv1_2(Precision::kFp16);
  EXPECT_NEAR(half.forward_t1_s, single.forward_t1_s * 9.3 / 18.7, 1e-6 * half.forward_t1_s);
}

// 1.7 times their bytes' time channels first, 1.06 channels last (assumptions.json).
TEST(FittedCompute, OtherLayersTakeLongerChannelsFirst) {
  const Network network = load_network("vgg-16", "--model");
  const GpuModel gpu = load_gpu("p100", "--gpu", nullptr);
  const auto pool_s = [&](MemoryFormat format) {
    return fitted_compute(full(), gpu, network, {.memory_format = format}, nullptr)
        .table.layers[5]
        .forward_t1_s;
  };
  EXPECT_NEAR(pool_s(MemoryFormat::kNchw), 1.7 / 1.06 * pool_s(MemoryFormat::kNhwc), 1e-12);
}

// As 47 us of assumptions.json: kernels of nothing take what the CPU needs to ask for them, and
// nothing in a CUDA graph.
TEST(FittedCompute, NoKernelTakesLessThanTheCpuNeedsToAskForIt) {
  const Network network = load_network("resnet-50", "--model");
  const GpuModel gpu = load_gpu("h100", "--gpu", nullptr);
  const FittedGpu fitted = load_fitted_gpu("h100", "--gpu", nullptr);
  const auto iteration_s = [&](std::int64_t batch, bool is_dispatched) {
    return fitted_compute(fitted, gpu, network,
                          {.precision = Precision::kBf16,
                           .memory_format = MemoryFormat::kNhwc,
                           .batches = {batch},
                           .is_dispatched = is_dispatched},
                          nullptr)
        .table.iteration_s(batch);
  };
  std::size_t kernels = 0;
  for (const auto& kernel : network_kernels(network, 1, Precision::kBf16))
    kernels += kernel.kernels.size();
  for (const Layer& layer : network.layers)
    if (layer.traffic_per_image.value > 0 && layer.forward_flops == 0) kernels += 2;
  EXPECT_EQ(kernels, 403U);
  const double least_s = 47e-6 * static_cast<double>(kernels);
  EXPECT_GT(iteration_s(1, true), least_s);
  EXPECT_LT(iteration_s(1, true), 1.1 * least_s);
  EXPECT_LT(iteration_s(1, false), 0.3 * least_s);
  EXPECT_NEAR(iteration_s(2048, true), iteration_s(2048, false), 1e-3 * iteration_s(2048, true));
}

// Activations alone, or sums with them, run within the kernels before them.
TEST(FittedCompute, FusedLayersTakeNothing) {
  const Network network = load_network("resnet-50", "--model");
  const GpuModel gpu = load_gpu("a100", "--gpu", nullptr);
  const FittedGpu fitted = load_fitted_gpu("a100", "--gpu", nullptr);
  const auto compute_with = [&](Fusion fusion) {
    return fitted_compute(fitted, gpu, network,
                          {.precision = Precision::kFp16,
                           .memory_format = MemoryFormat::kNhwc,
                           .fusion = fusion,
                           .batches = {256}},
                          nullptr);
  };
  const FittedCompute apart = compute_with(Fusion::kNone);
  for (const Fusion fusion : {Fusion::kActivations, Fusion::kPointwise}) {
    const FittedCompute fused = compute_with(fusion);
    for (size_t i = 0; i < network.layers.size(); ++i) {
      const std::string& type = network.layers[i].type;
      const bool is_within = type == "ReLU" || (type == "Eltwise" && fusion == Fusion::kPointwise);
      const double time_s = 256 * fused.table.layers[i].forward_t1_s;
      EXPECT_EQ(time_s, is_within ? 0 : 256 * apart.table.layers[i].forward_t1_s) << type;
      EXPECT_EQ(fused.table.layers[i].backward_t1_s == 0,
                is_within || apart.table.layers[i].backward_t1_s == 0)
          << type;
    }
    EXPECT_THAT(fused.table.description, HasSubstr(std::string(name_of(fusion)) + " fused"));
  }
}

// Convolutions of products or channels last lack it; V100's were timed channels first.
TEST(FittedCompute, ImagesChannelsFirstAreTurnedAroundInHalfPrecision) {
  const Network network = load_network("vgg-16", "--model");
  const auto added = [&](const char* name, Precision precision) {
    const GpuModel gpu = load_gpu(name, "--gpu", nullptr);
    const FittedGpu fitted = load_fitted_gpu(name, "--gpu", nullptr);
    const auto conv2_1_s = [&](MemoryFormat format) {
      const FittedCompute compute = fitted_compute(
          fitted, gpu, network, {.precision = precision, .memory_format = format, .batches = {64}},
          nullptr);
      for (size_t i = 0; i < network.layers.size(); ++i)
        if (network.layers[i].name == "conv2_1") return 64 * compute.table.layers[i].forward_t1_s;
      return 0.0;
    };
    return conv2_1_s(MemoryFormat::kNchw) - conv2_1_s(MemoryFormat::kNhwc);
  };
  const double values = 64.0 * (64 * 112 * 112 + 128 * 112 * 112) + 128 * 64 * 9;
  const double turned_s = 1.52 * 2 * 2 * values / 2.98e12;  // read and written, 2 bytes each
  EXPECT_NEAR(added("h100", Precision::kFp16), turned_s, 1e-3 * turned_s);
  EXPECT_NEAR(added("h100", Precision::kTf32), 0, 1e-9);
  EXPECT_NEAR(added("v100", Precision::kFp16), 0, 1e-9);
}

// A product's gradients are two products of the same FLOP.
TEST(FittedCompute, AFullyConnectedLayerIsThreeProducts) {
  const Network network = load_network("vgg-16", "--model");
  FittedGpu fitted;
  fitted.name = "g";
  fitted.kernels.push_back(fit_of(product(1, 1, 1)));
  fitted.kernels.front().roofline = {.launch_s = 1e-9, .flops_per_s = 1e12, .bytes_per_s = 1e30};
  const FittedCompute compute =
      fitted_compute(fitted, load_gpu("p100", "--gpu", nullptr), network, {}, nullptr);
  for (size_t i = 0; i < network.layers.size(); ++i) {
    if (network.layers[i].name != "fc7") continue;
    const double flops = network.layers[i].forward_flops;
    EXPECT_NEAR(compute.table.layers[i].forward_t1_s, flops / 1e12, 1e-6 * flops / 1e12);
    EXPECT_NEAR(compute.table.layers[i].backward_t1_s, 2 * flops / 1e12, 1e-6 * flops / 1e12);
  }
}

}  // namespace
}  // namespace forescale
