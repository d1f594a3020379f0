// `forescale predict`: the scaling table.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/output_file.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/network_warnings.hpp"
#include "cli/predict/layout_output.hpp"
#include "cli/predict/prediction_output.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "models/compute/transformer_framework.hpp"
#include "studies/layout/layout_program.hpp"
#include "studies/layout/layout_trace.hpp"
#include "studies/layout/measured_layout.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr int kRecordedIterations = 3;  // of a layout

struct PredictOptions {
  QuestionOptions question;
  RangeOptions range;
  AskFiles files;
  TrainingPlan plan;
  std::string measured;
  bool sources = false;
  OutputOptions output;
  std::string line;  // as typed
};

void check_draws(const PredictOptions& options) {
  if (options.range.draws > 0)
    refuse("--draws", std::to_string(options.range.draws), "does not go with --layout");
}

void check_training_plan(const PredictOptions& options) {
  const auto check = [](const char* option, double value) {
    if (!std::isfinite(value) || value < 0)
      refuse(option, fmt::format("{:g}", value), "must be a number > 0");
  };
  check("--tokens", options.plan.tokens);
  check("--price", options.plan.hour_price);
  if (options.plan.hour_price > 0 && options.plan.tokens == 0)
    refuse("--price", fmt::format("{:g}", options.plan.hour_price), "needs --tokens");
  if (options.plan.tokens > 0 && options.question.question().layout.empty())
    refuse("--tokens", fmt::format("{:g}", options.plan.tokens), "needs --layout");
}

// Of the largest count: its passes as a timeline, all ranks as a program.
void write_files(const AskFiles& files, const std::vector<LayoutCase>& cases,
                 const std::vector<LayoutPrediction>& predictions, Asker& asker) {
  size_t largest = 0;
  for (size_t i = 0; i < cases.size(); ++i)
    if (predictions[i].may_fit() &&
        (!predictions[largest].may_fit() || cases[i].gpus > cases[largest].gpus))
      largest = i;
  const auto refuse_if_none = [&](const char* option, const std::string& file) {
    if (!predictions[largest].may_fit()) refuse(option, file, "nothing fits in GPU memory");
  };
  if (!files.trace.empty()) {
    refuse_if_none("--trace", files.trace);
    write_file(
        files.trace, [&](std::ostream& out) { write_layout_trace(predictions[largest], out); },
        "--trace");
  }
  if (!files.record.empty()) {
    refuse_if_none("--record", files.record);
    refuse_to_record(cases[largest].question, files.record);
    const Program program =
        layout_program(cases[largest], set_up_layout(cases[largest], asker), kRecordedIterations);
    write_file(
        files.record, [&](std::ostream& out) { write_program(program, out); }, "--record");
  }
}

void print_machine_sources(Asker& asker, const LayoutCase& about) {
  const QuestionMachine& machine = asker.machine(machine_question(about));
  Provenance all = machine.platform.provenance;
  all.numbers.insert(all.numbers.end(), machine.stack.provenance.numbers.begin(),
                     machine.stack.provenance.numbers.end());
  const std::string& gpu = machine.platform.gpu_models.front().name;
  const bool is_compiled = parse_layout(about.question.layout, kLayoutOption).is_compiled;
  transformer_framework(about.question.framework.value_or(kDefaultTransformerFramework),
                        is_compiled ? LayerCode::kCompiled : LayerCode::kEager, gpu, "--framework",
                        &all);
  fmt::print("\n{}kernels: forescale model show {} --gpu {}\n", sources_text(all),
             about.question.model, gpu);
}

// The cases with kernels scaled to the iteration that was measured, and what people are told.
std::string start_from_measured(const std::string& text, std::vector<LayoutCase>& cases,
                                Asker& asker) {
  const Question& question = cases.front().question;
  if (question.compute_scale != 1)
    refuse("--compute-scale", fmt::format("{:g}", question.compute_scale),
           "is what --measured finds out");
  const MeasuredLayout measured = parse_measured_layout(text, question.layout);
  const double scale = kernel_scale(measured, question, asker);
  const Layout layout =
      resolved(parse_layout(measured.layout, kMeasuredOption), measured.gpus, kMeasuredOption);
  for (LayoutCase& each : cases) {
    each.question.compute_scale = scale;
    each.is_measured = differ_in_copies_alone(
        resolved(parse_layout(each.question.layout, kLayoutOption), each.gpus, kLayoutOption),
        layout);
  }
  return fmt::format(
      "from {} measured on {} GPUs: kernels take {:.3g} of the time that is predicted without\n",
      to_text(Seconds{measured.iteration_s}), measured.gpus, scale);
}

void run_layout(const PredictOptions& options, const Question& question) {
  check_layout_question(question);
  check_draws(options);
  TrainingPlan plan = options.plan;
  if (!question.failures.empty()) {
    if (plan.tokens == 0)
      refuse("--failures", question.failures, "changes days and cost: needs --tokens");
    plan.failures = parse_failures(question.failures, "--failures");
  }
  Asker asker;
  std::vector<LayoutCase> cases;
  for (const std::int64_t gpus : question.gpus)
    cases.push_back({.question = question, .gpus = gpus});
  const std::string told =
      options.measured.empty() ? "" : start_from_measured(options.measured, cases, asker);
  const std::vector<LayoutPrediction> predictions =
      options.range.interval ? predict_layout_ranges(cases, asker) : predict_layouts(cases, asker);
  write_files(options.files, cases, predictions, asker);
  if (options.output.json) {
    json document = {{"format", "forescale-layouts-1"},
                     {"command", options.line},
                     {"question", to_json(cases.front().question)},
                     {"predictions", json::array()}};
    for (const LayoutPrediction& each : predictions)
      document["predictions"].push_back(to_json(each, plan));
    fmt::print("{}\n", document.dump(2));
  } else if (options.output.csv) {
    print_rows(layout_rows(predictions, plan), layout_columns(predictions, plan), options.output);
  } else {
    fmt::print("{}{}", to_table(predictions, plan), told);
    if (options.sources) print_machine_sources(asker, cases.front());
  }
}

void run(const PredictOptions& options) {
  check_training_plan(options);
  check_writable(options.files.trace, "--trace");
  check_writable(options.files.record, "--record");
  const Question question = options.question.question();
  if (question.layout.empty() && !options.measured.empty())
    refuse(kMeasuredOption, options.measured,
           "needs --layout; of other networks --throughput takes what was measured");
  if (!question.layout.empty()) {
    run_layout(options, question);
    return;
  }
  if (options.output.json || options.output.csv)  // else among the notes
    say_model_warnings(question.model, question.input_shape, question.sequence);
  if (question.batch == 0) refuse("--batch", "", "is required (or --layout, of a transformer)");
  const Prediction prediction =
      run_prediction(question, {.draws = options.range.asked(), .files = options.files});
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
      "  forescale predict --platform dgx-h100 --model llama-3-70b --seq 8192 --gpus 64 \\\n"
      "    --layout tp=8,pp=4,micro=1,global=128,zero=optimizer --tokens 15e12 --price 2.50\n"
      "  forescale predict --platform dgx-h100 --model llama-3-8b --seq 8192 --gpus 64,256 \\\n"
      "    --layout tp=2,micro=1,global=256,zero=optimizer --measured 2.0s@8:global=16\n"
      "Times are the steady state of several simulated iterations. A count whose share of the\n"
      "batch does not fit in GPU memory is reported as such.");
  add_question_options(command, options->question, {"platform", "model"});
  add_range_options(command, options->range);
  command.add_option("--tokens", options->plan.tokens,
                     "With --layout: days and GPU hours of a training on so many tokens (15e12)");
  command.add_option("--measured", options->measured,
                     "With --layout: an iteration that was measured, 6.7s@8 on 8 GPUs, with other "
                     "fields of the layout 6.7s@8:global=64; its passes' kernels are scaled to it");
  command.add_option("--price", options->plan.hour_price,
                     "With --tokens: of one GPU hour, in any currency");
  command.add_flag("--sources", options->sources, "List every number with its source");
  command.add_option("--trace", options->files.trace,
                     "Write a Chrome/Perfetto timeline of the largest count to this file (with "
                     "--layout: the passes of every pipeline stage)");
  command.add_option("--record", options->files.record,
                     "Write what every rank of the largest count does, for `forescale replay`; "
                     "compressed where the name ends with .gz, as is advised with --layout");
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kPredictRegistered = Registry<Command>::add({.name = "predict", .add = add_predict});

}  // namespace
}  // namespace forescale
