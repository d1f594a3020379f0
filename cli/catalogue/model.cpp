// `forescale model`: networks of the zoo, files, and the importer.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>

#include "base/data_files.hpp"
#include "base/output_file.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/catalogue/model_compute.hpp"
#include "cli/catalogue/model_hold_out.hpp"
#include "cli/network_warnings.hpp"
#include "models/workload/network.hpp"
#include "sim/ask/inputs.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kGiga = 1e9;

struct ModelOptions {
  std::vector<std::string> names;
  std::string input_shape;
  std::string gpu;
  std::string gpu_model;
  std::string precision;
  std::string memory_format;
  std::string fusion;
  std::int64_t batch = 32;
  std::string out;
  bool sources = false;
  OutputOptions output;
};

json published(const std::optional<std::int64_t>& parameters) {
  return parameters ? json(*parameters) : json();
}

json overview(const Network& network) {
  return {{"name", network.name},
          {"layers", network.layers.size()},
          {"parameters", network.parameters()},
          {"parameters_without_auxiliary", network.parameters(Heads::kMain)},
          {"forward_flops_per_image", network.forward_flops()},
          {"backward_flops_per_image", network.backward_flops()},
          {"activation_bytes_per_image", network.activation_per_image().value},
          {"published_parameters", published(network.architecture.published_parameters)},
          {"published_source", network.architecture.published_source}};
}

void list(const ModelOptions& options) {
  json rows = json::array();
  Problems problems;
  for (const std::string& name : network_names())
    problems.attempt([&] { rows.push_back(overview(load_network(name, "model list"))); });
  print_rows(rows,
             {{.key = "name", .heading = "<model"},
              {.key = "layers", .heading = "layers"},
              {.key = "parameters", .heading = "parameters", .text = count_cell},
              {.key = "forward_flops_per_image", .heading = "forward MFLOP", .text = mega_cell},
              {.key = "backward_flops_per_image", .heading = "backward MFLOP", .text = mega_cell},
              {.key = "activation_bytes_per_image", .heading = "activations", .text = bytes_cell},
              {.key = "published_parameters", .heading = "published", .text = count_cell},
              {.key = "published_source", .heading = "<published by"}},
             options.output);
  problems.raise("model list");
}

json layer_rows(const Network& network) {
  json rows = json::array();
  for (const Layer& layer : network.layers)
    rows.push_back({{"name", layer.name + (layer.auxiliary ? " (auxiliary)" : "")},
                    {"type", layer.type},
                    {"output", to_text(layer.output_shape)},
                    {"parameters", layer.parameters},
                    {"forward_flops_per_image", layer.forward_flops},
                    {"backward_flops_per_image", layer.backward_flops},
                    {"activation_bytes_per_image", layer.activation_per_image.value}});
  return rows;
}

std::vector<Column> layer_columns() {
  return {{.key = "name", .heading = "<layer"},
          {.key = "type", .heading = "<type"},
          {.key = "output", .heading = "<output"},
          {.key = "parameters", .heading = "parameters", .text = count_cell},
          {.key = "forward_flops_per_image", .heading = "forward MFLOP", .text = mega_cell},
          {.key = "backward_flops_per_image", .heading = "backward MFLOP", .text = mega_cell},
          {.key = "activation_bytes_per_image", .heading = "activation", .text = bytes_cell}};
}

std::string totals(const Network& network, Heads heads) {
  const std::int64_t tables = network.tables().values;
  return fmt::format(
      "{} parameters ({}), {}{:.3f} GFLOP forward, {:.3f} GFLOP backward, {} "
      "activations an image",
      count_cell(network.parameters(heads)), to_text(network.parameter_bytes(heads)),
      tables == 0 ? ""
                  : fmt::format("{} values in tables ({}), ", count_cell(tables),
                                to_text(Bytes{tables * kBytesPerValue})),
      network.forward_flops(heads) / kGiga, network.backward_flops(heads) / kGiga,
      to_text(network.activation_per_image(heads)));
}

void print_network(const Network& network) {
  fmt::print("\nall:       {}\n", totals(network, Heads::kAll));
  if (network.parameters() != network.parameters(Heads::kMain))
    fmt::print("main only: {}\n", totals(network, Heads::kMain));
  const Architecture& net = network.architecture;
  if (net.published_parameters)
    fmt::print("published: {} parameters{} ({})\n", count_cell(*net.published_parameters),
               net.published_parameters_main
                   ? fmt::format(", {} without auxiliary heads",
                                 count_cell(*net.published_parameters_main))
                   : "",
               net.published_source);
}

void show(const ModelOptions& options) {
  const Network network =
      load_network(options.names.front(), "model show", parse_shape(options.input_shape));
  say_warnings(network);
  json rows = layer_rows(network);
  std::vector<Column> columns = layer_columns();
  std::optional<ComputeAnswer> answer;
  if (!options.gpu.empty()) {
    answer = compute_on(network, {.gpu = options.gpu,
                                  .gpu_model = options.gpu_model,
                                  .precision = options.precision,
                                  .memory_format = options.memory_format,
                                  .fusion = options.fusion,
                                  .batch = options.batch});
    add_times(rows, *answer);
    columns.push_back({.key = "forward_s", .heading = "forward", .text = seconds_cell});
    columns.push_back({.key = "backward_s", .heading = "backward", .text = seconds_cell});
    if (!answer->forward.empty()) {
      columns.push_back({.key = "forward_from", .heading = "<forward from"});
      columns.push_back({.key = "backward_from", .heading = "<backward from"});
    }
  }
  if (options.output.json) {
    json document = to_json(network);
    if (answer) document["compute"] = to_json(*answer, rows);
    fmt::print("{}\n", document.dump(2));
  } else if (options.output.csv) {
    print_rows(rows, columns, options.output);
  } else if (options.sources && answer) {
    fmt::print("{} on {}: {}\n{}", network.name, answer->table.gpu, count_text(answer->provenance),
               sources_text(answer->provenance));
  } else {
    fmt::print("{}: {}\ninput {}, {} layers\n\n{}", network.name, network.source,
               to_text(network.input_shape), network.layers.size(), table_text(rows, columns));
    print_network(network);
    if (answer) print_compute(*answer);
  }
}

void check_published(const Network& network, const std::optional<std::int64_t>& parameters,
                     Heads heads, const std::string& path) {
  if (!parameters || *parameters == network.parameters(heads)) return;
  throw InputError(
      {.source = network.architecture.file,
       .path = path,
       .value = std::to_string(*parameters),
       .constraint = fmt::format("must be {}, which the layers give", network.parameters(heads))});
}

void check(const ModelOptions& options) {
  check_all(options.names.empty() ? network_names() : options.names, "model check",
            [](const std::string& name) {
              const Network network = load_network(name, "model check");
              const Architecture& net = network.architecture;
              check_published(network, net.published_parameters, Heads::kAll,
                              "/published/parameters");
              check_published(network, net.published_parameters_main, Heads::kMain,
                              "/published/parameters_without_auxiliary");
              return fmt::format("{} layers, {} parameters{}", network.layers.size(),
                                 count_cell(network.parameters()),
                                 net.published_parameters ? " as published" : "");
            });
}

void import_network(const ModelOptions& options) {
  const std::string& file = options.names.front();
  if (!file.ends_with(".prototxt") && !file.ends_with(".onnx"))
    refuse("FILE", file, "must be a Caffe .prototxt or an .onnx");
  const Network network = load_network(file, "model import", parse_shape(options.input_shape));
  say_warnings(network);
  const std::string text = to_json(network).dump(2);
  if (options.out.empty()) {
    fmt::print("{}\n", text);
    return;
  }
  write_file(options.out, text + "\n", "--out");
  fmt::print("{}: {} layers, {}\n", options.out, network.layers.size(),
             totals(network, Heads::kAll));
}

void add_model_show(Subcommand command, const std::shared_ptr<ModelOptions>& options) {
  Subcommand verb = add_verb(
      command, {.name = "show",
                .summary = "The layers with shapes, parameters, FLOP; on a GPU with their times",
                .examples = {"model show alexnet", "model show googlenet --gpu k80 --batch 32",
                             "model show resnet-50 --gpu v100 --precision fp16",
                             "model show train_val.prototxt --input-shape 3x227x227 --csv"}});
  verb.add_option("NAME", options->names, "Zoo name, JSON file, Caffe .prototxt or .onnx")
      .required()
      .expected(1);
  CommandOption gpu =
      verb.add_option("--gpu", options->gpu, "Compute times on this GPU: a name or a JSON file");
  verb.add_option("--batch", options->batch, "Images on that GPU (default 32)").needs(gpu);
  verb.add_option("--gpu-model", options->gpu_model,
                  "Times from a GPU model: what `calibrate fit` wrote, or the GPU's own by name")
      .needs(gpu);
  verb.add_option(
          "--precision", options->precision,
          "fp32, tf32, fp16, bf16 (default: tf32 where the GPU has it and no kernels measured "
          "in fp32, else fp32)")
      .needs(gpu);
  verb.add_option("--memory-format", options->memory_format,
                  "nchw, or nhwc (channels last; default in fp16 and bf16)")
      .needs(gpu);
  verb.add_option("--fusion", options->fusion,
                  "Layers within the kernel before them: none (default), activations, pointwise")
      .needs(gpu);
  verb.add_flag("--sources", options->sources, "Every number of the times with its source")
      .needs(gpu);
  verb.add_option("--input-shape", options->input_shape,
                  "Channels x height x width: 3x227x227; tokens of text: 384");
  add_output_options(verb, options->output);
  verb.callback([options] { show(*options); });
}

void add_model_import(Subcommand command, const std::shared_ptr<ModelOptions>& options) {
  Subcommand verb =
      add_verb(command, {.name = "import",
                         .summary = "A Caffe prototxt or an ONNX file as a model file",
                         .examples = {"model import train_val.prototxt -o my-net.json",
                                      "model import deploy.prototxt --input-shape 3x227x227",
                                      "model import resnet.onnx -o resnet.json"}});
  verb.add_option("FILE", options->names, "Caffe .prototxt, or .onnx").required().expected(1);
  verb.add_option("--input-shape", options->input_shape,
                  "Channels x height x width: 3x227x227; tokens of text: 384");
  verb.add_option("-o,--out", options->out, "Write here (default: standard output)");
  verb.callback([options] { import_network(*options); });
}

void add_model(Subcommand app) {
  auto options = std::make_shared<ModelOptions>();
  Subcommand command =
      add_catalogue_command(app, {.name = "model",
                                  .summary = "Networks: list, show, check, import",
                                  .examples = {"model list", "model show googlenet --gpu k80"}});
  Subcommand verb = add_verb(command, {.name = "list",
                                       .summary = "The zoo: sizes, FLOP, published totals",
                                       .examples = {"model list --csv"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });
  add_model_show(command, options);

  verb = add_verb(command, {.name = "check",
                            .summary = "Are these networks right? Without a name: the zoo",
                            .examples = {"model check my-net.json train_val.prototxt"}});
  verb.add_option("NAME", options->names, "Zoo names, JSON files, Caffe .prototxt, .onnx");
  verb.callback([options] { check(*options); });
  add_model_import(command, options);
  add_hold_out(command);
}

const bool kModelRegistered = Registry<Command>::add({.name = "model", .add = add_model});

}  // namespace
}  // namespace forescale
