// `forescale demo`: the main job, what ./run does without arguments. S-Caffe's figure 8 as a
// prediction: GoogLeNet from 1 to 160 GPUs on kesch, SC-B against SC-OBR, both with the
// hierarchical reduce.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "cli/command.hpp"
#include "cli/predict/prediction_output.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

struct DemoSystem {
  const char* name;
  char letter;
};
constexpr DemoSystem kDemoSystems[] = {{"s-caffe-b-hr", 'B'}, {"s-caffe-obr-hr", 'O'}};

void run_demo(const std::string& folder) {
  const std::filesystem::path out(folder);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error)
    throw InputError({.source = "--out",
                      .path = "",
                      .value = folder,
                      .constraint = "cannot be made: " + error.message()});
  std::vector<Curve> curves;
  std::string written;
  for (const auto& [name, letter] : kDemoSystems) {
    const std::filesystem::path trace = out / fmt::format("googlenet-{}-trace.json", name);
    const Prediction prediction = run_prediction({.platform = "kesch",
                                                  .model = "googlenet",
                                                  .system = name,
                                                  .gpus = parse_integers("1..160", "--gpus"),
                                                  .batch = 1024},
                                                 {.files = {.trace = trace.string()}});
    const std::filesystem::path answer = out / fmt::format("googlenet-{}.json", name);
    write_json(answer.string(), to_json(prediction), "--out");
    written += fmt::format("  {}\n  {} (open in https://ui.perfetto.dev)\n", answer.string(),
                           trace.string());
    fmt::print("{}\n", to_table(prediction));
    Curve curve{.letter = letter, .name = name, .x = {}, .y = {}};
    for (const Row& row : prediction.rows) {
      if (!row.point.fits) continue;
      curve.x.push_back(row.point.gpus);
      curve.y.push_back(row.speedup);
    }
    curves.push_back(std::move(curve));
  }
  fmt::print("{}\nwritten:\n{}", line_chart(curves, "GPUs", "speed-up over the first that fits"),
             written);
}

void add_demo(Subcommand app) {
  auto folder = std::make_shared<std::string>("out");
  Subcommand command = app.add_subcommand(
      "demo", "GoogLeNet from 1 to 160 GPUs on kesch, SC-B against SC-OBR: tables, chart, traces");
  command.add_option("--out", *folder, "Folder for JSON and traces (default: out)");
  command.callback([folder] { run_demo(*folder); });
}

const bool kDemoRegistered = Registry<Command>::add({.name = "demo", .add = add_demo});

}  // namespace
}  // namespace forescale
