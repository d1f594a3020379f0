#include "studies/tune/tune_schedule.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/options_text.hpp"
#include "studies/tune/tune_alternatives.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kRules = "the stack's rules";
constexpr double kNearPlans = 0.02;  // of the best one's time alone

struct Value {
  std::string text;
  double number = 0;       // of an option
  PlanChoice plan = {};    // of a collective; null collective: the stack's rules
  std::string stack = {};  // the stack told to take an alternative; empty: as it is
};

struct Setting {
  std::string name;
  const Option* option = nullptr;              // none: it is a plan
  CollectiveOp op = CollectiveOp::kAllReduce;  // of a plan
  std::vector<Value> values = {};
  size_t chosen = 0;  // index; 0 is where the search begins
};

using Point = std::vector<size_t>;  // an index into the values of each setting

Setting option_setting(const Option& option, double begun) {
  Setting setting{.name = option.name,
                  .option = &option,
                  .values = {{.text = to_text(option, begun), .number = begun}}};
  for (const double value : option.tried)
    if (value != begun && value >= option.min && value <= option.max)
      setting.values.push_back({.text = to_text(option, value), .number = value});
  return setting;
}

// Calls of the schedule, by operation: their sizes, growing.
std::map<CollectiveOp, std::vector<std::int64_t>> calls_of(const PredictionInputs& inputs,
                                                           int gpus) {
  std::map<CollectiveOp, std::vector<std::int64_t>> calls;
  if (inputs.schedule->traffic == nullptr) return calls;
  const TrainingRun run = training_run(inputs, gpus);
  for (const CollectiveStep& step :
       inputs.schedule->traffic(*run.jobs.front(), gpus, run.nodes).collectives)
    if (step.group == nullptr) calls[step.op].push_back(step.bytes);
  for (auto& [op, sizes] : calls) std::sort(sizes.begin(), sizes.end());
  return calls;
}

// Of what was tuned; without a text for what the stack's rules take anyway, and for alternatives of
// a stack that has no name to be asked for by.
Value value_of(const TuneQuestion& question, const QuestionMachine& machine,
               const std::string& tuned) {
  if (!has_alternatives(question, machine))
    return {.text = tuned, .plan = parse_plan(tuned, "--only")};
  const std::vector<std::string> known = catalogue("models/stacks");
  const std::string& stack = machine.stack.name;
  if (tuned == kOwnChoice || std::find(known.begin(), known.end(), stack) == known.end()) return {};
  const AlternativeChoice choice = AlternativeChoice::parse(tuned, "--only");
  return {
      .text = tuned,
      .stack = fmt::format("{}:take={}", stack, choice.name) +
               (choice.chunk_bytes > 0 ? fmt::format(",chunk_bytes={}", choice.chunk_bytes) : "")};
}

// Of all operations that every call of which any number of ranks' data can serve.
std::vector<Setting> plan_settings(const PredictionInputs& inputs, int gpus) {
  std::vector<Setting> settings;
  bool is_told = false;  // an operation's alternatives: a stack is told one for all
  for (const auto& [op, sizes] : calls_of(inputs, gpus)) {
    std::vector<TuneQuestion> questions;
    for (const std::int64_t bytes : {sizes.back(), sizes[sizes.size() / 2]})
      if (bytes >= 4 && (questions.empty() || questions.back().bytes != bytes))
        questions.push_back({.op = op, .ranks = gpus, .bytes = bytes});
    if (questions.empty() || gpus < 2) continue;
    const MachineScenarios machine{{.platform = inputs.platform, .stack = inputs.stack}};
    Setting setting{.name = std::string(name_of(op)) + "-plan", .op = op};
    std::string begun = kRules;
    Value first{.text = kRules};
    if (const auto choice = inputs.choices.find(op); choice != inputs.choices.end()) {
      first.plan = choice->second;
      first.text = plan_text(first.plan);
    }
    setting.values.push_back(first);
    if (first.text != kRules) setting.values.push_back({.text = kRules});
    for (const TunedPoint& point :
         tune_collective(questions, machine, nullptr, kNearPlans, {}, [](const TunedPoint&) {})) {
      std::vector<std::pair<double, std::string>> near;
      for (const auto& [plan, time_s] : point.known.near) near.emplace_back(time_s, plan);
      std::sort(near.begin(), near.end());
      if (near.size() > kPlansMax) near.resize(kPlansMax);
      for (const auto& [time_s, plan] : near)
        if (std::none_of(setting.values.begin(), setting.values.end(),
                         [&, name = plan](const Value& value) { return value.text == name; }))
          if (const Value value = value_of(point.question, machine.front(), plan);
              !value.text.empty() && (value.stack.empty() || !is_told))
            setting.values.push_back(value);
    }
    is_told = is_told || !setting.values.back().stack.empty();
    settings.push_back(std::move(setting));
  }
  return settings;
}

// A value as ScheduleOptions reads it back to the last digit.
std::string exact_text(const Option& option, double value) {
  switch (option.unit) {
    case OptionUnit::kBytes:
      return fmt::format("{}B", static_cast<std::int64_t>(value));
    case OptionUnit::kSeconds:
      return fmt::format("{}s", value);
    case OptionUnit::kFlag:
      return value != 0 ? "true" : "false";
    case OptionUnit::kChoice:
      return option.choices[static_cast<size_t>(value)];
    default:
      return fmt::format("{}", value);
  }
}

// What the search began with is not said again.
Question with_values(Question question, const std::vector<Setting>& settings, const Point& point) {
  for (size_t i = 0; i < settings.size(); ++i) {
    if (point[i] == 0) continue;
    const Setting& setting = settings[i];
    const Value& value = setting.values[point[i]];
    if (setting.option != nullptr)
      question.options[setting.name] = exact_text(*setting.option, value.number);
    else if (!value.stack.empty()) {
      question.stack = value.stack;
      question.plans[name_of(setting.op)] = name_of(setting.op);  // what the stack takes
    } else  // an operation alone: the stack's choice
      question.plans[name_of(setting.op)] =
          value.plan.collective == nullptr ? name_of(setting.op) : plan_text(value.plan);
  }
  return question;
}

class ScheduleSearch {
 public:
  // `question` is of one GPU count.
  ScheduleSearch(Asker& asker, Question question, std::vector<Setting> settings, double tolerance)
      : asker_(asker),
        question_(std::move(question)),
        settings_(std::move(settings)),
        tolerance_(tolerance),
        best_(settings_.size(), 0) {}

  // InputError or SimulationStuck where not even the beginning can be simulated.
  void run() {
    simulate({best_});
    const Answer& begun = answers_.at(best_);
    if (!begun.failure.empty()) throw SimulationStuck(begun.failure);
    for (int pass = 0; pass < kPasses; ++pass) {
      const Point before = best_;
      for (size_t i = 0; i < settings_.size(); ++i) search(i);
      if (best_ == before) break;
    }
    keep_what_gains_nothing();
  }

  TunedSchedule result() {
    TunedSchedule row{.gpus = static_cast<int>(question_.gpus.front())};
    for (size_t i = 0; i < settings_.size(); ++i) {
      const std::vector<Point> line = values_of(i, chosen_);
      simulate(line);
      for (size_t k = 0; k < line.size(); ++k) {
        const Answer& one = answers_.at(line[k]);
        row.effects.push_back({.setting = settings_[i].name,
                               .value = settings_[i].values[k].text,
                               .is_chosen = k == chosen_[i],
                               .iteration_s = one.training.iteration_s,
                               .failure = one.failure});
      }
      const Value& chosen = settings_[i].values[chosen_[i]];
      row.fastest[settings_[i].name] = settings_[i].values[best_[i]].text;
      row.begun[settings_[i].name] = settings_[i].values.front().text;
      row.chosen[settings_[i].name] = chosen.text;
      if (settings_[i].option != nullptr) row.numbers[settings_[i].name] = chosen.number;
    }
    row.fastest_s = time_s(best_);
    row.simulated = static_cast<int>(answers_.size());
    return row;
  }

  const std::vector<Setting>& settings() const { return settings_; }
  const Point& chosen() const { return chosen_; }

 private:
  double time_s(const Point& point) const { return answers_.at(point).training.iteration_s; }

  // The point with each value of setting `i`.
  std::vector<Point> values_of(size_t i, const Point& point) const {
    std::vector<Point> line;
    for (size_t k = 0; k < settings_[i].values.size(); ++k) {
      line.push_back(point);
      line.back()[i] = k;
    }
    return line;
  }

  void search(size_t i) {
    const std::vector<Point> line = values_of(i, best_);
    simulate(line);
    for (const Point& point : line)
      if (answers_.at(point).failure.empty() && time_s(point) < time_s(best_)) best_ = point;
  }

  // Back to where the search began, the setting that costs least first, while what is chosen stays
  // within the tolerance of the best.
  void keep_what_gains_nothing() {
    chosen_ = best_;
    while (true) {
      std::vector<Point> fewer;
      for (size_t i = 0; i < settings_.size(); ++i)
        if (chosen_[i] != 0) {
          fewer.push_back(chosen_);
          fewer.back()[i] = 0;
        }
      simulate(fewer);
      std::erase_if(fewer, [&](const Point& point) {
        return !answers_.at(point).failure.empty() ||
               time_s(point) > (1 + tolerance_) * time_s(best_);
      });
      if (fewer.empty()) return;
      chosen_ = *std::min_element(fewer.begin(), fewer.end(), [&](const Point& a, const Point& b) {
        return time_s(a) < time_s(b);
      });
    }
  }

  void simulate(const std::vector<Point>& points) {
    std::vector<Question> questions;
    for (const Point& point : points) questions.push_back(with_values(question_, settings_, point));
    const std::vector<RangedAnswer> answers = asker_.ask(
        questions,
        {.label = fmt::format("tuning {} GPUs", question_.gpus.front()), .keep_failures = true});
    for (size_t i = 0; i < points.size(); ++i) answers_[points[i]] = answers[i].nominal;
  }

  Asker& asker_;
  Question question_;
  std::vector<Setting> settings_;
  double tolerance_;
  Point best_;
  Point chosen_;  // within the tolerance of the best
  std::map<Point, Answer> answers_;
};

std::vector<Setting> wanted(std::vector<Setting> settings, const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(setting.name);
  for (const std::string& name : only)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw InputError({.source = "--only",
                        .path = "",
                        .value = name,
                        .constraint = "is " + unknown_name(name, names)});
  if (!only.empty())
    std::erase_if(settings, [&](const Setting& setting) {
      return std::find(only.begin(), only.end(), setting.name) == only.end();
    });
  std::erase_if(settings, [](const Setting& setting) { return setting.values.size() < 2; });
  return settings;
}

// An option that was given is no setting: it stays.
std::vector<Setting> settings_of(const PredictionInputs& inputs, int gpus,
                                 const std::map<std::string, std::string>& given,
                                 const std::vector<std::string>& only) {
  std::vector<Setting> settings;
  for (const Option& option : inputs.schedule->options)
    if (!option.tried.empty() && !given.contains(option.name))
      settings.push_back(option_setting(option, inputs.options.number(option.name)));
  // Searching plans costs simulations: not for nothing.
  const auto is_option = [&](const std::string& name) {
    return std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.name == name; });
  };
  if (only.empty() || !std::all_of(only.begin(), only.end(), is_option))
    for (Setting& setting : plan_settings(inputs, gpus)) settings.push_back(std::move(setting));
  return wanted(std::move(settings), only);
}

// Choice and beginning with all uncertain numbers at their ends, if they are drawn.
void add_ranges(TunedSchedule& row, Asker& asker, const Question& question,
                const ScheduleSearch& search, Draws draws) {
  const std::vector<RangedAnswer> answers =
      asker.ask({with_values(question, search.settings(), Point(search.settings().size(), 0)),
                 with_values(question, search.settings(), search.chosen())},
                {.label = "ranges", .draws = draws});
  row.before = answers[0].time();
  row.after = answers[1].time();
}

json to_json(const TimeRange& range) {
  return {{"time_s", range.time_s}, {"low_s", range.low_s}, {"high_s", range.high_s}};
}

}  // namespace

ScheduleTuning tune_schedule(const ScheduleTuneSettings& settings) {
  Asker asker;
  const PredictionInputs& nominal = asker.inputs(settings.question);
  // Settings do not change how long is simulated.
  Question question = settings.question;
  question.iterations = nominal.iterations;
  ScheduleTuning tuning{
      .title = fmt::format("{}: {} on {}, batch {} {}",
                           question.system.empty() ? nominal.schedule->name : question.system,
                           nominal.network.name, nominal.platform.name, nominal.batch,
                           nominal.scaling == Scaling::kStrong ? "in all" : "a GPU"),
      .schedule = nominal.schedule->name,
      .rows = {},
      .notes = {}};
  std::map<std::string, std::string> given = question.options;
  if (!question.schedule.empty()) {
    const OptionsText named = OptionsText::parse(question.schedule, "--schedule");
    given.insert(named.values().begin(), named.values().end());
  }
  for (const int gpus : gpu_counts(settings.question, nominal)) {
    const auto shares = batch_shares(nominal.batch, nominal.scaling, gpus);
    if (nominal.memory_at(std::max<std::int64_t>(1, shares.front()), gpus) >
        nominal.platform.gpu_models.front().memory) {
      tuning.notes.push_back(
          fmt::format("{} GPUs: a GPU's share of the batch does not fit in its memory", gpus));
      continue;
    }
    std::vector<Setting> searched = settings_of(nominal, gpus, given, settings.only);
    if (searched.empty()) {
      tuning.notes.push_back(fmt::format("{} GPUs: there is nothing to choose", gpus));
      continue;
    }
    question.gpus = {gpus};
    ScheduleSearch search(asker, question, std::move(searched), settings.tolerance);
    search.run();
    tuning.rows.push_back(search.result());
    add_ranges(tuning.rows.back(), asker, question, search, settings.draws);
  }
  if (tuning.rows.empty())
    throw InputError(
        {.source = "--schedule",
         .path = "",
         .value = nominal.schedule->name,
         .constraint = fmt::format("cannot be tuned here: {}", fmt::join(tuning.notes, "; "))});
  if (nominal.options.values().contains("staleness") && !given.contains("staleness"))
    tuning.notes.emplace_back(
        "more staleness is faster an iteration but needs more iterations to train as well: weigh "
        "that yourself (--option staleness=N fixes it, --only leaves it out)");
  return tuning;
}

json to_json(const ScheduleTuning& tuning) {
  json rows = json::array();
  for (const TunedSchedule& row : tuning.rows) {
    json effects = json::array();
    for (const SettingEffect& effect : row.effects) {
      effects.push_back(
          {{"setting", effect.setting}, {"value", effect.value}, {"chosen", effect.is_chosen}});
      if (effect.failure.empty())
        effects.back()["iteration_s"] = effect.iteration_s;
      else
        effects.back()["failure"] = effect.failure;
    }
    rows.push_back({{"gpus", row.gpus},
                    {"begun", row.begun},
                    {"chosen", row.chosen},
                    {"fastest", row.fastest},
                    {"fastest_s", row.fastest_s},
                    {"before", to_json(row.before)},
                    {"after", to_json(row.after)},
                    {"speedup", row.speedup()},
                    {"effects", effects},
                    {"simulated", row.simulated}});
  }
  return {{"format", "forescale-tuned-schedule-1"},
          {"title", tuning.title},
          {"schedule", tuning.schedule},
          {"rows", rows},
          {"notes", tuning.notes}};
}

}  // namespace forescale
