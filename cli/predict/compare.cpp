// `forescale compare`: platforms and systems side by side, for whoever has to buy one.
#include "studies/predict/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/output_file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/network_warnings.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr size_t kShown = 8;              // sensitivities
constexpr double kNoise_percent = 0.005;  // below it a number does not matter

struct CompareOptions {
  QuestionOptions question;
  CompareSettings settings;
  RangeOptions range;
  std::string out;
  OutputOptions output;
  std::string line;  // as typed
};

std::string contender_name(const Contender& contender) {
  return contender.platform + ", " + contender.system;
}

// What makes one differ from another: "kesch", or "s-caffe-b-hr", or both.
std::vector<std::string> short_names(const Comparison& comparison) {
  std::set<std::string> platforms;
  std::set<std::string> systems;
  for (const Contender& one : comparison.contenders) {
    platforms.insert(one.platform);
    systems.insert(one.system);
  }
  std::vector<std::string> names;
  for (const Contender& one : comparison.contenders)
    names.push_back(systems.size() == 1     ? one.platform
                    : platforms.size() == 1 ? one.system
                                            : contender_name(one));
  return names;
}

void print_curves(const Comparison& comparison) {
  std::vector<std::string> heads{"GPUs"};
  for (const std::string& name : short_names(comparison)) {
    heads.push_back(fmt::format("{} {}/s", name, comparison.contenders.front().prediction.samples));
    heads.push_back("efficiency");
  }
  std::map<int, std::vector<std::string>> rows;
  for (const Contender& one : comparison.contenders)
    for (const Row& row : one.prediction.rows)
      rows[row.point.gpus].resize(2 * comparison.contenders.size(), "-");
  for (size_t i = 0; i < comparison.contenders.size(); ++i)
    for (const Row& row : comparison.contenders[i].prediction.rows) {
      std::vector<std::string>& cells = rows[row.point.gpus];
      cells[2 * i] = row.point.fits ? fmt::format("{:.1f}", row.point.images_per_s) : "too large";
      if (row.point.fits) cells[2 * i + 1] = fmt::format("{:.1f} %", 100 * row.efficiency);
    }
  Table table(heads);
  for (auto& [gpus, cells] : rows) {
    cells.insert(cells.begin(), std::to_string(gpus));
    table.add(cells);
  }
  fmt::print("{}\n\n{}", comparison.title, table.text());
}

std::string network_text(const NetworkNeed& need) {
  const std::string today = to_text(BytesPerSecond{need.bandwidth_bytes_per_s});
  if (need.factor >= kFastest * 0.99)
    return fmt::format("beyond {:.0f} times today's {}", kFastest, today);
  const std::string wanted = to_text(BytesPerSecond{need.bandwidth_bytes_per_s * need.factor});
  return fmt::format(
      "from {} on ({:.2g} times today's {}); one {:.0f} times as fast would gain "
      "{:.1f} %",
      wanted, need.factor, today, kFastest, 100 * need.gain_fastest / (1 + need.gain_fastest));
}

void print_answers(const Comparison& comparison, const Contender& one) {
  fmt::print("\n{}\n", contender_name(one));
  if (one.at_gpus == 0) {
    fmt::print("  the batch fits into no GPU\n");
    return;
  }
  if (one.pays_to_the_end)
    fmt::print("  efficiency is {:.0f} % and more up to the {} GPUs that were asked for\n",
               100 * comparison.efficiency_min, one.pays_up_to_gpus);
  else
    fmt::print("  the next node stops paying ({:.0f} % efficiency) after {} GPUs, {} node{}\n",
               100 * comparison.efficiency_min, one.pays_up_to_gpus, one.pays_up_to_nodes,
               one.pays_up_to_nodes == 1 ? "" : "s");
  if (one.cheapest_gpus > 0)
    fmt::print("  an epoch costs least, {:.4g}, on {} GPUs{}\n", one.cheapest_epoch_cost,
               one.cheapest_gpus,
               one.cheapest_gpus == one.at_gpus
                   ? ": the most that were asked for, more may cost less still"
                   : "");
  if (one.network)
    fmt::print("  with {} GPUs the network is not the bottleneck {}\n", one.at_gpus,
               network_text(*one.network));
  if (one.sensitivities.empty()) return;
  fmt::print("  with {} GPUs, 1 % faster:\n", one.at_gpus);
  Table table({"<number", "value", "gain", "<"});
  for (size_t i = 0; i < std::min(kShown, one.sensitivities.size()); ++i) {
    const Sensitivity& each = one.sensitivities[i];
    if (each.gain_percent < kNoise_percent) break;
    table.add({each.what, each.value == 0 ? "" : fmt::format("{:.4g}", each.value),
               fmt::format("{:.3f} %", each.gain_percent), each.assumed ? "assumed" : ""});
  }
  fmt::print("{}", table.text());
}

void print_csv(const Comparison& comparison) {
  fmt::print("{}", csv_line({"platform", "system", "gpus", "fits", "images_per_s", "efficiency",
                             "iteration_s", "epoch_s"}));
  for (const Contender& one : comparison.contenders)
    for (const Row& row : one.prediction.rows)
      fmt::print(
          "{}",
          csv_line({one.platform, one.system, std::to_string(row.point.gpus),
                    row.point.fits ? "true" : "false", fmt::format("{}", row.point.images_per_s),
                    fmt::format("{}", row.efficiency), fmt::format("{}", row.point.iteration_s),
                    fmt::format("{}", row.epoch_s)}));
}

void run(const CompareOptions& options) {
  check_writable(options.out, "--out");
  CompareSettings settings = options.settings;
  settings.question = options.question.question();
  if (!settings.question.layout.empty())
    refuse("--layout", settings.question.layout,
           "is not compared: ask `predict` on each platform, with --tokens and --price");
  say_model_warnings(settings.question.model, settings.question.input_shape,
                     settings.question.sequence);
  settings.draws = options.range.asked();
  const Comparison comparison = compare(settings);
  json document = to_json(comparison);
  document["command"] = options.line;
  if (!options.out.empty()) write_json(options.out, document, "--out");
  if (options.output.json) {
    fmt::print("{}\n", document.dump(2));
  } else if (options.output.csv) {
    print_csv(comparison);
  } else {
    print_curves(comparison);
    for (const Contender& one : comparison.contenders) print_answers(comparison, one);
  }
}

void add_compare(Subcommand app) {
  auto options = std::make_shared<CompareOptions>();
  Subcommand command = app.add_subcommand(
      "compare",
      "Platforms and systems side by side: where nodes stop paying, what is worth money");
  command.footer(
      "Examples:\n"
      "  forescale compare --platform kesch,cluster-b --system s-caffe-obr-hr \\\n"
      "    --model googlenet --batch 1024 --gpus 1..64 --efficiency 0.6\n"
      "  forescale compare --platform ri2 --system horovod-nccl2,horovod-mpi-opt \\\n"
      "    --model resnet-50 --batch 64 --scaling weak --node-price 12 --time-value 300\n"
      "Efficiency is the speed-up over the first count, divided by the ideal one. With a price a\n"
      "node an hour, and what an hour of waiting is worth, the cheapest count is where an epoch's\n"
      "(nodes x price + value) x time is least.");
  CompareSettings& settings = options->settings;
  command.add_option("--platform", settings.platforms, "Presets, files or generators, by commas")
      .delimiter(',')
      .required();
  command.add_option("--system", settings.systems, "Named systems, by commas (see `system list`)")
      .delimiter(',');
  add_question_options(command, options->question, {"model", "batch"}, {"platform", "system"});
  command.add_option("--efficiency", settings.efficiency_min,
                     "Below it a node does not pay (default 0.5)");
  command.add_option("--node-price", settings.node_price_per_h, "Of a node an hour, any currency")
      .non_negative();
  command
      .add_option("--time-value", settings.time_value_per_h,
                  "What an hour less until the end is worth, same currency")
      .non_negative();
  command.add_flag("!--no-sensitivity", settings.sensitivity,
                   "Without the gain of each hardware number");
  command.add_flag("!--no-network", settings.network, "Without the search for the network's speed");
  add_range_options(command, options->range);
  command.add_option("-o,--out", options->out, "Write the answer as JSON, for `report`");
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kCompareRegistered = Registry<Command>::add({.name = "compare", .add = add_compare});

}  // namespace
}  // namespace forescale
