// Compute tables meet their measurements, and say so when there is none.
#include "models/compute/compute_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/line_fit.hpp"
#include "models/compute/measurements.hpp"
#include "models/compute/other_networks.hpp"
#include "models/compute/roofline.hpp"

namespace forescale {
namespace {

GpuModel gpu(const std::string& name) {
  return {.name = name,
          .memory = {std::int64_t{12} << 30},
          .memory_bandwidth = {200e9},
          .peak_flops = {4e12},
          .kernel_launch = {7e-6},
          .synchronize = {1e-5},
          .host_copy = {1e10}};
}

ComputeTable table(const std::string& gpu_name, const std::string& network,
                   const std::optional<Framework>& framework = std::nullopt) {
  return compute_table(gpu(gpu_name), load_network(network, "--model"), nullptr, framework);
}

std::size_t index_of(const Network& network, const std::string& layer) {
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    if (network.layers[i].name == layer) return i;
  throw std::runtime_error("no layer " + layer);
}

TEST(ComputeTime, MeetsASingleMeasurement) {
  EXPECT_NEAR(table("k80", "alexnet").iteration_s(256), 0.9, 1e-9);
  EXPECT_NEAR(table("k80", "googlenet").iteration_s(32), 0.36, 1e-9);
  EXPECT_NEAR(table("k40", "caffenet").iteration_s(256), 19.2 / 20, 1e-9);
  EXPECT_NEAR(table("k20c", "caffenet").iteration_s(256), 36.0 / 20, 1e-9);
  EXPECT_NEAR(table("v100", "vgg-16").iteration_s(192), 192 / 249.19, 1e-9);
  EXPECT_FALSE(table("k80", "alexnet").assumed);
  EXPECT_EQ(table("k80", "alexnet").measured_batch_max, 256);
}

TEST(ComputeTime, TwoBatchesGiveOffsetAndSlope) {
  const ComputeTable vgg = table("p100", "vgg-16");
  EXPECT_NEAR(vgg.iteration_s(64), 64.0 / 154, 1e-9);
  EXPECT_NEAR(vgg.iteration_s(32), 32.0 / 144, 1e-9);
  const double t1 = (64.0 / 154 - 32.0 / 144) / 32;
  EXPECT_NEAR(vgg.iteration_s(96), 64.0 / 154 + 32 * t1, 1e-9);
  EXPECT_EQ(vgg.measured_batch_min, 32);
}

TEST(ComputeTime, TwoMachinesAtOneBatchGiveBetween) {
  const double time_s = table("k80", "vgg-16").iteration_s(32);
  EXPECT_GT(time_s, 32 / 36.3);
  EXPECT_LT(time_s, 32 / 35.4);
}

// A line through two batches meets them; through six and more it cannot meet all: GPUs fill up and
// change algorithm with the batch. From batch 8 on it is within 8 %.
TEST(ComputeTime, EveryMeasurementFileIsReadAndMet) {
  for (const std::string& name : catalogue("models/compute/times")) {
    const JsonInput in =
        JsonInput::from_file(find_data_file("models/compute/times", name, "models/compute/times"));
    const std::string gpu_name = in.at("gpu").string();
    const std::string network = in.at("network").string();
    EXPECT_EQ(name, gpu_name + "-" + network);
    for (const Framework framework : frameworks()) {
      const std::vector<TimedIteration> used = read_measurements(in, framework);
      if (used.empty()) continue;
      const ComputeTable times =
          compute_table(load_gpu(gpu_name, "--gpu", nullptr), load_network(network, "--model"),
                        nullptr, framework);
      EXPECT_EQ(times.framework, framework);
      for (const TimedIteration& m : used) {
        EXPECT_EQ(times.assumed, m.assumed) << name;
        EXPECT_EQ(m.library, used[0].library) << name << ": one library of a framework";
        EXPECT_FALSE(m.source.empty()) << name;
        const double tolerance = used.size() < 3 ? 0.025 : m.batch < 8 ? 0.2 : 0.08;
        EXPECT_NEAR(times.iteration_s(m.batch) / m.iteration.value, 1, tolerance)
            << name << " " << to_text(framework) << " " << m.batch;
      }
    }
  }
}

TEST(ComputeTime, TheFrameworkChooses) {
  // Caffe first where nobody says.
  EXPECT_NEAR(table("p100", "inception-v3").iteration_s(32), 0.33, 1e-9);
  const ComputeTable tensorflow = table("p100", "inception-v3", Framework::kTensorFlow);
  EXPECT_NEAR(tensorflow.iteration_s(32), 32.0 / 128, 1e-9);
  EXPECT_NEAR(tensorflow.iteration_s(64), 64.0 / 142, 1e-9);
  EXPECT_FALSE(tensorflow.assumed);
  EXPECT_NEAR(table("p100", "inception-v3", Framework::kMxnet).iteration_s(32), 32 / 129.98,
              0.05 * 32 / 129.98);
  // Not measured in Caffe: TensorFlow's times, assumed, with a range.
  const ComputeTable caffe = table("k80", "resnet-50", Framework::kCaffe);
  EXPECT_TRUE(caffe.assumed);
  EXPECT_EQ(caffe.framework, Framework::kTensorFlow);
  EXPECT_NEAR(caffe.iteration_s(64), table("k80", "resnet-50").iteration_s(64), 1e-9);
  Provenance slow{.scenario = Scenario::kSlow, .numbers = {}};
  const Network network = load_network("resnet-50", "--model");
  EXPECT_GT(compute_table(gpu("k80"), network, &slow, Framework::kCaffe).iteration_s(64),
            1.3 * caffe.iteration_s(64));
}

// No measurement of GoogLeNet on the K20c: the K40's, by the ratio of both GPUs in CaffeNet.
TEST(ComputeTime, ADerivedMeasurementIsAssumed) {
  const ComputeTable googlenet = table("k20c", "googlenet");
  EXPECT_TRUE(googlenet.assumed);
  EXPECT_NEAR(googlenet.iteration_s(128) - googlenet.update_s, 1.6888 * 36.0 / 26.5, 1e-3);
  Provenance fast{.scenario = Scenario::kFast, .numbers = {}};
  EXPECT_LT(compute_table(gpu("k20c"), load_network("googlenet", "--model"), &fast).iteration_s(32),
            0.92 * googlenet.iteration_s(32));
}

TEST(ComputeTime, FrameworksHaveNames) {
  for (const Framework framework : frameworks())
    EXPECT_EQ(read_framework(to_text(framework), "--framework"), framework);
  EXPECT_EQ(read_framework("tensorflow", "--framework"), Framework::kTensorFlow);
  EXPECT_THROW(read_framework("cafe", "--framework"), InputError);
}

// ResNet-50 of MXNet on K80, batch 1 to 32: what is left at batch 0 is an order of magnitude
// above the launches of its kernels.
TEST(ComputeTime, SmallBatchesCostMoreThanTheirShare) {
  const ComputeTable resnet = table("k80", "resnet-50", Framework::kMxnet);
  EXPECT_GT(resnet.kernel_s, 5e-5);
  EXPECT_LT(resnet.kernel_s, 2e-4);
  EXPECT_NEAR(resnet.iteration_s(1), 1 / 15.61, 0.1 / 15.61);
  // One batch measured: the kernel time of the GPU's networks that were measured at several.
  const ComputeTable googlenet = table("k80", "googlenet");
  EXPECT_GT(googlenet.kernel_s, 5e-5);
  EXPECT_GT(googlenet.iteration_s(8), 0.36 * 8 / 32 * 1.2);
}

// Small batches of the rest: an unmeasured network is neither free nor slower than ResNet-50.
TEST(ComputeTime, LightNetworksAreFasterHeavyOnesSlower) {
  for (const std::string gpu_name : {"k80", "p100"}) {
    const GpuModel real = load_gpu(gpu_name, "--gpu", nullptr);
    const auto time_s = [&](const std::string& network) {
      return compute_table(real, load_network(network, "--model"), nullptr, Framework::kTensorFlow)
          .iteration_s(64);
    };
    const double resnet_s = time_s("resnet-50");
    EXPECT_LT(time_s("mobilenet-v1"), 0.6 * resnet_s);
    EXPECT_GT(time_s("mobilenet-v1"), 0.1 * resnet_s);
    EXPECT_GT(time_s("nasnet-large"), 4 * resnet_s);
  }
}

TEST(ComputeTime, LayersFollowTheRoofline) {
  const Network network = load_network("alexnet", "--model");
  const GpuModel k80 = gpu("k80");
  const ComputeTable times = compute_table(k80, network, nullptr);
  ASSERT_EQ(times.layers.size(), network.layers.size());
  const LayerTime& fc7 = times.layers[index_of(network, "fc7")];
  EXPECT_NEAR(fc7.forward_t0_s, times.kernel_s + 4 * (4096.0 * 4096 + 4096) / 200e9, 1e-12);
  EXPECT_NEAR(fc7.backward_t0_s, 2 * fc7.forward_t0_s, 1e-12);
  EXPECT_NEAR(fc7.forward_t1_s, times.roofline_factor * 2 * 4096 * 4096 / (0.5 * 4e12), 1e-15);
  const LayerTime& conv1 = times.layers[index_of(network, "conv1")];
  EXPECT_NEAR(conv1.backward_t1_s, conv1.forward_t1_s, 1e-15);  // no gradient to the images
  const LayerTime& relu1 = times.layers[index_of(network, "relu1")];
  EXPECT_NEAR(relu1.forward_t1_s, times.roofline_factor * 2 * 4 * 96 * 55 * 55 / 200e9, 1e-15);
  EXPECT_NEAR(relu1.backward_t1_s, 1.5 * relu1.forward_t1_s, 1e-15);
  EXPECT_EQ(times.layers[index_of(network, "data")].forward_t0_s, 0);
  EXPECT_NEAR(times.update_s, 10.0 * 4 * 60'965'224 / 200e9, 1e-12);
}

// 26 rows of 128 values, of FP32 whatever the rest is: read once forward, six times backward; what
// is handed on is written, its gradient read.
TEST(ComputeTime, TablesTakeTheirRowsBytes) {
  const Network network = load_network("dlrm", "--model");
  const std::size_t tables = index_of(network, "tables");
  const RooflineParameters parameters = read_roofline_parameters(network, nullptr);
  const LayerTime rows = table_time(gpu("k80"), network.layers[tables], parameters);
  const double once_s = 4 * 26 * 128 / 200e9;
  EXPECT_NEAR(rows.forward_t1_s, once_s, 1e-15);
  EXPECT_NEAR(rows.backward_t1_s, 6 * once_s, 1e-15);
  const LayerTime all = roofline_times(gpu("k80"), network, parameters)[tables];
  const double handed_on_s = 4 * (26 + 26 * 128) / 200e9;
  EXPECT_NEAR(all.forward_t1_s, once_s + handed_on_s, 1e-15);
  EXPECT_NEAR(all.backward_t1_s, 6 * once_s + handed_on_s, 1e-15);
}

// P100 in Caffe: 256 images in 0.1 s are more FLOP than this GPU's peak. Convolutions may do with
// fewer (Winograd); layers that only move bytes stay at the bandwidth.
TEST(ComputeTime, NoLayerBeatsTheBandwidth) {
  const Network network = load_network("alexnet", "--model");
  const ComputeTable times = compute_table(gpu("p100"), network, nullptr);
  EXPECT_LT(times.roofline_factor, 1);
  EXPECT_NEAR(times.iteration_s(256), 0.1, 1e-9);
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    EXPECT_GE(times.layers[i].forward_t1_s * (1 + 1e-9),
              static_cast<double>(network.layers[i].traffic_per_image.value) / 200e9);
}

// convnet-benchmarks (b458aab, caffe/output_*.log, Titan X): backward over forward.
TEST(ComputeTime, BackwardOverForwardIsLikeCaffes) {
  const ComputeTable alexnet = table("k80", "alexnet");
  EXPECT_NEAR(alexnet.backward_s(128) / alexnet.forward_s(128), 86.2657 / 42.405, 0.2);
  const ComputeTable googlenet = table("k80", "googlenet");
  EXPECT_NEAR(googlenet.backward_s(128) / googlenet.forward_s(128), 338.261 / 146.263, 0.4);
}

// K80's kernels are M40's; as the hold-out predicts (NetworkFactors::iteration_s).
TEST(ComputeTime, AnUnmeasuredNetworkTakesKernelsAsTheGpusOtherNetworksDo) {
  constexpr std::int64_t kBatch = 64;
  const Network network = load_network("cifar10-quick", "--model");
  const FittedGpu m40 = load_fitted_gpu("m40", "--gpu", nullptr);
  const std::vector<LayerTime> kernels =
      fitted_compute(m40, gpu("k80"), network, {.is_dispatched = false}, nullptr).table.layers;
  TimeOfNetwork time;
  time.batch = kBatch;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Layer& layer = network.layers[i];
    (layer.forward_flops > 0 ? time.products_s : time.others_s) +=
        kernels[i].forward_t0_s + kernels[i].backward_t0_s +
        kBatch * (kernels[i].forward_t1_s + kernels[i].backward_t1_s);
    if (layer.traffic_per_image.value > 0) time.kernels += 3;
  }
  const OtherNetworks others(gpu("k80"));
  std::set<double> all_s;
  for (const std::optional<Framework> framework :
       {std::optional<Framework>(), std::optional(Framework::kCaffe)}) {
    Provenance provenance;
    const ComputeTable cifar = compute_table(gpu("k80"), network, &provenance, framework);
    const auto factors = others.fit(framework, [](const TimeOfNetwork&) { return true; });
    time.update_s = cifar.update_s;
    EXPECT_NEAR(cifar.iteration_s(kBatch), factors->iteration_s(time), 1e-12);
    all_s.insert(cifar.iteration_s(kBatch));
    EXPECT_TRUE(cifar.assumed);
    EXPECT_NE(cifar.description.find("not measured"), std::string::npos);
    EXPECT_TRUE(std::any_of(
        provenance.numbers.begin(), provenance.numbers.end(),
        [](const NumberSource& number) { return number.path == "/compute/other_networks"; }));
  }
  EXPECT_EQ(all_s.size(), 2U) << "those in the framework that is asked for count most";
}

TEST(ComputeTime, AnUnmeasuredGpuTakesTheRooflineAndSaysSo) {
  const Network network = load_network("alexnet", "--model");
  const ComputeTable times = compute_table(gpu("my-gpu"), network, nullptr);
  EXPECT_TRUE(times.assumed);
  EXPECT_EQ(times.roofline_factor, 1);
  EXPECT_NE(times.description.find("50 %"), std::string::npos);
  EXPECT_GT(times.forward_s(1) * 1.0, network.forward_flops() / (0.5 * 4e12));
}

TEST(ComputeTime, ScenariosOrderTheFallback) {
  const auto time_s = [](const std::string& gpu_name, Scenario scenario) {
    Provenance provenance{.scenario = scenario, .numbers = {}};
    return compute_table(gpu(gpu_name), load_network("cifar10-quick", "--model"), &provenance)
        .iteration_s(100);
  };
  for (const std::string name : {"k80", "my-gpu"}) {
    EXPECT_LT(time_s(name, Scenario::kFast), time_s(name, Scenario::kNominal));
    EXPECT_LT(time_s(name, Scenario::kNominal), time_s(name, Scenario::kSlow));
  }
  // A measurement does not move.
  Provenance slow{.scenario = Scenario::kSlow, .numbers = {}};
  EXPECT_NEAR(compute_table(gpu("k80"), load_network("alexnet", "--model"), &slow).iteration_s(256),
              0.9, 1e-9);
}

TEST(ComputeTime, AnImportedNetworkOfTheZooFindsItsMeasurement) {
  const Network imported = load_network(
      std::string(FORESCALE_SOURCE_DIR) + "/tests/models/data/alexnet_layer.prototxt", "--model");
  EXPECT_NEAR(compute_table(gpu("k80"), imported, nullptr).iteration_s(256), 0.9, 1e-9);
}

TEST(ComputeTime, RefusesBadInput) {
  EXPECT_THROW(table("k80", "alexnet").iteration_s(0), InputError);
  EXPECT_THROW(table("k80", "alexnet").forward_s(-1), InputError);
  const auto read = [](const std::string& row) {
    return read_measurements(JsonInput::from_text(
        R"({"gpu": "g", "network": "n", "measurements": [)" + row + "]}", "g-n.json"));
  };
  EXPECT_EQ(
      read(R"({"framework": "Caffe", "batch": 4, "images_per_s": 8, "passes": "forward+backward",
                     "library": "Caffe", "use": true})")[0]
          .iteration.value,
      4.0 / 8);
  EXPECT_THROW(read(""), InputError);
  EXPECT_THROW(
      read(R"({"framework": "Caffe", "batch": 0, "images_per_s": 8, "passes": "forward+backward",
                        "library": "Caffe", "use": true})"),
      InputError);
  EXPECT_THROW(
      read(R"({"framework": "Caffe", "batch": 4, "image_per_s": 8, "passes": "forward+backward",
                        "library": "Caffe", "use": true})"),
      InputError);
  EXPECT_THROW(
      read(R"({"framework": "Caffe", "batch": 4, "passes": "forward+backward", "library": "Caffe",
                        "use": true})"),
      InputError);
}

TEST(LineFit, NeitherNumberIsNegative) {
  const BatchLine line = fit_line({{.batch = 8, .time_s = 1e-3}, {.batch = 16, .time_s = 1.8e-3}});
  EXPECT_NEAR(line.t0_s, 2e-4, 1e-12);
  EXPECT_NEAR(line.t1_s, 1e-4, 1e-12);
  const BatchLine steep = fit_line({{.batch = 8, .time_s = 1e-3}, {.batch = 16, .time_s = 3e-3}});
  EXPECT_EQ(steep.t0_s, 0);
  EXPECT_GT(steep.t1_s, 0);
  EXPECT_EQ(fit_slope({{.batch = 8, .time_s = 1e-3}}, 2e-3).t1_s, 0) << "less than its t0";
}

}  // namespace
}  // namespace forescale
