#include "sim/ask/load_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "algorithms/plan_choice.hpp"
#include "algorithms/system.hpp"
#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "base/options_text.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/kernel_fit_json.hpp"
#include "sim/ask/inputs.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

// With the question's factors; one of the project's own files may be named from the project's root.
Scenario with_scales(const Question& question, Scenario scenario) {
  for (const auto& [number, factor] : question.number_scales) {
    const size_t colon = number.find(":/");
    const std::string file = number.substr(0, colon);
    const std::string path = number.substr(colon + 1);
    scenario = scenario.scaled(file, path, factor).scaled(data_path(file), path, factor);
  }
  return scenario;
}

// A number that nothing read is misspelt, or belongs to a file that this question does not use.
void check_scales(const Question& question, std::initializer_list<const Provenance*> read) {
  for (const auto& [number, factor] : question.number_scales) {
    const bool is_read = std::any_of(read.begin(), read.end(), [&](const Provenance* provenance) {
      return std::any_of(
          provenance->numbers.begin(), provenance->numbers.end(), [&](const NumberSource& source) {
            return name_of(source) == number || source.file + ":" + source.path == number;
          });
    });
    if (!is_read) refuse("--scale-number", number, "is no number that this question reads");
  }
}

void scale_network(Platform& platform, double factor) {
  if (factor == 1) return;
  for (const int index : node_link_classes(platform))
    platform.link_classes[static_cast<size_t>(index)].bandwidth.value *= factor;
}

Platform load_platform_of(const Question& question, Scenario scenario) {
  Platform platform = load_platform(question.platform, scenario);
  scale_network(platform, question.network_scale);
  apply_link_faults(platform, question.links, "--link");
  if (!question.placement.empty()) place_ranks(platform, question.placement, "--placement");
  return platform;
}

// Plans that the question names, in place of the system's and the stack's; an operation alone is
// the stack's.
void choose_plans(const Question& question, PredictionInputs& inputs) {
  for (const auto& [op, text] : question.plans)
    if (text == op)
      inputs.choices.erase(parse_collective_op(op, "--plan"));
    else
      inputs.choices[parse_collective_op(op, "--plan")] = parse_plan(text, "--plan");
}

// Schedule and stack: those of --system, unless --schedule or --stack replace one of them.
void choose_schedule(const Question& question, PredictionInputs& inputs, Scenario scenario) {
  std::string schedule = question.schedule;
  std::string stack = question.stack;
  std::map<std::string, std::string> given;  // options of the schedule
  if (!question.system.empty()) {
    const System system = load_system(question.system, "--system");
    inputs.framework = system.framework;
    if (!system.data.empty()) inputs.data = load_data_source(system.data, scenario);
    if (schedule.empty()) {
      schedule = system.schedule;
      given = system.options;
    }
    if (stack.empty()) {
      stack = system.stack;
      inputs.choices = system.collectives;
    }
  }
  if (question.framework) inputs.framework = question.framework;
  if (schedule.empty())
    refuse("--system", "", "is required (or --schedule and --stack); see `forescale system list`");
  const OptionsText named = OptionsText::parse(schedule, "--schedule");
  inputs.schedule = &Registry<Schedule>::find(named.name(), "--schedule");
  for (const auto& [name, value] : named.values()) given[name] = value;
  for (const auto& [name, value] : question.options) given[name] = value;
  inputs.options =
      ScheduleOptions::parse(inputs.schedule->options, given, "schedule " + inputs.schedule->name);
  inputs.stack = stack_for(inputs.platform, stack, scenario);
  if (!question.progress.empty())
    inputs.stack.progress =
        question.progress == "thread" ? Progress::kHardware : Progress::kInsideCalls;
}

// As many iterations as show a steady state; noise has none, only a mean.
int steady_iterations(const PredictionInputs& inputs) {
  constexpr int kWithNoise = 20;
  int iterations = inputs.schedule->iterations;
  // A worker uses up its staleness before it is held to the pace of the others.
  if (inputs.options.values().contains("staleness"))
    iterations += 4 * static_cast<int>(inputs.options.integer("staleness"));
  if (inputs.noise.varies() || inputs.message_noise.varies())
    iterations = std::max(iterations, kWithNoise);
  // Batches read ahead must have been used up.
  if (!inputs.data.is_synthetic()) iterations = std::max(iterations, inputs.data.prefetch + 4);
  return iterations;
}

void scale_compute(ComputeTable& compute, double scale) {
  for (LayerTime& layer : compute.layers)
    for (double* time_s :
         {&layer.forward_t0_s, &layer.forward_t1_s, &layer.backward_t0_s, &layer.backward_t1_s})
      *time_s *= scale;
}

void scale_parameters(Network& network, double scale) {
  if (scale == 1) return;
  const auto scaled = [](std::int64_t values, double factor) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(values) * factor));
  };
  for (Layer& layer : network.layers) {
    if (layer.tables.values > 0) layer.tables.looked_up = scaled(layer.tables.looked_up, scale);
    if (layer.parameters == 0) continue;
    layer.parameters = layer.parameter_tensors.empty() ? scaled(layer.parameters, scale) : 0;
    for (std::int64_t& values : layer.parameter_tensors) {
      values = scaled(values, scale);
      layer.parameters += values;
    }
    if (auto* matrix = std::get_if<LinearShape>(&layer.work)) {
      matrix->outputs = scaled(matrix->outputs, std::sqrt(scale));
      matrix->inputs = scaled(matrix->inputs, std::sqrt(scale));
    }
  }
}

ComputeChoice compute_choice(const Platform& platform, const Question& question) {
  return {.gpu_model = question.gpu_model.empty() ? platform.fitted_gpu : question.gpu_model,
          .option = "--gpu-model",
          .precision = question.precision,
          .memory_format = question.memory_format};
}

// The most that a GPU is given at each of the counts, and what was measured. Nothing where the
// counts are not named.
std::vector<std::int64_t> batches_of(const Question& question) {
  std::set<std::int64_t> batches;
  if (question.scaling == Scaling::kWeak) batches.insert(question.batch);
  for (const std::int64_t gpus : question.gpus)
    if (question.scaling == Scaling::kStrong && gpus > 0)
      batches.insert((question.batch + gpus - 1) / gpus);
  if (question.throughput && !batches.empty())
    for (const ThroughputPoint& point : question.throughput->points) batches.insert(point.batch);
  return {batches.begin(), batches.end()};
}

// What the network's kernels take on the platform's GPU, with the numbers that `provenance` has
// them take and notes. The GPU model's numbers come in place of the platform's, on every GPU; one
// that is asked for goes before one that the platform names.
ComputeTable compute_on(Platform& platform, const Question& question,
                        const PredictionInputs& inputs, Provenance& provenance) {
  GpuModel& gpu = platform.gpu_models.front();
  const ComputeChoice choice = compute_choice(platform, question);
  const std::string model = gpu_model_for(gpu, choice);
  if (model.empty()) return compute_table(gpu, inputs.network, &provenance, inputs.framework);
  const bool is_of_platform = question.gpu_model.empty() && !platform.fitted_gpu.empty();
  Provenance of_platform{.scenario = provenance.scenario, .numbers = {}};  // noted there
  const FittedGpu fitted =
      model_on(gpu, model, "--gpu-model", is_of_platform ? &of_platform : &provenance);
  if (!question.gpu_model.empty()) gpu = with_measured(gpu, fitted, &platform.provenance);
  const FrameworkKernels kernels{.precision = inputs.precision,
                                 .memory_format = memory_format_of(choice, inputs.precision),
                                 .fusion = question.fusion,
                                 .batches = batches_of(question),
                                 .is_dispatched = !question.cuda_graphs};
  return fitted_compute(fitted, gpu, inputs.network, kernels, &provenance).table;
}

// How far the platform's GPUs differ in time; not at all where others wait in their place.
double variation_on(const Platform& platform, Provenance& provenance) {
  if (!platform.has_gpus()) return 0;
  const std::optional<double> measured = platform.gpu_models.front().variation;
  return measured ? *measured : read_gpu_variation(&provenance);
}

// At an end the machine is as fast or slow as it may be, what is simulated computes as ever, and
// what kernels would take there is put beside it.
void choose_compute(const Question& question, Scenario scenario, PredictionInputs& inputs) {
  if (scenario.end() == Scenario::kNominal) {
    inputs.provenance.scenario = scenario;
    inputs.compute = compute_on(inputs.platform, question, inputs, inputs.provenance);
    inputs.gpu_variation = variation_on(inputs.platform, inputs.provenance);
  } else {
    inputs.provenance.scenario = with_scales(question, Scenario::kNominal);
    Platform nominal = load_platform_of(question, inputs.provenance.scenario);
    inputs.compute = compute_on(nominal, question, inputs, inputs.provenance);
    inputs.gpu_variation = variation_on(nominal, inputs.provenance);
    Provenance at_end{.scenario = scenario, .numbers = {}};
    inputs.compute_at_end = compute_on(inputs.platform, question, inputs, at_end);
    inputs.gpu_variation_at_end = variation_on(inputs.platform, at_end);
    if (const auto& measured = question.throughput) {
      const double spread =
          scenario.end() == Scenario::kFast ? -measured->spread : measured->spread;
      take_throughput(*measured, 1 + spread, *inputs.compute_at_end);
    }
    scale_compute(*inputs.compute_at_end, question.compute_scale);
  }
  if (question.throughput) take_throughput(*question.throughput, 1, inputs.compute);
  scale_compute(inputs.compute, question.compute_scale);
}

}  // namespace

std::string name_of(const NumberSource& number) {
  return project_path(number.file) + ":" + number.path;
}

QuestionMachine load_machine(const Question& question, Scenario scenario) {
  scenario = with_scales(question, scenario);
  QuestionMachine machine{.platform = load_platform_of(question, scenario), .stack = {}};
  machine.stack = stack_for(machine.platform, question.stack, scenario);
  check_scales(question, {&machine.platform.provenance, &machine.stack.provenance});
  return machine;
}

PredictionInputs load_inputs(const Question& question, Scenario scenario) {
  if (!question.layout.empty())
    refuse("--layout", question.layout, "is for predict, compare and tune layout");
  use_huge_pages();
  scenario = with_scales(question, scenario);
  PredictionInputs inputs;
  inputs.platform = load_platform_of(question, scenario);
  if (!inputs.platform.can_train())
    refuse("--platform", question.platform,
           "has no GPUs to train on (see `forescale platform list`)");
  choose_schedule(question, inputs, scenario);
  choose_plans(question, inputs);
  if (!question.data.empty()) inputs.data = load_data_source(question.data, scenario);
  inputs.precision =
      precision_on(inputs.platform.gpu_models.front(), compute_choice(inputs.platform, question));
  const std::optional<Shape> shape =
      question.sequence > 0 ? Shape{question.sequence} : parse_shape(question.input_shape);
  inputs.network = load_network(question.model, "--model", shape);
  choose_compute(question, scenario, inputs);
  scale_parameters(inputs.network, question.bytes_scale);
  inputs.whole = question.whole;
  inputs.limits = question.limits;
  inputs.batch = question.batch;
  if (inputs.batch < 1) refuse("--batch", std::to_string(question.batch), "must be >= 1");
  inputs.scaling = question.scaling;
  inputs.noise = parse_noise(question.noise, question.stragglers);
  inputs.message_noise = parse_message_noise(question.message_noise, "--message-noise");
  inputs.others = parse_other_jobs(question.beside, "--beside");
  inputs.iterations = question.iterations == 0 ? steady_iterations(inputs) : question.iterations;
  if (inputs.iterations < 2)
    refuse("--iterations", std::to_string(question.iterations),
           "must be >= 2 to see a steady state");
  check_scales(question,
               {&inputs.platform.provenance, &inputs.stack.provenance, &inputs.provenance});
  return inputs;
}

std::vector<int> gpu_counts(const Question& question, const PredictionInputs& inputs) {
  std::vector<std::int64_t> counts = question.gpus;
  const int jobs = inputs.others.count + 1;
  const int most = inputs.platform.slot_count() / jobs;
  if (counts.empty() && most > 0) counts = parse_integers(fmt::format("1..{}", most), "--gpus");
  check_ranks(inputs.platform, counts, "--gpus");
  if (counts.empty() || *std::max_element(counts.begin(), counts.end()) > most)
    refuse("--beside", question.beside,
           fmt::format("asks for {} jobs of so many GPUs; {} holds {} of {} each", jobs,
                       inputs.platform.name, jobs, most));
  return {counts.begin(), counts.end()};
}

}  // namespace forescale
