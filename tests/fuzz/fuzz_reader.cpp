// A fuzz target for every reader of what users write: fuzz_reader READER [LIBFUZZER'S ARGUMENTS].
// Without arguments it lists them, with the folders of their seeds.
//
// A text is read, and what it says is asked for once; or it is refused by InputError. All else is a
// finding: another exception, a failed check, what a sanitizer sees, more than 10 s or 2 GB.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/layout/layout.hpp"
#include "algorithms/layout/pipeline.hpp"
#include "algorithms/layout/pipeline_file.hpp"
#include "algorithms/plan_choice.hpp"
#include "algorithms/system.hpp"
#include "base/error.hpp"
#include "base/noise_text.hpp"
#include "base/scratch_folder.hpp"
#include "base/units.hpp"
#include "calibrate/import/import_log.hpp"
#include "calibrate/import/import_profiler.hpp"
#include "calibrate/measure/measurement.hpp"
#include "models/compute/fitted_gpu.hpp"
#include "models/compute/measured_throughput.hpp"
#include "models/failures.hpp"
#include "models/nccl_log.hpp"
#include "models/stack.hpp"
#include "models/storage.hpp"
#include "models/workload/caffe/import_caffe.hpp"
#include "models/workload/transformer/decoder.hpp"
#include "sim/ask/question.hpp"
#include "sim/run/compute_noise.hpp"
#include "sim/run/other_jobs.hpp"
#include "studies/settings/openmpi_rules.hpp"
#include "studies/settings/settings_mpich.hpp"
#include "studies/sweep/sweep_study.hpp"
#include "studies/validate/claims.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "topologies/import/platform_format.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr const char* kSource = "fuzzed";

// A text, and a file that holds it.
struct FuzzedInput {
  std::string text;
  std::string file;
};

void ask(const Platform& platform) {
  const int last = std::min(platform.slot_count(), 4);
  for (int from = 0; from < last; ++from)
    for (int to = 0; to < last; ++to) {
      if (from == to) continue;
      const Route route = platform.route(platform.endpoints[static_cast<size_t>(from)],
                                         platform.endpoints[static_cast<size_t>(to)]);
      FORESCALE_CHECK(std::isfinite(route.latency.value) && route.latency.value >= 0,
                      "a way takes no time that is one");
      for (const Capacity capacity : route.capacities)
        FORESCALE_CHECK(platform.bandwidth(capacity).value > 0, "a way has no bandwidth");
    }
}

void ask(const Network& network) {
  const std::string written = to_json(network).dump();
  const Network again = read_network(JsonInput::from_text(written, "written.json"));
  FORESCALE_CHECK(to_json(again).dump() == written, "a network is read as another one");
  FORESCALE_CHECK(std::isfinite(network.forward_flops()), "operations are no number");
}

void read_layout(const std::string& text) {
  const Layout layout = parse_layout(text, kSource);
  FORESCALE_CHECK(parse_layout(to_text(layout), kSource) == layout,
                  "a layout is read as another one than was written");
  for (const std::int64_t gpus : {1, 8, 64}) {
    try {
      const Layout whole = resolved(layout, gpus, kSource);
      const RankGrid grid(whole, kSource);
      FORESCALE_CHECK(grid.ranks() == gpus, "a layout has another number of ranks");
      for (std::int64_t rank = 0; rank < gpus; ++rank)
        FORESCALE_CHECK(grid.rank_at(grid.place_of(rank)) == rank, "a rank is at another's place");
    } catch (const InputError&) {  // of that count
    }
  }
}

void read_pipeline(const std::string& file) {
  const PipelineShape shape{.ranks = 2, .stages_a_rank = 2, .micro_batches = 4};
  const PipelineSchedule schedule = read_pipeline_file(file, shape, kSource);
  try {
    pipeline_times(schedule, shape, std::vector<StageCost>(4, {.forward_s = 1, .backward_s = 2}),
                   0.5);
  } catch (const SimulationStuck&) {  // orders that wait for each other
  }
}

// Takes every option that a study may name.
class AnyLine : public CommandLine {
 public:
  std::vector<std::string> options() const override {
    return {"platform", "op", "ranks", "bytes", "stack", "link", "no-range"};
  }
  bool is_flag(const std::string& option) const override { return option == "no-range"; }
  bool is_repeatable(const std::string& option) const override { return option == "link"; }
  std::string complaint_about(const std::string& /*option*/,
                              const std::vector<std::string>& /*values*/) const override {
    return "";
  }
  std::string complaint_about_line(const std::vector<std::string>& /*words*/) const override {
    return "";
  }
};

void read_study(const std::string& file) {
  static const CommandLines kCommands = [] {
    CommandLines commands;
    for (const char* name : {"collective", "predict"}) commands[name] = std::make_unique<AnyLine>();
    return commands;
  }();
  load_study(file, kCommands);
}

// The first word says what the rest is.
void read_option(const std::string& text) {
  using Parse = std::function<void(const std::string&)>;
  static const std::map<std::string, Parse> kParsers = {
      {"plan", [](const std::string& value) { parse_plan(value, kSource); }},
      {"noise", [](const std::string& value) { parse_noise_text(value, kSource); }},
      {"straggler", [](const std::string& value) { parse_noise("", value); }},
      {"failures", [](const std::string& value) { parse_failures(value, kSource); }},
      {"link", [](const std::string& value) { parse_link_fault(value, kSource); }},
      {"beside", [](const std::string& value) { parse_other_jobs(value, kSource); }},
      {"throughput", [](const std::string& value) { parse_throughput(value, kSource); }},
      {"bytes", [](const std::string& value) { parse_byte_list(value, kSource); }},
      {"counts", [](const std::string& value) { parse_integers(value, kSource); }},
      {"seconds", [](const std::string& value) { parse_seconds(value, kSource); }},
      {"bandwidth", [](const std::string& value) { parse_bandwidth(value, kSource); }},
      {"data", [](const std::string& value) { load_data_source(value); }}};
  const size_t space = std::min(text.find(' '), text.size());
  const auto parser = kParsers.find(text.substr(0, space));
  if (parser != kParsers.end()) parser->second(text.substr(std::min(space + 1, text.size())));
}

void read_question_text(const std::string& text) {
  Question question;
  read_question(JsonInput::from_text(text, kSource), question);
  const std::string written = to_json(question).dump();
  Question again;
  read_question(JsonInput::from_text(written, "written.json"), again);
  FORESCALE_CHECK(again == question, "a question is read as another one than was written");
}

struct Reader {
  const char* name;
  std::vector<const char*> seeds;  // folders of the tree
  void (*read)(const FuzzedInput& input);
};

const std::vector<Reader>& readers() {
  static const std::vector<Reader> kReaders = {
      {"platform",
       {"topologies/presets"},
       [](const FuzzedInput& input) { ask(load_platform(input.file)); }},
      {"generator",
       {"tests/fuzz/seeds/generator"},
       [](const FuzzedInput& input) { ask(load_platform(input.text)); }},
      {"topology",
       {"tests/topologies/data"},
       [](const FuzzedInput& input) {
         const std::string made = import_platform({input.file}, {.name = kSource,
                                                                 .gpu = "h100-sxm",
                                                                 .cpu = "xeon-8480c",
                                                                 .link = "infiniband-ndr",
                                                                 .pcie = "pcie5-x16",
                                                                 .nvlink = "nvswitch",
                                                                 .nodes = 2,
                                                                 .levels = 2,
                                                                 .oversubscription = 1,
                                                                 .radix = 64});
         ask(read_platform(made, kSource));
       }},
      {"stack", {"models/stacks"}, [](const FuzzedInput& input) { load_stack(input.file); }},
      {"network",
       {"models/workload/zoo"},
       [](const FuzzedInput& input) { ask(load_network(input.file, kSource)); }},
      {"prototxt",
       {"tests/models/data"},
       [](const FuzzedInput& input) { ask(import_caffe_text(input.text, kSource)); }},
      {"transformer",
       {"models/workload/transformers"},
       [](const FuzzedInput& input) {
         const Transformer model = read_transformer(JsonInput::from_text(input.text, kSource));
         infer_network(decoder(model, 128, kSource));
       }},
      {"gpu",
       {"models/hardware/gpu_models"},
       [](const FuzzedInput& input) { read_fitted_gpu(input.file, nullptr); }},
      {"system",
       {"algorithms/systems"},
       [](const FuzzedInput& input) { load_system(input.file, kSource); }},
      {"claims", {"studies/claims"}, [](const FuzzedInput& input) { load_claims(input.file); }},
      {"study",
       {"tests/fuzz/seeds/study"},
       [](const FuzzedInput& input) { read_study(input.file); }},
      {"question",
       {"tests/fuzz/seeds/question"},
       [](const FuzzedInput& input) { read_question_text(input.text); }},
      {"option",
       {"tests/fuzz/seeds/option"},
       [](const FuzzedInput& input) { read_option(input.text); }},
      {"layout",
       {"tests/fuzz/seeds/layout"},
       [](const FuzzedInput& input) { read_layout(input.text); }},
      {"pipeline",
       {"tests/fuzz/seeds/pipeline"},
       [](const FuzzedInput& input) { read_pipeline(input.file); }},
      {"openmpi-rules",
       {"tests/fuzz/seeds/openmpi-rules"},
       [](const FuzzedInput& input) { read_openmpi_rules(input.text, kSource); }},
      {"mpich-tree",
       {"tests/fuzz/seeds/mpich-tree"},
       [](const FuzzedInput& input) { read_mpich_tree(input.text, kSource); }},
      {"nccl-log",
       {"tests/fuzz/seeds/nccl-log"},
       [](const FuzzedInput& input) { remarks(read_nccl_log(input.text, kSource)); }},
      {"log",
       {"tests/calibrate/data"},
       [](const FuzzedInput& input) {
         import_log_text(input.text, kSource, "auto", {.ranks = 4, .op = "", .partial = true});
       }},
      {"profiler",
       {"tests/fuzz/seeds/kineto"},
       [](const FuzzedInput& input) { import_profiler_trace(input.file); }},
      {"measurement",
       {"tests/fuzz/seeds/measurement"},
       [](const FuzzedInput& input) { read_measurement_text(input.text, kSource); }},
  };
  return kReaders;
}

class ReaderTarget {
 public:
  explicit ReaderTarget(const Reader& reader) : reader_(reader) {}

  void run(const std::string& text) const {
    const std::string file =
        folder_.file(std::string(reader_.name) == "pipeline" ? "fuzzed.csv" : "fuzzed.json");
    std::ofstream(file, std::ios::binary) << text;
    try {
      reader_.read({.text = text, .file = file});
    } catch (const InputError&) {
    }
  }

 private:
  const Reader& reader_;
  ScratchFolder folder_{"fuzz"};
};

std::unique_ptr<ReaderTarget>& reader_target() {
  static std::unique_ptr<ReaderTarget> only;
  return only;
}

}  // namespace
}  // namespace forescale

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  using forescale::readers;
  const std::string wanted = *argc < 2 ? "" : (*argv)[1];
  for (const forescale::Reader& reader : readers()) {
    if (reader.name == wanted)
      forescale::reader_target() = std::make_unique<forescale::ReaderTarget>(reader);
    if (wanted.empty()) {
      std::fputs(reader.name, stdout);
      for (const char* folder : reader.seeds) std::printf(" %s", folder);
      std::puts("");
    }
  }
  if (wanted.empty()) std::exit(0);
  if (!forescale::reader_target()) {
    std::fprintf(stderr, "no such reader: %s\n", wanted.c_str());
    std::exit(2);
  }
  forescale::leave_to_libfuzzer(*argc, *argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  forescale::reader_target()->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
