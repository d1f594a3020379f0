#include "cli/catalogue/platform_new.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "cli/catalogue/platform_import.hpp"
#include "topologies/import/known_hardware.hpp"
#include "topologies/import/new_platform.hpp"

namespace forescale {
namespace {

struct PlatformNewOptions {
  PlatformAnswers answers;
  int adapters = 0;
  std::string out;
};

// Asks on the terminal until the answer is taken; empty: what stands in brackets.
class Questions {
 public:
  std::string ask(const std::string& question, const std::string& usual,
                  const std::function<void(const std::string&)>& take) {
    for (;;) {
      fmt::print(stderr, "{}{}: ", question, usual.empty() ? "" : " [" + usual + "]");
      std::string answer;
      if (!std::getline(std::cin, answer)) refuse("platform new", "", "was given no answer");
      if (answer.empty()) answer = usual;
      try {
        take(answer);
        return answer;
      } catch (const InputError& error) {
        fmt::print(stderr, "  {}\n", error.what());
      }
    }
  }

  void ask_number(const std::string& question, const std::string& usual, int low, int high,
                  int& number) {
    ask(question, usual, [&](const std::string& answer) {
      const std::int64_t value = parse_integer(answer, question);
      if (value < low || value > high)
        refuse(question, answer, fmt::format("must be {} to {}", low, high));
      number = static_cast<int>(value);
    });
  }
};

// What the options leave open.
void ask_the_rest(PlatformNewOptions& options, bool has_adapters) {
  constexpr const char* kGpuFiles = "models/hardware/gpus";
  constexpr int kCountMax = 64;
  constexpr int kNodesMax = 1 << 16;
  PlatformChoices& choices = options.answers.choices;
  Questions questions;
  if (choices.gpu.empty())
    questions.ask(fmt::format("GPU ({})", fmt::join(catalogue(kGpuFiles), ", ")), "h100",
                  [&](const std::string& answer) {
                    find_data_file(kGpuFiles, answer, "GPU");
                    choices.gpu = answer;
                  });
  const auto reference = reference_of_gpu(choices.gpu);
  if (options.answers.gpus == 0)
    questions.ask_number("GPUs a node", "8", 1, kCountMax, options.answers.gpus);
  if (choices.nvlink.empty() && nvlinks_of_gpu(choices.gpu))
    questions.ask("Joined by NVSwitches, or PCIe alone (nvswitch, none)",
                  reference && reference->has_nvswitch ? "nvswitch" : "none",
                  [&](const std::string& answer) {
                    if (answer != "nvswitch" && answer != "none")
                      refuse("answer", answer, "must be nvswitch or none");
                    choices.nvlink = answer;
                  });
  if (!has_adapters) {
    questions.ask_number("Network adapters a node",
                         std::to_string(usual_adapters(choices.gpu, options.answers.gpus)), 0,
                         kCountMax, options.adapters);
    options.answers.adapters = options.adapters;
  }
  if (choices.link.empty())
    questions.ask("Adapter (ndr, hdr, edr, roce-200g, ethernet-10g, ...)",
                  reference ? reference->adapter_link : "", [&](const std::string& answer) {
                    find_data_file("models/hardware/links", answer, "adapter");
                    choices.link = answer;
                  });
  if (choices.nodes == 0) questions.ask_number("Nodes", "4", 1, kNodesMax, choices.nodes);
  if (choices.levels == 0 && choices.oversubscription == 0)
    questions.ask_number("Levels of switches (1: one switch that never limits)", "1", 1, 3,
                         choices.levels);
  if (choices.levels > 1 && choices.oversubscription == 0) {
    int over = 1;
    questions.ask_number("Oversubscription of the leaves (1: none)", "1", 1, kCountMax, over);
    choices.oversubscription = over;
  }
}

void make_new(PlatformNewOptions& options, bool has_adapters) {
  check_writable(options.out, "-o");
  check_platform_choices(options.answers.choices);
  if (has_adapters) options.answers.adapters = options.adapters;
  if (isatty(STDIN_FILENO) == 1) ask_the_rest(options, has_adapters);
  options.answers.choices.name = name_of_platform(options.answers.choices, options.out);
  put_platform(new_platform(options.answers), options.out);
}

}  // namespace

void add_platform_new(Subcommand platform) {
  auto options = std::make_shared<PlatformNewOptions>();
  Subcommand verb = platform.add_subcommand("new", "A platform file from a few answers or options");
  verb.footer(
      "On a terminal it asks for what no option says; elsewhere --gpu, --gpus and --nodes are\n"
      "needed, and the rest is as in the preset with the GPU (the file lists it under\n"
      "\"assumptions\").\n"
      "Examples:\n"
      "  forescale platform new -o mine.json\n"
      "  forescale platform new --gpu h100 --gpus 8 --nodes 64 -o mine.json\n"
      "  forescale platform new --gpu a100 --gpus 4 --nvlink none --adapters 2 --link hdr --nodes "
      "16\n"
      "  forescale platform new --gpu b200 --gpus 8 --nodes 128 --levels 2 --oversubscription 2");
  verb.add_option("--gpus", options->answers.gpus, "GPUs of a node");
  verb.add_option("--adapters", options->adapters, "Network adapters of a node");
  verb.add_option("-o,--out", options->out, "Write the platform here; else it is printed");
  add_platform_choices(verb, options->answers.choices);
  verb.callback([options, verb] { make_new(*options, verb.count("--adapters") > 0); });
}

}  // namespace forescale
