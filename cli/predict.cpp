// `forescale predict`: the scaling table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/prediction_output.hpp"
#include "cli/text.hpp"
#include "models/error.hpp"
#include "models/options_text.hpp"

namespace forescale {
namespace {

struct Options {
  PredictionText text;
  std::vector<std::string> schedule_options;
  bool range = true;
  bool sources = false;
  OutputOptions output;
};

void run(const Options& options) {
  PredictionText text = options.text;
  text.range = options.range;
  for (const std::string& option : options.schedule_options) {
    const OptionsText named = OptionsText::parse("option:" + option, "--option");
    for (const auto& [name, value] : named.values())
      if (!text.options.emplace(name, value).second)
        throw InputError({.source = "--option",
                          .path = "",
                          .value = option,
                          .constraint = "gives an option for the second time"});
  }
  const Prediction prediction = run_prediction(text);
  if (options.output.json) {
    fmt::print("{}\n", to_json(prediction).dump(2));
  } else if (options.output.csv) {
    fmt::print("{}", to_csv(prediction));
  } else {
    fmt::print("{}", to_table(prediction));
    if (options.sources)
      fmt::print("\n{}",
                 sources_text({.scenario = Scenario::kNominal, .numbers = prediction.numbers}));
  }
}

void add(CLI::App& app) {
  auto options = std::make_shared<Options>();
  PredictionText& text = options->text;
  CLI::App* command = app.add_subcommand("predict", "How training scales with the number of GPUs");
  command->footer(
      "Examples:\n"
      "  forescale predict --platform kesch --gpus 1..160 --model googlenet --batch 1024 \\\n"
      "    --system s-caffe-obr-hr\n"
      "  forescale predict --platform my-cluster.json --model net.prototxt --batch 64 \\\n"
      "    --scaling weak --schedule sc-ob --stack mvapich2-gdr --json\n"
      "Times are the steady state of several simulated iterations. A count whose share of the\n"
      "batch does not fit in GPU memory is reported as such.");
  command->add_option("--platform", text.platform, "Preset, JSON file or generator")->required();
  command->add_option("--model", text.model, "Zoo name, JSON file or Caffe .prototxt")->required();
  command
      ->add_option("--batch", text.batch,
                   "Images an iteration: of all GPUs (strong) or of each GPU (weak)")
      ->required();
  command->add_option("--scaling", text.scaling, "strong (default) or weak")
      ->check(CLI::IsMember({"strong", "weak"}));
  command->add_option("--gpus", text.gpus,
                      "Counts: 16,32,64 or 1..160 (doubling); default: 1 to all");
  command
      ->add_option("--option", options->schedule_options,
                   "An option of the schedule, such as fusion_threshold=64MiB; may be repeated "
                   "(see `forescale schedule show NAME`)")
      ->allow_extra_args(false);
  command->add_option("--framework", text.framework,
                      "Whose compute times count: Caffe, TensorFlow, MXNet, PyTorch (default: the "
                      "system's)");
  command->add_option(
      "--data", text.data,
      "Where training images come from: image-files, lmdb, ... (default: synthetic, "
      "which costs nothing); options as in image-files:decode_threads=4");
  command->add_option("--placement", text.placement,
                      "Ranks on nodes: linear or random:seed=N, with per_node=K (default: the "
                      "platform's)");
  command->add_option("--noise", text.noise,
                      "Seeded noise of every kernel: sigma=0.05,seed=7 (log-normal, mean 1)");
  command->add_option("--straggler", text.stragglers,
                      "Slow ranks: 3:1.5 makes rank 3 take 1.5 "
                      "times as long; several by commas");
  command->add_option("--system", text.system, "Named system, see `forescale system list`");
  command->add_option("--schedule", text.schedule, "Schedule (default: the system's)");
  command->add_option("--stack", text.stack, "Communication stack (default: the system's)");
  command->add_option("--input-shape", text.input_shape,
                      "Input of a prototxt that does not state it: 3x227x227");
  command->add_option("--iterations", text.iterations,
                      "Iterations to simulate (default: what the schedule needs)");
  command->add_option("--epoch-images", text.epoch_images,
                      "Images of an epoch (default 1281167: ILSVRC 2012 training set)");
  command->add_flag("--interval,!--no-range", options->range,
                    "The range that uncertain numbers cause, assumed ones and those measured with "
                    "an interval (default; --no-range is three times faster)");
  command->add_flag("--sources", options->sources, "List every number with its source");
  command->add_option("--trace", text.trace,
                      "Write a Chrome/Perfetto timeline of the largest count to this file");
  add_output_options(*command, options->output);
  command->callback([options] { run(*options); });
}

const bool kRegistered = Registry<Command>::add({.name = "predict", .add = add});

}  // namespace
}  // namespace forescale
