// Asking the simulator: questions in, answers out. Each simulation runs in a process of its own
// (SimGrid allows one engine a process), as many at a time as there are cores; the same question is
// simulated once.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/unmodelled.hpp"
#include "sim/ask/collective_answer.hpp"
#include "sim/ask/load_question.hpp"
#include "sim/ask/time_range.hpp"

namespace forescale {

// Of one simulation: a training question's point, or what a collective took.
struct Answer {
  Question::About about = Question::About::kTraining;
  PredictionPoint training = {};
  CollectiveAnswer collective = {};
  int nodes = 1;  // that the ranks lie on
  bool reads_images = false;
  bool from_kernels = false;           // the network's own time was not measured (ComputeTable)
  std::int64_t memory_high_bytes = 0;  // of a layout, the upper end of what it needs
  std::int64_t allocated_bytes = 0;    // of a layout, what is counted of that
  std::optional<Unmodelled> unmodelled = {};  // of a layout; none: by models/unmodelled.json
  // At the fast or slow end, of training: forward and backward passes there over those simulated.
  double compute_ratio = 1;
  std::string failure = {};  // why there is no answer; empty: there is one

  // Of an iteration, or of the collective; 0 where there is no answer, or the batch does not fit.
  double time_s() const {
    return about == Question::About::kTraining ? training.iteration_s : collective.time_s;
  }
  // Of the time, that the busiest resource of the network is in use.
  double busiest_share() const {
    return about == Question::About::kTraining ? training.busiest_share : collective.busiest_share;
  }
  bool is_there() const { return failure.empty() && time_s() > 0; }
};

// Which values uncertain numbers take: their nominal ones alone, or also those of the machine all
// at their fast, and all at their slow end, or drawn so often.
struct Draws {
  bool ends = false;
  int drawn = 0;
  static const Draws kNominal;
  static const Draws kEnds;

  bool has_range() const { return ends || drawn > 0; }
  std::vector<Scenario> scenarios() const;  // the nominal one first
  bool operator==(const Draws&) const = default;
};
inline constexpr Draws Draws::kNominal = {};
inline constexpr Draws Draws::kEnds = {.ends = true};

// A question's answers: spread.hpp says how far apart they put what follows from them.
struct RangedAnswer {
  Answer nominal;
  std::optional<Answer> fast = {};
  std::optional<Answer> slow = {};
  std::vector<Answer> drawn = {};

  // Of an iteration or a collective, with its 90 % interval.
  TimeRange time() const;
};

// What a nominal simulation leaves beside its answer; empty: nothing.
struct AskFiles {
  std::string trace = {};   // Chrome trace, of training the last iteration
  std::string record = {};  // the program of a training question, for `forescale replay`
};

// InputError for a question of which a program would lack something: the state of links, how
// messages vary, other jobs.
void refuse_to_record(const Question& question, const std::string& file);

struct AskSettings {
  std::string label;  // "simulating ...": of the line that shows progress
  Draws draws = Draws::kNominal;
  // A simulation that fails leaves its reason in its answer; else ask() throws what it threw.
  bool keep_failures = false;
  Engines engines = Engines::kSimulator;  // of collectives
  double cpu_limit_s = 0;                 // a simulation that takes longer fails; 0: none does
  // Of the question of this index; the others leave nothing.
  std::optional<size_t> files_of = {};
  AskFiles files = {};
};

// For how many to simulate what has not settled in so many iterations of so many messages together;
// 0: no longer.
int iterations_to_settle(int so_far, std::uint64_t messages);

class Asker {
 public:
  Asker() = default;
  // Of machines that the questions do not name: collectives on `machines`, by Draws::scenarios(),
  // the nominal one at least, which outlive this.
  explicit Asker(const std::vector<QuestionMachine>& machines) : given_(&machines) {}

  // Answers in the order of the questions, each of which has one GPU count (training), or ranks and
  // bytes (collectives). Throws what a simulation throws (InputError, SimulationStuck,
  // CheckFailed), that of the first by order, unless failures are kept.
  std::vector<RangedAnswer> ask(const std::vector<Question>& questions, AskSettings settings);
  // The same for questions in one scenario each; `settings.draws` is not looked at.
  std::vector<Answer> ask_each(const std::vector<Question>& questions,
                               const std::vector<Scenario>& scenarios, const AskSettings& settings);

  // What a question says beside its GPU counts, ranks and bytes; read once. InputError.
  const PredictionInputs& inputs(const Question& question, const Scenario& scenario = {});
  const QuestionMachine& machine(const Question& question, const Scenario& scenario = {});

 private:
  struct Task {
    Question question;
    Scenario scenario;
    Engines engines;
    bool leaves_files = false;
    int iterations = 0;  // 0: as many as the question says
    std::string key() const;
  };
  // With a throughput of several GPUs as that of one which makes these GPUs as fast: what else an
  // iteration takes on them is simulated. InputError naming --throughput where that is longer.
  Question on_one_gpu(const Question& question);
  MeasuredThroughput one_gpu_throughput(Question question);
  void read_what_is_shared(const std::vector<Task>& tasks, bool keep_failures);
  std::string simulated(const Task& task, const AskSettings& settings);
  void simulate(const std::vector<Task>& tasks, const AskSettings& settings);
  void take(const Task& task, const std::string& text);
  // From another point of the same sweep. False: it was not simulated there.
  bool take_known(const Task& task);
  // Of those simulated, what has not settled and was not said to end: for twice as many iterations.
  std::vector<Task> unsettled(const std::vector<Task>& tasks);

  const std::vector<QuestionMachine>* given_ = nullptr;
  std::map<std::string, std::unique_ptr<PredictionInputs>> inputs_;
  std::map<std::string, std::unique_ptr<QuestionMachine>> machines_;
  std::map<std::string, MeasuredThroughput> of_one_gpu_;
  std::map<std::string, Answer> answers_;
  std::map<std::string, std::string> texts_;  // of those being asked, for KnownAnswers
  std::set<std::string> given_up_;            // did not settle in the memory that there was
};

}  // namespace forescale
