#include "models/workload/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/options_text.hpp"
#include "models/workload/caffe/import_caffe.hpp"
#include "models/workload/onnx/import_onnx.hpp"
#include "models/workload/operator.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kFolders[] = {"models/workload/zoo", "models/workload/transformers"};

struct Blob {
  Shape shape;
  bool learns = false;  // something below it has parameters, so it needs a gradient
  bool used = false;
  bool may_go_unused = false;
  const LayerSpec* producer = nullptr;
};

class Inference {
 public:
  explicit Inference(const Architecture& net) : net_(net) {}

  Network run() {
    Network network{.name = net_.name,
                    .source = net_.source,
                    .layers = {},
                    .input_shape = net_.input_shape,
                    .architecture = net_};
    for (const LayerSpec& spec : net_.layers) {
      const Operator* rule = find_operator(spec.type);
      if (rule == nullptr)
        layer_error(spec, net_.file,
                    {.key = "type",
                     .value = spec.type,
                     .constraint = "is " + unknown_name(spec.type, layer_types())});
      check_arity(spec, *rule);
      if (std::optional<Layer> layer = add(spec, *rule)) network.layers.push_back(*layer);
    }
    check_all_used();
    return network;
  }

 private:
  void check_arity(const LayerSpec& spec, const Operator& rule) const {
    const std::size_t count = spec.bottoms.size();
    if (count < rule.bottoms_min || count > rule.bottoms_max)
      layer_error(
          spec, net_.file,
          {.key = "bottom",
           .value = std::to_string(count),
           .constraint = fmt::format(
               "must be {} {} for a {} layer", count < rule.bottoms_min ? "at least" : "at most",
               count < rule.bottoms_min ? rule.bottoms_min : rule.bottoms_max, spec.type)});
    if (spec.tops.size() > rule.tops_max ||
        (spec.tops.empty() && rule.kind != OperatorKind::kOutput &&
         rule.kind != OperatorKind::kIgnored))
      layer_error(
          spec, net_.file,
          {.key = "top",
           .value = std::to_string(spec.tops.size()),
           .constraint = fmt::format("must be 1 to {} for a {} layer", rule.tops_max, spec.type)});
  }

  Blob& bottom(const LayerSpec& spec, const std::string& name) {
    const auto found = blobs_.find(name);
    if (found == blobs_.end()) {
      std::vector<std::string> known;
      for (const auto& [blob, value] : blobs_) known.push_back(blob);
      const std::string near = nearest(name, known);
      layer_error(
          spec, net_.file,
          {.key = "bottom",
           .value = name,
           .constraint = "must be a top of an earlier layer" +
                         (near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near))});
    }
    return found->second;
  }

  std::optional<Layer> add(const LayerSpec& spec, const Operator& rule) {
    std::vector<Shape> inputs;
    std::int64_t values_read = 0;
    bool learns_below = false;
    for (const std::string& name : spec.bottoms) {
      Blob& blob = bottom(spec, name);
      blob.used = true;
      learns_below = learns_below || blob.learns;
      inputs.push_back(blob.shape);
      values_read += value_count(blob.shape, spec, net_.file);
    }
    if (rule.kind == OperatorKind::kIgnored) return std::nullopt;
    if (rule.kind == OperatorKind::kData) inputs = {net_.input_shape};

    const LayerEffect effect = rule.apply(spec, net_.file, inputs);
    Layer layer;
    layer.name = spec.name;
    layer.type = spec.type;
    layer.auxiliary = spec.auxiliary;
    layer.frozen = spec.frozen;
    layer.adapter = spec.adapter;
    const std::int64_t values = std::accumulate(effect.parameter_tensors.begin(),
                                                effect.parameter_tensors.end(), std::int64_t{0});
    if (spec.frozen) {
      layer.frozen_parameters = values;
    } else {
      layer.parameter_tensors = effect.parameter_tensors;
      layer.parameters = values;
    }
    layer.forward_flops = effect.forward_flops;
    const double gradients = (spec.frozen ? 0 : 1) + (learns_below ? 1 : 0);
    layer.backward_flops =
        effect.forward_flops *
        (effect.backward_over_forward >= 0 ? effect.backward_over_forward : gradients);
    layer.tables = effect.tables;
    const bool learns =
        learns_below || effect.wants_gradient || layer.parameters > 0 || layer.tables.values > 0;
    layer.backward_runs = learns;
    layer.kept_flags = effect.kept_flags;
    layer.kept_per_image = kBytesPerValue * Bytes{effect.kept_values};
    layer.output_shape = effect.outputs[0];
    layer.work = effect.work;
    layer.exchange = effect.exchange;
    layer.reads_all_parameters = effect.reads_all_parameters;

    std::int64_t values_written = 0;
    for (std::size_t i = 0; i < spec.tops.size(); ++i) {
      const Shape& shape = i < effect.outputs.size() ? effect.outputs[i] : inputs[0];
      if (place(spec, rule, spec.tops[i], shape, learns)) layer.in_place = true;
      values_written += value_count(shape, spec, net_.file);
    }
    const bool own_memory = !layer.in_place && rule.kind != OperatorKind::kView;
    layer.activation_per_image = {own_memory ? kBytesPerValue * values_written : 0};
    const bool works = rule.kind != OperatorKind::kData && rule.kind != OperatorKind::kView;
    layer.traffic_per_image = {works ? kBytesPerValue * (values_read + values_written) : 0};
    return layer;
  }

  // Enters a top; true when it replaces one of the layer's own bottoms.
  bool place(const LayerSpec& spec, const Operator& rule, const std::string& top,
             const Shape& shape, bool learns) {
    const bool in_place =
        std::find(spec.bottoms.begin(), spec.bottoms.end(), top) != spec.bottoms.end();
    if (in_place && !rule.may_be_in_place)
      layer_error(spec, net_.file,
                  {.key = "top",
                   .value = top,
                   .constraint = fmt::format("a {} layer cannot work in place", spec.type)});
    if (!in_place && blobs_.contains(top))
      layer_error(spec, net_.file,
                  {.key = "top", .value = top, .constraint = "is already made by another layer"});
    // In place keeps "used" false: the new content must be used by someone.
    blobs_[top] = Blob{.shape = shape,
                       .learns = learns,
                       .used = false,
                       .may_go_unused = rule.kind == OperatorKind::kOutput,
                       .producer = &spec};
    return in_place;
  }

  void check_all_used() const {
    for (const auto& [name, blob] : blobs_)
      if (!blob.used && !blob.may_go_unused)
        layer_error(*blob.producer, net_.file,
                    {.key = "top",
                     .value = name,
                     .constraint = "is used by no layer: a training network ends in losses; was "
                                   "the file cut off?"});
  }

  const Architecture& net_;
  std::map<std::string, Blob> blobs_;
};

Network read_decoder(const JsonInput& in, const std::optional<Shape>& input_shape) {
  const Transformer model = read_transformer(in);
  const std::int64_t tokens =
      input_shape && input_shape->size() == 1 ? input_shape->front() : model.sequence;
  return infer_network(decoder(model, tokens, "--input-shape"));
}

template <class Member>
auto total(const Network& network, Heads heads, Member member) {
  decltype(member(network.layers[0])) sum{};
  for (const Layer& layer : network.layers)
    if (heads == Heads::kAll || !layer.auxiliary) sum = sum + member(layer);
  return sum;
}

std::string file_of(const std::string& name_or_path, const std::string& option) {
  const bool is_path =
      name_or_path.ends_with(".json") || name_or_path.find('/') != std::string::npos;
  for (const char* folder : kFolders) {
    const std::vector<std::string> names = catalogue(folder);
    if (is_path || std::find(names.begin(), names.end(), name_or_path) != names.end())
      return find_data_file(folder, name_or_path, option);
  }
  throw InputError({.source = option,
                    .path = "",
                    .value = name_or_path,
                    .constraint = unknown_name(name_or_path, network_names())});
}

// With numbers of its own in place of the file's.
JsonInput changed(const JsonInput& in, const OptionsText& asked, const std::string& text) {
  asked.allow_only(in.keys());
  json values = in.raw();
  for (const auto& [key, value] : asked.values()) {
    const json given = parse_json_or_discard(value);
    if (values[key].is_structured() || values[key].type_name() != std::string(given.type_name()))
      throw InputError({.source = asked.where(key),
                        .path = "",
                        .value = value,
                        .constraint = fmt::format("must be a {}, as in {}", values[key].type_name(),
                                                  in.file())});
    values[key] = given;
  }
  values.erase("published");
  values["name"] = text;
  return JsonInput::from_text(values.dump(), in.file());
}

}  // namespace

const LinearShape* Layer::fully_connected() const {
  const auto* linear = std::get_if<LinearShape>(&work);
  return linear != nullptr && linear->vectors == 1 ? linear : nullptr;
}

bool Network::has_sequences() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const Layer& layer) { return layer.output_shape.size() == 2; });
}

const char* Network::samples() const {
  if (tables().values > 0) return "samples";
  return is_text() ? "sequences" : "images";
}

EmbeddingTables Network::tables() const {
  EmbeddingTables all;
  for (const Layer& layer : layers) {
    all.values += layer.tables.values;
    all.looked_up += layer.tables.looked_up;
  }
  return all;
}

std::int64_t Network::parameters(Heads heads) const {
  return total(*this, heads, [](const Layer& layer) { return layer.parameters; });
}
std::int64_t Network::frozen_parameters() const {
  return total(*this, Heads::kAll, [](const Layer& layer) { return layer.frozen_parameters; });
}

Bytes Network::parameter_bytes(Heads heads) const { return {kBytesPerValue * parameters(heads)}; }
double Network::forward_flops(Heads heads) const {
  return total(*this, heads, [](const Layer& layer) { return layer.forward_flops; });
}
double Network::backward_flops(Heads heads) const {
  return total(*this, heads, [](const Layer& layer) { return layer.backward_flops; });
}
Bytes Network::activation_per_image(Heads heads) const {
  return total(*this, heads, [](const Layer& layer) { return layer.activation_per_image; });
}

Network infer_network(const Architecture& architecture) { return Inference(architecture).run(); }

Network read_network(const JsonInput& in, const std::optional<Shape>& input_shape) {
  Architecture architecture = read_architecture(in);
  if (input_shape) {
    if (input_shape->size() != architecture.input_shape.size())
      in.at("input_shape")
          .fail(fmt::format("cannot become {}: an image has three sides, text one",
                            to_text(*input_shape)));
    architecture.input_shape = *input_shape;
  }
  Network network = infer_network(architecture);
  if (const auto inferred = in.find("inferred"); inferred && !input_shape) {
    const JsonInput count = inferred->at("parameters");
    if (count.integer(0) != network.parameters())
      count.fail(fmt::format("must be {}, which the layers give", network.parameters()));
  }
  return network;
}

JsonInput model_input(const std::string& text, const std::string& option) {
  const OptionsText asked = OptionsText::parse(text, option);
  JsonInput in = JsonInput::from_file(file_of(asked.name(), option));
  if (asked.empty()) return in;
  if (!is_transformer(in)) refuse(option, text, "only of a transformer can numbers be changed");
  return changed(in, asked, text);
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const char* folder : kFolders)
    for (std::string& name : catalogue(folder)) names.push_back(std::move(name));
  return names;
}

Network load_network(const std::string& name_or_path, const std::string& option,
                     const std::optional<Shape>& input_shape) {
  if (name_or_path.ends_with(".prototxt")) return import_caffe(name_or_path, input_shape);
  if (name_or_path.ends_with(".onnx")) return import_onnx(name_or_path, input_shape);
  const JsonInput in = model_input(name_or_path, option);
  return is_transformer(in) ? read_decoder(in, input_shape) : read_network(in, input_shape);
}

json to_json(const Network& network) {
  json out = to_json(network.architecture);
  json& inferred = out["inferred"];
  inferred = {{"parameters", network.parameters()},
              {"parameters_without_auxiliary", network.parameters(Heads::kMain)},
              {"parameter_bytes", network.parameter_bytes().value},
              {"forward_flops_per_image", network.forward_flops()},
              {"backward_flops_per_image", network.backward_flops()},
              {"activation_bytes_per_image", network.activation_per_image().value},
              {"layers", json::array()}};
  for (const Layer& layer : network.layers)
    inferred["layers"].push_back({{"name", layer.name},
                                  {"type", layer.type},
                                  {"parameters", layer.parameters},
                                  {"forward_flops_per_image", layer.forward_flops},
                                  {"backward_flops_per_image", layer.backward_flops},
                                  {"activation_bytes_per_image", layer.activation_per_image.value},
                                  {"output_shape", layer.output_shape},
                                  {"auxiliary", layer.auxiliary}});
  return out;
}

}  // namespace forescale
