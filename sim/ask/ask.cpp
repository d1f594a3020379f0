#include "sim/ask/ask.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "algorithms/plan_choice.hpp"
#include "algorithms/system.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/output_file.hpp"
#include "base/progress.hpp"
#include "base/solve.hpp"
#include "sim/ask/inputs.hpp"
#include "sim/ask/known_answers.hpp"
#include "sim/ask/spread.hpp"
#include "sim/engine/world.hpp"
#include "sim/isolate.hpp"
#include "sim/limits.hpp"
#include "topologies/placement.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

namespace {

// Of a node's throughput: an iteration is met to this share.
constexpr double kNodeClose = 1e-4;

using nlohmann::json;

// What has no steady state by then has a mean. So many messages take minutes at most; a limit in
// seconds would give other answers on a slower machine.
constexpr int kSettlingIterationsMax = 24;
constexpr std::uint64_t kSettlingMessagesMax = 500'000;

void limit_own_time(double limit_s) {
  if (limit_s <= 0) return;
  const auto seconds = static_cast<rlim_t>(limit_s);
  const rlimit limit{.rlim_cur = seconds, .rlim_max = seconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
}

// What `forescale replay` has to know beside what the ranks do.
void describe_program(Program& program, const Question& question, const PredictionInputs& inputs,
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

PredictionPoint simulated_point(const Question& question, const PredictionInputs& inputs, int gpus,
                                const AskFiles& files) {
  if (!files.record.empty()) refuse_to_record(question, files.record);
  Timeline timeline;
  Program program;
  PredictionPoint point = predict_point(inputs, gpus, files.trace.empty() ? nullptr : &timeline,
                                        files.record.empty() ? nullptr : &program);
  if (!files.record.empty()) {
    describe_program(program, question, inputs, gpus);
    write_file(
        files.record, [&](std::ostream& file) { write_program(program, file); }, "--record");
  }
  if (!files.trace.empty()) {
    const TrainingRun run = training_run(inputs, gpus);
    const int ranks = static_cast<int>(run.jobs.size()) * (inputs.others.count + 1);
    write_file(
        files.trace,
        [&](std::ostream& file) {
          write_chrome_trace(timeline, rank_places(run.platform, ranks), file);
        },
        "--trace");
  }
  return point;
}

std::int64_t slots_named(const Question& question) {
  std::int64_t count = 0;
  for (const auto& group : question.slots) count += static_cast<std::int64_t>(group.size());
  return count;
}

bool is_training(const Question& question) { return question.about == Question::About::kTraining; }

// What is read of files depends on all but these; kernels on what each GPU is given, which a number
// of GPUs decides where they share a batch.
std::string inputs_key(Question question, const Scenario& scenario) {
  if (question.scaling == Scaling::kWeak) question.gpus.clear();
  question.epoch_images = Question().epoch_images;
  question.failures.clear();
  question.plan.clear();
  question.ranks.clear();
  question.split.clear();
  question.slots.clear();
  question.bytes.clear();
  question.root = 0;
  question.explicit_staging = false;
  return fmt::format("{} {}", scenario.name(), key_of(question));
}

// At an end of training: what the numbers of the kernels alone make of the passes.
double compute_ratio(const PredictionInputs& inputs, int gpus) {
  if (!inputs.compute_at_end) return 1;
  const std::int64_t share = batch_shares(inputs.batch, inputs.scaling, gpus).front();
  return compute_s(*inputs.compute_at_end, share) *
         slowest_gpu(inputs, gpus, inputs.gpu_variation_at_end) /
         (compute_s(inputs.compute, share) * slowest_gpu(inputs, gpus, inputs.gpu_variation));
}

int nodes_under(const std::vector<int>& slots, const Platform& platform) {
  std::set<int> nodes;
  for (const int slot : slots)
    nodes.insert(
        platform.devices[static_cast<size_t>(platform.endpoints[static_cast<size_t>(slot)])].node);
  return static_cast<int>(nodes.size());
}

}  // namespace

std::vector<Scenario> Draws::scenarios() const {
  std::vector<Scenario> scenarios{Scenario::kNominal};
  if (ends) scenarios.insert(scenarios.end(), {Scenario::kFast, Scenario::kSlow});
  for (int draw = 0; draw < drawn; ++draw) scenarios.push_back(Scenario::drawn(draw));
  return scenarios;
}

TimeRange RangedAnswer::time() const {
  const Spread spread = spread_of(
      {this}, [](const std::vector<Answer>& answers) { return answers.front().time_s(); });
  return {.time_s = spread.value, .low_s = spread.low, .high_s = spread.high};
}

std::string Asker::Task::key() const {
  return fmt::format("{} {} {}", scenario.name(), static_cast<int>(engines), key_of(question));
}

const PredictionInputs& Asker::inputs(const Question& asked, const Scenario& scenario) {
  const Question question = on_one_gpu(asked);
  std::unique_ptr<PredictionInputs>& kept = inputs_[inputs_key(question, scenario)];
  if (!kept) kept = std::make_unique<PredictionInputs>(load_inputs(question, scenario));
  return *kept;
}

const QuestionMachine& Asker::machine(const Question& question, const Scenario& scenario) {
  if (given_ != nullptr)
    return given_->at(scenario.end() == Scenario::kNominal ? 0
                      : scenario.end() == Scenario::kFast  ? 1
                                                           : 2);
  std::unique_ptr<QuestionMachine>& kept = machines_[inputs_key(question, scenario)];
  if (!kept) kept = std::make_unique<QuestionMachine>(load_machine(question, scenario));
  return *kept;
}

// Here, where all simulations find it; what one of them needs alone it reads itself, beside others.
void Asker::read_what_is_shared(const std::vector<Task>& tasks, bool keep_failures) {
  std::map<std::string, std::vector<const Task*>> users;
  for (const Task& task : tasks) users[inputs_key(task.question, task.scenario)].push_back(&task);
  for (const auto& [key, sharing] : users) {
    if (sharing.size() < 2) continue;
    const Task& task = *sharing.front();
    try {
      if (is_training(task.question))
        inputs(task.question, task.scenario);
      else
        machine(task.question, task.scenario);
    } catch (const InputError&) {
      if (!keep_failures) throw;  // else each simulation says so
    }
  }
}

std::string Asker::simulated(const Task& task, const AskSettings& settings) {
  const Question& question = task.question;
  const AskFiles files = task.leaves_files ? settings.files : AskFiles();
  limit_own_time(settings.cpu_limit_s);
  limit_memory(question.limits);
  if (!is_training(question)) {
    const QuestionMachine& read = machine(question, task.scenario);
    const CollectiveAnswer answer = answer_collective(question, read, task.engines, files.trace);
    return json{{"collective", answer},
                {"nodes", nodes_under(slots_of(question, read.platform), read.platform)}}
        .dump();
  }
  const PredictionInputs& kept = inputs(question, task.scenario);
  std::optional<PredictionInputs> longer;
  if (task.iterations > 0) {
    longer = kept;
    longer->iterations = task.iterations;
  }
  const PredictionInputs& read = longer ? *longer : kept;
  const int gpus = gpu_counts(question, read).front();
  return json{{"training", simulated_point(question, read, gpus, files)},
              {"compute_ratio", compute_ratio(read, gpus)},
              {"reads_images", read.data.image.value > 0},
              {"from_kernels", read.compute.from_kernels},
              {"nodes", nodes_of(read.platform, gpus)}}
      .dump();
}

void Asker::simulate(const std::vector<Task>& tasks, const AskSettings& settings) {
  // The largest take longest: they go first, so that no core waits for them at the end.
  std::vector<size_t> order(tasks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto size_of = [&](size_t i) {
    const Question& question = tasks[i].question;
    return is_training(question)    ? question.gpus.front()
           : question.ranks.empty() ? slots_named(question)
                                    : question.ranks.front();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return size_of(a) > size_of(b); });
  std::vector<std::function<std::string()>> simulations;
  for (const size_t i : order)
    simulations.push_back(
        [this, &task = tasks[i], &settings] { return simulated(task, settings); });
  if (std::any_of(tasks.begin(), tasks.end(),
                  [](const Task& task) { return task.engines != Engines::kCostEngine; }))
    load_simgrid();
  ProgressLine progress(settings.label, simulations.size());
  const auto on_done = [&](size_t finished) { progress.done(finished); };
  std::vector<IsolatedAnswer> texts;
  const bool goes_on = tasks.front().iterations > 0;  // there are answers already
  if (settings.keep_failures || goes_on)
    texts = run_isolated_each(simulations, available_cores(), on_done);
  else
    for (std::string& text : run_isolated(simulations, available_cores(), on_done))
      texts.push_back({.text = std::move(text), .failure = ""});
  for (size_t i = 0; i < order.size(); ++i) {
    const Task& task = tasks[order[i]];
    Answer& answer = answers_[task.key()];
    if (goes_on && !texts[i].failure.empty() && settings.cpu_limit_s <= 0) {
      given_up_.insert(task.key());
      continue;
    }
    answer.about = task.question.about;
    answer.failure = texts[i].failure;
    if (!answer.failure.empty()) continue;
    take(task, texts[i].text);
    if (given_ == nullptr && KnownAnswers::of_this_process().shares())
      texts_[task.key()] = std::move(texts[i].text);
  }
}

bool Asker::take_known(const Task& task) {
  if (given_ != nullptr) return false;  // whose machines the key does not name
  const std::string* const known = KnownAnswers::of_this_process().find(task.key());
  if (known == nullptr) return false;
  answers_[task.key()].about = task.question.about;
  take(task, *known);
  return true;
}

void Asker::take(const Task& task, const std::string& text) {
  Answer& answer = answers_.at(task.key());
  const json parsed = parse_json(text);
  answer.nodes = parsed.at("nodes").get<int>();
  if (is_training(task.question)) {
    answer.training = parsed.at("training").get<PredictionPoint>();
    answer.reads_images = parsed.at("reads_images").get<bool>();
    answer.from_kernels = parsed.at("from_kernels").get<bool>();
    answer.compute_ratio = parsed.at("compute_ratio").get<double>();
  } else {
    answer.collective = parsed.at("collective").get<CollectiveAnswer>();
  }
}

void refuse_to_record(const Question& question, const std::string& file) {
  const auto refuse_with = [&](bool is_there, const char* what, const char* option) {
    if (is_there) refuse("--record", file, fmt::format("{}: leave out {}", what, option));
  };
  refuse_with(!question.beside.empty(), "is of one job", "--beside");
  refuse_with(!question.links.empty(), "keeps no state of links", "--link");
  refuse_with(!question.message_noise.empty(), "keeps no noise of messages", "--message-noise");
}

int iterations_to_settle(int so_far, std::uint64_t messages) {
  const bool too_long = 2 * so_far > kSettlingIterationsMax || 2 * messages > kSettlingMessagesMax;
  return too_long ? 0 : 2 * so_far;
}

std::vector<Asker::Task> Asker::unsettled(const std::vector<Task>& tasks) {
  std::vector<Task> open;
  for (const Task& task : tasks) {
    const Answer& answer = answers_.at(task.key());
    if (!is_training(task.question) || task.question.iterations > 0 || !answer.is_there() ||
        answer.training.is_steady || given_up_.contains(task.key()))
      continue;
    const int so_far =
        task.iterations > 0 ? task.iterations : inputs(task.question, task.scenario).iterations;
    const int iterations = iterations_to_settle(so_far, answer.training.messages);
    if (iterations == 0) continue;
    open.push_back(task);
    open.back().iterations = iterations;
  }
  return open;
}

Question Asker::on_one_gpu(const Question& question) {
  if (!question.throughput || question.throughput->points.front().gpus == 1) return question;
  const ThroughputPoint& node = question.throughput->points.front();
  Question one = question;
  one.gpus = {node.gpus};
  one.batch = node.batch;
  one.scaling = Scaling::kWeak;
  one.iterations = 0;
  const std::string key = key_of(one);
  if (!of_one_gpu_.contains(key)) of_one_gpu_.emplace(key, one_gpu_throughput(one));
  one = question;
  one.throughput = of_one_gpu_.at(key);
  return one;
}

// Of a question about the GPUs that were measured.
MeasuredThroughput Asker::one_gpu_throughput(Question question) {
  const MeasuredThroughput measured = *question.throughput;
  const ThroughputPoint& node = measured.points.front();
  ThroughputPoint& point = question.throughput->points.front();
  point.gpus = 1;
  const auto images = static_cast<double>(node.batch);
  const double measured_s = images * static_cast<double>(node.gpus) / node.images_per_s;
  Question unmeasured = question;
  unmeasured.throughput.reset();
  const auto iteration_s = [&](double one_s) {
    point.images_per_s = images / one_s;
    const Answer answer =
        ask_each({question}, {Scenario::kNominal}, {.label = "simulating what was measured"})
            .front();
    if (answer.time_s() <= 0)
      refuse("--throughput", to_text(measured),
             "is of a batch that does not fit into the GPUs' memory");
    return answer.time_s();
  };
  const double no_kernels_s = inputs(unmeasured).compute.update_s + kNodeClose * measured_s;
  if (iteration_s(no_kernels_s) > measured_s)
    refuse("--throughput", to_text(measured),
           fmt::format("is more than {} GPUs reach without any kernels", node.gpus));
  point.images_per_s = images / solve_rising(measured_s, iteration_s, {no_kernels_s, measured_s},
                                             measured_s, kNodeClose);
  return *question.throughput;
}

std::vector<Answer> Asker::ask_each(const std::vector<Question>& asked,
                                    const std::vector<Scenario>& scenarios,
                                    const AskSettings& settings) {
  FORESCALE_CHECK(asked.size() == scenarios.size(), "one scenario for each question");
  std::vector<Question> questions;
  for (const Question& question : asked) questions.push_back(on_one_gpu(question));
  std::vector<Task> open;
  std::map<std::string, bool> listed;
  const auto list = [&](size_t i, bool leaves_files) {
    const Question& question = questions[i];
    FORESCALE_CHECK(is_training(question)
                        ? question.gpus.size() == 1
                        : question.ranks.size() <= 1 && question.bytes.size() == 1,
                    "a question to simulate has one count and one size");
    Task task{.question = question,
              .scenario = scenarios[i],
              .engines = settings.engines,
              .leaves_files = leaves_files};
    if ((answers_.contains(task.key()) && !leaves_files) ||
        !listed.emplace(task.key(), true).second || (!leaves_files && take_known(task)))
      return;
    open.push_back(std::move(task));
  };
  // First, and again if it was answered before: the one that leaves files.
  if (settings.files_of) list(*settings.files_of, true);
  for (size_t i = 0; i < questions.size(); ++i) list(i, false);
  read_what_is_shared(open, settings.keep_failures);
  for (; !open.empty(); open = unsettled(open)) simulate(open, settings);
  for (const auto& [key, text] : std::exchange(texts_, {}))
    if (answers_.at(key).failure.empty()) KnownAnswers::of_this_process().add(key, text);
  std::vector<Answer> answers;
  for (size_t i = 0; i < questions.size(); ++i)
    answers.push_back(answers_.at(
        Task{.question = questions[i], .scenario = scenarios[i], .engines = settings.engines}
            .key()));
  return answers;
}

std::vector<RangedAnswer> Asker::ask(const std::vector<Question>& questions, AskSettings settings) {
  const std::vector<Scenario> of_one = settings.draws.scenarios();
  std::vector<Question> each;
  std::vector<Scenario> scenarios;
  for (const Question& question : questions)
    for (const Scenario& scenario : of_one) {
      each.push_back(question);
      scenarios.push_back(scenario);
    }
  if (settings.files_of) *settings.files_of *= of_one.size();
  const std::vector<Answer> answers = ask_each(each, scenarios, settings);
  std::vector<RangedAnswer> ranged;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Scenario& scenario = scenarios[i];
    if (i % of_one.size() == 0) ranged.emplace_back();
    if (scenario.is_draw())
      ranged.back().drawn.push_back(answers[i]);
    else if (scenario.end() == Scenario::kFast)
      ranged.back().fast = answers[i];
    else if (scenario.end() == Scenario::kSlow)
      ranged.back().slow = answers[i];
    else
      ranged.back().nominal = answers[i];
  }
  return ranged;
}

}  // namespace forescale
