#include "calibrate/import/import_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "models/compute/layer_kernel.hpp"
#include "models/workload/caffe/caffe_losses.hpp"
#include "models/workload/caffe/import_caffe.hpp"

namespace forescale {
namespace {

// Where the value of a field begins: behind its first mention that is no part of another word.
std::optional<std::string_view> value_of(std::string_view prototxt, std::string_view field) {
  for (size_t at = prototxt.find(field); at != std::string_view::npos;
       at = prototxt.find(field, at + 1)) {
    const bool is_word =
        at == 0 || (prototxt[at - 1] != '_' &&
                    std::isalnum(static_cast<unsigned char>(prototxt[at - 1])) == 0);
    if (!is_word) continue;
    prototxt.remove_prefix(at + field.size());
    prototxt.remove_prefix(std::min(prototxt.find_first_not_of(" \t\n"), prototxt.size()));
    return prototxt;
  }
  return std::nullopt;
}

// The first of Caffe's ways to state a batch; 0 if there is none.
std::int64_t stated_batch(std::string_view prototxt) {
  for (const char* field : {"input_dim:", "batch_size:", "dim:"})
    if (const auto value = value_of(prototxt, field)) return leading_integer(*value);
  return 0;
}

std::int64_t checked_batch(std::int64_t batch, const std::string& network) {
  if (batch > 0) return batch;
  throw InputError({.source = "--batch",
                    .path = "",
                    .value = "",
                    .constraint = "is required: " + network + " states no batch"});
}

// The place of a layer among the network's; their count if there is none of that name.
size_t find_layer(const Network& network, const std::string& name) {
  size_t place = 0;
  while (place < network.layers.size() && network.layers[place].name != name) ++place;
  return place;
}

KernelPass pass_of(const LayerRow& row, const LayerNetwork& from, const Layer& layer) {
  if (!row.is_backward) return KernelPass::kForward;
  const bool is_weights_only = !from.is_first_backward && layer.forward_flops > 0 &&
                               layer.backward_flops < 1.5 * layer.forward_flops;
  return is_weights_only ? KernelPass::kBackwardWeights : KernelPass::kBackward;
}

}  // namespace

LayerNetwork layer_network(const std::string& prototxt, const std::string& file,
                           std::int64_t batch) {
  if (batch == 0) batch = stated_batch(prototxt);
  const auto force = value_of(prototxt, "force_backward:");
  return {.network = import_caffe_text(with_losses(prototxt, file), file),
          .batch = checked_batch(batch, file),
          .is_first_backward = force && force->starts_with("true")};
}

LayerNetwork load_layer_network(const std::string& name, std::int64_t batch) {
  if (name.ends_with(".prototxt")) {
    std::ostringstream text;
    text << std::ifstream(name, std::ios::binary).rdbuf();
    if (!text.str().empty()) return layer_network(text.str(), name, batch);
  }
  return {.network = load_network(name, "--network"), .batch = checked_batch(batch, name)};
}

void add_layer_rows(ImportTarget& target, const LayerNetwork& from,
                    const std::vector<LayerRow>& rows) {
  std::map<KernelPass, std::vector<std::vector<GpuKernel>>> kernels;
  for (const KernelPass pass :
       {KernelPass::kForward, KernelPass::kBackwardWeights, KernelPass::kBackward})
    kernels[pass] = layer_kernels(from.network, {.batch = from.batch, .pass = pass});
  int unknown = 0;
  for (const LayerRow& row : rows) {
    const size_t place = find_layer(from.network, row.layer);
    if (place == from.network.layers.size()) {
      ++unknown;
      continue;
    }
    const std::vector<GpuKernel>& asked =
        kernels.at(pass_of(row, from, from.network.layers[place]))[place];
    if (asked.size() != 1) continue;
    target.add_kernel(row.line, {.kernel = asked[0],
                                 .time_s = row.time_s,
                                 .low_s = row.time_s,
                                 .high_s = row.time_s,
                                 .network = from.network.name,
                                 .layer = row.layer});
  }
  if (unknown > 0)
    target.note(fmt::format("{}: {} of {} times are left out: the network has no layer so named",
                            from.network.name, unknown, rows.size()));
}

}  // namespace forescale
