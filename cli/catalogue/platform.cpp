// `forescale platform`: presets, generators and platform files.
#include "topologies/platform.hpp"
#include "base/output_file.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/data_files.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/catalogue/platform_import.hpp"
#include "cli/catalogue/platform_new.hpp"
#include "cli/catalogue/platform_picture.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kPresets = "topologies/presets";

struct PlatformOptions {
  std::vector<std::string> names;
  std::string dot;
  std::string svg;
  bool sources = false;
  OutputOptions output;
};

json overview(const Platform& platform) {
  return {{"name", platform.name},
          {"kind", platform.is_generated ? "generator" : "preset"},
          {"usage", platform.name},
          {"nodes", platform.node_count},
          {"slots", platform.slot_count()},
          {"gpu", platform.has_gpus() ? json(platform.gpu_models[0].name) : json()},
          {"cpu", platform.cpu_models.empty() ? json() : json(platform.cpu_models[0].name)},
          {"summary", platform.description}};
}

json overview(const GeneratorHelp& generator) {
  return {{"name", generator.name},   {"kind", "generator"},
          {"usage", generator.usage}, {"nodes", nullptr},
          {"slots", nullptr},         {"gpu", nullptr},
          {"cpu", nullptr},           {"summary", generator.summary}};
}

void list(const PlatformOptions& options) {
  json presets = json::array();
  json generators = json::array();
  Problems problems;
  for (const std::string& name : catalogue(kPresets))
    problems.attempt([&] { presets.push_back(overview(load_platform(name))); });
  for (const GeneratorHelp& generator : platform_generators())
    generators.push_back(overview(generator));
  const std::vector<Column> preset_columns{{.key = "name", .heading = "<preset"},
                                           {.key = "nodes", .heading = "nodes"},
                                           {.key = "slots", .heading = "slots"},
                                           {.key = "gpu", .heading = "<GPU"},
                                           {.key = "summary", .heading = "<description"}};
  if (options.output.json || options.output.csv) {
    json rows = presets;
    rows.insert(rows.end(), generators.begin(), generators.end());
    std::vector<Column> columns = preset_columns;
    columns.insert(columns.begin() + 1,
                   {{.key = "kind", .heading = ""}, {.key = "usage", .heading = ""}});
    print_rows(rows, columns, options.output);
  } else {
    fmt::print("{}\ngenerators\n", table_text(presets, preset_columns));
    for (const GeneratorHelp& generator : platform_generators())
      fmt::print("  {}\n      {}\n", generator.usage, generator.summary);
  }
  problems.raise("platform list");
}

json to_json(const Platform& platform) {
  json document = overview(platform);
  document.erase("usage");
  document["fabric"] = platform.fabric_summary;
  document["bisection_bytes_per_s"] = bisection_bandwidth(platform).value;
  document["assumptions"] = platform.assumptions;
  document["numbers"] = sources_json(platform.provenance);
  document["link_classes"] = json::array();
  for (const LinkClass& link : platform.link_classes)
    document["link_classes"].push_back({{"name", link.name},
                                        {"bandwidth_bytes_per_s", link.bandwidth.value},
                                        {"latency_s", link.latency.value},
                                        {"duplex", link.full_duplex ? "full" : "half"}});
  return document;
}

// describe() ends with the numbers; here they have an option of their own.
std::string without_numbers(const std::string& description) {
  return description.substr(0, description.rfind("\nnumbers\n"));
}

void write_dot(const Platform& platform, const std::string& file) {
  write_file(file, graphviz(platform), "--dot");
}

void show(const PlatformOptions& options) {
  const Platform platform = load_platform(options.names.front());
  if (!options.dot.empty()) write_dot(platform, options.dot);
  if (!options.svg.empty()) write_file(options.svg, platform_picture(platform), "--svg");
  if (options.output.json) {
    fmt::print("{}\n", to_json(platform).dump(2));
  } else if (options.sources) {
    fmt::print("{}: {}\n{}", platform.name, count_text(platform.provenance),
               sources_text(platform.provenance));
  } else {
    fmt::print("{}\n{} (--sources lists them)\n", without_numbers(describe(platform)),
               count_text(platform.provenance));
  }
}

void check(const PlatformOptions& options) {
  check_all(options.names.empty() ? catalogue(kPresets) : options.names, "platform check",
            [](const std::string& name) {
              const Platform platform = load_platform(name);
              return fmt::format("{} nodes, {} slots, {} links, {}", platform.node_count,
                                 platform.slot_count(), platform.links.size(),
                                 count_text(platform.provenance));
            });
}

void add_platform(Subcommand app) {
  auto options = std::make_shared<PlatformOptions>();
  Subcommand command =
      add_catalogue_command(app, {.name = "platform",
                                  .summary = "Platforms (presets, generators, files): list, show, "
                                             "check, import, new",
                                  .examples = {"platform list", "platform show kesch",
                                               "platform import topo.xml -o mine.json"}});
  Subcommand verb = add_verb(
      command,
      {.name = "list", .summary = "Presets and generators", .examples = {"platform list --json"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });

  verb = add_verb(
      command, {.name = "show",
                .summary = "One node's tree, the fabric, bisection bandwidth",
                .examples = {"platform show dgx-h100 --svg dgx-h100.svg",
                             "platform show kesch --dot kesch.dot", "platform show kesch --sources",
                             "platform show star:hosts=64,bandwidth=12.5GB/s,latency=1us --json"}});
  verb.add_option("NAME", options->names, "Preset, JSON file or generator").required().expected(1);
  verb.add_option("--dot", options->dot, "Write Graphviz of the whole platform to this file");
  verb.add_option("--svg", options->svg, "Write a picture of a node and the fabric to this file");
  verb.add_flag("--sources", options->sources, "Every number with its source");
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });

  verb = add_verb(command, {.name = "check",
                            .summary = "Are these files right? Without a name: the presets",
                            .examples = {"platform check my-cluster.json"}});
  verb.add_option("NAME", options->names, "JSON files, presets or generators");
  verb.callback([options] { check(*options); });

  add_platform_import(command);
  add_platform_new(command);
}

const bool kPlatformRegistered = Registry<Command>::add({.name = "platform", .add = add_platform});

}  // namespace
}  // namespace forescale
