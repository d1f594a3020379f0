// `forescale compare`: platforms and systems side by side, for whoever has to buy one.
#include "studies/predict/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/output_file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/network_warnings.hpp"
#include "cli/predict/compare_layouts_output.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr size_t kShown = 8;  // sensitivities

struct CompareOptions {
  QuestionOptions question;
  CompareSettings settings;
  RangeOptions range;
  // With --layout:
  std::vector<std::string> only = {};
  double tokens = 0;
  std::vector<double> hour_prices = {};
  double within_days = 0;
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

std::string curves_text(const Comparison& comparison) {
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
  return fmt::format("{}\n\n{}", comparison.title, table.text());
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

std::string answers_text(const Comparison& comparison, const Contender& one) {
  std::string text = fmt::format("\n{}\n", contender_name(one));
  if (one.at_gpus == 0) return text + "  the batch fits into no GPU\n";
  if (one.pays_to_the_end)
    text += fmt::format("  efficiency is {:.0f} % and more up to the {} GPUs that were asked for\n",
                        100 * comparison.efficiency_min, one.pays_up_to_gpus);
  else
    text +=
        fmt::format("  the next node stops paying ({:.0f} % efficiency) after {} GPUs, {} node{}\n",
                    100 * comparison.efficiency_min, one.pays_up_to_gpus, one.pays_up_to_nodes,
                    one.pays_up_to_nodes == 1 ? "" : "s");
  if (one.cheapest_gpus > 0)
    text += fmt::format("  an epoch costs least, {:.4g}, on {} GPUs{}\n", one.cheapest_epoch_cost,
                        one.cheapest_gpus,
                        one.cheapest_gpus == one.at_gpus
                            ? ": the most that were asked for, more may cost less still"
                            : "");
  if (one.network)
    text += fmt::format("  with {} GPUs the network is not the bottleneck {}\n", one.at_gpus,
                        network_text(*one.network));
  if (one.sensitivities.empty()) return text;
  text += fmt::format("  with {} GPUs, 1 % faster:\n", one.at_gpus);
  Table table({"<number", "value", "gain", "<"});
  for (size_t i = 0; i < std::min(kShown, one.sensitivities.size()); ++i) {
    const Sensitivity& each = one.sensitivities[i];
    if (each.gain_percent < kNegligible_percent) break;
    table.add({each.what, each.value == 0 ? "" : fmt::format("{:.4g}", each.value),
               fmt::format("{:.3f} %", each.gain_percent), each.assumed ? "assumed" : ""});
  }
  return text + table.text();
}

std::string csv_text(const Comparison& comparison) {
  std::string text = csv_line({"platform", "system", "gpus", "fits", "images_per_s", "efficiency",
                               "iteration_s", "epoch_s"});
  for (const Contender& one : comparison.contenders)
    for (const Row& row : one.prediction.rows)
      text +=
          csv_line({one.platform, one.system, std::to_string(row.point.gpus),
                    row.point.fits ? "true" : "false", fmt::format("{}", row.point.images_per_s),
                    fmt::format("{}", row.efficiency), fmt::format("{}", row.point.iteration_s),
                    fmt::format("{}", row.epoch_s)});
  return text;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = curves_text(comparison);
  for (const Contender& one : comparison.contenders) text += answers_text(comparison, one);
  return text;
}

void print_answer(const json& document, const std::string& text, const CompareOptions& options) {
  if (!options.out.empty()) write_json(options.out, document, "--out");
  if (options.output.json)
    fmt::print("{}\n", document.dump(2));
  else
    fmt::print("{}", text);
}

OfferQuestions offer_questions(const CompareOptions& options, const Question& question,
                               const std::vector<LayoutOffer>& offers) {
  OfferQuestions asked{.question = question,
                       .plan = {.tokens = options.tokens},
                       .within_days = options.within_days,
                       .efficiency_min = options.settings.efficiency_min};
  if (!question.failures.empty())
    asked.plan.failures = parse_failures(question.failures, "--failures");
  if (options.hour_prices.empty()) return asked;
  const std::size_t platforms = options.settings.platforms.size();
  const std::size_t of_platform_each = offers.size() / platforms;
  for (std::size_t i = 0; i < offers.size(); ++i)
    asked.hour_prices.push_back(
        of_platform(options.hour_prices, i / of_platform_each, platforms, "--price"));
  return asked;
}

void check_layout_options(const CompareOptions& options, const Question& question) {
  const CompareSettings& settings = options.settings;
  if (!settings.systems.empty())
    refuse("--system", settings.systems.front(), "does not go with --layout");
  if (!settings.node_prices_per_h.empty())
    refuse("--node-price", fmt::format("{}", settings.node_prices_per_h.front()),
           "does not go with --layout: give --price, of a GPU hour, and --tokens");
  if (settings.time_value_per_h > 0)
    refuse("--time-value", fmt::format("{}", settings.time_value_per_h),
           "does not go with --layout: --within says until when it has to be done");
  if (options.range.draws > 0)
    refuse("--draws", std::to_string(options.range.draws), "does not go with --layout");
  of_platform(options.hour_prices, 0, settings.platforms.size(), "--price");
  for (const auto& [option, is_given] : {std::pair{"--price", !options.hour_prices.empty()},
                                         {"--within", options.within_days > 0},
                                         {"--failures", !question.failures.empty()}})
    if (is_given && options.tokens == 0) refuse(option, "", "needs --tokens");
}

void check_no_layout_options(const CompareOptions& options) {
  for (const auto& [option, is_given] : {std::pair{"--tokens", options.tokens > 0},
                                         {"--price", !options.hour_prices.empty()},
                                         {"--within", options.within_days > 0},
                                         {"--only", !options.only.empty()}})
    if (is_given) refuse(option, "", "needs --layout");
}

void run_layouts(const CompareOptions& options, const Question& question) {
  check_layout_options(options, question);
  const std::vector<LayoutOffer> offers = compare_layouts({.question = question,
                                                           .platforms = options.settings.platforms,
                                                           .only = options.only,
                                                           .has_interval = options.range.interval,
                                                           .network = options.settings.network});
  const OfferQuestions asked = offer_questions(options, question, offers);
  json document = to_json(offers, asked);
  document["command"] = options.line;
  print_answer(document, options.output.csv ? to_csv(offers, asked) : to_table(offers, asked),
               options);
}

void run(const CompareOptions& options) {
  check_writable(options.out, "--out");
  CompareSettings settings = options.settings;
  settings.question = options.question.question();
  check_efficiency(settings.efficiency_min);
  if (!settings.question.layout.empty()) {
    run_layouts(options, settings.question);
    return;
  }
  check_no_layout_options(options);
  if (settings.question.batch == 0)
    refuse("--batch", "", "is required (or --layout, of a transformer)");
  say_model_warnings(settings.question.model, settings.question.input_shape,
                     settings.question.sequence);
  settings.draws = options.range.asked();
  const Comparison comparison = compare(settings);
  json document = to_json(comparison);
  document["command"] = options.line;
  print_answer(document, options.output.csv ? csv_text(comparison) : comparison_text(comparison),
               options);
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
      "  forescale compare --platform gcp-a3-high,gcp-a3-mega --model llama-3-8b --seq 4096 \\\n"
      "    --gpus 16,64 --layout global=256 --tokens 100e9 --price 2.20,2.60 --within 5\n"
      "Efficiency is the speed-up over the first count, divided by the ideal one. With a price a\n"
      "node an hour, and what an hour of waiting is worth, the cheapest count is where an epoch's\n"
      "(nodes x price + value) x time is least. A transformer gets, on each platform and count, "
      "the\n"
      "fastest layout whose memory surely fits: what --layout names stays, the rest is searched.");
  CompareSettings& settings = options->settings;
  command.add_option("--platform", settings.platforms, "Presets, files or generators, by commas")
      .delimiter(',')
      .required();
  command.add_option("--system", settings.systems, "Named systems, by commas (see `system list`)")
      .delimiter(',');
  add_question_options(command, options->question, {"model"}, {"platform", "system"});
  command.add_option("--efficiency", settings.efficiency_min,
                     "Below it a node does not pay (default 0.5)");
  command
      .add_option("--node-price", settings.node_prices_per_h,
                  "Of a node an hour, any currency: one for all, or one a platform, by commas")
      .delimiter(',')
      .non_negative();
  command
      .add_option("--time-value", settings.time_value_per_h,
                  "What an hour less until the end is worth, same currency")
      .non_negative();
  command
      .add_option("--only", options->only,
                  "With --layout: fields to search, of those that it does not name (default: "
                  "all; see tune layout --help)")
      .delimiter(',');
  command
      .add_option("--tokens", options->tokens,
                  "With --layout: days and GPU hours of a training on so many tokens (15e12)")
      .positive();
  command
      .add_option("--price", options->hour_prices,
                  "With --tokens: of a GPU hour, any currency: one for all, or one a platform, by "
                  "commas")
      .delimiter(',')
      .positive();
  command
      .add_option("--within", options->within_days,
                  "With --tokens: days by which the training has to be done")
      .positive();
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
