// "count" of an image's channels, or of the values of each vector of a sequence, next to each
// other: a view, as frameworks have it (torch.chunk); what needs them contiguous is a layer of its
// own.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect slice(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  Shape out = inputs[0];
  std::int64_t& side = out.size() == 3 ? out.front() : out.back();
  const std::int64_t count = size_of(layer, file, "count");
  if (count > side)
    layer_error(layer, file,
                {.key = "count",
                 .value = std::to_string(count),
                 .constraint = "must be <= the input's " + std::to_string(side)});
  side = count;
  return {.outputs = {out}};
}

const bool kSliceRegistered = Registry<Operator>::add(
    {.name = "Slice", .kind = OperatorKind::kView, .sizes = {"count"}, .apply = slice});

}  // namespace
}  // namespace forescale
