#include "cli/sweep/sweep_commands.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/command.hpp"

namespace forescale {
namespace {

// Ways to show or keep an answer, which is the sweep's business.
constexpr const char* kOutputOptions[] = {"help", "json", "csv", "sources", "trace", "record"};

// Thrown when a line has been found good, before the command does its work: its callback, which
// owns the variables behind its options, cannot be taken away.
struct Parsed {};

// The command's App on a root of its own, which parses and does nothing.
class ParsedCommand : public CommandLine {
 public:
  explicit ParsedCommand(const std::string& name) {
    Registry<Command>::find(name, "command").add(root_);
    command_ = root_.get_subcommand(name);
    command_->parse_complete_callback([] { throw Parsed(); });
  }

  std::vector<std::string> options() const override {
    std::vector<std::string> names;
    for (const CLI::Option* option : command_->get_options())
      for (const std::string& name : option->get_lnames())
        if (std::find(std::begin(kOutputOptions), std::end(kOutputOptions), name) ==
            std::end(kOutputOptions))
          names.push_back(name);
    return names;
  }

  bool is_flag(const std::string& option) const override {
    return option_of(option).get_expected_min() == 0;
  }
  bool is_repeatable(const std::string& option) const override {
    return option_of(option).get_items_expected_max() > 1;
  }

  std::string complaint_about(const std::string& option,
                              const std::vector<std::string>& values) const override {
    CLI::Option& parsed = option_of(option);
    std::string complaint;
    try {
      parsed.clear();
      parsed.add_result(values);
      parsed.run_callback();
    } catch (const CLI::ParseError& error) {
      complaint = error.what();
    }
    parsed.clear();
    return complaint;
  }

  std::string complaint_about_line(const std::vector<std::string>& arguments) const override {
    try {
      root_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const Parsed&) {
      return "";
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    FORESCALE_CHECK(false, "a study's line has no command");
  }

 private:
  CLI::Option& option_of(const std::string& name) const {
    return *command_->get_option("--" + name);
  }

  mutable CLI::App root_;
  CLI::App* command_ = nullptr;
};

}  // namespace

CommandLines sweep_commands() {
  CommandLines commands;
  for (const char* name : {"collective", "crossover", "predict"})
    commands.emplace(name, std::make_unique<ParsedCommand>(name));
  return commands;
}

}  // namespace forescale
