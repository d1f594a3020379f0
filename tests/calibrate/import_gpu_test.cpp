// Tables and logs of GPU kernels: every figure where it belongs, and what is wrong refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/scratch_folder.hpp"
#include "calibrate/import/import_profiler.hpp"
#include "tests/base/refusal.hpp"
#include "tests/calibrate/logs.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kGemmTable =
    "device,sheet,precision,M,N,K,a_transpose,b_transpose,time_ms,tflops_as_printed,path\n"
    "NV_A,FP32,Float,1760,16,880,N,T,0.182,0.54,a.xlsx\n"
    "NV_A,FP16,\"16 bit inputs, 32 bit multiplication, 32 bit addition\",512,8,500000,T,N,1.5,1,"
    "a.xlsx\n"
    "NV_A,INT8,INT8 multiplication,512,8,512,T,N,1.5,1,a.xlsx\n"
    "NV_B,FP32,Float,64,64,64,N,N,0.01,0.1,b.xlsx\n";

const std::string kConvolutionTable =
    "device,sheet,precision,source,W,H,C,N,K,filter_w,filter_h,pad_w,pad_h,stride_w,stride_h,v1,v2,"
    "v3,v4,v5,v6,v7,column_names_v1_to_v7,path\n"
    "NV_A,FP32,Float,,700.0,161.0,1.0,4.0,32.0,20.0,5.0,0.0,0.0,2.0,2.0,0.211,,0.362,,341.0,79.0,"
    "0.573,\"['Forward (msec)', 'wrt Inputs (msec)', 'wrt Parameters (msec)']\",a.xlsx\n";

TEST(ImportDeepBench, TakesOneDeviceOfATable) {
  const Measurement read = import_log_text(kGemmTable, "log.txt", "auto", {.device = "NV_A"});
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(std::get<GemmShape>(read.kernels[0].kernel.shape),
            (GemmShape{.m = 1760, .n = 16, .k = 880, .transpose_b = true}));
  EXPECT_NEAR(read.kernels[0].time_s, 0.182e-3, 1e-12);
  EXPECT_EQ(read.kernels[0].kernel.precision, Precision::kFp32);
  EXPECT_EQ(read.kernels[1].kernel.precision, Precision::kFp16);
  EXPECT_EQ(read.gpu.at("name"), "NV_A");
  EXPECT_THAT(read.notes.at(0), HasSubstr("1 rows of other precisions are left out"));
  EXPECT_THAT(read.provenance.at("source"), HasSubstr("a.xlsx"));
  EXPECT_THAT(log_refusal(kGemmTable, "auto"), HasSubstr("NV_A, NV_B: say which with --device"));
  EXPECT_THAT(log_refusal(kGemmTable, "auto", {.device = "NV_C"}),
              HasSubstr("is not in this table"));
}

TEST(ImportDeepBench, AConvolutionHasAKernelAPass) {
  const Measurement read = import_log_text(kConvolutionTable, "log.txt", "auto", {});
  ASSERT_EQ(read.kernels.size(), 2U);  // no gradient of the images
  const auto& shape = std::get<ConvolutionShape>(read.kernels[0].kernel.shape);
  EXPECT_EQ(shape, (ConvolutionShape{.batch = 4,
                                     .channels = 1,
                                     .height = 161,
                                     .width = 700,
                                     .filters = 32,
                                     .filter_height = 5,
                                     .filter_width = 20,
                                     .stride_height = 2,
                                     .stride_width = 2}));
  EXPECT_EQ(shape.output_height(), 79);
  EXPECT_EQ(shape.output_width(), 341);
  EXPECT_EQ(read.kernels[1].kernel.pass, KernelPass::kBackwardWeights);
  EXPECT_NEAR(read.kernels[1].time_s, 0.362e-3, 1e-12);
}

const std::string kGemmLog =
    "                  Running training benchmark \n"
    "                         Times\n"
    "----------------------------------------\n"
    "    m       n      k      a_t     b_t      precision        time (usec) \n"
    "   1760     16   1760      n      t          float                 182\n"
    "   1760     32   1760      0      1           half                 183\n"
    "   1764     32   1760      n      t           int8                 183\n";

TEST(ImportDeepBench, ReadsWhatItsProgramsPrint) {
  const Measurement gemm = import_log_text(kGemmLog, "log.txt", "auto", {});
  ASSERT_EQ(gemm.kernels.size(), 2U);
  EXPECT_NEAR(gemm.kernels[0].time_s, 182e-6, 1e-12);
  EXPECT_TRUE(std::get<GemmShape>(gemm.kernels[1].kernel.shape).transpose_b);
  const Measurement convolution = import_log_text(
      "   w      h      c      n      k      f_w    f_h  pad_w  pad_h    stride_w  stride_h    "
      "precision  fwd_time (usec)  bwd_inputs_time (usec)  bwd_params_time (usec)  total_time "
      "(usec)   fwd_algo \n"
      "  700    161      1      4     32     20      5      0       0         2         2     "
      "float            78                       0                     127                205     "
      "  IMPLICIT_PRECOMP_GEMM\n",
      "log.txt", "deepbench", {});
  ASSERT_EQ(convolution.kernels.size(), 2U);
  EXPECT_EQ(std::get<ConvolutionShape>(convolution.kernels[0].kernel.shape).filter_width, 20);
  EXPECT_NEAR(convolution.kernels[1].time_s, 127e-6, 1e-12);
}

TEST(ImportDeepBench, RefusesWhatIsNoRow) {
  EXPECT_THAT(log_refusal(replaced(kGemmLog, "182", "1,82"), "auto"), HasSubstr("line 5"));
  EXPECT_THAT(log_refusal(replaced(kGemmLog, "   1760     16", "      0     16"), "auto"),
              AllOf(HasSubstr("line 5"), HasSubstr("/m: must be >= 1")));
  EXPECT_THAT(log_refusal(replaced(kGemmTable, "0.182", "0"), "auto", {.device = "NV_A"}),
              AllOf(HasSubstr("line 2"), HasSubstr("must be > 0")));
  EXPECT_THAT(log_refusal(replaced(kGemmTable, ",a.xlsx", ""), "auto", {.device = "NV_A"}),
              HasSubstr("must have 11 cells as the header has, and has 10"));
  EXPECT_THAT(log_refusal(replaced(kConvolutionTable, "5.0,0.0", "500.0,0.0"), "auto"),
              HasSubstr("height with its padding"));
}

const std::string kCaffeLog =
    "I0408 23:27:35.673627 11298 caffe.cpp:212] Use GPU with device ID 0\n"
    "I0408 23:27:35.893822 11298 net.cpp:42] Initializing net from parameters: \n"
    "name: \"small\"\n"
    "force_backward: true\n"
    "input: \"data\"\ninput_dim: 128\ninput_dim: 3\ninput_dim: 10\ninput_dim: 12\n"
    "layer { name: \"conv\" type: \"Convolution\" bottom: \"data\" top: \"conv\"\n"
    "  convolution_param { num_output: 8 kernel_size: 3 pad: 1 stride: 2 } }\n"
    "layer { name: \"relu\" type: \"ReLU\" bottom: \"conv\" top: \"conv\" }\n"
    "layer { name: \"fc\" type: \"InnerProduct\" bottom: \"conv\" top: \"fc\"\n"
    "  inner_product_param { num_output: 7 } }\n"
    "I0408 23:27:35.893884 11298 net.cpp:340] Input 0 -> data\n"
    "I0408 23:27:55.415990 11298 caffe.cpp:273] Average time per layer: \n"
    "I0408 23:27:55.415994 11298 caffe.cpp:276]      conv\tforward: 23.2096 ms.\n"
    "I0408 23:27:55.415999 11298 caffe.cpp:279]      conv\tbackward: 75.1043 ms.\n"
    "I0408 23:27:55.416002 11298 caffe.cpp:276]      relu\tforward: 0.792896 ms.\n"
    "I0408 23:27:55.416002 11298 caffe.cpp:276]        fc\tforward: 0.5 ms.\n"
    "I0408 23:27:55.416002 11298 caffe.cpp:276]     other\tforward: 0.5 ms.\n"
    "I0408 23:27:55.416003 11298 caffe.cpp:284] Average Forward pass: 24 ms.\n";

TEST(ImportCaffeTime, TakesShapesFromTheNetworkInTheLog) {
  const Measurement read = import_log_text(kCaffeLog, "log.txt", "auto", {});
  ASSERT_EQ(read.kernels.size(), 4U);
  EXPECT_EQ(std::get<ConvolutionShape>(read.kernels[0].kernel.shape),
            (ConvolutionShape{.batch = 128,
                              .channels = 3,
                              .height = 10,
                              .width = 12,
                              .filters = 8,
                              .filter_height = 3,
                              .filter_width = 3,
                              .pad_height = 1,
                              .pad_width = 1,
                              .stride_height = 2,
                              .stride_width = 2}));
  EXPECT_NEAR(read.kernels[0].time_s, 23.2096e-3, 1e-9);
  EXPECT_EQ(read.kernels[1].kernel.pass, KernelPass::kBackward);  // force_backward
  const auto& relu = std::get<LayerShape>(read.kernels[2].kernel.shape);
  EXPECT_EQ(relu.input_bytes, 4.0 * 128 * 8 * 5 * 6);
  EXPECT_EQ(std::get<GemmShape>(read.kernels[3].kernel.shape),
            (GemmShape{.m = 7, .n = 128, .k = 8 * 5 * 6, .transpose_a = true}));
  EXPECT_EQ(read.kernels[3].network, "small");
  EXPECT_THAT(read.notes.at(0), HasSubstr("small: 1 of 5 times are left out"));
  const Measurement weights =
      import_log_text(replaced(kCaffeLog, "force_backward: true\n", ""), "log.txt", "auto", {});
  EXPECT_EQ(weights.kernels[1].kernel.pass, KernelPass::kBackwardWeights);
}

TEST(ImportCaffeTime, RefusesALogThatIsCutOrUnnamed) {
  const std::string cut = kCaffeLog.substr(0, kCaffeLog.find("I0408 23:27:55.416003"));
  EXPECT_THAT(log_refusal(cut, "auto"), HasSubstr("does not end with its sums"));
  EXPECT_EQ(import_log_text(cut, "log.txt", "auto", {.partial = true}).kernels.size(), 4U);
  const std::string bare = kCaffeLog.substr(kCaffeLog.find("I0408 23:27:55.415990"));
  EXPECT_THAT(log_refusal(bare, "auto"), HasSubstr("name it with --network"));
  EXPECT_THAT(log_refusal(replaced(kCaffeLog, "23.2096 ms.", "23.2096 s."), "auto"),
              HasSubstr("NAME forward: TIME ms."));
}

const std::string kLayerTable =
    "framework,net,layer,direction,time_ms,path,commit\n"
    "caffe,cifar10-quick,conv1,forward,2.5,p,c\n"
    "caffe,cifar10-quick,TOTAL,Forward pass,2.5,p,c\n"
    "other,cifar10-quick,conv1,forward,9.5,p,c\n"
    "caffe,unknown,conv1,forward,2.5,p,c\n";

TEST(ImportCaffeLayers, TakesShapesFromNamedNetworks) {
  const LogImportOptions options{.device = "caffe", .networks = {"cifar10-quick"}, .batch = 100};
  const Measurement read = import_log_text(kLayerTable, "log.txt", "auto", options);
  ASSERT_EQ(read.kernels.size(), 1U);
  EXPECT_EQ(std::get<ConvolutionShape>(read.kernels[0].kernel.shape).batch, 100);
  EXPECT_NEAR(read.kernels[0].time_s, 2.5e-3, 1e-12);
  EXPECT_THAT(read.notes.at(0), HasSubstr("net unknown: 1 times are left out"));
  EXPECT_THAT(log_refusal(kLayerTable, "auto"), HasSubstr("caffe, other: say which with --device"));
  EXPECT_THAT(log_refusal(kLayerTable, "auto", {.device = "caffe", .networks = {"cifar10-quick"}}),
              HasSubstr("--batch: is required"));
  EXPECT_THAT(
      log_refusal(kLayerTable, "auto", {.device = "caffe", .networks = {"vgg-16"}, .batch = 1}),
      HasSubstr("the table has no net \"vgg-16\""));
}

nlohmann::json profile() {
  const auto op = [](int id, const char* name, nlohmann::json dims, nlohmann::json values) {
    return nlohmann::json{{"ph", "X"},
                          {"cat", "cpu_op"},
                          {"name", name},
                          {"args",
                           {{"External id", id},
                            {"Input Dims", std::move(dims)},
                            {"Input type", {"c10::Half", "c10::Half"}},
                            {"Concrete Inputs", std::move(values)}}}};
  };
  const auto kernel = [](int correlation, double duration) {
    return nlohmann::json{{"ph", "X"},
                          {"cat", "kernel"},
                          {"name", "k"},
                          {"dur", duration},
                          {"args", {{"correlation", correlation}}}};
  };
  const auto launch = [](int correlation, int id) {
    return nlohmann::json{{"ph", "X"},
                          {"cat", "cuda_runtime"},
                          {"name", "cudaLaunchKernel"},
                          {"args", {{"correlation", correlation}, {"External id", id}}}};
  };
  const nlohmann::json product = {{32, 100}, {100, 50}};
  const nlohmann::json image = {{16, 8, 10, 12}, {4, 8, 3, 3}, nlohmann::json::array()};
  return {{"schemaVersion", 1},
          {"deviceProperties", {{{"name", "H"}, {"totalGlobalMem", 1000}, {"numSms", 3}}}},
          {"traceEvents",
           {op(1, "aten::mm", product, {"", ""}), launch(11, 1), kernel(11, 5.0),
            op(2, "aten::mm", product, {"", ""}), launch(12, 2), kernel(12, 7.0),
            op(3, "aten::convolution", image, {"", "", "", "[2, 1]", "[1, 0]"}), launch(13, 3),
            kernel(13, 20.0), kernel(13, 30.0), launch(14, 99), kernel(14, 1.0)}}};
}

TEST(ImportProfiler, OperatorsAreKernelsOfTheirShapes) {
  const ScratchFolder folder("profile");
  const std::string file = folder.file("trace.json");
  std::ofstream(file) << profile();
  const Measurement read = import_log(file, "auto", {});
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(read.gpu.at("sm_count"), "3");
  const MeasuredKernel& conv = read.kernels[0];
  EXPECT_EQ(std::get<ConvolutionShape>(conv.kernel.shape), (ConvolutionShape{.batch = 16,
                                                                             .channels = 8,
                                                                             .height = 10,
                                                                             .width = 12,
                                                                             .filters = 4,
                                                                             .filter_height = 3,
                                                                             .filter_width = 3,
                                                                             .pad_height = 1,
                                                                             .stride_height = 2}));
  EXPECT_NEAR(conv.time_s, 50e-6, 1e-12);  // both of its kernels
  const MeasuredKernel& product = read.kernels[1];
  EXPECT_EQ(std::get<GemmShape>(product.kernel.shape), (GemmShape{.m = 50, .n = 32, .k = 100}));
  EXPECT_NEAR(product.time_s, 6e-6, 1e-12);  // the median of two calls
  EXPECT_EQ(product.samples, 2);
  EXPECT_EQ(product.kernel.precision, Precision::kFp16);
  EXPECT_THAT(read.notes.at(0), HasSubstr("1 calls of operators are left out"));
}

// One operator of BF16 with a kernel of 4 us, as the profiler writes it.
nlohmann::json profile_of(const char* name, nlohmann::json dims, nlohmann::json values) {
  nlohmann::json types = nlohmann::json::array();
  for (size_t i = 0; i < dims.size(); ++i) types.push_back("c10::BFloat16");
  return {{"traceEvents",
           {{{"ph", "X"},
             {"cat", "cpu_op"},
             {"name", name},
             {"args",
              {{"External id", 1},
               {"Input Dims", std::move(dims)},
               {"Input type", std::move(types)},
               {"Concrete Inputs", std::move(values)}}}},
            {{"ph", "X"},
             {"cat", "cuda_runtime"},
             {"name", "cudaLaunchKernel"},
             {"args", {{"correlation", 7}, {"External id", 1}}}},
            {{"ph", "X"},
             {"cat", "kernel"},
             {"name", "k"},
             {"dur", 4.0},
             {"args", {{"correlation", 7}}}}}}};
}

MeasuredKernel imported(const nlohmann::json& trace) {
  const ScratchFolder folder("profile");
  const std::string file = folder.file("trace.json");
  std::ofstream(file) << trace;
  const Measurement read = import_profiler_trace(file);
  EXPECT_EQ(read.kernels.size(), 1U);
  return read.kernels.at(0);
}

// Signatures of PyTorch 2.11 (aten/src/ATen/native/native_functions.yaml); its trace of a step on
// H100 has cuDNN's.
TEST(ImportProfiler, FusedAttentionIsAttention) {
  const nlohmann::json heads_first = {{2, 32, 4096, 64}, {2, 8, 4096, 64}, {2, 8, 4096, 64}};
  const AttentionShape shape{
      .batch = 2, .sequence = 4096, .heads = 32, .kv_heads = 8, .head_size = 64, .is_causal = true};
  const MeasuredKernel forward =
      imported(profile_of("aten::_cudnn_attention_forward", heads_first,
                          {"", "", "", "", "", "", "4096", "4096", "True", "0.", "True", "False"}));
  EXPECT_EQ(std::get<AttentionShape>(forward.kernel.shape), shape);
  EXPECT_EQ(forward.kernel.pass, KernelPass::kForward);
  EXPECT_EQ(forward.kernel.precision, Precision::kBf16);
  EXPECT_EQ(forward.algorithm, "cudnn");

  // A gradient before them; words before heads; not causal.
  const nlohmann::json words_first = {
      {2, 4096, 32, 64}, {2, 4096, 32, 64}, {2, 4096, 8, 64}, {2, 4096, 8, 64}};
  AttentionShape whole = shape;
  whole.is_causal = false;
  const MeasuredKernel backward =
      imported(profile_of("aten::_flash_attention_backward", words_first,
                          {"", "", "", "", "", "", "", "", "4096", "4096", "0.", "False"}));
  EXPECT_EQ(std::get<AttentionShape>(backward.kernel.shape), whole);
  EXPECT_EQ(backward.kernel.pass, KernelPass::kBackward);
  EXPECT_EQ(backward.algorithm, "flash");
}

// With what a network's own layers read and write, so that a fit on them predicts those.
TEST(ImportProfiler, NormsAndActivationsAreLayersOfNetworks) {
  constexpr double kBytes = 2.0 * 16 * 8 * 10 * 12;
  const nlohmann::json image = {{16, 8, 10, 12}, {16, 8, 10, 12}, {8}};
  const auto layer_of = [&](const char* name) {
    const MeasuredKernel read = imported(profile_of(name, image, {"", "", ""}));
    return std::pair(std::get<LayerShape>(read.kernel.shape), read.kernel.pass);
  };
  const LayerShape norm{.type = "BatchNorm",
                        .batch = 16,
                        .input_bytes = kBytes,
                        .output_bytes = kBytes,
                        .parameter_bytes = 2 * 8 * 2};
  EXPECT_EQ(layer_of("aten::native_batch_norm"), std::pair(norm, KernelPass::kForward));
  EXPECT_EQ(layer_of("aten::native_batch_norm_backward"), std::pair(norm, KernelPass::kBackward));
  const LayerShape activation{
      .type = "ReLU", .batch = 16, .input_bytes = kBytes, .output_bytes = kBytes};
  EXPECT_EQ(layer_of("aten::clamp_min_"), std::pair(activation, KernelPass::kForward));
  EXPECT_EQ(layer_of("aten::threshold_backward"), std::pair(activation, KernelPass::kBackward));
}

TEST(ImportProfiler, RefusesWhatHasNoShapes) {
  const ScratchFolder folder("profile");
  const std::string file = folder.file("trace.json");
  const auto refused = [&](const std::string& text) {
    std::ofstream(file) << text;
    return refusal([&] { import_profiler_trace(file); });
  };
  EXPECT_THAT(refused("{"), HasSubstr("is no JSON"));
  EXPECT_THAT(refused("{\"traceEvents\": 3}"), HasSubstr("must be a list of events"));
  EXPECT_THAT(refused("{\"traceEvents\": []}"), HasSubstr("record_shapes=True"));
}

const std::string kAverages =
    "-----------  ----------  ---------  ---------  ----------  ------------------------\n"
    "       Name  Self CPU %   Self CPU  Self CUDA  # of Calls  Input Shapes\n"
    "-----------  ----------  ---------  ---------  ----------  ------------------------\n"
    "aten::addmm      3.21 %  110.000us    1.200ms           4  [[1000], [32, 2048], [2048, "
    "1000]]\n"
    "aten::relu_      3.21 %   10.000us  300.000us           3  [[32, 64, 10, 10]]\n"
    "aten::empty      3.21 %   10.000us    0.000us           3  [[32, 64, 10, 10]]\n"
    "-----------  ----------  ---------  ---------  ----------  ------------------------\n"
    "Self CPU time total: 3.000ms\n"
    "Self CUDA time total: 1.500ms\n";

TEST(ImportKeyAverages, ARowIsTheMeanOfItsCalls) {
  const Measurement read = import_log_text(kAverages, "log.txt", "auto", {});
  ASSERT_EQ(read.kernels.size(), 2U);
  EXPECT_EQ(std::get<GemmShape>(read.kernels[0].kernel.shape),
            (GemmShape{.m = 1000, .n = 32, .k = 2048}));
  EXPECT_NEAR(read.kernels[0].time_s, 0.3e-3, 1e-12);
  EXPECT_EQ(read.kernels[0].samples, 4);
  EXPECT_NEAR(read.kernels[1].time_s, 0.1e-3, 1e-12);
  EXPECT_EQ(std::get<LayerShape>(read.kernels[1].kernel.shape).input_bytes, 4.0 * 32 * 64 * 100);
  EXPECT_THAT(read.notes.at(0), HasSubstr("1 rows"));
  EXPECT_THAT(log_refusal(replaced(kAverages, "Input Shapes", "Something"), "auto"),
              HasSubstr("group_by_input_shape=True"));
  EXPECT_THAT(log_refusal(kAverages.substr(0, kAverages.find("Self CPU time")), "auto"),
              HasSubstr("does not end with its sums"));
}

}  // namespace
}  // namespace forescale::testing
