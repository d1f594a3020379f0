#include "cli/sweep/sweep_commands.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/command_line.hpp"

namespace forescale {
namespace {

// Ways to show or keep an answer, which is the sweep's business.
constexpr const char* kOutputOptions[] = {"help", "json", "csv", "sources", "trace", "record"};

// Thrown when a line has been found good, before the command does its work: its callback, which
// owns the variables behind its options, cannot be taken away.
struct Parsed {};

// The command on a command line of its own, which parses and does nothing.
class ParsedCommand : public CommandLine {
 public:
  explicit ParsedCommand(const std::string& name) : command_(command_of(name, parser_.root())) {
    command_.when_parsed([] { throw Parsed(); });
  }

  std::vector<std::string> options() const override {
    std::vector<std::string> names;
    for (const CommandOption& option : command_.options())
      for (const std::string& name : option.long_names())
        if (std::find(std::begin(kOutputOptions), std::end(kOutputOptions), name) ==
            std::end(kOutputOptions))
          names.push_back(name);
    return names;
  }

  bool is_flag(const std::string& option) const override { return option_of(option).is_flag(); }
  bool is_repeatable(const std::string& option) const override {
    return option_of(option).is_repeatable();
  }

  std::string complaint_about(const std::string& option,
                              const std::vector<std::string>& values) const override {
    return option_of(option).complaint_about(values);
  }

  std::string complaint_about_line(const std::vector<std::string>& arguments) const override {
    try {
      if (const std::optional<UsageError> error = parser_.parse(arguments)) return error->message;
    } catch (const Parsed&) {
      return "";
    }
    FORESCALE_CHECK(false, "a study's line has no command");
  }

 private:
  static Subcommand command_of(const std::string& name, Subcommand root) {
    Registry<Command>::find(name, "command").add(root);
    return root.get_subcommand(name);
  }
  CommandOption option_of(const std::string& name) const {
    return command_.get_option("--" + name);
  }

  mutable CommandParser parser_{""};
  Subcommand command_;
};

}  // namespace

CommandLines sweep_commands() {
  CommandLines commands;
  for (const char* name : {"collective", "crossover", "predict"})
    commands.emplace(name, std::make_unique<ParsedCommand>(name));
  return commands;
}

}  // namespace forescale
