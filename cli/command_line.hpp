// The words of a command line: subcommands, their options and what these accept. The one face of
// CLI11, which costs a second or two in every file that includes it, so that only
// command_line.cpp does. Subcommand and CommandOption are handles, copied freely; the CommandParser
// that they come from owns what they refer to and outlives them. Names are CLI11's where it does
// the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace forescale {

class CommandOption {
 public:
  explicit CommandOption(CLI::Option& option) : option_(&option) {}

  CommandOption required();
  CommandOption needs(CommandOption other);
  CommandOption excludes(CommandOption other);
  CommandOption expected(int count);
  CommandOption expected(int min, int max);
  CommandOption allow_extra_args(bool allowed);  // false: a value each time it is given, no more
  CommandOption delimiter(char between_values);
  CommandOption capture_default_str();  // --help shows the variable's value of now

  // What a value may be.
  CommandOption one_of(const std::vector<std::string>& words);
  CommandOption in_range(int min, int max);
  CommandOption in_range(double min, double max);
  CommandOption positive();
  CommandOption non_negative();

  std::vector<std::string> long_names() const;  // "chain-size"
  std::vector<std::string> short_names() const;
  std::string summary() const;             // what --help says
  std::vector<std::string> words() const;  // of one_of()
  bool is_flag() const;
  bool is_repeatable() const;
  std::string text() const;  // as typed
  // What is wrong with these values, empty: nothing; the option is as if not given afterwards.
  std::string complaint_about(const std::vector<std::string>& values);

 private:
  CLI::Option* option_;
};

class Subcommand {
 public:
  explicit Subcommand(CLI::App& app) : app_(&app) {}

  Subcommand add_subcommand(const std::string& name, const std::string& summary = "");
  Subcommand get_subcommand(const std::string& name) const;
  std::vector<Subcommand> subcommands() const;  // that --help shows
  std::string name() const;                     // empty: the program
  std::string summary() const;
  void hide();  // from --help
  void footer(const std::string& text);
  void require_subcommand();
  void callback(const std::function<void()>& action);     // when the whole line has been parsed
  void when_parsed(const std::function<void()>& action);  // before any callback

  // `names`: "-o,--output", or "study" for a positional one. The variable outlives the parser and
  // is a string, int, 64-bit integer, double or a vector of one of them.
  template <typename T>
  CommandOption add_option(const std::string& names, T& variable, const std::string& help);
  // "--range,!--no-range": the latter says false.
  CommandOption add_flag(const std::string& names, bool& variable, const std::string& help);
  void remove_option(const std::string& name);

  CommandOption get_option(const std::string& name) const;
  std::vector<CommandOption> options() const;
  std::size_t count(const std::string& option) const;  // how often the line gave it
  bool has_chosen_subcommand() const;
  // What was typed, as a shell reads it again: "forescale replay run.jsonl --platform kesch";
  // without
  // --json and --csv, in the order of the options.
  std::string line() const;

 private:
  CLI::App* app_;
};

// What is wrong with a line.
struct UsageError {
  std::string message;
  std::vector<std::string> subcommands;  // that the line named, outermost first
  std::string unknown;                   // the first word that nothing expects; often empty
  std::vector<std::string> known;        // options and subcommands that could stand there instead
};

class CommandParser {
 public:
  explicit CommandParser(const std::string& summary);
  ~CommandParser();
  CommandParser(const CommandParser&) = delete;
  CommandParser& operator=(const CommandParser&) = delete;

  Subcommand root();
  void set_version(const std::string& text);  // what --version prints

  // Runs the callbacks of the subcommands that the line names, or prints help or the version.
  std::optional<UsageError> parse(int count, const char* const* arguments);
  std::optional<UsageError> parse(const std::vector<std::string>& arguments);  // without program

 private:
  std::optional<UsageError> outcome_of(const std::function<void()>& parse);

  std::unique_ptr<CLI::App> app_;
};

}  // namespace forescale
