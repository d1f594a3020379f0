// Transformers out of Hugging Face's configurations: totals against published ones, FLOP by hand,
// and files that do not fit.
#include "models/workload/transformer/transformer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/data_files.hpp"
#include "models/compute/network_kernels.hpp"
#include "models/workload/kept.hpp"
#include "models/workload/network.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "models/workload/transformer/family.hpp"
#include "models/workload/transformer/recompute.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

constexpr const char* kCatalogue = "models/workload/transformers";

Transformer config(const std::string& text) {
  return read_transformer(JsonInput::from_text("{" + text + "}", "config.json"));
}

// A file as Hugging Face has them, in a folder named after the model.
Network from_hugging_face(const std::string& model, const std::string& text,
                          const std::optional<Shape>& shape = Shape{1024}) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) /
      ::testing::UnitTest::GetInstance()->current_test_info()->name() / model;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << "{" << text << "}";
  return load_network((folder / "config.json").string(), "--model", shape);
}

std::int64_t parameters_of(const std::string& text) {
  return from_hugging_face("model", text).parameters();
}

TEST(Transformer, TheCatalogueMeetsItsPublishedTotals) {
  for (const std::string& name : catalogue(kCatalogue)) {
    const Network network = load_network(name, "--model");
    EXPECT_EQ(network.name, name);
    EXPECT_TRUE(network.is_text()) << name;
    EXPECT_EQ(network.parameters(),
              network.architecture.published_parameters.value_or(network.parameters()))
        << name;
  }
}

// Papers give three or four digits.
TEST(Transformer, TheCatalogueMeetsItsPapersDigits) {
  const auto billions = [](const std::string& name) {
    return static_cast<double>(load_network(name, "--model").parameters()) / 1e9;
  };
  EXPECT_NEAR(billions("deepseek-v3"), 671, 0.5);      // arXiv:2412.19437, section 4.2
  EXPECT_NEAR(billions("gpt-oss-20b"), 20.91, 0.005);  // arXiv:2508.10925, table 1
  EXPECT_NEAR(billions("gpt-oss-120b"), 116.83, 0.005);
  EXPECT_NEAR(billions("megatron-22b"), 22, 0.5);       // arXiv:2205.05198, table 3
  EXPECT_NEAR(billions("megatron-145b"), 145.6, 0.05);  // arXiv:2104.04473, table 1
  EXPECT_NEAR(billions("megatron-530b"), 529.6, 0.05);
  EXPECT_NEAR(billions("megatron-1t"), 1008, 0.5);
  EXPECT_NEAR(billions("nanotron-1b"), 1.342, 0.0005);  // The Ultra-Scale Playbook, cut off
  EXPECT_NEAR(billions("nanotron-3b"), 3.573, 0.001);
  EXPECT_NEAR(billions("nanotron-8b"), 8.858, 0.001);
  EXPECT_NEAR(billions("nanotron-80b"), 79.993, 0.003);
  EXPECT_NEAR(billions("mpt-30b"), 29.97, 0.03);  // llm-foundry, scripts/train/benchmarking
  EXPECT_NEAR(billions("mpt-70b"), 64.86, 0.01);
}

// A file may leave out what its class has as default: safetensors indices of the models named.
TEST(Transformer, FamiliesHaveTheirClassesDefaults) {
  const auto of = [](const std::string& type, const std::string& more = "") {
    return parameters_of(R"("model_type": ")" + type + "\"" + more);
  };
  EXPECT_EQ(of("llama"), 6'738'415'616);                                  // Llama-2-7b
  EXPECT_EQ(of("mistral"), 7'241'732'096);                                // Mistral-7B-v0.1
  EXPECT_EQ(of("mixtral"), 46'702'792'704);                               // Mixtral-8x7B
  EXPECT_EQ(of("phi3"), 3'821'079'552);                                   // Phi-3-mini
  EXPECT_EQ(of("gemma"), 8'537'680'896);                                  // gemma-7b
  EXPECT_EQ(of("gemma2"), 2'614'341'888);                                 // gemma-2-2b
  EXPECT_EQ(of("gpt2"), 124'439'808);                                     // gpt2
  EXPECT_EQ(of("gpt_neox", R"(, "vocab_size": 50432)"), 20'554'567'680);  // gpt-neox-20b
  EXPECT_EQ(of("gpt_oss"), load_network("gpt-oss-120b", "--model").parameters());
  EXPECT_EQ(of("deepseek_v3"), load_network("deepseek-v3", "--model").parameters());
  EXPECT_EQ(of("qwen2", R"(, "hidden_size": 3584, "intermediate_size": 18944,
                            "num_attention_heads": 28, "num_hidden_layers": 28,
                            "num_key_value_heads": 4, "vocab_size": 152064)"),
            7'615'616'512);  // Qwen2-7B
  EXPECT_EQ(of("qwen3", R"(, "intermediate_size": 12288, "num_hidden_layers": 36,
                            "num_key_value_heads": 8)"),
            8'190'735'360);  // Qwen3-8B
  EXPECT_EQ(of("opt", R"(, "hidden_size": 4096, "ffn_dim": 16384, "num_hidden_layers": 32,
                          "num_attention_heads": 32, "word_embed_proj_dim": 4096)"),
            6'658'473'984);  // opt-6.7b
}

// Every family of the registry makes a network, with nothing but its type and two layers.
TEST(Transformer, EveryFamilyMakesANetwork) {
  for (const auto& [name, family] : Registry<TransformerFamily>::all()) {
    const Network network = from_hugging_face(
        name, fmt::format(R"("model_type": "{}", "{}": 5)", name, family.names.layers), Shape{256});
    EXPECT_EQ(network.name, name);
    EXPECT_EQ(network.input_shape, Shape{256});
    EXPECT_FALSE(family.source.empty());
    EXPECT_GT(network.parameters(), 0);
  }
}

// 2 FLOP a parameter and token but for those looked up; causal attention 2 S^2 h a layer.
TEST(Transformer, FlopAreTwoAParameterAndToken) {
  const Network network = load_network("llama-3-8b", "--model", Shape{4096});
  const double norms = 65 * 4096.0;
  const double looked_up = 128256 * 4096.0;
  const double products =
      2 * 4096 * (static_cast<double>(network.parameters()) - looked_up - norms);
  EXPECT_DOUBLE_EQ(network.forward_flops(), products + 32 * 2 * 4096.0 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(network.backward_flops(), 2 * products + 2.5 * 32 * 2 * 4096.0 * 4096 * 4096);
}

// Of 128 experts each token goes to 8.
TEST(Transformer, OnlyChosenExpertsCostFlop) {
  const Network network = load_network("qwen3-30b-a3b", "--model", Shape{1024});
  const double attention = 2048.0 * (32 + 8) * 128 + 4096.0 * 2048;
  const double router = 2048.0 * 128;
  const double experts = 8 * 3 * 2048.0 * 768;
  const double scores = 48 * 2 * 1024.0 * 1024 * 32 * 128;
  EXPECT_DOUBLE_EQ(network.forward_flops(),
                   2 * 1024 * (48 * (attention + router + experts) + 2048.0 * 151936) + scores);
}

// A query of 192 values, 64 of them turned; keys of 128 from 512; values of 128.
TEST(Transformer, LatentAttentionsHeadIsNotHeadDim) {
  const Transformer model = config(R"("model_type": "deepseek_v3", "head_dim": 64)");
  EXPECT_EQ(model.head_size, 192);
  EXPECT_EQ(model.latent->value, 128);
  EXPECT_EQ(model.experts->shared_ffn, 2048);
  EXPECT_FALSE(model.is_sparse(2));
  EXPECT_TRUE(model.is_sparse(3));
}

TEST(Transformer, KeysMayBeNullOrLeftOut) {
  EXPECT_EQ(config(R"("model_type": "gpt2", "n_inner": null, "n_embd": 1024, "n_head": 16)").ffn,
            4096);
  EXPECT_EQ(config(R"("model_type": "llama", "num_attention_heads": 64)").kv_heads, 64);
  EXPECT_EQ(config(R"("model_type": "llama", "num_key_value_heads": null)").kv_heads, 32);
  EXPECT_EQ(config(R"("model_type": "bloom", "hidden_size": 1024, "n_head": 16)").hidden, 1024);
  EXPECT_EQ(config(R"("model_type": "gpt2", "hidden_size": 1024, "n_head": 16)").hidden, 1024);
}

TEST(Transformer, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& text) { return refusal([&] { config(text); }); };
  EXPECT_NE(refused(R"("model_type": "lama")").find("did you mean \"llama\"?"), std::string::npos);
  EXPECT_NE(refused(R"("model_type": "llama", "num_key_value_heads": 5)")
                .find("must divide 32, the heads (num_attention_heads)"),
            std::string::npos);
  EXPECT_NE(refused(R"("model_type": "llama", "num_attention_heads": 30)")
                .find("must divide 4096, the hidden size"),
            std::string::npos);
  EXPECT_NE(refused(R"("model_type": "mixtral", "num_experts_per_tok": 9)")
                .find("must be <= 8, the experts (num_local_experts)"),
            std::string::npos);
  EXPECT_NE(
      refused(R"("model_type": "qwen3_moe", "mlp_only_layers": [1])").find("/mlp_only_layers"),
      std::string::npos);
  EXPECT_NE(refusal([] {
              from_hugging_face("m", R"("model_type": "gpt2")", Shape{2048});
            }).find("must be <= 1024, the positions that the model has learned"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              from_hugging_face("m", R"("model_type": "llama")", std::nullopt);
            }).find("must be the tokens of a sequence"),
            std::string::npos);
}

TEST(ModelInput, NumbersOfATransformerCanBeOthers) {
  const Transformer cut = read_transformer(
      model_input("deepseek-v3:num_hidden_layers=4,first_k_dense_replace=1", "-m"));
  EXPECT_EQ(cut.name, "deepseek-v3:num_hidden_layers=4,first_k_dense_replace=1");
  EXPECT_EQ(cut.layers, 4);
  EXPECT_FALSE(cut.is_sparse(0));
  EXPECT_TRUE(cut.is_sparse(1));
  EXPECT_EQ(cut.hidden, 7168);
  // What was published is of the whole model.
  EXPECT_EQ(load_network("llama-3-70b:num_hidden_layers=12", "-m").parameters(), 12'369'207'296);
  const auto wrong = [](const std::string& text) {
    return refusal([&] { model_input(text, "--model"); });
  };
  EXPECT_NE(wrong("llama-3-8b:layers=4").find("num_hidden_layers"), std::string::npos)
      << wrong("llama-3-8b:layers=4");
  EXPECT_NE(wrong("llama-3-8b:num_hidden_layers=few").find("must be a number"), std::string::npos);
  EXPECT_NE(wrong("llama-3-8b:model_type=4").find("must be a string"), std::string::npos);
  EXPECT_NE(wrong("resnet-50:batch=4").find("only of a transformer"), std::string::npos);
  EXPECT_NE(wrong("lama-3-8b:num_hidden_layers=4").find("llama-3-8b"), std::string::npos);
}

// One GPU's share of a model on sequences of 1,024.
Network share_of(const Transformer& model, const DecoderShare& share) {
  return infer_network(decoder(model, 1024, "--layout", share));
}

Transformer catalogue_model(const std::string& name) {
  return read_transformer(
      JsonInput::from_file(data_path(std::string(kCatalogue) + "/" + name + ".json")));
}

std::int64_t parameters_in(const Network& network, const std::string& part) {
  std::int64_t parameters = 0;
  for (const Layer& layer : network.layers)
    if (layer.name.find(part) != std::string::npos) parameters += layer.parameters;
  return parameters;
}

// Norms and what is not shared by tensor parallelism are on all; the rest of all GPUs is the model.
TEST(DecoderShare, GpusOfATensorGroupHoldTheModelTogether) {
  for (const std::string name : {"llama-3-8b", "llama-2-13b", "qwen3-30b-a3b", "nemotron-15b"}) {
    const Transformer model = catalogue_model(name);
    const Network whole = share_of(model, {});
    for (const std::int64_t tensor : {2, 4}) {
      const Network part = share_of(model, {.tensor = tensor, .expert_tensor = tensor});
      const std::int64_t everywhere = parameters_in(part, "norm") + parameters_in(part, "router");
      EXPECT_EQ(tensor * (part.parameters() - everywhere) + everywhere, whole.parameters()) << name;
      EXPECT_NEAR(part.forward_flops() * static_cast<double>(tensor), whole.forward_flops(),
                  whole.forward_flops() * 1e-9);
    }
  }
}

TEST(DecoderShare, StagesHoldTheModelTogether) {
  const Transformer model = catalogue_model("deepseek-v2");
  std::int64_t parameters = 0;
  for (int stage = 0; stage < 4; ++stage)
    parameters += share_of(model, {.first_layer = 15 * stage,
                                   .layers = 15,
                                   .has_embedding = stage == 0,
                                   .has_head = stage == 3})
                      .parameters();
  EXPECT_EQ(parameters, share_of(model, {}).parameters());
}

TEST(DecoderShare, ExpertsAreSharedByExpertParallelism) {
  const Transformer model = catalogue_model("mixtral-8x7b");
  const Network whole = share_of(model, {});
  const Network part = share_of(model, {.expert = 4});
  EXPECT_EQ(4 * parameters_in(part, "experts/"), parameters_in(whole, "experts/"));
  EXPECT_EQ(part.parameters() - parameters_in(part, "experts/"),
            whole.parameters() - parameters_in(whole, "experts/"));
  // As many tokens come as go: the work stays.
  EXPECT_DOUBLE_EQ(part.forward_flops(), whole.forward_flops());
}

// Values by kind of what one GPU exchanges for a sequence.
std::map<ExchangeKind, std::int64_t> exchanged_values(const Network& network, bool is_forward) {
  std::map<ExchangeKind, std::int64_t> values;
  for (const Layer& layer : network.layers)
    if (layer.exchange)
      for (const ExchangeKind kind :
           is_forward ? layer.exchange->forward : layer.exchange->backward)
        values[kind] += layer.exchange->values;
  return values;
}

// Shoeybi et al., arXiv:1909.08053, section 3: two all-reduces of s h a layer forward and two
// backward; Korthikanti et al., arXiv:2205.05198, section 4.2.1: as many gathers and scatters.
TEST(DecoderShare, TensorParallelVolumeIsTheClosedForm) {
  const Transformer model = catalogue_model("llama-2-7b");
  const std::int64_t values = 1024 * 4096;
  const DecoderShare middle{.tensor = 4, .layers = 8, .has_embedding = false, .has_head = false};
  const Network shared = share_of(model, middle);
  EXPECT_EQ(exchanged_values(shared, true),
            (std::map<ExchangeKind, std::int64_t>{{ExchangeKind::kAllGather, 16 * values},
                                                  {ExchangeKind::kReduceScatter, 16 * values}}));
  EXPECT_EQ(exchanged_values(shared, false),
            (std::map<ExchangeKind, std::int64_t>{{ExchangeKind::kAllGather, 32 * values},
                                                  {ExchangeKind::kReduceScatter, 16 * values}}));
  DecoderShare without = middle;
  without.has_sequence_parallel = false;
  const Network whole = share_of(model, without);
  for (const bool is_forward : {true, false})
    EXPECT_EQ(exchanged_values(whole, is_forward),
              (std::map<ExchangeKind, std::int64_t>{{ExchangeKind::kAllReduce, 16 * values}}));
}

// Korthikanti et al., arXiv:2205.05198, table 2, for attention that keeps no scores and without the
// masks of dropout: 34 - 2 bytes a token and hidden value; 10 - 2 of them on every GPU without
// sequence parallelism. Statistics of norms and attention come on top: 4 bytes each.
TEST(DecoderShare, KeepsWhatThePaperCounts) {
  const Transformer model = catalogue_model("gpt2-xl");
  const std::int64_t block = 1024 * 1600;
  const auto kept = [&](std::int64_t tensor, bool has_sequence_parallel) {
    const auto of_layers = [&](std::int64_t layers) {
      return kept_for_backward(share_of(model, {.tensor = tensor,
                                                .has_sequence_parallel = has_sequence_parallel,
                                                .layers = layers,
                                                .has_embedding = false,
                                                .has_head = false}));
    };
    const KeptBytes one = of_layers(1);
    const KeptBytes two = of_layers(2);
    EXPECT_EQ(two.own - one.own,
              1024 / (has_sequence_parallel ? tensor : 1) * 4 + 1024 * 25 / tensor);
    return 2 * (two.values - one.values);
  };
  EXPECT_EQ(kept(1, true), 32 * block);
  EXPECT_EQ(kept(5, false), 8 * block + 24 * block / 5);
  // 1,024 tokens are not for five GPUs; sixteen heads are for four.
  const Transformer bert = config(R"("model_type": "gpt2", "n_embd": 1024, "n_head": 16)");
  const auto values = [&](std::int64_t tensor, std::int64_t layers) {
    return kept_for_backward(infer_network(decoder(bert, 512, "--layout",
                                                   {.tensor = tensor,
                                                    .layers = layers,
                                                    .has_embedding = false,
                                                    .has_head = false})))
        .values;
  };
  EXPECT_EQ(2 * (values(4, 2) - values(4, 1)), 32 * 512 * 1024 / 4);
}

TEST(DecoderShare, ContextPartsShareTokensAndScores) {
  const Transformer model = catalogue_model("llama-2-7b");
  const Network whole = share_of(model, {});
  const Network part = share_of(model, {.context = 4});
  EXPECT_EQ(part.parameters(), whole.parameters());
  EXPECT_DOUBLE_EQ(4 * part.forward_flops(), whole.forward_flops());
}

const Layer& adapted_layer(const Network& network, const std::string& name) {
  for (const Layer& layer : network.layers)
    if (layer.name == name) return layer;
  throw std::runtime_error("no layer " + name);
}

// MLPerf's benchmark: 44,564,480 of Llama 2 70B's values learn (mlcommons/training,
// llama2_70b_lora). Frozen products have the gradient by data alone, and none where nothing below
// learns: in the first block of the first stage.
TEST(DecoderShare, AdaptersLearnAlone) {
  const Transformer model = read_transformer(model_input("llama-2-70b", "--model"));
  const Adapters attention{.rank = 16, .targets = {"linear_qkv", "linear_proj"}};
  const Network whole = infer_network(decoder(model, 1024, "--seq"));
  const Network adapted = infer_network(decoder(model, 1024, "--seq", {.adapters = attention}));
  EXPECT_EQ(adapted.parameters(), 44'564'480);
  EXPECT_EQ(adapted.frozen_parameters(), whole.parameters());
  EXPECT_EQ(whole.frozen_parameters(), 0);
  const auto gradients = [&](const Network& network, const std::string& name) {
    const Layer& layer = adapted_layer(network, name);
    return layer.backward_flops / layer.forward_flops;
  };
  EXPECT_EQ(gradients(adapted, "layer2/qkv"), 1);
  EXPECT_EQ(gradients(adapted, "layer1/ffn/up"), 1);
  EXPECT_EQ(gradients(adapted, "head"), 1);
  EXPECT_EQ(gradients(adapted, "layer2/qkv/lora_a"), 2);
  EXPECT_EQ(gradients(adapted, "layer1/qkv"), 0);
  EXPECT_FALSE(adapted_layer(adapted, "embedding/word").backward_runs);
  EXPECT_EQ(gradients(adapted, "layer1/qkv/lora_a"), 1);
  const Network later = infer_network(
      decoder(model, 1024, "--seq",
              {.first_layer = 40, .layers = 1, .has_embedding = false, .adapters = attention}));
  EXPECT_EQ(gradients(later, "layer41/qkv"), 1) << "the stage before waits for it";
  const auto passes = [&](const std::string& name) {
    std::vector<KernelPass> of;
    for (const LayerKernels& layer : network_kernels(adapted, 1, Precision::kBf16))
      if (layer.layer == name)
        for (const GpuKernel& kernel : layer.kernels) of.push_back(kernel.pass);
    return of;
  };
  using enum KernelPass;
  EXPECT_EQ(passes("layer2/qkv"), (std::vector{kForward, kBackwardData}));
  EXPECT_EQ(passes("layer2/qkv/lora_a"), (std::vector{kForward, kBackwardData, kBackwardWeights}));
  EXPECT_EQ(passes("layer1/qkv"), (std::vector{kForward}));
  EXPECT_EQ(passes("layer1/qkv/lora_a"), (std::vector{kForward, kBackwardWeights}));
  // Nothing reads again what tensor parallelism gathered but adapters, which keep it.
  const Network shared =
      infer_network(decoder(model, 1024, "--seq", {.tensor = 8, .adapters = attention}));
  for (const Layer& layer : shared.layers)
    if (layer.type == "AllGather") {
      ASSERT_EQ(layer.exchange->backward, std::vector{ExchangeKind::kReduceScatter});
    }
  // Of the feed-forward part nothing is kept but what its gate and norm read.
  EXPECT_LT(kept_for_backward(adapted).values, 0.75 * kept_for_backward(whole).values);
  const Network everywhere = infer_network(decoder(
      model, 1024, "--seq",
      {.adapters = {.rank = 16,
                    .targets = {"linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"}}}));
  EXPECT_EQ(everywhere.parameters(), 44'564'480 + 80LL * 16 * (8192 + 2 * 28672 + 28672 + 8192));
}

TEST(DecoderShare, RefusesWhatDoesNotDivide) {
  const Transformer model = catalogue_model("llama-3-8b");
  const auto refused = [&](const DecoderShare& share) {
    return refusal([&] { share_of(model, share); });
  };
  EXPECT_NE(refused({.tensor = 3}).find("tp=3: must divide the 32 heads"), std::string::npos);
  EXPECT_NE(refused({.expert = 2}).find("ep=2: must divide the 1 experts"), std::string::npos);
  EXPECT_NE(refused({.context = 3}).find("cp=6: must divide the 1024 tokens"), std::string::npos);
  EXPECT_NE(refusal([&] {
              share_of(catalogue_model("mixtral-8x7b"), {.tensor = 4, .expert_tensor = 2});
            }).find("etp=2: must be 1 or tp, 4"),
            std::string::npos);
}

}  // namespace
}  // namespace forescale
