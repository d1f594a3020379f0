// `forescale tune layout`: the fastest layouts of a transformer, by GPU count.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/predict/layout_output.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "cli/tune/tune.hpp"
#include "studies/tune/tune_layout.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr int kBestShown = 10;
constexpr double kNear = 0.05;  // whose order the model hardly tells (docs/llm.md)

struct TuneLayoutOptions {
  QuestionOptions question;
  std::vector<std::string> only;
  int best = kBestShown;
  RangeOptions range;
  std::string out;
  bool json = false;
  std::string line;  // as typed
};

// The one that surely fits is another than the best that are shown.
bool has_safe_one_apart(const LayoutTuning& tuning) {
  return tuning.surely_fitting &&
         std::none_of(tuning.best.begin(), tuning.best.end(), [&](const LayoutPrediction& each) {
           return each.layout == tuning.surely_fitting->layout;
         });
}

// Of the best, the fastest one's too, that are hardly told from it.
std::ptrdiff_t near_the_best(const LayoutTuning& tuning) {
  const double near_s = (1 + kNear) * tuning.best.front().iteration_s;
  return std::count_if(tuning.best.begin(), tuning.best.end(),
                       [&](const LayoutPrediction& each) { return each.iteration_s <= near_s; });
}

std::vector<Layout> best_layouts(const LayoutTuning& tuning) {
  std::vector<Layout> layouts;
  for (const LayoutPrediction& each : tuning.best) layouts.push_back(each.layout);
  return layouts;
}

json as_json(const LayoutTuning& tuning) {
  json document = {{"gpus", tuning.gpus},
                   {"tried", tuning.tried},
                   {"combinations", tuning.combinations},
                   {"refused", tuning.refused},
                   {"out_of_memory", tuning.too_large},
                   {"too_slow", tuning.too_slow},
                   {"predicted", tuning.predicted},
                   {"best", to_text(as_asked(tuning.best.front().layout))}};
  if (tuning.surely_fitting)
    document["surely_fits"] = to_text(as_asked(tuning.surely_fitting->layout));
  return document;
}

// What the page shows of `predict --layout`, best first; the one that surely fits behind them.
json as_json(const std::vector<LayoutTuning>& tunings, const Question& question,
             const std::string& line) {
  json document = {{"format", "forescale-layouts-1"},
                   {"command", line},
                   {"question", to_json(question)},
                   {"predictions", json::array()},
                   {"tunings", json::array()}};
  for (const LayoutTuning& tuning : tunings) {
    document["tunings"].push_back(as_json(tuning));
    for (const LayoutPrediction& each : tuning.best)
      document["predictions"].push_back(to_json(each, {}));
    if (has_safe_one_apart(tuning))
      document["predictions"].push_back(to_json(*tuning.surely_fitting, {}));
  }
  return document;
}

std::string range_end_cell(const std::optional<TimeRange>& range, double TimeRange::*end) {
  return range ? to_text(Seconds{(*range).*end}) : "-";
}

void add_layout(Table& table, const std::string& place, const LayoutPrediction& each,
                const LayoutPrediction& best) {
  table.add({place, to_text(as_asked(each.layout)), to_text(Seconds{each.iteration_s}),
             range_end_cell(each.iteration, &TimeRange::low_s),
             range_end_cell(each.iteration, &TimeRange::high_s),
             fmt::format("{:.1f}", 100 * (each.iteration_s / best.iteration_s - 1)),
             fmt::format("{:.0f}", each.tokens_per_s_gpu),
             fmt::format("{:.1f}", 100 * each.model_flops_share()),
             to_text(Bytes{each.memory.bytes}), to_text(Bytes{each.memory.high_bytes}),
             each.surely_fits() ? "fits" : "may not fit"});
}

void print(const LayoutTuning& tuning, const Question& question) {
  const LayoutPrediction& best = tuning.best.front();
  fmt::print("{} on {} GPUs of {}, {}, sequences of {} tokens, {} an iteration, stack {}\n",
             best.model, tuning.gpus, best.platform, name_of(best.precision), best.tokens,
             best.layout.global_batch, best.stack);
  std::vector<std::string> tried;
  for (const auto& [field, values] : tuning.tried)
    if (values.size() > 1) tried.push_back(fmt::format("{} {}", field, fmt::join(values, " ")));
  if (!tried.empty()) fmt::print("tried: {}\n", fmt::join(tried, "; "));
  fmt::print(
      "{} combinations: {} do not go together, {} do not fit in memory; {} layouts predicted, {} "
      "left out whose kernels alone take longer\n\n",
      tuning.combinations, tuning.refused, tuning.too_large, tuning.predicted, tuning.too_slow);
  Table table({"", "<layout", "iteration", "from", "to", "slower %", "tokens/s/GPU", "MFU %",
               "memory", "at most", "<"});
  for (std::size_t i = 0; i < tuning.best.size(); ++i)
    add_layout(table, std::to_string(i + 1), tuning.best[i], best);
  if (tuning.surely_fitting) add_layout(table, "safe", *tuning.surely_fitting, best);
  fmt::print("{}", table.text());
  if (!best.surely_fits() && tuning.surely_fitting)
    fmt::print(
        "note: the memory of 1 may not fit: at the upper end of its interval it needs {} of {}. "
        "The fastest that fits there too is {}\n",
        to_text(Bytes{best.memory.high_bytes}), to_text(Bytes{best.gpu_memory_bytes}),
        to_text(as_asked(tuning.surely_fitting->layout)));
  fmt::print("{}", full_memory_text(best));
  if (!best.surely_fits() && !tuning.surely_fitting)
    fmt::print("note: of no layout the memory fits at the upper end of its interval\n");
  if (const std::ptrdiff_t near = near_the_best(tuning); near > 1)
    fmt::print(
        "note: {} of them are within {:.0f} % of the fastest: of two so near each other the faster "
        "was predicted in two of three cases where both were measured (docs/llm.md)\n",
        near, 100 * kNear);
  fmt::print("{}", support_text(best_layouts(tuning), question));
}

void run(const TuneLayoutOptions& options) {
  check_writable(options.out, "--out");
  const Question question = options.question.question();
  if (options.best < 1) refuse("--best", std::to_string(options.best), "must be at least 1");
  if (options.range.draws > 0)
    refuse("--draws", std::to_string(options.range.draws), "does not go with layouts");
  check_layout_question(question);
  Asker asker;
  std::vector<LayoutTuning> tunings;
  for (const std::int64_t gpus : question.gpus)
    tunings.push_back(tune_layout({.question = question,
                                   .gpus = gpus,
                                   .only = options.only,
                                   .best = static_cast<std::size_t>(options.best),
                                   .has_interval = options.range.interval},
                                  asker));
  const json document = as_json(tunings, question, options.line);
  if (!options.out.empty()) write_json(options.out, document, "--out");
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
    return;
  }
  for (const LayoutTuning& tuning : tunings) {
    if (&tuning != &tunings.front()) fmt::print("\n");
    print(tuning, question);
  }
}

// Of questions with layouts: what does not go with a search over them; --layout is told at length.
std::vector<std::string> other_fields() {
  const std::set<std::string> others = {"layout", "failures", "links", "noise", "stragglers"};
  std::vector<std::string> names;
  for (const QuestionField& field : question_fields())
    if (others.contains(field.name) || !layout_question_fields().contains(field.name))
      names.push_back(field.name);
  return names;
}

std::string layout_text() {
  std::string text = "What stays, global=N at least: tp=2,pp=2,micro=1,global=128. Fields:";
  for (const LayoutField& field : layout_fields()) {
    std::vector<std::string> names = field.aliases;
    names.insert(names.begin(), field.name);
    text += fmt::format("\n{}: {}", fmt::join(names, ", "), field.doc);
  }
  return text;
}

std::string searched_text() {
  std::string text = "Fields to search, of those that --layout does not name (default: all):";
  for (const auto& [field, values] : searched_layout_fields())
    text += fmt::format("\n{}: {}", field, values);
  return text;
}

void add_tune_layout(Subcommand tune) {
  auto options = std::make_shared<TuneLayoutOptions>();
  Subcommand verb = add_verb(
      tune, {.name = "layout",
             .summary = "The fastest layouts of a transformer that fit in memory",
             .examples = {"tune layout --platform dgx-h100 --model llama-3-8b --seq 8192 "
                          "--gpus 64 \\\n    --layout global=128",
                          "tune layout --platform dgx-h100 --model my/config.json --seq 32768 \\\n"
                          "    --gpus 128,256 --layout global=256,zero=optimizer,micro=1 "
                          "--only tp,cp,pp"}});
  add_question_options(verb, options->question, {"platform", "model", "gpus"}, other_fields());
  verb.add_option("--layout", options->question.once["layout"], layout_text()).required();
  verb.add_option("--only", options->only, searched_text()).delimiter(',');
  verb.add_option("--best", options->best, "How many layouts to show");
  add_range_options(verb, options->range);
  verb.add_option("-o,--out", options->out, "Write the answer as JSON");
  verb.add_flag("--json", options->json, "Print JSON for machines");
  verb.callback([options, verb] {
    options->line = verb.line();
    run(*options);
  });
}

const bool kTuneLayoutRegistered =
    Registry<TuneCommand>::add({.name = "layout", .add = add_tune_layout});

}  // namespace
}  // namespace forescale
