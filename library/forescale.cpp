#include "library/forescale.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "sim/ask/ask.hpp"
#include "sim/ask/load_question.hpp"
#include "studies/layout/layout_prediction.hpp"
#include "studies/predict/prediction.hpp"

namespace forescale::library {
namespace {

constexpr const char* kSource = "question";

using Asked = forescale::Question;

template <class Action>
auto with_errors(const Action& action) {
  try {
    return action();
  } catch (const forescale::InputError& error) {
    throw BadInput(error.what());
  } catch (const forescale::SimulationStuck& error) {
    throw Unfinished(error.what());
  } catch (const forescale::CheckFailed& error) {
    throw BelowFloor(error.what());
  }
}

Asked asked(const Question& question, Asked::About about) {
  std::vector<std::string> names;
  for (const QuestionField& field : question_fields())
    if (field.is_of(about)) names.push_back(field.name);
  Asked read{.about = about};
  for (const auto& [name, texts] : question) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(std::string(kSource) + ":/" + name, "", "is " + unknown_name(name, names));
    const QuestionField& field = question_field(name);
    if (texts.size() != 1 && field.repeats != QuestionField::kRepeats)
      refuse(std::string(kSource) + ":/" + name, "", "must be one text");
    for (const std::string& text : texts) field.parse(read, text, kSource + (":/" + name));
  }
  if (read.platform.empty()) refuse(std::string(kSource) + ":/platform", "", "is required");
  return read;
}

std::vector<Field> fields_of(Asked::About about) {
  std::vector<Field> fields;
  for (const QuestionField& field : question_fields())
    if (field.is_of(about)) fields.push_back({.name = field.name, .meaning = field.doc});
  return fields;
}

std::optional<double> end_of(double time_s) {
  return time_s > 0 ? std::optional(time_s) : std::nullopt;
}

Training training_on_layout(const Asked& question, bool has_interval) {
  check_layout_question(question);
  std::optional<Failures> failures;
  if (!question.failures.empty()) failures = parse_failures(question.failures, "failures");
  std::vector<LayoutCase> cases;
  for (const std::int64_t gpus : question.gpus)
    cases.push_back({.question = question, .gpus = gpus});
  Asker asker;
  Training training{.title = question.model + " on " + question.platform};
  for (const LayoutPrediction& each :
       has_interval ? predict_layout_ranges(cases, asker) : predict_layouts(cases, asker)) {
    TrainingPoint point{.gpus = each.gpus, .fits = each.may_fit()};
    if (point.fits) {
      point.iteration_s = each.iteration_s;
      point.samples_per_s = static_cast<double>(each.layout.global_batch) / each.iteration_s;
      if (failures) point.goodput = goodput_of(*failures, each.nodes).share;
      if (each.iteration) {
        point.low_s = each.iteration->low_s;
        point.high_s = each.iteration->high_s;
      }
    }
    training.points.push_back(std::move(point));
  }
  return training;
}

Training training_of(const Asked& question, bool has_interval) {
  const Prediction prediction = run_prediction(
      question, {.draws = has_interval ? Draws::kEnds : Draws::kNominal, .files = {}});
  Training training{.title = prediction.title, .warnings = prediction.warnings};
  for (const Row& row : prediction.rows) {
    TrainingPoint point{.gpus = row.point.gpus, .fits = row.point.fits};
    if (point.fits) {
      point.iteration_s = row.point.iteration_s;
      if (has_interval) {
        point.low_s = end_of(row.iteration_fast_s);
        point.high_s = end_of(row.iteration_slow_s);
      }
      point.samples_per_s = row.point.images_per_s;
      point.goodput = row.goodput.share;
      point.bound_s = row.point.bound_s;
      point.busiest = row.point.busiest;
    }
    training.points.push_back(std::move(point));
  }
  return training;
}

}  // namespace

std::vector<Field> training_fields() { return fields_of(Asked::About::kTraining); }
std::vector<Field> collective_fields() { return fields_of(Asked::About::kCollective); }

Training predict(const Question& question, Ends interval) {
  return with_errors([&] {
    const Asked read = asked(question, Asked::About::kTraining);
    if (read.model.empty()) refuse(std::string(kSource) + ":/model", "", "is required");
    const bool has_interval = interval == Ends::kOf90Percent;
    Training training = read.layout.empty() ? training_of(read, has_interval)
                                            : training_on_layout(read, has_interval);
    training.command = command_of(read);
    return training;
  });
}

std::vector<CollectivePoint> collective(const Question& question, Ends interval) {
  return with_errors([&] {
    const Asked read = asked(question, Asked::About::kCollective);
    if (read.plan.empty()) refuse(std::string(kSource) + ":/plan", "", "is required");
    if (read.bytes.empty()) refuse(std::string(kSource) + ":/bytes", "", "is required");
    const std::vector<std::int64_t> all = {0};  // of the platform, or those of its slots
    std::vector<Asked> each;
    for (const std::int64_t ranks : read.ranks.empty() ? all : read.ranks)
      for (const std::int64_t bytes : read.bytes) {
        each.push_back(read);
        each.back().ranks = ranks == 0 ? std::vector<std::int64_t>() : std::vector{ranks};
        each.back().bytes = {bytes};
      }
    const bool has_interval = interval == Ends::kOf90Percent;
    AskSettings settings;
    settings.label = "simulating";
    settings.draws = has_interval ? Draws::kEnds : Draws::kNominal;
    settings.engines = Engines::kBoth;
    Asker asker;
    std::vector<CollectivePoint> points;
    for (const RangedAnswer& ranged : asker.ask(each, settings)) {
      const CollectiveAnswer& answer = ranged.nominal.collective;
      CollectivePoint point{.ranks = answer.ranks,
                            .bytes = answer.bytes,
                            .algorithm = answer.algorithm,
                            .time_s = answer.time_s,
                            .cost_engine_s = answer.cost_engine_s,
                            .closed_form_s = answer.closed_form_s,
                            .bound_s = answer.bound_s};
      if (has_interval) {
        const TimeRange range = ranged.time();
        point.low_s = range.low_s;
        point.high_s = range.high_s;
      }
      points.push_back(std::move(point));
    }
    return points;
  });
}

}  // namespace forescale::library
