// Transformers on layouts: what adds up, what a degree divides, and closed forms of bubble, memory
// and volume on a machine whose messages cost what ideal ones do.
#include "studies/layout/layout_prediction.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <tuple>

#include "studies/layout/layout_setup.hpp"
#include "tests/base/refusal.hpp"
#include "tests/studies/layout_asking.hpp"

namespace forescale {
namespace {

using testing::memory_of;
using testing::predict;
using testing::predicted;
using testing::question_of;
using testing::refusal;
using testing::sum_of_parts;

// Megatron-LM's, of BF16: a tensor of each shape of weights, the output's on the last stage.
TEST(LayoutMemory, GradientsHaveBuffersOfEachShape) {
  constexpr std::int64_t kHidden = 4096;
  constexpr std::int64_t kFfn = 11008;
  constexpr std::int64_t kOfALayer =
      (3 * kHidden) * kHidden + kHidden * kHidden + (2 * kFfn) * kHidden + kFfn * kHidden;
  EXPECT_EQ(memory_of(predict("tp=1", 1), "gradient buffers"), 2 * (kOfALayer + 32000 * kHidden));
  EXPECT_EQ(memory_of(predict("tp=4", 4), "gradient buffers"),
            2 * (kOfALayer + 32000 * kHidden) / 4);
  const LayoutPrediction all = predict("pp=2,global=4", 2);
  std::int64_t parts = 0;
  for (const MemoryPart& part : all.memory.parts)
    if (part.name != "framework") parts += part.bytes;
  EXPECT_EQ(all.memory.allocated_bytes, parts);
  EXPECT_LT(parts, all.memory.bytes);
}

TEST(LayoutPrediction, PartsAddUpToTheIteration) {
  for (const std::string layout :
       {"tp=1,global=16", "tp=2,pp=2,global=16", "tp=4,sp=false,global=8,recompute=full",
        "pp=4,global=16,schedule=gpipe", "pp=2,vpp=2,global=16", "tp=8,zero=3,global=8",
        "pp=4,global=16,schedule=zb-h1", "cp=2,tp=2,global=8,zero=1"}) {
    const LayoutPrediction prediction = predict(layout, 8);
    EXPECT_NEAR(sum_of_parts(prediction), prediction.iteration_s, 1e-12) << layout;
    EXPECT_GE(prediction.pipeline_s, 0) << layout;
    EXPECT_LT(prediction.model_flops_share(), 1) << layout;
    EXPECT_GT(prediction.model_flops_share(), 0.05) << layout;
  }
}

// With equal stages (p - 1) of m + p - 1; embedding and head make the first and last ones longer.
TEST(LayoutPrediction, BubbleIsTheClosedForm) {
  const LayoutPrediction all = predict("pp=4,global=8", 4);
  const LayoutPrediction twice = predict("pp=4,global=16", 4);
  const double micro_batch_s = (twice.iteration_s - all.iteration_s) / 8;
  // All passes but those of the other micro-batches of the longest rank are filling and draining.
  EXPECT_NEAR(all.compute_s, 8 * micro_batch_s, 1e-9);
  EXPECT_NEAR(twice.pipeline_s, all.pipeline_s, 1e-9);
  const LayoutPrediction gpipe = predict("pp=4,global=8,schedule=gpipe", 4);
  EXPECT_NEAR(gpipe.iteration_s, all.iteration_s, 1e-9);
  EXPECT_GT(memory_of(gpipe, "activations"), memory_of(all, "activations"));
  EXPECT_LT(predict("pp=4,vpp=2,global=8", 4).pipeline_s, 0.7 * all.pipeline_s);
}

// Bytes a parameter: 2 of weights, 4 of gradients, 12 of Adam's state in FP32 (Rajbhandari et al.,
// ZeRO, SC 2020, section 3.1, whose gradients are FP16).
TEST(LayoutPrediction, StateIsSharedAsZeroSays) {
  const auto state = [](const std::string& zero) {
    const LayoutPrediction each = predict("tp=1,zero=" + zero, 8);
    return std::vector<std::int64_t>{memory_of(each, "parameters"), memory_of(each, "gradients"),
                                     memory_of(each, "optimizer")};
  };
  const std::int64_t all = predict("tp=1", 8).parameters;
  using Bytes3 = std::vector<std::int64_t>;
  EXPECT_EQ(state("none"), (Bytes3{2 * all, 4 * all, 12 * all}));
  EXPECT_EQ(state("optimizer"), (Bytes3{2 * all, 4 * all, 12 * all / 8}));
  EXPECT_EQ(state("gradients"), (Bytes3{2 * all, 4 * all / 8, 12 * all / 8}));
  EXPECT_EQ(state("parameters"), (Bytes3{2 * all / 8, 4 * all / 8, 12 * all / 8}));
}

// Each of four pipeline ranks has two of four stages, and shares their state with its mirror too;
// as many layers run as of one copy, half of them of each.
TEST(LayoutPrediction, DualPipeHoldsTheNetworkTwice) {
  const auto on = [](const std::string& more) { return predict("pp=4,global=16" + more, 8); };
  const LayoutPrediction once = on("");
  const LayoutPrediction twice = on(",schedule=dualpipe");
  const LayoutPrediction v = predict("pp=4,vpp=2,global=16,schedule=dualpipev", 8);
  const auto all_ranks = [](const LayoutPrediction& each, const std::string& name) {
    std::int64_t bytes = 0;
    for (const std::vector<MemoryPart>& rank : each.memory.by_pipeline_rank)
      for (const MemoryPart& part : rank) bytes += part.name == name ? part.bytes : 0;
    return bytes;
  };
  for (const char* name : {"parameters", "gradients", "optimizer"})
    EXPECT_EQ(all_ranks(twice, name), 2 * all_ranks(once, name)) << name;
  EXPECT_EQ(all_ranks(on(",zero=1,schedule=dualpipe"), "optimizer"),
            all_ranks(on(",zero=1"), "optimizer"));
  // Who reduces gradients together: a rank's copies of the pipeline, and its mirror's.
  Layout layout = parse_layout("pp=4,schedule=dualpipe", "test");
  layout = resolved(layout, 8, "test");
  const std::vector<int> nodes(8, 0);
  const RankGrid grid(layout, "test");
  EXPECT_EQ(group_ranks(grid, LayoutGroup::kData, 2, nodes), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(group_ranks(grid, LayoutGroup::kExpertData, 7, nodes), (std::vector<int>{0, 1, 6, 7}));
  EXPECT_EQ(group_ranks(grid, LayoutGroup::kReplica, 7, nodes), (std::vector<int>{7}));
  // Of eight micro-batches four each way; ranks in the middle, whose two stages have neither end.
  EXPECT_NEAR(twice.compute_s, v.compute_s, 0.1 * v.compute_s);
  EXPECT_LT(twice.iteration_s, 1.05 * once.iteration_s);
}

// 1,024 tokens of 32,000 words, a fourth of them on each GPU: in BF16, in FP32, as probabilities,
// their gradient; in place of all that, where the loss is fused, once.
TEST(LayoutPrediction, ScoresAreKeptAsTheFrameworkDoes) {
  Question question = question_of("tp=4,micro=2");
  EXPECT_EQ(memory_of(predicted(question, 8), "logits"), 2 * 1024 * 8000 * (2 + 4 + 4 + 2));
  question.framework = Framework::kLlmFoundry;
  EXPECT_EQ(memory_of(predicted(question, 8), "logits"), 2 * 1024 * 8000 * 2);
}

// nanotron's gates keep half of the product's inputs too. Of each of 32 layers a result of 4,096
// values a token is whole on all four GPUs until it is scattered, unless the GPU waits for the CPU.
TEST(LayoutMemory, NanotronKeepsGatesAndHoldsResults) {
  const auto bytes = [](const std::string& layout, Framework framework, const char* part) {
    Question question = question_of(layout);
    question.framework = framework;
    return memory_of(predicted(question, 8), part);
  };
  const char* sharded = "tp=4,micro=16,zero=1";
  EXPECT_EQ(bytes(sharded, Framework::kNanotron, "activations") -
                bytes(sharded, Framework::kMegatron, "activations"),
            16 * 2 * 1024 * 32 * std::int64_t{11008} / 4);
  constexpr std::int64_t kOfALayer = 16 * 2 * 1024 * 4096;
  const auto results = [&](const std::string& layout, Framework framework = Framework::kNanotron) {
    return bytes(layout, framework, "reduced results");
  };
  EXPECT_EQ(results(sharded), 32 * kOfALayer);
  // An allocator that finds no memory takes them back.
  Question question = question_of(sharded);
  question.framework = Framework::kNanotron;
  const LayoutMemory memory = predicted(question, 8).memory;
  EXPECT_NEAR(memory.low_bytes, 1.05 * (memory.allocated_bytes - 32 * kOfALayer), 1);
  EXPECT_EQ(results(sharded, Framework::kMegatron), 0);
  EXPECT_EQ(results("tp=1,micro=16,zero=1"), 0);
  EXPECT_EQ(results("tp=4,micro=16,zero=1,sp=false"), 0);
  EXPECT_EQ(results("tp=4,micro=1,zero=1"), 0);
  // Two micro-batches under way on the first of two stages of 16 layers.
  EXPECT_EQ(results("tp=4,pp=2,micro=16,global=64,zero=1"), 2 * 16 * kOfALayer);
}

TEST(LayoutPrediction, GradientsInBf16AreHalfAsLarge) {
  EXPECT_EQ(memory_of(predict("tp=4,loss_fusion=true,micro=2", 8), "logits"), 2 * 1024 * 8000 * 2);
  EXPECT_EQ(2 * memory_of(predict("tp=1,grads=bf16", 8), "gradients"),
            memory_of(predict("tp=1", 8), "gradients"));
}

// 32 layers, in 1.5 ms each forward and 3 ms backward, of 16 micro-batches; the optimizer beside.
TEST(LayoutPrediction, KernelsWaitForTheCpu) {
  Question question = question_of("tp=8,global=16");
  question.framework = Framework::kNanotron;
  const LayoutPrediction waiting = predicted(question, 8);
  EXPECT_NEAR(waiting.iteration_s - waiting.optimizer_s - waiting.norm_s, 16 * 32 * 0.0045, 1e-9);
  EXPECT_GT(waiting.host_s, 0);
  EXPECT_NEAR(sum_of_parts(waiting), waiting.iteration_s, 1e-12);
  EXPECT_EQ(predict("tp=8,global=16", 8).host_s, 0);
}

// 16 layers a stage: with stages on two nodes 1.9 ms longer for each of the 8 GPUs that share a
// layer.
TEST(LayoutPrediction, ThePipelinesCpuIsSlowerBetweenNodes) {
  const auto passes_s = [](const char* layout, std::int64_t gpus, Framework framework) {
    Question question = question_of(layout);
    question.framework = framework;
    return predicted(question, gpus).passes.passes_end_s;
  };
  constexpr double kPasses = 16 + 1;  // micro-batches, and the pipeline's filling
  constexpr double kLayers = 16;
  EXPECT_NEAR(passes_s("tp=8,pp=2,global=16", 16, Framework::kNanotron),
              kPasses * kLayers * (0.0045 + 8 * 0.0019), 1e-3);
  EXPECT_NEAR(passes_s("tp=4,pp=2,global=16", 8, Framework::kNanotron), kPasses * kLayers * 0.0045,
              1e-3);
  EXPECT_NEAR(passes_s("tp=8,pp=2,order=pp-tp-cp-ep-dp,global=16", 16, Framework::kNanotron),
              kPasses * kLayers * 0.0045, 1e-3);
}

// What is sent stays, what waits for it shrinks: of four pieces of a product one is left beside.
TEST(LayoutPrediction, ProductsHideTensorExchanges) {
  const auto pytorch = [](const std::string& layout) {  // which hides none of them otherwise
    Question question = question_of(layout);
    question.framework = Framework::kPyTorchTo210;
    return predicted(question, 4);
  };
  const LayoutPrediction beside = pytorch("tp=4,micro=8,global=8");
  const LayoutPrediction under = pytorch("tp=4,tp_overlap=true,micro=8,global=8");
  EXPECT_GT(under.compute_s, beside.compute_s);  // of smaller products
  EXPECT_LT(under.compute_s, 1.3 * beside.compute_s);
  EXPECT_LT(under.tensor_s, 0.6 * beside.tensor_s);
  EXPECT_GE(under.tensor_s, 0);
  EXPECT_LT(under.iteration_s, beside.iteration_s);
  const auto wrong = [](const std::string& layout) { return refusal([&] { predict(layout, 4); }); };
  EXPECT_NE(wrong("tp_overlap=true").find("needs tp > 1 and sp"), std::string::npos);
  EXPECT_NE(wrong("tp=2,pp=2,global=4,schedule=zb-h1,tp_overlap=true").find("whole backward"),
            std::string::npos);
}

TEST(LayoutPrediction, AFrameworksKernelsTakeLonger) {
  Question question = question_of("tp=1,zero=1,micro=4,global=32");
  const double fused_s = predicted(question, 8).compute_s;
  question.framework = Framework::kNanotron;
  const double eager_s = predicted(question, 8).compute_s;
  constexpr double kMegatron = 1.16;
  EXPECT_GT(eager_s, 1.29 / kMegatron * fused_s);
  EXPECT_LT(eager_s, 1.29 / kMegatron * 1.75 * fused_s);
  question.framework = Framework::kCaffe;
  EXPECT_NE(refusal([&] { predicted(question, 8); }).find("--framework = Caffe: has no"),
            std::string::npos);
}

// PyTorch's DDP gathers parameters after the step, under nothing; FSDP, which shards gradients too,
// layer by layer under the forward pass. Megatron-LM does either way.
TEST(LayoutPrediction, WhoShardsGradientsGathersByLayers) {
  const auto time_s = [](const std::string& sharding, Framework framework) {
    Question question = question_of("micro=1,global=8,zero=" + sharding);
    question.stack = "nccl";
    question.framework = framework;
    return predicted(question, 8).iteration_s;
  };
  const double optimizer_s = time_s("optimizer", Framework::kPyTorch);
  const double gradients_s = time_s("gradients", Framework::kPyTorch);
  EXPECT_LT(gradients_s, 0.97 * optimizer_s);
  EXPECT_LT(gradients_s, time_s("parameters", Framework::kPyTorch)) << "which gathers twice";
  EXPECT_DOUBLE_EQ(time_s("gradients", Framework::kMegatron),
                   time_s("optimizer", Framework::kMegatron));
}

// Only products in layers are in FP8, and the inputs that they keep: state stays as it is.
TEST(LayoutPrediction, Fp8IsForProducts) {
  Question question = question_of("tp=1,zero=1,micro=2,global=16");
  const LayoutPrediction bf16 = predicted(question, 8);
  question.precision = Precision::kFp8;
  const LayoutPrediction fp8 = predicted(question, 8);
  EXPECT_LT(fp8.compute_s, 0.95 * bf16.compute_s);
  EXPECT_GT(fp8.compute_s, 0.5 * bf16.compute_s);
  EXPECT_EQ(memory_of(fp8, "parameters"), memory_of(bf16, "parameters"));
  EXPECT_LT(memory_of(fp8, "activations"), memory_of(bf16, "activations"));
  EXPECT_NEAR(fp8.peak_flops_per_s / bf16.peak_flops_per_s, 2, 1e-3);
  question.platform = "dgx-a100";
  EXPECT_NE(refusal([&] { predicted(question, 8); }).find("--precision = fp8: is not among"),
            std::string::npos);
}

// By FP8's kernels; what is kept has a byte of scale for 32 values.
TEST(LayoutPrediction, BlockScalesAreKeptToo) {
  Question question = question_of("tp=1,zero=1,micro=1,global=8");
  question.precision = Precision::kMxfp8;
  EXPECT_NE(refusal([&] { predicted(question, 8); }).find("--precision = mxfp8: is not among"),
            std::string::npos);
  question.platform = "gb200-nvl72";
  const LayoutPrediction mxfp8 = predicted(question, 8);
  question.precision = Precision::kFp8;
  const LayoutPrediction fp8 = predicted(question, 8);
  question.precision = Precision::kNvfp4;
  const LayoutPrediction nvfp4 = predicted(question, 8);
  EXPECT_EQ(mxfp8.compute_s, fp8.compute_s);
  EXPECT_EQ(memory_of(mxfp8, "parameters"), memory_of(fp8, "parameters"));
  EXPECT_GT(memory_of(mxfp8, "activations"), memory_of(fp8, "activations"));
  EXPECT_LT(memory_of(nvfp4, "activations"), memory_of(fp8, "activations"));
  EXPECT_LT(nvfp4.compute_s, fp8.compute_s);
  EXPECT_NEAR(nvfp4.peak_flops_per_s / fp8.peak_flops_per_s, 2, 1e-3);
}

TEST(LayoutPrediction, IntervalsHoldTheirNominal) {
  const std::vector<LayoutCase> cases = {
      {.question = question_of("tp=2,pp=2,global=16"), .gpus = 8},
      {.question = question_of("tp=8,global=16"), .gpus = 16}};
  Asker asker;
  for (const LayoutPrediction& each : predict_layout_ranges(cases, asker)) {
    ASSERT_TRUE(each.iteration.has_value());
    EXPECT_EQ(each.iteration->time_s, each.iteration_s);
    EXPECT_LT(each.iteration->low_s, (1 - 0.05) * each.iteration_s);
    EXPECT_GT(each.iteration->high_s, (1 + 0.08) * each.iteration_s);
    EXPECT_LE(each.memory.low_bytes, each.memory.bytes);
    EXPECT_GE(each.memory.high_bytes, each.memory.bytes);
  }
}

// Several at once are what each is alone; one that is wrong keeps its reason and stops no other.
TEST(LayoutPrediction, CasesDoNotDisturbEachOther) {
  Asker asker;
  const std::vector<LayoutPrediction> all =
      predict_layouts({{.question = question_of("tp=2,global=16"), .gpus = 8},
                       {.question = question_of("tp=3"), .gpus = 8},
                       {.question = question_of("tp=2,pp=2,global=16"), .gpus = 8}},
                      asker, true);
  EXPECT_EQ(all[0].iteration_s, predict("tp=2,global=16", 8).iteration_s);
  EXPECT_NE(all[1].failure.find("must divide"), std::string::npos);
  EXPECT_EQ(all[2].iteration_s, predict("tp=2,pp=2,global=16", 8).iteration_s);
}

// The same work, however it is cut up.
TEST(LayoutPrediction, WorkIsTheSameOnEveryLayout) {
  const double flops = predict("tp=1,global=8", 8).model_flops;
  for (const std::string layout : {"tp=2,global=8", "tp=8,global=8", "pp=8,global=8"})
    EXPECT_DOUBLE_EQ(predict(layout, 8).model_flops, flops) << layout;
}

TEST(LayoutPrediction, RecomputationTradesTimeForMemory) {
  const LayoutPrediction none = predict("tp=1,global=8", 8);
  const LayoutPrediction full = predict("tp=1,global=8,recompute=full", 8);
  const LayoutPrediction half = predict("tp=1,global=8,recompute=full,recompute_layers=16", 8);
  EXPECT_GT(full.recompute_s, 0.25 * none.compute_s);
  EXPECT_LT(full.recompute_s, 0.4 * none.compute_s);
  EXPECT_NEAR(half.recompute_s, full.recompute_s / 2, 1e-12);
  EXPECT_DOUBLE_EQ(full.model_flops, none.model_flops);
  EXPECT_LT(memory_of(full, "activations"), memory_of(none, "activations") / 5);
}

// PyTorch's stops before each layer's last product, and saves half of the products where it is
// asked.
TEST(LayoutPrediction, PyTorchRecomputesLess) {
  const auto pytorch = [](const std::string& recompute) {
    Question question = question_of("tp=1,global=8,recompute=" + recompute);
    question.framework = Framework::kPyTorchTo210;
    return predicted(question, 8);
  };
  const LayoutPrediction none = pytorch("none");
  const LayoutPrediction some = pytorch("selective_op");
  const LayoutPrediction full = pytorch("full");
  EXPECT_LT(none.iteration_s, some.iteration_s);
  EXPECT_LT(some.iteration_s, full.iteration_s);
  EXPECT_GT(memory_of(none, "activations"), memory_of(some, "activations"));
  EXPECT_GT(memory_of(some, "activations"), memory_of(full, "activations"));
  EXPECT_EQ(some.model_flops, none.model_flops);
  const LayoutPrediction all = predict("tp=1,global=8,recompute=full", 8);  // Megatron-LM's
  EXPECT_LT(full.recompute_s / none.compute_s,
            0.95 * all.recompute_s / predict("tp=1,global=8", 8).compute_s);
  const auto refused = [](const std::string& layout, const std::string& model,
                          Framework framework) {
    return refusal([&] {
      Question question = question_of(layout, model);
      question.framework = framework;
      predicted(question, 8);
    });
  };
  const std::string selective = "tp=1,global=8,recompute=selective_op";
  for (const auto& [layout, model, framework, reason] :
       {std::tuple{selective, "mixtral-8x7b", Framework::kPyTorchTo210, "without experts"},
        std::tuple{selective + ",attention=unfused", "llama-2-7b", Framework::kPyTorchTo210,
                   "needs flash attention"},
        std::tuple{selective, "llama-2-7b", Framework::kMegatron, "needs --framework PyTorch"}})
    EXPECT_NE(refused(layout, model, framework).find(reason), std::string::npos) << reason;
}

TEST(LayoutPrediction, EagerCodeTakesLongerWhereThereIsNoProduct) {
  const auto pytorch = [](const std::string& layout, Precision precision = Precision::kBf16) {
    Question question = question_of(layout);
    question.framework = Framework::kPyTorchTo210;
    question.precision = precision;
    return predicted(question, 8);
  };
  const double compiled_s = pytorch("tp=1,global=8").compute_s;
  EXPECT_GT(pytorch("tp=1,global=8,compile=false").compute_s, 1.05 * compiled_s);
  EXPECT_EQ(pytorch("tp=1,global=8,compile=true").compute_s, compiled_s);
  EXPECT_NE(refusal([] { predict("tp=1,global=8,compile=false", 8); }).find("run eagerly"),
            std::string::npos);
  EXPECT_NE(
      refusal([&] { pytorch("tp=1,global=8,compile=false", Precision::kFp8); }).find("BF16 alone"),
      std::string::npos);
}

// Three accesses to memory for each byte that arrives: of all parameters twice and of their
// gradients in FP32, seven eighths on eight GPUs; of sharded optimizers once, but for one part.
TEST(LayoutPrediction, KernelsBesideCollectivesAreSlowed) {
  const auto slow_s = [](const std::string& layout) {
    Question question = question_of(layout);
    Asker asker;
    const LayoutSetUp set_up = set_up_layout({.question = question, .gpus = 8}, asker);
    const StageWork& work = set_up.work.stages.front();
    return std::array<double, 3>{
        work.parameters_slow_s, work.gradients_slow_s,
        3.0 * static_cast<double>(set_up.parameters) * 7 / 8 / set_up.gpu.memory_bandwidth.value};
  };
  const auto [gathers_s, reduces_s, unit_s] = slow_s("zero=parameters,global=8");
  EXPECT_NEAR(gathers_s, 2 * unit_s, 1e-6 * unit_s);
  EXPECT_NEAR(reduces_s, 4 * unit_s, 1e-6 * unit_s);
  EXPECT_EQ(slow_s("tp=8,global=8")[1], 0);
  for (const std::string sharding : {"optimizer", "parameters"})
    for (const int of : {0, 1})
      EXPECT_EQ(slow_s("zero=" + sharding + ",overlap=false,global=8")[static_cast<size_t>(of)], 0);
  const double of_some_s = slow_s("zero=optimizer,global=8")[1];
  EXPECT_GT(of_some_s, 3.9 * unit_s);
  EXPECT_LT(of_some_s, 4 * unit_s);
  EXPECT_NEAR(slow_s("zero=none,global=8")[1], 2 * of_some_s, 1e-6 * unit_s);
}

// Of Megatron-LM: what tp gathers and scatters backward goes on under half of the backward pass of
// the products that read it, those of the words' scores too, and takes its share of the memory from
// them: seven eighths of 2 bytes a value.
TEST(LayoutPrediction, GradientsHideWhatTensorParallelismExchanges) {
  const auto set_up = [](const std::string& layout, Framework framework) {
    Question question = question_of(layout);
    question.framework = framework;
    Asker asker;
    return set_up_layout({.question = question, .gpus = 8}, asker);
  };
  const auto hidden = [&](const std::string& layout, Framework framework) {
    const StagePart part = set_up(layout, framework).work.stages.front().part;
    int count = 0;
    for (const auto& [exchange, times] : part.backward)
      if (exchange.under_ns > 0) count += times;
    for (const auto& [exchange, times] : part.forward) EXPECT_EQ(exchange.under_ns, 0);
    return count;
  };
  EXPECT_EQ(hidden("tp=8,global=1", Framework::kMegatron), 2 * (2 * 32 + 1));
  EXPECT_EQ(hidden("tp=8,sp=false,global=1", Framework::kMegatron), 2 * 32 + 1);
  EXPECT_EQ(hidden("tp=4,pp=2,schedule=zb-h1,global=4", Framework::kMegatron), 0);
  EXPECT_EQ(hidden("tp=8,sp=false,global=1", Framework::kMegatronTo2), 0);
  EXPECT_GT(hidden("tp=8,global=1", Framework::kNanotron), 0);
  EXPECT_EQ(hidden("tp=8,sp=false,global=1", Framework::kNanotron), 0);
  EXPECT_EQ(hidden("tp=8,global=1", Framework::kPyTorchTo210), 0);
  const LayoutSetUp hides = set_up("tp=8,global=1", Framework::kMegatron);
  const LayoutSetUp waits = set_up("tp=8,global=1", Framework::kMegatronTo2);
  const Stack stack = load_stack("nccl-2.23-h100");
  const double slow_s =
      stack.slows_kernels_s(brought_bytes(CollectiveOp::kAllGather, 2 * 1024 * 4096, 8), hides.gpu);
  EXPECT_DOUBLE_EQ(slow_s, 3 * 2.0 * 1024 * 4096 * 7 / 8 / hides.gpu.memory_bandwidth.value);
  EXPECT_DOUBLE_EQ(
      stack.slows_kernels_s(brought_bytes(CollectiveOp::kAllReduce, 2 * 1024 * 4096, 8), hides.gpu),
      2 * slow_s);
  const double slowed_s =
      hides.work.stages.front().part.backward_s - waits.work.stages.front().part.backward_s;
  EXPECT_NEAR(slowed_s, 2 * (2 * 32 + 1) * slow_s, 1e-9 * slowed_s);
}

// Eight copies, four of which share a state: a layer's gradients are scattered over four, and the
// quarter that each has is reduced over two. States are twice as large as shared by eight.
TEST(LayoutPrediction, HybridShardingSharesWithinAndReducesAcross) {
  const auto calls = [](const std::string& layout) {
    Asker asker;
    return set_up_layout({.question = question_of(layout), .gpus = 8}, asker).work.stages.front();
  };
  const StageWork all = calls("zero=3,global=8");
  const StageWork hybrid = calls("zero=3,dp_shard=4,global=8");
  EXPECT_TRUE(all.replicas.empty());
  ASSERT_EQ(hybrid.replicas.size(), 2);  // experts' too, of which there are none
  EXPECT_EQ(hybrid.gradients, all.gradients);
  EXPECT_EQ(hybrid.replicas.front().op, "all-reduce");
  EXPECT_EQ(hybrid.replicas.front().group, LayoutGroup::kReplica);
  EXPECT_EQ(hybrid.replicas.front().bytes, (hybrid.gradients.front().bytes + 3) / 4);
  EXPECT_EQ(hybrid.replicas.back().bytes, 0);
  const StageWork optimizer = calls("zero=1,dp_shard=4,global=8");  // one after the other
  ASSERT_EQ(optimizer.gradients.size(), 4);
  EXPECT_EQ(optimizer.gradients[2].group, LayoutGroup::kReplica);
  const LayoutPrediction of_all = predict("zero=3,global=8", 8);
  const LayoutPrediction of_some = predict("zero=3,dp_shard=4,global=8", 8);
  for (const char* part : {"parameters", "gradients", "optimizer"})
    EXPECT_NEAR(memory_of(of_some, part), 2 * memory_of(of_all, part), 2) << part;
  EXPECT_EQ(memory_of(of_some, "activations"), memory_of(of_all, "activations"));
  EXPECT_NEAR(predict("zero=3,dp_shard=8,global=8", 8).iteration_s, of_all.iteration_s, 1e-12);
  EXPECT_NE(refusal([] { predict("zero=3,dp_shard=6,global=48", 48); }).find("unlike numbers"),
            std::string::npos);
  for (const auto& [layout, framework, reason] :
       {std::tuple{"zero=3,dp_shard=4", Framework::kNanotron, "with hybrid sharding"},
        std::tuple{"zero=1,dp_shard=4", Framework::kMegatronTo2, "with hybrid sharding"},
        std::tuple{"zero=1,dp_shard=4", Framework::kPyTorch, "over all copies"}})
    EXPECT_NE(refusal([&, layout = layout, framework = framework] {
                Question question = question_of(layout);
                question.framework = framework;
                predicted(question, 8);
              }).find(reason),
              std::string::npos)
        << layout;
}

// Where a layer's collectives take longer than its kernels, too: all layers' are gathered and
// reduced one by one either way.
TEST(LayoutPrediction, OverlapNeverLoses) {
  for (const std::string layout : {"zero=3", "zero=3,dp_shard=8", "zero=1", "zero=1,dp_shard=8"}) {
    const auto iteration_s = [&](const std::string& overlap) {
      Question question = question_of(layout + ",overlap=" + overlap, "mpt-125m");
      question.stack = "";
      question.sequence = 128;
      return predicted(question, 128).iteration_s;
    };
    EXPECT_LE(iteration_s("true"), iteration_s("false")) << layout;
  }
}

// Another micro-batch's pass hides what goes to experts and back with what tensor parallelism's
// exchanges leave of it.
TEST(LayoutPrediction, NoKernelHidesTwoExchanges) {
  Question question = question_of("tp=4,ep=4,etp=1,expert_overlap=true,global=2",
                                  "qwen3-30b-a3b:num_hidden_layers=4");
  Asker asker;
  const LayoutSetUp set_up = set_up_layout({.question = question, .gpus = 8}, asker);
  const StagePart& part = set_up.work.stages.front().part;
  const auto under_s = [](const ExchangeCounts& counts) {
    double sum_s = 0;
    for (const auto& [exchange, times] : counts) sum_s += times * exchange.under_s();
    return sum_s;
  };
  EXPECT_GT(under_s(part.backward), 0.99 * part.backward_s);
  EXPECT_LE(under_s(part.backward), part.backward_s);
  EXPECT_LE(under_s(part.forward), part.forward_s);
}

// More of anything that helps never hurts.
TEST(LayoutPrediction, ATighterNetworkIsNeverFaster) {
  Question question;
  question.platform = "dgx-h100";
  question.model = "llama-3-8b";
  question.sequence = 4096;
  question.layout = "tp=8,pp=2,global=16";
  Asker asker;
  const double fast =
      predict_layouts({{.question = question, .gpus = 32}}, asker).front().iteration_s;
  question.network_scale = 0.1;
  EXPECT_GT(predict_layouts({{.question = question, .gpus = 32}}, asker).front().iteration_s, fast);
}

TEST(LayoutPrediction, SaysWhatDoesNotFit) {
  const LayoutPrediction large = predict("tp=1", 8, "llama-2-70b");
  EXPECT_FALSE(large.fits());
  EXPECT_TRUE(predict("tp=8,pp=4,zero=3", 32, "llama-2-70b").fits());
}

TEST(LayoutPrediction, RefusesWhatDoesNotDivide) {
  const auto refused = [](const std::string& layout, std::int64_t gpus,
                          const std::string& model = "llama-2-7b") {
    return refusal([&] { predict(layout, gpus, model); });
  };
  const auto says = [](const std::string& whole, const std::string& part) {
    return whole.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(refused("pp=64", 64), "their product 64 must be at most the 32 layers"));
  EXPECT_TRUE(says(refused("pp=3", 3), "3 stages must divide 32 layers"));
  EXPECT_TRUE(says(refused("tp=3", 3), "tp=3: must divide the 32 heads"));
  EXPECT_TRUE(says(refused("tp=1,ep=16", 16, "mixtral-8x7b"), "ep=16: must divide the 8 experts"));
  EXPECT_TRUE(says(refused("micro=4,global=2", 8), "micro x dp=32: must divide 2"));
  EXPECT_TRUE(says(refused("tp=16", 8), "must divide the 8 GPUs"));
  EXPECT_TRUE(says(refused("tp=1", 512), "must be at most the 256 GPUs of platform dgx-h200"));
  EXPECT_TRUE(says(refused("pp=2,schedule=1f2b", 8), "unknown"));
  EXPECT_TRUE(says(refused("tp=1", 8, "alexnet"), "must be a transformer"));
}

}  // namespace
}  // namespace forescale
