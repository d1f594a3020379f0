// A question: one typed value that says all that an answer depends on, whoever asks.
//
// The table question_fields() is the only list of what a question consists of. The command line,
// claims files, the JSON echo, the key of an answer and the command that repeats it are folds over
// it: a field that is added there is known to all of them.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "models/compute/framework.hpp"
#include "models/compute/gpu_kernel.hpp"
#include "models/compute/measured_throughput.hpp"
#include "sim/limits.hpp"

namespace forescale {

enum class Scaling { kStrong, kWeak };

struct Question {
  // How long a training iteration takes, or one collective.
  enum class About { kTraining, kCollective };
  About about = About::kTraining;

  std::string platform = {};   // preset, JSON file or generator
  std::string placement = {};  // of ranks on slots; empty: the platform's own
  std::string stack = {};      // empty: the system's, or `ideal` on a generated platform

  // Of training. GPU counts: none are 1, 2, 4, ... up to all.
  std::string model = {};
  std::string input_shape = {};  // "3x227x227", of a file that leaves it open
  std::int64_t sequence = 0;     // tokens, of a transformer; 0: what its file says
  std::string layout = {};       // of a transformer over GPUs (algorithms/layout/layout.hpp)
  std::string system = {};
  std::string schedule = {};  // empty: the system's
  std::map<std::string, std::string> options =
      {};                                         // of the schedule: "fusion_threshold" -> "64MiB"
  std::map<std::string, std::string> plans = {};  // by operation, in place of the stack's choice
  std::vector<std::int64_t> gpus = {};
  std::int64_t batch = 0;  // images an iteration: of all GPUs (strong) or of each GPU (weak)
  Scaling scaling = Scaling::kStrong;
  std::int64_t epoch_images = 1281167;      // ILSVRC 2012's training set
  std::optional<Framework> framework = {};  // whose compute times count; none: the system's
  std::string gpu_model = {};               // a file of `calibrate fit`; empty: the platform's GPU
  std::optional<Precision> precision = {};  // what frameworks take where nothing is said
  std::optional<MemoryFormat> memory_format = {};
  Fusion fusion = Fusion::kNone;                      // of layers into the kernels before them
  bool cuda_graphs = false;                           // kernels are not asked for one by one
  std::optional<MeasuredThroughput> throughput = {};  // of one GPU
  std::string data = {};        // source of training images; empty: the system's, or synthetic
  std::string noise = {};       // parse_noise()
  std::string stragglers = {};  // "3:1.5"
  std::string failures = {};    // parse_failures()
  std::string beside = {};      // parse_other_jobs()
  int iterations = 0;           // to simulate; 0: what the schedule needs
  double compute_scale = 1;     // of the compute times: a framework's own single-GPU speed
  double bytes_scale = 1;       // of the values of every tensor; compute times stay as they are
  std::string progress = {};    // "thread", "inside-calls"; empty: as the stack says

  // Of a collective. Rank counts: none are all ranks; to be simulated, a question has one at most,
  // and one size.
  std::string plan = {};  // "reduce": as the stack chooses; "reduce/cb:chain_size=8": this one
  std::vector<std::int64_t> ranks = {};  // on the platform's first slots
  std::string split = {};                // of those, into groups that call at once: "mod8", "div8"
  // Instead of both: a rank on each of these, groups that call at once.
  std::vector<std::vector<std::int64_t>> slots = {};
  std::vector<std::int64_t> bytes = {};
  int root = 0;                   // rank
  bool explicit_staging = false;  // every segment of staged copies is simulated

  // Of both: whether no rank stands for others, and how large a simulation may become.
  bool whole = false;
  SimulationLimits limits = {};

  // Hardware as it is not: factors on the bandwidth of links between nodes, and on single numbers
  // of the input files, by "FILE:/json/pointer".
  double network_scale = 1;
  std::map<std::string, std::string> links = {};  // topologies/link_faults.hpp
  std::map<std::string, double> number_scales = {};
  std::string message_noise = {};  // parse_message_noise()

  bool operator==(const Question&) const = default;
};

struct QuestionField {
  // Given once, "NAME=VALUE" each time, or a word alone.
  enum Repeats { kOnce, kRepeats, kFlag };

  std::string name = {};    // in JSON, and with dashes on the command line: "input_shape"
  std::string option = {};  // on the command line: "--input-shape"
  bool of_training = true;
  bool of_collectives = false;
  Repeats repeats = kOnce;
  std::string doc = {};  // one line, with unit and default
  // InputError naming `source` for a text that cannot be. Of a field that repeats, what has a name
  // that was there before replaces it.
  void (*parse)(Question& question, const std::string& text, const std::string& source) = nullptr;
  // Texts that parse() reads back, one for each time that it has to be given; none: the default.
  std::vector<std::string> (*print)(const Question& question) = nullptr;

  bool is_of(Question::About about) const {
    return about == Question::About::kTraining ? of_training : of_collectives;
  }
};

const std::vector<QuestionField>& question_fields();
// A field by its name; a bug where there is none.
const QuestionField& question_field(const std::string& name);

// What is not at its default, by field.
std::map<std::string, std::vector<std::string>> given_fields(const Question& question);

// {"platform": "kesch", "batch": "256", "options": ["staleness=1"], ...}: what is not at its
// default.
nlohmann::json to_json(const Question& question);
// The fields of its kind that `in`, an object, holds replace those of `question`: texts as on the
// command line or numbers; of a field that repeats an object {NAME: VALUE} or an array of texts.
// Members of `others` are left alone. InputError naming file, path, value and constraint.
void read_question(const JsonInput& in, Question& question,
                   const std::vector<std::string>& others = {});

// Equal for equal questions alone.
std::string key_of(const Question& question);

// What repeats the answer: "forescale predict --platform kesch ...".
std::string command_of(const Question& question);

}  // namespace forescale
