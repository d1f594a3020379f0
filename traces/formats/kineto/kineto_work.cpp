#include "traces/formats/kineto/kineto_work.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

namespace forescale {
namespace {

namespace dom = simdjson::dom;

using Dims = std::vector<std::int64_t>;
using KernelShape = decltype(GpuKernel::shape);

constexpr std::int64_t kElementsMax = std::int64_t{1} << 40;  // of a tensor

// An operator's arguments, by their place.
class OperatorArguments {
 public:
  explicit OperatorArguments(const dom::element& args) {
    if (args["Input Dims"].get(dims_) != simdjson::SUCCESS) return;
    if (args["Input type"].get(types_) != simdjson::SUCCESS) return;
    is_there_ = true;
    has_values_ = args["Concrete Inputs"].get(values_) == simdjson::SUCCESS;
  }

  bool is_there() const { return is_there_; }

  // Of a tensor of so many dimensions, none of them empty.
  std::optional<Dims> tensor(std::size_t at, std::size_t dimensions) const {
    dom::array extents;
    if (dims_.at(at).get(extents) != simdjson::SUCCESS || extents.size() != dimensions)
      return std::nullopt;
    Dims dims;
    std::int64_t elements = 1;
    for (const dom::element extent : extents) {
      std::int64_t count = 0;
      if (extent.get(count) != simdjson::SUCCESS || count < 1 || count > kElementsMax / elements)
        return std::nullopt;
      elements *= count;
      dims.push_back(count);
    }
    return dims;
  }

  std::optional<Precision> precision(std::size_t at) const {
    std::string_view type;
    if (types_.at(at).get(type) != simdjson::SUCCESS) return std::nullopt;
    if (type == "float") return Precision::kFp32;
    if (type == "c10::Half") return Precision::kFp16;
    if (type == "c10::BFloat16") return Precision::kBf16;
    return std::nullopt;
  }

  // "[1, 1]", "True", "32"; empty where values were not recorded.
  std::string_view value(std::size_t at) const {
    std::string_view text;
    if (!has_values_ || values_.at(at).get(text) != simdjson::SUCCESS) return "";
    return text;
  }

  // Two numbers, or one for both.
  std::optional<std::array<std::int64_t, 2>> pair(std::size_t at) const {
    const auto numbers = ranks_in(value(at));
    if (!numbers || numbers->empty() || numbers->size() > 2) return std::nullopt;
    return std::array<std::int64_t, 2>{numbers->front(), numbers->back()};
  }

  std::optional<std::int64_t> number(std::size_t at) const {
    const std::string_view text = value(at);
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    if (text.empty() || std::from_chars(text.data(), end, number).ptr != end) return std::nullopt;
    return number;
  }

 private:
  dom::array dims_;
  dom::array types_;
  dom::array values_;
  bool is_there_ = false;
  bool has_values_ = false;
};

KernelWork one(const KernelShape& shape, const std::optional<Precision>& precision,
               KernelPass pass = KernelPass::kForward) {
  if (!precision) return {};
  return {GpuKernel{.shape = shape, .pass = pass, .precision = *precision}};
}

// (rows x inner) (inner x columns), `count` of them: cuBLAS' result is columns x rows.
KernelWork product(const OperatorArguments& arguments, std::size_t at, bool is_batched) {
  const std::size_t dimensions = is_batched ? 3 : 2;
  const auto left = arguments.tensor(at, dimensions);
  const auto right = arguments.tensor(at + 1, dimensions);
  if (!left || !right || left->back() != (*right)[dimensions - 2]) return {};
  if (is_batched && left->front() != right->front()) return {};
  return one(GemmShape{.m = right->back(),
                       .n = (*left)[dimensions - 2],
                       .k = left->back(),
                       .transpose_a = true,
                       .count = is_batched ? left->front() : 1},
             arguments.precision(at));
}

// Where stride and padding stand; `input` and `weight`.
struct ConvolutionPlaces {
  std::size_t input;
  std::size_t weight;
  std::size_t stride;
  std::size_t padding;
  std::size_t dilation;
  std::size_t groups;
};

std::optional<ConvolutionShape> convolution_shape(const OperatorArguments& arguments,
                                                  const ConvolutionPlaces& places) {
  const auto input = arguments.tensor(places.input, 4);
  const auto weight = arguments.tensor(places.weight, 4);
  const auto stride = arguments.pair(places.stride);
  const auto padding = arguments.pair(places.padding);
  const auto dilation = arguments.pair(places.dilation);
  const auto groups = arguments.number(places.groups);
  if (!input || !weight || !stride || !padding || !dilation || !groups) return std::nullopt;
  const bool is_plain = (*dilation)[0] == 1 && (*dilation)[1] == 1 && *groups >= 1 &&
                        *groups <= kElementsMax / (*weight)[1] &&
                        (*input)[1] == (*weight)[1] * *groups && (*weight)[0] % *groups == 0 &&
                        (*stride)[0] >= 1 && (*stride)[1] >= 1 && (*padding)[0] < (*weight)[2] &&
                        (*padding)[1] < (*weight)[3] &&
                        (*weight)[2] <= (*input)[2] + 2 * (*padding)[0] &&
                        (*weight)[3] <= (*input)[3] + 2 * (*padding)[1];
  if (!is_plain) return std::nullopt;
  return ConvolutionShape{.batch = (*input)[0],
                          .channels = (*input)[1],
                          .height = (*input)[2],
                          .width = (*input)[3],
                          .filters = (*weight)[0],
                          .filter_height = (*weight)[2],
                          .filter_width = (*weight)[3],
                          .pad_height = (*padding)[0],
                          .pad_width = (*padding)[1],
                          .stride_height = (*stride)[0],
                          .stride_width = (*stride)[1],
                          .groups = *groups};
}

KernelWork convolution(const OperatorArguments& arguments, const ConvolutionPlaces& places) {
  const auto shape = convolution_shape(arguments, places);
  if (!shape) return {};
  return one(*shape, arguments.precision(places.input));
}

// Those gradients that its mask asks for.
KernelWork convolution_backward(const OperatorArguments& arguments) {
  const auto shape = convolution_shape(
      arguments, {.input = 1, .weight = 2, .stride = 4, .padding = 5, .dilation = 6, .groups = 9});
  const auto precision = arguments.precision(1);
  if (!shape || !precision || arguments.value(7) != "False") return {};
  const std::string_view mask = arguments.value(10);  // of input, weight and bias
  KernelWork work;
  if (mask.starts_with("[True"))
    work.push_back({.shape = *shape, .pass = KernelPass::kBackwardData, .precision = *precision});
  if (mask.starts_with("[True, True") || mask.starts_with("[False, True"))
    work.push_back(
        {.shape = *shape, .pass = KernelPass::kBackwardWeights, .precision = *precision});
  return work;
}

// Queries at `query`, keys behind; (batch, sequence, heads, head size), or heads before sequence.
struct AttentionPlaces {
  std::size_t query;
  std::size_t causal;
  bool heads_first = false;
  KernelPass pass = KernelPass::kForward;
};

KernelWork attention(const OperatorArguments& arguments, const AttentionPlaces& places) {
  const auto query = arguments.tensor(places.query, 4);
  const auto key = arguments.tensor(places.query + 1, 4);
  const std::size_t sequence = places.heads_first ? 2 : 1;
  const std::size_t heads = places.heads_first ? 1 : 2;
  // A number is memory-efficient attention's kind of mask: 0 none, 1 and 2 causal.
  const std::string_view causal = arguments.value(places.causal);
  const bool is_causal = causal == "True" || causal == "1" || causal == "2";
  if (!query || !key || (!is_causal && causal != "False" && causal != "0")) return {};
  if ((*query)[0] != (*key)[0] || (*query)[sequence] != (*key)[sequence] ||
      (*query)[3] != (*key)[3] || (*query)[heads] % (*key)[heads] != 0)
    return {};
  return one(AttentionShape{.batch = (*query)[0],
                            .sequence = (*query)[sequence],
                            .heads = (*query)[heads],
                            .kv_heads = (*key)[heads],
                            .head_size = (*query)[3],
                            .is_causal = is_causal},
             arguments.precision(places.query), places.pass);
}

using Reader = KernelWork (*)(const OperatorArguments&);

// The operators that launch, not those around them. Places of arguments: PyTorch,
// aten/src/ATen/native/native_functions.yaml; flash-attn, flash_attn_interface.py.
const std::unordered_map<std::string_view, Reader>& readers() {
  static const std::unordered_map<std::string_view, Reader> known{
      {"aten::mm", [](const OperatorArguments& a) { return product(a, 0, false); }},
      {"aten::addmm", [](const OperatorArguments& a) { return product(a, 1, false); }},
      {"aten::addmm_", [](const OperatorArguments& a) { return product(a, 1, false); }},
      {"aten::_addmm_activation", [](const OperatorArguments& a) { return product(a, 1, false); }},
      {"aten::bmm", [](const OperatorArguments& a) { return product(a, 0, true); }},
      {"aten::baddbmm", [](const OperatorArguments& a) { return product(a, 1, true); }},
      {"aten::baddbmm_", [](const OperatorArguments& a) { return product(a, 1, true); }},
      {"aten::cudnn_convolution",
       [](const OperatorArguments& a) {
         return convolution(
             a, {.input = 0, .weight = 1, .stride = 3, .padding = 2, .dilation = 4, .groups = 5});
       }},
      {"aten::miopen_convolution",
       [](const OperatorArguments& a) {
         return convolution(
             a, {.input = 0, .weight = 1, .stride = 4, .padding = 3, .dilation = 5, .groups = 6});
       }},
      {"aten::convolution_backward", convolution_backward},
      {"aten::_flash_attention_forward",
       [](const OperatorArguments& a) { return attention(a, {.query = 0, .causal = 8}); }},
      {"aten::_flash_attention_backward",
       [](const OperatorArguments& a) {
         return attention(a, {.query = 1, .causal = 11, .pass = KernelPass::kBackward});
       }},
      {"aten::_efficient_attention_forward",
       [](const OperatorArguments& a) { return attention(a, {.query = 0, .causal = 9}); }},
      {"aten::_scaled_dot_product_cudnn_attention",
       [](const OperatorArguments& a) {
         return attention(a, {.query = 0, .causal = 6, .heads_first = true});
       }},
      {"flash_attn::_flash_attn_forward",
       [](const OperatorArguments& a) { return attention(a, {.query = 0, .causal = 5}); }},
      {"flash_attn::_flash_attn_backward", [](const OperatorArguments& a) {
         return attention(a, {.query = 1, .causal = 11, .pass = KernelPass::kBackward});
       }}};
  return known;
}

}  // namespace

KernelWork work_of(const KinetoEvent& event) {
  const auto reader = readers().find(event.name);
  if (reader == readers().end()) return {};
  const OperatorArguments arguments(event.args);
  return arguments.is_there() ? reader->second(arguments) : KernelWork();
}

}  // namespace forescale
