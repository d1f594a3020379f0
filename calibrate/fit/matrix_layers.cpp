#include "calibrate/fit/matrix_layers.hpp"

namespace forescale {

const std::vector<MatrixNetwork>& matrix_networks() {
  static const std::vector<MatrixNetwork> networks = {
      {.name = "bert-large",
       .source = "Devlin, Chang, Lee, Toutanova, NAACL 2019, section 3: hidden size 1024, "
                 "feed-forward 4 x 1024; sequences of 512 (appendix A.2)",
       .layers =
           {{.name = "attention-in", .outputs = 3072, .inputs = 1024, .rows_a_sample = 512},
            {.name = "attention-out", .outputs = 1024, .inputs = 1024, .rows_a_sample = 512},
            {.name = "feed-forward-in", .outputs = 4096, .inputs = 1024, .rows_a_sample = 512},
            {.name = "feed-forward-out", .outputs = 1024, .inputs = 4096, .rows_a_sample = 512}}},
      {.name = "gnmt",
       .source = "NVIDIA OpenSeq2Seq's GNMT-like model (its documentation, Machine translation), "
                 "after Wu et al., arXiv 1609.08144: embedding and state of 1024 values, the "
                 "encoder's first layer in both directions. The four gates of one step, from input "
                 "and state together",
       .layers = {{.name = "lstm-step", .outputs = 4096, .inputs = 2048, .rows_a_sample = 1},
                  {.name = "lstm-step-above-both", .outputs = 4096, .inputs = 3072}}}};
  return networks;
}

std::vector<LayerKernels> matrix_kernels(const MatrixNetwork& network, std::int64_t batch,
                                         Precision precision) {
  std::vector<LayerKernels> all;
  for (const MatrixLayer& layer : network.layers) {
    const std::int64_t rows = batch * layer.rows_a_sample;
    LayerKernels made{.layer = layer.name, .kernels = {}};
    for (const auto& [pass, shape] : fully_connected(layer.outputs, layer.inputs, rows))
      made.kernels.push_back({.shape = shape, .pass = pass, .precision = precision});
    all.push_back(made);
  }
  return all;
}

}  // namespace forescale
