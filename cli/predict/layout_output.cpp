#include "cli/predict/layout_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/catalogue/catalogue.hpp"
#include "cli/predict/prediction_output.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kPercentFactor = 100;
constexpr double kTera = 1e12;

std::string whole(const json& value) {
  return value.is_null() ? "-" : fmt::format("{:.0f}", value.get<double>());
}
std::string percent_cell(const json& value) {
  return value.is_null() ? "-" : fmt::format("{:.1f}", kPercentFactor * value.get<double>());
}

// null of what surely does not fit: there is no time.
json if_it_fits(const LayoutPrediction& prediction, double value) {
  return prediction.may_fit() ? json(value) : json();
}

// Seconds of an iteration by what they go to, in the order of the columns; of all rows alike.
std::vector<std::pair<const char*, double>> times_of(const LayoutPrediction& prediction) {
  std::vector<std::pair<const char*, double>> times = {
      {"compute", prediction.compute_s},    {"recompute", prediction.recompute_s},
      {"host", prediction.host_s},          {"tensor", prediction.tensor_s},
      {"context", prediction.context_s},    {"expert", prediction.expert_s},
      {"pipeline", prediction.pipeline_s},  {"data", prediction.data_s},
      {"optimizer", prediction.optimizer_s}};
  if (prediction.variation_s) times.emplace_back("variation", *prediction.variation_s);
  return times;
}

// null where no interval was asked for.
json low_s(const LayoutPrediction& prediction) {
  return prediction.iteration ? json(prediction.iteration->low_s) : json();
}
json high_s(const LayoutPrediction& prediction) {
  return prediction.iteration ? json(prediction.iteration->high_s) : json();
}

// A note where a framework has to be told to do as is predicted; else nothing.
std::string replicas_text(const std::vector<Layout>& layouts) {
  const bool has_replicas = std::any_of(layouts.begin(), layouts.end(), [](const Layout& each) {
    return each.replicas() > 1 && each.sharding == StateSharding::kParameters &&
           each.micro_batches() > 1;
  });
  return has_replicas
             ? "note: dp_shard with zero=parameters: replicas reduce gradients after an "
               "iteration's last micro-batch, as Megatron-FSDP and FSDP2 with "
               "set_requires_all_reduce; FSDP2 left alone does it after each (docs/llm.md)\n"
             : "";
}

std::string memory_text(const LayoutPrediction& prediction) {
  std::string parts;
  const MemoryPart* largest = nullptr;
  for (const MemoryPart& part : prediction.memory.parts) {
    if (part.bytes == 0) continue;
    parts +=
        fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.name, to_text(Bytes{part.bytes}));
    if (largest == nullptr || part.bytes > largest->bytes) largest = &part;
  }
  const std::string most =
      prediction.fits() ? ""
                        : fmt::format(", most of it {}", largest == nullptr ? "" : largest->name);
  const std::string verdict = prediction.is_undecided() ? "MAY NOT FIT"
                              : prediction.fits()       ? "fits"
                                                        : "OUT OF MEMORY";
  return fmt::format("memory at {} GPUs: {}, {} to {}, of {}: {}{} ({})\n", prediction.gpus,
                     to_text(Bytes{prediction.memory.bytes}),
                     to_text(Bytes{prediction.memory.low_bytes}),
                     to_text(Bytes{prediction.memory.high_bytes}),
                     to_text(Bytes{prediction.gpu_memory_bytes}), verdict, most, parts);
}

std::string variation_text(const LayoutPrediction& prediction) {
  if (!prediction.variation_s) return "";
  return fmt::format("{} GPUs as they should be: {} an iteration, {} less\n", prediction.gpus,
                     seconds_cell(prediction.iteration_s - *prediction.variation_s),
                     seconds_cell(*prediction.variation_s));
}

std::string days_cell(const json& value) {
  return value.is_null() ? "-" : fmt::format("{:.2f}", value.get<double>());
}

// Of the whole training; nothing where none is asked for.
json training_of(const LayoutPrediction& prediction, const TrainingPlan& plan) {
  json training = json::object();
  if (plan.tokens == 0) return training;
  const TrainingCost cost = prediction.may_fit() ? training_cost(prediction, plan) : TrainingCost();
  const bool has_range = prediction.iteration.has_value();
  training["days"] = if_it_fits(prediction, cost.days);
  training["days_low"] = has_range ? json(cost.days_low) : json();
  training["days_high"] = has_range ? json(cost.days_high) : json();
  training["gpu_hours"] = if_it_fits(prediction, cost.gpu_hours);
  if (plan.failures) {
    const Goodput goodput = goodput_of(*plan.failures, prediction.nodes);
    training["goodput"] = if_it_fits(prediction, goodput.share);
    training["mtbf_s"] = goodput.mtbf.value;
    training["checkpoint_every_s"] = goodput.every.value;
  }
  if (plan.hour_price > 0) training["cost"] = if_it_fits(prediction, cost.money);
  return training;
}

std::string failures_text(const LayoutPrediction& prediction, const Failures& failures) {
  const Goodput goodput = goodput_of(failures, prediction.nodes);
  return fmt::format("failures at {} nodes: one every {}; a checkpoint every {} of work\n",
                     prediction.nodes, long_time_text(goodput.mtbf), long_time_text(goodput.every));
}

json to_json(const std::vector<MemoryPart>& parts) {
  json bytes = json::object();
  for (const MemoryPart& part : parts) bytes[part.name] = part.bytes;
  return bytes;
}

// What each rank of the pipeline holds, and how long its passes take up to the end of the last one.
json pipeline_of(const LayoutPrediction& prediction) {
  json ranks = json::array();
  for (size_t rank = 0; rank < prediction.memory.by_pipeline_rank.size(); ++rank) {
    json row = {{"rank", rank}, {"memory", to_json(prediction.memory.by_pipeline_rank[rank])}};
    const PipelineTotals& passes = prediction.passes;
    if (prediction.may_fit() && rank < passes.forward_s.size()) {
      row["forward_s"] = passes.forward_s[rank];
      row["backward_s"] = passes.backward_s[rank];
      row["idle_s"] =
          std::max(0.0, passes.passes_end_s - passes.forward_s[rank] - passes.backward_s[rank]);
    }
    ranks.push_back(std::move(row));
  }
  return ranks;
}

std::string spread_tensors_text(const LayoutPrediction& prediction) {
  const std::int64_t of_a_node = (prediction.gpus + prediction.nodes - 1) / prediction.nodes;
  if (prediction.layout.tensor <= of_a_node) return "";
  return fmt::format(
      "note: tp={} is more than the {} GPUs of a node: what every layer exchanges crosses the "
      "network\n",
      prediction.layout.tensor, of_a_node);
}

// For people: without shares that no row has or that are 0 in all, and without context parallelism
// where none is.
std::vector<Column> told_columns(const json& rows, std::vector<Column> columns) {
  const auto is_everywhere = [&](const std::string& key, double least, double most) {
    return std::all_of(rows.begin(), rows.end(), [&](const json& row) {
      return !row[key].is_number() || (row[key] >= least && row[key] <= most);
    });
  };
  constexpr double kShownAsZero = 0.0005;
  std::erase_if(columns, [&](const Column& column) {
    return column.key == "context"
               ? is_everywhere(column.key, 1, 1)
               : column.key.ends_with("_share") && is_everywhere(column.key, 0, kShownAsZero);
  });
  return columns;
}

}  // namespace

std::string full_memory_text(const LayoutPrediction& prediction) {
  if (!prediction.may_fit() || !prediction.is_full()) return "";
  return fmt::format(
      "note: memory predicted to be {:.0f} % full: all layouts measured so, of {:.0f} % and more, "
      "took {:g} to {:g} times their predicted time (median {:g}), as the allocator frees and asks "
      "again (docs/llm.md)\n",
      kPercentFactor * static_cast<double>(prediction.memory.bytes) /
          static_cast<double>(prediction.gpu_memory_bytes),
      kPercentFactor * prediction.full_memory.from, prediction.full_memory.times_low,
      prediction.full_memory.times_high, prediction.full_memory.times);
}

std::string support_text(const std::vector<Layout>& layouts, const Question& question) {
  const bool is_megatron =
      question.framework.value_or(kDefaultTransformerFramework) == kDefaultTransformerFramework;
  const bool is_sharded = std::any_of(layouts.begin(), layouts.end(), [](const Layout& each) {
    return each.sharding == StateSharding::kParameters;
  });
  if (!is_megatron || !is_sharded) return replicas_text(layouts);
  return replicas_text(layouts) +
         "note: zero=parameters with Megatron-LM was held against one measured row (docs/llm.md): "
         "try it beside the fastest without\n";
}

json to_json(const LayoutPrediction& prediction, const TrainingPlan& plan) {
  json times = json::object();
  for (const auto& [name, time_s] : times_of(prediction))
    times[name + std::string("_s")] = if_it_fits(prediction, time_s);
  json document = {{"gpus", prediction.gpus},
                   {"layout", to_text(prediction.layout)},
                   {"micro_batches", prediction.layout.micro_batches()},
                   {"iteration_s", if_it_fits(prediction, prediction.iteration_s)},
                   {"iteration_low_s", low_s(prediction)},
                   {"iteration_high_s", high_s(prediction)},
                   {"influences", prediction.influences},
                   {"tokens_per_s_gpu", if_it_fits(prediction, prediction.tokens_per_s_gpu)},
                   {"model_flops_share", if_it_fits(prediction, prediction.model_flops_share())},
                   {"times", times},
                   {"memory_bytes", prediction.memory.bytes},
                   {"memory_low_bytes", prediction.memory.low_bytes},
                   {"memory_high_bytes", prediction.memory.high_bytes},
                   {"gpu_memory_bytes", prediction.gpu_memory_bytes},
                   {"fits", prediction.fits()},
                   {"memory", to_json(prediction.memory.parts)},
                   {"pipeline_ranks", pipeline_of(prediction)},
                   {"training", training_of(prediction, plan)}};
  if (prediction.iteration) document["interval_rows"] = prediction.unmodelled_rows;
  if (prediction.may_fit() && prediction.is_full())
    document["full_memory"] = {{"times_low", prediction.full_memory.times_low},
                               {"times_high", prediction.full_memory.times_high}};
  return document;
}

json layout_rows(const std::vector<LayoutPrediction>& predictions, const TrainingPlan& plan) {
  json rows = json::array();
  for (const LayoutPrediction& each : predictions) {
    json row = {{"gpus", each.gpus},
                {"tensor", each.layout.tensor},
                {"context", each.layout.context},
                {"pipeline", each.layout.pipeline},
                {"data", each.layout.data},
                {"data_shard", each.layout.data / each.layout.replicas()},
                {"micro_batches", each.layout.micro_batches()},
                {"iteration_s", if_it_fits(each, each.iteration_s)},
                {"iteration_low_s", low_s(each)},
                {"iteration_high_s", high_s(each)},
                {"tokens_per_s_gpu", if_it_fits(each, each.tokens_per_s_gpu)},
                {"model_flops_share", if_it_fits(each, each.model_flops_share())},
                {"memory_bytes", each.memory.bytes},
                {"memory_low_bytes", each.memory.low_bytes},
                {"memory_high_bytes", each.memory.high_bytes},
                {"fits", each.fits()}};
    for (const auto& [name, time_s] : times_of(each))
      row[name + std::string("_share")] = if_it_fits(each, time_s / each.iteration_s);
    row.update(training_of(each, plan));
    rows.push_back(row);
  }
  return rows;
}

std::vector<Column> layout_columns(const std::vector<LayoutPrediction>& predictions,
                                   const TrainingPlan& plan) {
  std::vector<Column> columns = {
      {.key = "gpus", .heading = "GPUs"},
      {.key = "tensor", .heading = "tp"},
      {.key = "context", .heading = "cp"},
      {.key = "pipeline", .heading = "pp"},
      {.key = "data", .heading = "dp"},
      {.key = "micro_batches", .heading = "micro-batches"},
      {.key = "iteration_s", .heading = "iteration", .text = seconds_cell},
      {.key = "iteration_low_s", .heading = "from", .text = seconds_cell},
      {.key = "iteration_high_s", .heading = "to", .text = seconds_cell},
      {.key = "tokens_per_s_gpu", .heading = "tokens/s/GPU", .text = whole},
      {.key = "model_flops_share", .heading = "MFU %", .text = percent_cell}};
  for (const auto& [name, time_s] : times_of(predictions.front()))
    columns.push_back({.key = name + std::string("_share"),
                       .heading = fmt::format("{} %", name),
                       .text = percent_cell});
  columns.push_back({.key = "memory_bytes", .heading = "memory", .text = bytes_cell});
  if (plan.tokens > 0) {
    columns.push_back({.key = "days", .heading = "days", .text = days_cell});
    columns.push_back({.key = "days_low", .heading = "from", .text = days_cell});
    columns.push_back({.key = "days_high", .heading = "to", .text = days_cell});
    columns.push_back({.key = "gpu_hours", .heading = "GPU hours", .text = whole});
    if (plan.failures)
      columns.push_back({.key = "goodput", .heading = "goodput %", .text = percent_cell});
    if (plan.hour_price > 0) columns.push_back({.key = "cost", .heading = "cost", .text = whole});
  }
  return columns;
}

std::string to_table(const std::vector<LayoutPrediction>& predictions, const TrainingPlan& plan) {
  const LayoutPrediction& first = predictions.front();
  const json rows = layout_rows(predictions, plan);
  std::string text = fmt::format(
      "{} ({} parameters) on {}, {}, sequences of {} tokens, stack {}\n{}", first.model,
      count_cell(first.parameters), first.platform, name_of(first.precision), first.tokens,
      first.stack, table_text(rows, told_columns(rows, layout_columns(predictions, plan))));
  for (const LayoutPrediction& each : predictions)
    text += variation_text(each) + memory_text(each) + full_memory_text(each) +
            spread_tensors_text(each);
  std::vector<Layout> layouts;
  for (const LayoutPrediction& each : predictions) layouts.push_back(each.layout);
  text += replicas_text(layouts);
  text += fmt::format(
      "MFU: forward and twice as many backward FLOP{}, causal attention's half, over {:.0f} "
      "TFLOP/s\n"
      "from, to: 90 % interval of this framework's measured rows and of the network's numbers "
      "(docs/llm.md)\n",
      std::any_of(layouts.begin(), layouts.end(), [](const Layout& each) { return each.lora > 0; })
          ? " (of weights that lora freezes, as many)"
          : "",
      first.peak_flops_per_s / kTera);
  for (const LayoutPrediction& each : predictions)
    if (const std::string parts = influences_text(each.influences); !parts.empty())
      text += fmt::format("the interval at {} GPUs comes from: {}; of measured rows {}\n",
                          each.gpus, parts, each.unmodelled_rows);
  if (plan.tokens > 0)
    text += fmt::format(
        "days, GPU hours{}: of {:g} tokens at this speed throughout; {}\n",
        plan.hour_price > 0 ? fmt::format(", cost at {:g} a GPU hour", plan.hour_price) : "",
        plan.tokens,
        plan.failures ? "with failures and checkpoints, no evaluation"
                      : "no restarts, evaluation or checkpoints (--failures)");
  if (plan.failures)
    for (const LayoutPrediction& each : predictions) text += failures_text(each, *plan.failures);
  return text;
}

}  // namespace forescale
