#include "cli/predict/prediction_options.hpp"

#include "base/error.hpp"
#include "base/options_text.hpp"

namespace forescale {

PredictionText PredictionOptions::with_options() const {
  PredictionText whole = text;
  for (const std::string& option : schedule_options) {
    const OptionsText named = OptionsText::parse("option:" + option, "--option");
    for (const auto& [name, value] : named.values())
      if (!whole.options.emplace(name, value).second)
        throw InputError({.source = "--option",
                          .path = "",
                          .value = option,
                          .constraint = "gives an option for the second time"});
  }
  return whole;
}

void add_machine_options(Subcommand command, PredictionOptions& options) {
  PredictionText& text = options.text;
  command.add_option("--platform", text.platform, "Preset, JSON file or generator").required();
  command.add_option("--system", text.system, "Named system, see `forescale system list`");
  command.add_option("--schedule", text.schedule, "Schedule (default: the system's)");
  command.add_option("--stack", text.stack, "Communication stack (default: the system's)");
}

void add_workload_options(Subcommand command, PredictionOptions& options) {
  PredictionText& text = options.text;
  command.add_option("--model", text.model, "Zoo name, JSON file or Caffe .prototxt").required();
  command
      .add_option("--batch", text.batch,
                  "Images an iteration: of all GPUs (strong) or of each GPU (weak)")
      .required();
  command.add_option("--scaling", text.scaling, "strong (default) or weak")
      .one_of({"strong", "weak"});
  command.add_option("--gpus", text.gpus,
                     "Counts: 16,32,64 or 1..160 (doubling); default: 1 to all");
  command
      .add_option("--option", options.schedule_options,
                  "An option of the schedule, such as fusion_threshold=64MiB; may be repeated "
                  "(see `forescale schedule show NAME`)")
      .allow_extra_args(false);
  command.add_option("--framework", text.framework,
                     "Whose compute times count: Caffe, TensorFlow, MXNet, PyTorch (default: the "
                     "system's)");
  command.add_option(
      "--gpu-model", text.gpu_model,
      "GPU model in place of the platform's own: what `calibrate fit` wrote, or p100, v100, m40 "
      "(default: the one that the platform's file names as gpu_model, if any)");
  command.add_option("--precision", text.precision,
                     "Of the GPU model's kernels: fp32 (default), tf32, fp16, bf16");
  command.add_option("--data", text.data,
                     "Where training images come from: image-files, lmdb, ... (default: synthetic, "
                     "which costs nothing); options as in image-files:decode_threads=4");
  command.add_option("--placement", text.placement,
                     "Ranks on nodes: linear or random:seed=N, with per_node=K (default: the "
                     "platform's)");
  command.add_option("--noise", text.noise,
                     "Seeded noise of every kernel: sigma=0.05,seed=7 (log-normal, mean 1)");
  command.add_option("--straggler", text.stragglers,
                     "Slow ranks: 3:1.5 makes rank 3 take 1.5 times as long; several by commas");
  command.add_option("--input-shape", text.input_shape,
                     "Input of a prototxt that does not state it: 3x227x227");
  command.add_option("--iterations", text.iterations,
                     "Iterations to simulate (default: what the schedule needs)");
}

}  // namespace forescale
