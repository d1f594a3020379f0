#include "sim/ask/ask.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "algorithms/plan_choice.hpp"
#include "algorithms/system.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/progress.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/isolate.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

namespace {

using nlohmann::json;

void limit_own_time(double limit_s) {
  if (limit_s <= 0) return;
  const auto seconds = static_cast<rlim_t>(limit_s);
  const rlimit limit{.rlim_cur = seconds, .rlim_max = seconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
}

// What `forescale replay` has to know beside what the ranks do.
void describe(Program& program, const Question& question, const PredictionInputs& inputs,
              int gpus) {
  program.title = fmt::format("{}: {} on {} GPUs of {}",
                              question.system.empty() ? inputs.schedule->name : question.system,
                              inputs.network.name, gpus, inputs.platform.name);
  const System system =
      question.system.empty() ? System() : load_system(question.system, "--system");
  program.platform = question.platform;
  program.stack = question.stack.empty() ? system.stack : question.stack;
  program.placement = question.placement;
  program.data = question.data.empty() ? system.data : question.data;
  program.noise = question.noise;
  program.stragglers = question.stragglers;
  for (const auto& [op, plan] : inputs.choices) program.plans[op] = plan_text(plan);
  if (inputs.schedule->servers != nullptr)
    program.servers_have_nodes = inputs.schedule->servers(training_job(inputs, 1), gpus).own_hosts;
}

template <class Write>
void write_file(const std::string& name, const char* option, Write write) {
  std::ofstream file(name);
  write(file);
  file.flush();
  if (!file)
    throw InputError(
        {.source = option, .path = "", .value = name, .constraint = "cannot be written"});
}

PredictionPoint simulated_point(const Question& question, const PredictionInputs& inputs, int gpus,
                                const AskFiles& files) {
  Timeline timeline;
  Program program;
  PredictionPoint point = predict_point(inputs, gpus, files.trace.empty() ? nullptr : &timeline,
                                        files.record.empty() ? nullptr : &program);
  if (!files.record.empty()) {
    describe(program, question, inputs, gpus);
    write_file(files.record, "--record", [&](std::ostream& file) { write_program(program, file); });
  }
  if (!files.trace.empty()) {
    const TrainingRun run = training_run(inputs, gpus);
    write_file(files.trace, "--trace", [&](std::ostream& file) {
      write_chrome_trace(timeline, rank_places(run.platform, static_cast<int>(run.jobs.size())),
                         file);
    });
  }
  return point;
}

bool is_training(const Question& question) { return question.about == Question::About::kTraining; }

// What is read of files depends on all but these.
std::string inputs_key(Question question, Scenario::End end) {
  question.gpus.clear();
  question.epoch_images = Question().epoch_images;
  question.plan.clear();
  question.ranks.clear();
  question.slots.clear();
  question.bytes.clear();
  question.root = 0;
  question.explicit_staging = false;
  return fmt::format("{} {}", static_cast<int>(end), key_of(question));
}

}  // namespace

std::vector<Scenario::End> ends_of(Draws draws) {
  if (draws == Draws::kNominal) return {Scenario::kNominal};
  return {Scenario::kNominal, Scenario::kFast, Scenario::kSlow};
}

TimeRange RangedAnswer::time(Question::About about) const {
  std::vector<double> times_s{nominal.time_s(about)};
  for (const std::optional<Answer>* end : {&fast, &slow})
    if (*end) times_s.push_back((*end)->time_s(about));
  return range_of(times_s);
}

std::string Asker::Task::key() const {
  return fmt::format("{} {} {}", static_cast<int>(end), static_cast<int>(engines),
                     key_of(question));
}

const PredictionInputs& Asker::inputs(const Question& question, Scenario::End end) {
  std::unique_ptr<PredictionInputs>& kept = inputs_[inputs_key(question, end)];
  if (!kept) kept = std::make_unique<PredictionInputs>(load_inputs(question, end));
  return *kept;
}

const QuestionMachine& Asker::machine(const Question& question, Scenario::End end) {
  if (given_ != nullptr) {
    const std::vector<Scenario::End> ends = ends_of(Draws::kEnds);
    return given_->at(static_cast<size_t>(std::find(ends.begin(), ends.end(), end) - ends.begin()));
  }
  std::unique_ptr<QuestionMachine>& kept = machines_[inputs_key(question, end)];
  if (!kept) kept = std::make_unique<QuestionMachine>(load_machine(question, end));
  return *kept;
}

// Here, where all simulations find it; what one of them needs alone it reads itself, beside others.
void Asker::read_what_is_shared(const std::vector<Task>& tasks, bool keep_failures) {
  std::map<std::string, std::vector<const Task*>> users;
  for (const Task& task : tasks) users[inputs_key(task.question, task.end)].push_back(&task);
  for (const auto& [key, sharing] : users) {
    if (sharing.size() < 2) continue;
    const Task& task = *sharing.front();
    try {
      if (is_training(task.question))
        inputs(task.question, task.end);
      else
        machine(task.question, task.end);
    } catch (const InputError&) {
      if (!keep_failures) throw;  // else each simulation says so
    }
  }
}

std::string Asker::simulated(const Task& task, const AskSettings& settings, bool leaves_files) {
  limit_own_time(settings.cpu_limit_s);
  const Question& question = task.question;
  if (!is_training(question))
    return json(answer_collective(question, machine(question, task.end), task.engines,
                                  leaves_files ? settings.files.trace : ""))
        .dump();
  const PredictionInputs& read = inputs(question, task.end);
  const int gpus = gpu_counts(question, read).front();
  return json(simulated_point(question, read, gpus, leaves_files ? settings.files : AskFiles()))
      .dump();
}

void Asker::simulate(const std::vector<Task>& tasks, const AskSettings& settings) {
  // The largest take longest: they go first, so that no core waits for them at the end.
  std::vector<size_t> order(tasks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size_of = [&](size_t i) {
    const Question& question = tasks[i].question;
    return is_training(question)    ? question.gpus.front()
           : question.ranks.empty() ? static_cast<std::int64_t>(question.slots.size())
                                    : question.ranks.front();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return size_of(a) > size_of(b); });
  std::vector<std::function<std::string()>> simulations;
  for (const size_t i : order)
    simulations.push_back([this, &task = tasks[i], &settings, leaves_files = i == 0] {
      return simulated(task, settings, leaves_files);
    });
  ProgressLine progress(settings.label, simulations.size());
  const auto on_done = [&](size_t finished) { progress.done(finished); };
  std::vector<IsolatedAnswer> texts;
  if (settings.keep_failures)
    texts = run_isolated_each(simulations, available_cores(), on_done);
  else
    for (std::string& text : run_isolated(simulations, available_cores(), on_done))
      texts.push_back({.text = std::move(text), .failure = ""});
  for (size_t i = 0; i < order.size(); ++i) {
    const Task& task = tasks[order[i]];
    Answer& answer = answers_[task.key()];
    answer.failure = texts[i].failure;
    if (!answer.failure.empty()) continue;
    const json parsed = parse_json(texts[i].text);
    if (is_training(task.question))
      answer.training = parsed.get<PredictionPoint>();
    else
      answer.collective = parsed.get<CollectiveAnswer>();
  }
}

std::vector<Answer> Asker::ask_each(const std::vector<Question>& questions,
                                    const std::vector<Scenario::End>& ends,
                                    const AskSettings& settings) {
  FORESCALE_CHECK(questions.size() == ends.size(), "one end for each question");
  std::vector<Task> open;
  std::map<std::string, bool> listed;
  const auto list = [&](size_t i, bool again) {
    const Question& question = questions[i];
    FORESCALE_CHECK(is_training(question)
                        ? question.gpus.size() == 1
                        : question.ranks.size() <= 1 && question.bytes.size() == 1,
                    "a question to simulate has one count and one size");
    Task task{.question = question, .end = ends[i], .engines = settings.engines};
    if ((answers_.contains(task.key()) && !again) || !listed.emplace(task.key(), true).second)
      return;
    open.push_back(std::move(task));
  };
  // First, and again if it was answered before: the one that leaves files.
  if (settings.files_of) list(*settings.files_of, true);
  for (size_t i = 0; i < questions.size(); ++i) list(i, false);
  read_what_is_shared(open, settings.keep_failures);
  simulate(open, settings);
  std::vector<Answer> answers;
  for (size_t i = 0; i < questions.size(); ++i)
    answers.push_back(answers_.at(
        Task{.question = questions[i], .end = ends[i], .engines = settings.engines}.key()));
  return answers;
}

std::vector<RangedAnswer> Asker::ask(const std::vector<Question>& questions, AskSettings settings) {
  const std::vector<Scenario::End> drawn = ends_of(settings.draws);
  std::vector<Question> each;
  std::vector<Scenario::End> ends;
  for (const Question& question : questions)
    for (const Scenario::End end : drawn) {
      each.push_back(question);
      ends.push_back(end);
    }
  if (settings.files_of) *settings.files_of *= drawn.size();
  const std::vector<Answer> answers = ask_each(each, ends, settings);
  std::vector<RangedAnswer> ranged;
  for (size_t i = 0; i < answers.size(); i += drawn.size()) {
    ranged.push_back({.nominal = answers[i]});
    if (drawn.size() == 1) continue;
    ranged.back().fast = answers[i + 1];
    ranged.back().slow = answers[i + 2];
  }
  return ranged;
}

}  // namespace forescale
