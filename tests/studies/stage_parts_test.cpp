// How layers are cut into stages.
#include "studies/layout/stage_parts.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/data_files.hpp"
#include "models/workload/network.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;
using Layers = std::vector<std::int64_t>;

Layers layers_of(const std::string& model, const std::string& layout) {
  const JsonInput in = model_input(model, "--model");
  return layers_of_stages(read_transformer(in), parse_layout(layout, "--layout"), "--layout");
}

// A layer of Llama 3 8B has 243 million weights in nanotron's count, its output 525 million: a
// stage's share is 4.27 layers, and a stage ends with the layer that passes so many of them.
TEST(LayersOfStages, BalancedByCostAsNanotronDoes) {
  EXPECT_EQ(layers_of("llama-3-8b", "pp=8,split=cost"), (Layers{5, 4, 4, 5, 4, 4, 4, 2}));
  EXPECT_EQ(layers_of("llama-3-8b", "pp=1,split=cost"), (Layers{32}));
}

// NeMo's recipe of Llama 3.1 405B: 126 layers and two ends in 32 stages.
TEST(LayersOfStages, EndsCountAsALayerEach) {
  const Layers layers = layers_of("llama-3.1-405b", "pp=4,vpp=8,split=ends");
  EXPECT_EQ(layers.front(), 3);
  EXPECT_EQ(layers.back(), 3);
  EXPECT_EQ(layers[1], 4);
  EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), 126);
}

TEST(LayersOfStages, EverySplitHasAllLayers) {
  for (const std::string split : {"even", "cost"})
    for (const int stages : {1, 2, 4, 8, 16, 32}) {
      const Layers layers =
          layers_of("llama-3-8b", "pp=" + std::to_string(stages) + ",split=" + split);
      EXPECT_EQ(std::accumulate(layers.begin(), layers.end(), std::int64_t{0}), 32) << split;
      EXPECT_EQ(layers.size(), static_cast<size_t>(stages));
    }
}

TEST(LayersOfStages, RefusesWhatDoesNotDivide) {
  const auto refused = [](const std::string& layout, const std::string& why) {
    const std::string said = refusal([&] { layers_of("llama-3-8b", layout); });
    EXPECT_NE(said.find(why), std::string::npos) << layout << ": " << said;
  };
  refused("pp=4,split=ends", "4 stages must divide 32 layers and 2 ends");
  refused("pp=4,first=5,split=cost", "must be even where first or last");
  refused("pp=64,split=cost", "must be at most the 32 layers");
}

}  // namespace
}  // namespace forescale
