// Experts in layouts: what a token's copies share of the way, and GPUs whose experts get more.
#include <gtest/gtest.h>

#include "base/data_files.hpp"
#include "models/workload/network.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "studies/layout/iteration_work.hpp"
#include "studies/layout/layout_prediction.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

// Two of four experts: of the six pairs one leaves out each half, three each expert.
TEST(ExpertCopies, GoToAPlaceOnce) {
  const ExpertShape four{.count = 4, .per_token = 2};
  EXPECT_DOUBLE_EQ(copy_shares(four, 4, 2).gpus, 1);
  EXPECT_DOUBLE_EQ(copy_shares(four, 4, 2).nodes, 2 * (5.0 / 6) / 2);
  EXPECT_DOUBLE_EQ(copy_shares(four, 2, 1).gpus, 2 * (5.0 / 6) / 2);
  EXPECT_DOUBLE_EQ(copy_shares(four, 2, 1).nodes, 1.0 / 2);
  // All of them go everywhere.
  const ExpertShape all{.count = 8, .per_token = 8};
  EXPECT_DOUBLE_EQ(copy_shares(all, 4, 2).gpus, 4.0 / 8);
}

LayoutPrediction of_mixtral(const std::string& layout, std::int64_t gpus) {
  Question question;
  question.platform = "dgx-h100";
  question.model = "mixtral-8x7b";
  question.sequence = 4096;
  question.layout = layout.find("zero=") == std::string::npos ? "zero=3," + layout : layout;
  Asker asker;
  return predict_layouts({{.question = question, .gpus = gpus}}, asker).front();
}

// Eight experts on two nodes: a token's two copies go to 1.57 nodes.
TEST(ExpertCopies, TakeLessOfTheNetworkOnce) {
  const double each_s = of_mixtral("tp=2,ep=8,etp=2", 16).expert_s;
  const double once_s = of_mixtral("tp=2,ep=8,etp=2,dispatcher=deepep", 16).expert_s;
  EXPECT_LT(once_s, 0.9 * each_s);
  EXPECT_GT(once_s, 0.5 * each_s);
  EXPECT_EQ(of_mixtral("ep=8,dispatcher=hybridep", 32).expert_s,
            of_mixtral("ep=8,dispatcher=deepep", 32).expert_s);
  // Of the 28 pairs of experts 15 leave out a GPU's two.
  EXPECT_NEAR(of_mixtral("ep=4,dispatcher=deepep", 32).expert_s / of_mixtral("ep=4", 32).expert_s,
              4 * (1 - 15.0 / 28) / 2, 0.02);
}

TEST(ExpertImbalance, TheBusiestGpuDecides) {
  const LayoutPrediction even = of_mixtral("ep=8", 32);
  const LayoutPrediction uneven = of_mixtral("ep=8,imbalance=1.5", 32);
  EXPECT_GT(uneven.compute_s, 1.15 * even.compute_s);
  EXPECT_LT(uneven.compute_s, 1.5 * even.compute_s);
  EXPECT_NEAR(uneven.expert_s / even.expert_s, 1.5, 0.05);
  EXPECT_GT(uneven.memory.bytes, even.memory.bytes);
  EXPECT_EQ(uneven.model_flops, even.model_flops);
  EXPECT_NE(refusal([] { of_mixtral("ep=2,imbalance=2.5", 8); }).find("at most ep, 2"),
            std::string::npos);
  EXPECT_NE(refusal([] { of_mixtral("ep=2,imbalance=0.5", 8); }).find("from 1 to"),
            std::string::npos);
}

// What is sent stays; a pass hides as much of it as it takes itself.
TEST(ExpertOverlap, HidesUnderOtherPasses) {
  const std::string layout = "pp=2,vpp=2,global=64,ep=8";
  const LayoutPrediction beside = of_mixtral(layout, 64);
  const LayoutPrediction under = of_mixtral(layout + ",expert_overlap=true", 64);
  EXPECT_GT(beside.expert_s, 0);
  EXPECT_EQ(under.expert_s, 0);
  EXPECT_EQ(under.compute_s, beside.compute_s);
  EXPECT_LT(under.iteration_s, beside.iteration_s);
  EXPECT_NE(refusal([] {
              of_mixtral("pp=2,global=64,ep=8,expert_overlap=true", 64);
            }).find("needs vpp > 1"),
            std::string::npos);
}

TEST(ExpertActivations, AreDroppedWhereTheyRunAgain) {
  const LayoutPrediction all = of_mixtral("ep=8", 32);
  const LayoutPrediction less =
      of_mixtral("ep=8,recompute=selective,recompute_modules=layernorm+moe_act", 32);
  EXPECT_LT(less.memory.bytes, all.memory.bytes);
  EXPECT_GT(less.compute_s, all.compute_s);
  EXPECT_NE(refusal([] {
              of_mixtral("ep=8,recompute_modules=moe_act", 32);
            }).find("needs recompute=selective"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              of_mixtral("ep=8,recompute=selective,recompute_modules=mlpp", 32);
            }).find("unknown"),
            std::string::npos);
}

// Megatron-LM's CPU takes 9.5 ms a layer with experts; a graph is asked for once.
TEST(CudaGraphs, LeaveNothingToWaitFor) {
  const std::string layout = "ep=8,etp=1,tp=8,pp=8,micro=1,global=64,zero=0";
  const LayoutPrediction asked = of_mixtral(layout, 64);
  const LayoutPrediction graph = of_mixtral(layout + ",cuda_graphs=true", 64);
  EXPECT_GT(asked.host_s, 0);
  EXPECT_EQ(graph.host_s, 0);
  EXPECT_LT(graph.iteration_s, asked.iteration_s);
}

// What tensor parallelism exchanges in a module that runs again goes once more. (PyTorch hides
// none.)
TEST(RecomputedModules, ExchangeAgain) {
  Question question;
  question.framework = Framework::kPyTorchTo210;
  question.platform = "dgx-h100";
  question.model = "llama-2-7b";
  question.sequence = 1024;
  Asker asker;
  const auto exchanged = [&](const std::string& layout) {
    question.layout = layout;
    return predict_layouts({{.question = question, .gpus = 4}}, asker).front().tensor_s;
  };
  // Attention and MLP gather and reduce, both ways, and gather their inputs again for the weights'
  // gradients: ten a layer; the MLP's two of its forward pass come on top.
  EXPECT_NEAR(exchanged("tp=4,recompute=selective,recompute_modules=mlp") / exchanged("tp=4"), 1.2,
              0.01);
}

// There and back are the same tokens, whatever the share: rounded down, then up.
TEST(ExpertImbalance, EveryTokenComesBack) {
  const Transformer model = read_transformer(model_input("mixtral-8x7b", "--model"));
  for (const std::int64_t permille : {1000, 1001, 1337, 1999, 7999})
    for (const std::int64_t tokens : {7, 64, 1001}) {
      const Network layer = infer_network(decoder(model, tokens, "--seq",
                                                  {.expert = 8,
                                                   .expert_permille = permille,
                                                   .layers = 1,
                                                   .has_embedding = false,
                                                   .has_head = false}));
      for (const Layer& each : layer.layers) {
        if (each.name.ends_with("experts/up")) {
          EXPECT_EQ(each.output_shape[0], 2 * tokens * permille / 1000);
        } else if (each.name.ends_with("ffn/sum")) {
          EXPECT_EQ(each.output_shape[0], tokens);
        }
      }
    }
}

}  // namespace
}  // namespace forescale
