// `forescale predict`: the scaling table.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/catalogue/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/predict/prediction_output.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

struct PredictOptions {
  QuestionOptions question;
  RangeOptions range;
  AskFiles files;
  bool sources = false;
  OutputOptions output;
};

void run(const PredictOptions& options) {
  const Prediction prediction = run_prediction(
      options.question.question(), {.draws = options.range.asked(), .files = options.files});
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

void add_predict(Subcommand app) {
  auto options = std::make_shared<PredictOptions>();
  Subcommand command = app.add_subcommand("predict", "How training scales with the number of GPUs");
  command.footer(
      "Examples:\n"
      "  forescale predict --platform kesch --gpus 1..160 --model googlenet --batch 1024 \\\n"
      "    --system s-caffe-obr-hr\n"
      "  forescale predict --platform my-cluster.json --model net.prototxt --batch 64 \\\n"
      "    --scaling weak --schedule sc-ob --stack mvapich2-gdr --json\n"
      "Times are the steady state of several simulated iterations. A count whose share of the\n"
      "batch does not fit in GPU memory is reported as such.");
  add_question_options(command, options->question, {"platform", "model", "batch"});
  add_range_options(command, options->range);
  command.add_flag("--sources", options->sources, "List every number with its source");
  command.add_option("--trace", options->files.trace,
                     "Write a Chrome/Perfetto timeline of the largest count to this file");
  command.add_option("--record", options->files.record,
                     "Write what every rank of the largest count does, for `forescale replay`");
  add_output_options(command, options->output);
  command.callback([options] { run(*options); });
}

const bool kPredictRegistered = Registry<Command>::add({.name = "predict", .add = add_predict});

}  // namespace
}  // namespace forescale
