// What forescale-gpu is asked, and what comes back of it when it ends early.
#include "calibrate/measure/measure_gpu.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "calibrate/bench/gpu/gpu_request.hpp"
#include "calibrate/fit/matrix_layers.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json request_of(const GpuMeasureOptions& options) { return parse_json(gpu_request(options)); }

GpuMeasureOptions kernels_only(const std::string& network) {
  return {.measures_patterns = false,
          .networks = {network},
          .batches = {16},
          .precisions = {Precision::kFp32}};
}

int count(const json& request, const std::string& operation, const std::string& pass) {
  return static_cast<int>(
      std::count_if(request["kernels"].begin(), request["kernels"].end(), [&](const json& kernel) {
        return kernel["operation"] == operation && kernel["pass"] == pass;
      }));
}

// Five convolutions and three fully connected layers, all different; nothing learns below conv1.
TEST(GpuMeasureRequest, HasEveryPassOfAlexnetsLayers) {
  const json request = request_of(kernels_only("alexnet"));
  EXPECT_EQ(count(request, "convolution", "forward"), 5);
  EXPECT_EQ(count(request, "convolution", "backward-data"), 5 - 1);
  EXPECT_EQ(count(request, "convolution", "backward-weights"), 5);
  EXPECT_EQ(count(request, "gemm", "forward"), 3);
  EXPECT_EQ(count(request, "gemm", "backward-data"), 3);
  EXPECT_EQ(count(request, "gemm", "backward-weights"), 3);
  const json& first = request["kernels"][0];
  EXPECT_EQ(first["layer"], "conv1");
  EXPECT_EQ(first["height"], 227);
  EXPECT_EQ(first["stride_height"], 4);
  EXPECT_FALSE(first.contains("time_s"));
}

// 53 convolutions, of which one stage's blocks share shapes: conv1; in the first stage reduction,
// 3x3, expansion (the shortcut's too) and the next blocks' reduction; in each of the other three a
// reduction and a shortcut with stride, the 3x3, the expansion and the next blocks' reduction.
TEST(GpuMeasureRequest, TimesEachShapeOfResnetOnce) {
  const json request = request_of(kernels_only("resnet-50"));
  const int shapes = 1 + 4 + 3 * 5;
  EXPECT_EQ(count(request, "convolution", "forward"), shapes);
  EXPECT_EQ(count(request, "convolution", "backward-data"), shapes - 1);
  EXPECT_EQ(count(request, "gemm", "forward"), 1);
}

TEST(GpuMeasureRequest, SharedShapesBelongToTheFirstNetwork) {
  GpuMeasureOptions options = kernels_only("resnet-50");
  options.networks = {"resnet-50", "resnet-152"};
  const json request = request_of(options);
  // ResNet-152 has deeper stages of the same blocks.
  EXPECT_EQ(request["kernels"].size(), request_of(kernels_only("resnet-50"))["kernels"].size());
  EXPECT_EQ(request["kernels"].size(), request_of(kernels_only("resnet-152"))["kernels"].size());
}

TEST(GpuMeasureRequest, HasEveryBatchAndPrecision) {
  GpuMeasureOptions options = kernels_only("alexnet");
  const std::size_t once = request_of(options)["kernels"].size();
  options.batches = {1, 8, 32};
  options.precisions = {Precision::kBf16, Precision::kFp32};
  const json request = request_of(options);
  EXPECT_EQ(request["kernels"].size(), once * 3 * 2);
  EXPECT_EQ(request["kernels"].front()["precision"], "bf16");
  EXPECT_EQ(request["kernels"].back()["precision"], "fp32");
}

// Fully connected: M outputs, N inputs, 2 M N FLOP an image and pass.
TEST(GpuMeasureRequest, FlopsAreThoseOfTheZoo) {
  for (const char* name : {"alexnet", "vgg-16", "resnet-50", "mobilenet-v2", "nasnet-large"}) {
    const Network network = load_network(name, "test");
    double forward = 0;
    double backward = 0;
    for (const LayerKernels& layer : network_kernels(network, 8, Precision::kFp32))
      for (const GpuKernel& kernel : layer.kernels)
        (kernel.pass == KernelPass::kForward ? forward : backward) += flops_of(kernel);
    EXPECT_NEAR(forward, 8 * network.forward_flops(), 1e-9 * forward) << name;
    EXPECT_NEAR(backward, 8 * network.backward_flops(), 1e-9 * backward) << name;
  }
}

TEST(GpuMeasureRequest, TransformersHaveTheirPublishedWeights) {
  const auto bert = std::find_if(matrix_networks().begin(), matrix_networks().end(),
                                 [](const MatrixNetwork& one) { return one.name == "bert-large"; });
  ASSERT_NE(bert, matrix_networks().end());
  double weights = 0;
  for (const MatrixLayer& layer : bert->layers)
    weights += static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs);
  EXPECT_EQ(weights, 12.0 * 1024 * 1024);  // 4 H^2 of attention and 8 H^2 of feed-forward
  const auto kernels = matrix_kernels(*bert, 4, Precision::kBf16);
  EXPECT_EQ(flops_of(kernels[0].kernels[0]), 2.0 * 4 * 512 * 1024 * 3072);
}

TEST(GpuMeasureRequest, TheImportantComesFirst) {
  const json request = request_of({.bytes_max = 1 << 20, .batches = {1}});
  std::vector<std::string> patterns;
  for (const json& series : request["series"]) patterns.push_back(series["pattern"]);
  EXPECT_THAT(
      std::vector<std::string>(patterns.begin(), patterns.begin() + 5),
      ElementsAre("launch", "synchronize", "host-to-device", "device-to-host", "reduction"));
  EXPECT_EQ(std::set<std::string>(patterns.begin(), patterns.end()).size(), 13U);
  EXPECT_EQ(request["series"][2]["bytes"].back(), 1 << 20);
  const std::vector<std::string> networks = measurable_networks();
  const auto kernels = [](const std::string& name) {
    return request_of(kernels_only(name))["kernels"].size();
  };
  EXPECT_LT(kernels(networks.front()), kernels("alexnet"));
  EXPECT_GT(kernels(networks.back()), kernels("resnet-50"));
  // The same kernels, in more layers.
  EXPECT_LT(std::find(networks.begin(), networks.end(), "resnet-50"),
            std::find(networks.begin(), networks.end(), "resnet-152"));
}

// Both sides read the same form.
TEST(GpuMeasureRequest, IsWhatTheProgramReads) {
  GpuMeasureOptions options = kernels_only("alexnet");
  options.measures_patterns = true;
  options.device = 3;
  options.layout = "nhwc";
  const GpuRequest request =
      read_gpu_request(JsonInput::from_text(gpu_request(options), "request.json"));
  EXPECT_EQ(request.device, 3);
  EXPECT_EQ(request.layout, "nhwc");
  EXPECT_EQ(request.series.size(), measurable_patterns().size());
  const auto kernels = network_kernels(load_network("alexnet", "test"), 16, Precision::kFp32);
  EXPECT_EQ(request.kernels[0].kernel, kernels[0].kernels[0]);
}

void expect_options_refused(const GpuMeasureOptions& options, const std::string& option,
                            const std::string& constraint) {
  try {
    gpu_request(options);
    ADD_FAILURE() << option;
  } catch (const InputError& error) {
    EXPECT_EQ(error.parts().source, option);
    EXPECT_THAT(error.parts().constraint, HasSubstr(constraint));
  }
}

TEST(GpuMeasureRequest, RefusesBadOptions) {
  expect_options_refused({.budget_s = 0}, "--budget", "at least 0.1 s");
  expect_options_refused({.bytes_max = 16}, "--max-bytes", "256 B");
  expect_options_refused({.networks = {"alexnet"}, .batches = {0}}, "--batches", "between 1");
  expect_options_refused({.networks = {"alexnot"}}, "--networks", "did you mean \"alexnet\"");
}

// Programs in forescale-gpu's place: shell scripts that get REQUEST.json and ANSWER.json.
class MeasureGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_.file("part.json")) << R"({"format": "forescale-measurement-1",
      "machine": "", "library": "CUDA", "provenance": {"gpu": {"name": "made-up"}},
      "notes": ["left out, out of memory: fill of 64 bytes"],
      "series": [{"pattern": "fill", "ranks": 1, "members": [0], "place": "gpu",
                  "points": [{"bytes": 32, "time_s": 1e-6}]}],
      "kernels": [{"operation": "gemm", "m": 2, "n": 3, "k": 4, "transposes": "NN",
                   "pass": "forward", "precision": "fp32", "time_s": 2e-6}]})";
  }

  MeasureOutcome run(const std::string& script) {
    std::ofstream(folder_.file("program.sh")) << "cd " << folder_.path() << "\n" << script << "\n";
    return measure_gpu({"sh", folder_.file("program.sh")},
                       {.budget_s = 1, .bytes_max = 1024, .networks = {"cifar10-quick"}},
                       [this](const std::string& line) { progress_.push_back(line); });
  }

  const ScratchFolder folder_{"gpu"};
  std::vector<std::string> progress_;
};

TEST_F(MeasureGpu, GivesTheWholeMeasurement) {
  const MeasureOutcome outcome = run("echo 'progress: 3 s: fill' >&2; cp part.json \"$2\"");
  EXPECT_EQ(outcome.failure, "");
  EXPECT_THAT(progress_, ElementsAre("3 s: fill"));
  EXPECT_EQ(outcome.measurement.series.size(), 1U);
  EXPECT_EQ(outcome.measurement.kernels.size(), 1U);
  EXPECT_EQ(outcome.measurement.notes.size(), 1U);
}

TEST_F(MeasureGpu, KeepsWhatWasMeasuredBeforeAFault) {
  const MeasureOutcome outcome =
      run("cp part.json \"$2\"; echo noise >&2; echo 'forescale-gpu: an illegal address' >&2; exit "
          "1");
  EXPECT_EQ(outcome.failure, "an illegal address");
  EXPECT_EQ(outcome.measurement.kernels.size(), 1U);
  EXPECT_THAT(outcome.measurement.notes,
              ElementsAre(HasSubstr("out of memory"), "an illegal address"));
}

TEST_F(MeasureGpu, KeepsWhatWasMeasuredBeforeItWasKilled) {
  const MeasureOutcome outcome = run("cp part.json \"$2\"; kill -9 $$");
  EXPECT_EQ(outcome.failure, "forescale-gpu was ended by signal 9");
  EXPECT_EQ(outcome.measurement.series.size(), 1U);
}

TEST_F(MeasureGpu, SaysHowItEndedWithoutWords) {
  const MeasureOutcome outcome = run("echo 'something broke' >&2; exit 5");
  EXPECT_EQ(outcome.failure, "forescale-gpu ended with exit code 5: something broke");
  EXPECT_TRUE(outcome.measurement.series.empty());
}

TEST_F(MeasureGpu, NoGpuIsAnInputError) {
  const auto expect_unusable = [this](const std::string& script, const std::string& why) {
    try {
      run(script);
      ADD_FAILURE() << why;
    } catch (const InputError& error) {
      EXPECT_EQ(error.parts().source, "--gpu");
      EXPECT_THAT(error.parts().constraint, HasSubstr(why));
    }
  };
  expect_unusable("echo 'forescale-gpu: no GPU was found' >&2; exit 2", "no GPU was found");
  expect_unusable("echo 'libcublas.so.12: cannot open shared object file' >&2; exit 127",
                  "libcublas.so.12");
}

TEST_F(MeasureGpu, SaysWhatToInstall) {
  std::ofstream(folder_.file("forescale")) << "";
  try {
    gpu_program(folder_.file("forescale"));
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(error.parts().source, "--gpu");
    EXPECT_THAT(error.parts().constraint, HasSubstr("nvidia-cuda-toolkit"));
  }
}

}  // namespace
}  // namespace forescale::testing
