#include "cli/catalogue/model_compute.hpp"

#include <fmt/format.h>

#include "cli/catalogue/catalogue.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/compute/kernel_fit_json.hpp"
#include "models/workload/training_memory.hpp"

namespace forescale {

namespace {
using nlohmann::json;
}  // namespace

ComputeAnswer compute_on(const Network& network, const ComputeQuestion& question) {
  if (question.batch < 1)
    throw InputError({.source = "--batch",
                      .path = "",
                      .value = std::to_string(question.batch),
                      .constraint = "must be >= 1"});
  ComputeAnswer answer{.batch = question.batch};
  answer.gpu = load_gpu(question.gpu, "--gpu", &answer.provenance);
  ComputeChoice choice{.gpu_model = question.gpu_model, .option = "--gpu-model"};
  if (!question.precision.empty())
    choice.precision = parse_precision(question.precision, "--precision");
  if (!question.memory_format.empty())
    choice.memory_format = parse_memory_format(question.memory_format, "--memory-format");
  const Precision precision = precision_on(answer.gpu, choice);
  const std::string model = gpu_model_for(answer.gpu, choice);
  if (model.empty()) {
    answer.table = compute_table(answer.gpu, network, &answer.provenance);
  } else {
    const FittedGpu fitted = model_on(answer.gpu, model, "--gpu-model", &answer.provenance);
    answer.gpu = with_measured(answer.gpu, fitted, &answer.provenance);
    FittedCompute compute = fitted_compute(
        fitted, answer.gpu, network,
        {.precision = precision,
         .memory_format = memory_format_of(choice, precision),
         .fusion =
             question.fusion.empty() ? Fusion::kNone : parse_fusion(question.fusion, "--fusion"),
         .batches = {question.batch}},
        &answer.provenance);
    answer.table = std::move(compute.table);
    answer.forward = std::move(compute.forward);
    answer.backward = std::move(compute.backward);
  }
  answer.memory =
      training_memory(network, question.batch, &answer.provenance, std::nullopt, precision);
  return answer;
}

void add_times(json& rows, const ComputeAnswer& answer) {
  const auto images = static_cast<double>(answer.batch);
  for (size_t i = 0; i < rows.size(); ++i) {
    const LayerTime& time = answer.table.layers[i];
    rows[i]["forward_s"] = time.forward_t0_s + images * time.forward_t1_s;
    rows[i]["backward_s"] = time.backward_t0_s + images * time.backward_t1_s;
    if (answer.forward.empty()) continue;
    rows[i]["forward_from"] = to_text(answer.forward[i]);
    rows[i]["backward_from"] = to_text(answer.backward[i]);
  }
}

json to_json(const ComputeAnswer& answer, const json& rows) {
  const std::int64_t batch = answer.batch;
  const ComputeTable& table = answer.table;
  return {{"gpu", table.gpu},
          {"batch", batch},
          {"layers", rows},
          {"forward_s", table.forward_s(batch)},
          {"backward_s", table.backward_s(batch)},
          {"update_s", table.update_s},
          {"iteration_s", table.iteration_s(batch)},
          {"memory_bytes", answer.memory.value},
          {"gpu_memory_bytes", answer.gpu.memory.value},
          {"assumed", table.assumed},
          {"description", table.description},
          {"source", table.source},
          {"roofline_factor", table.roofline_factor},
          {"measured_batch_min", table.measured_batch_min},
          {"measured_batch_max", table.measured_batch_max},
          {"numbers", sources_json(answer.provenance)}};
}

void print_compute(const ComputeAnswer& answer) {
  const std::int64_t batch = answer.batch;
  const ComputeTable& table = answer.table;
  const double iteration_s = table.iteration_s(batch);
  fmt::print(
      "\non {}, batch {}: forward {}, backward {}, update {}: iteration {}, {:.4g} "
      "images/s\n",
      table.gpu, batch, to_text(Seconds{table.forward_s(batch)}),
      to_text(Seconds{table.backward_s(batch)}), to_text(Seconds{table.update_s}),
      to_text(Seconds{iteration_s}), static_cast<double>(batch) / iteration_s);
  fmt::print("memory:  {} of {}{}\n", to_text(answer.memory), to_text(answer.gpu.memory),
             answer.memory > answer.gpu.memory ? ": does not fit" : "");
  fmt::print("times:   {}{}\n", table.assumed ? "assumed: " : "", table.description);
  if (!table.source.empty()) fmt::print("source:  {}\n", table.source);
  if (table.measured_batch_max > 0 &&
      (batch < table.measured_batch_min || batch > table.measured_batch_max))
    fmt::print("warning: batch {} lies outside the measured ones, {} to {}\n", batch,
               table.measured_batch_min, table.measured_batch_max);
  fmt::print("numbers: {} (--sources lists them)\n", count_text(answer.provenance));
}

}  // namespace forescale
