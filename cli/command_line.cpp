#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cli/text.hpp"

namespace forescale {
namespace {

// The most specific subcommand that was named.
const CLI::App& chosen(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : chosen(*subcommands.front());
}

std::vector<std::string> path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  std::vector<std::string> path = path_of(*app.get_parent());
  path.push_back(app.get_name());
  return path;
}

bool is_shown(const CLI::App* subcommand) { return !subcommand->get_group().empty(); }

std::vector<std::string> known_to(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App* subcommand : app.get_subcommands(is_shown))
    names.push_back(subcommand->get_name());
  return names;
}

// A number that can be reckoned with: "nan" and "inf" are words.
CLI::Validator number_check(const std::function<bool(double)>& is_allowed,
                            const std::string& constraint) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double value = 0;
        if (!CLI::detail::lexical_cast(text, value)) return fmt::format("{} is no number", text);
        return std::isfinite(value) && is_allowed(value) ? ""
                                                         : fmt::format("{} {}", text, constraint);
      },
      "");
}

// What a script leaves where its variable is empty.
const CLI::Validator& not_empty() {
  static const CLI::Validator check(
      [](const std::string& text) { return text.empty() ? "is empty" : ""; }, "");
  return check;
}

// An option as it was given: a flag by the name that says what it says.
std::string words_of(const CLI::Option& option) {
  const auto& names = option.get_lnames();
  if (names.empty() || option.get_positional()) {
    std::string words;
    for (const std::string& value : option.results()) words += " " + shell_word(value);
    return words;
  }
  if (option.get_expected_min() > 0) {
    const bool is_one_word = option.get_delimiter() != '\0';  // --platform ri2,owens
    const bool is_repeated = option.get_expected_min() == 1 && option.get_items_expected_max() > 1;
    std::string words = " --" + names.front() + " ";
    if (is_one_word)
      return words + shell_word(CLI::detail::join(option.results(),
                                                  std::string(1, option.get_delimiter())));
    for (size_t i = 0; i < option.results().size(); ++i)
      words += (i == 0        ? ""
                : is_repeated ? " --" + names.front() + " "
                              : " ") +
               shell_word(option.results()[i]);
    return words;
  }
  const auto& denials = option.get_fnames();
  const bool is_denied = !denials.empty() && option.results().back() == "false";
  return " --" + (is_denied ? denials.front() : names.front());
}

}  // namespace

CommandOption CommandOption::required() { return CommandOption(*option_->required()); }
CommandOption CommandOption::needs(CommandOption other) {
  return CommandOption(*option_->needs(other.option_));
}
CommandOption CommandOption::excludes(CommandOption other) {
  return CommandOption(*option_->excludes(other.option_));
}
CommandOption CommandOption::expected(int count) {
  return CommandOption(*option_->expected(count));
}
CommandOption CommandOption::expected(int min, int max) {
  return CommandOption(*option_->expected(min, max));
}
CommandOption CommandOption::allow_extra_args(bool allowed) {
  return CommandOption(*option_->allow_extra_args(allowed));
}
CommandOption CommandOption::delimiter(char between_values) {
  return CommandOption(*option_->delimiter(between_values));
}
CommandOption CommandOption::capture_default_str() {
  return CommandOption(*option_->capture_default_str());
}

CommandOption CommandOption::one_of(const std::vector<std::string>& words) {
  return CommandOption(*option_->check(CLI::IsMember(words)));
}
CommandOption CommandOption::in_range(int min, int max) {
  return in_range(static_cast<double>(min), static_cast<double>(max));
}
CommandOption CommandOption::in_range(double min, double max) {
  return CommandOption(
      *option_->check(number_check([=](double value) { return value >= min && value <= max; },
                                   fmt::format("must be from {} to {}", min, max))));
}
CommandOption CommandOption::positive() {
  return CommandOption(
      *option_->check(number_check([](double value) { return value > 0; }, "must be > 0")));
}
CommandOption CommandOption::non_negative() {
  return CommandOption(
      *option_->check(number_check([](double value) { return value >= 0; }, "must be >= 0")));
}

std::vector<std::string> CommandOption::long_names() const { return option_->get_lnames(); }
std::vector<std::string> CommandOption::short_names() const { return option_->get_snames(); }
std::string CommandOption::summary() const { return option_->get_description(); }
std::vector<std::string> CommandOption::words() const {
  const std::string type = option_->get_type_name();  // "TEXT:{nap,spin}"
  const size_t open = type.find('{');
  if (open == std::string::npos) return {};
  return CLI::detail::split(type.substr(open + 1, type.find('}') - open - 1), ',');
}
bool CommandOption::is_flag() const { return option_->get_expected_min() == 0; }
bool CommandOption::is_repeatable() const { return option_->get_items_expected_max() > 1; }
std::string CommandOption::text() const { return option_->as<std::string>(); }

std::string CommandOption::complaint_about(const std::vector<std::string>& values) {
  std::string complaint;
  try {
    option_->clear();
    option_->add_result(values);
    option_->run_callback();
  } catch (const CLI::ParseError& error) {
    complaint = error.what();
  }
  option_->clear();
  return complaint;
}

Subcommand Subcommand::add_subcommand(const std::string& name, const std::string& summary) {
  return Subcommand(*app_->add_subcommand(name, summary));
}
Subcommand Subcommand::get_subcommand(const std::string& name) const {
  return Subcommand(*app_->get_subcommand(name));
}
std::vector<Subcommand> Subcommand::subcommands() const {
  std::vector<Subcommand> shown;
  for (CLI::App* subcommand : app_->get_subcommands(is_shown)) shown.emplace_back(*subcommand);
  return shown;
}
std::string Subcommand::name() const { return app_->get_name(); }
std::string Subcommand::summary() const { return app_->get_description(); }
void Subcommand::hide() { app_->group(""); }
void Subcommand::footer(const std::string& text) { app_->footer(text); }
void Subcommand::require_subcommand() { app_->require_subcommand(1); }
void Subcommand::callback(const std::function<void()>& action) { app_->callback(action); }
void Subcommand::when_parsed(const std::function<void()>& action) {
  app_->parse_complete_callback(action);
}

template <typename T>
CommandOption Subcommand::add_option(const std::string& names, T& variable,
                                     const std::string& help) {
  CLI::Option* option = app_->add_option(names, variable, help);
  option->check(not_empty());
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::vector<double>>)
    option->check(number_check([](double) { return true; }, "must be finite"));
  return CommandOption(*option);
}
using OptionText = const std::string&;
template CommandOption Subcommand::add_option(OptionText names, std::string& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, int& variable, OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::int64_t& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::uint64_t& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, double& variable, OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::vector<std::string>& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::vector<int>& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::vector<std::int64_t>& variable,
                                              OptionText help);
template CommandOption Subcommand::add_option(OptionText names, std::vector<double>& variable,
                                              OptionText help);

CommandOption Subcommand::add_flag(const std::string& names, bool& variable,
                                   const std::string& help) {
  return CommandOption(*app_->add_flag(names, variable, help));
}
void Subcommand::remove_option(const std::string& name) {
  app_->remove_option(app_->get_option(name));
}

CommandOption Subcommand::get_option(const std::string& name) const {
  return CommandOption(*app_->get_option(name));
}
std::vector<CommandOption> Subcommand::options() const {
  std::vector<CommandOption> options;
  for (CLI::Option* option : app_->get_options()) options.emplace_back(*option);
  return options;
}
std::size_t Subcommand::count(const std::string& option) const { return app_->count(option); }
bool Subcommand::has_chosen_subcommand() const { return !app_->get_subcommands().empty(); }

std::string Subcommand::line() const {
  std::string text = "forescale";
  for (const std::string& name : path_of(*app_)) text += " " + name;
  for (const CLI::Option* option : app_->get_options()) {
    const bool is_printing = option->check_lname("json") || option->check_lname("csv");
    if (option->count() > 0 && !is_printing) text += words_of(*option);
  }
  return text;
}

CommandParser::CommandParser(const std::string& summary)
    : app_(std::make_unique<CLI::App>(summary)) {}
CommandParser::~CommandParser() = default;

Subcommand CommandParser::root() { return Subcommand(*app_); }
void CommandParser::set_version(const std::string& text) {
  app_->set_version_flag("--version", text);
}

std::optional<UsageError> CommandParser::parse(int count, const char* const* arguments) {
  return outcome_of([&] { app_->parse(count, arguments); });
}
std::optional<UsageError> CommandParser::parse(const std::vector<std::string>& arguments) {
  return outcome_of(
      [&] { app_->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); });
}

std::optional<UsageError> CommandParser::outcome_of(const std::function<void()>& parse) {
  try {
    parse();
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // help or the version
      app_->exit(error);
      return std::nullopt;
    }
    const CLI::App& command = chosen(*app_);
    const std::vector<std::string> unknown = app_->remaining(true);
    return UsageError{.message = error.what(),
                      .subcommands = path_of(command),
                      .unknown = unknown.empty() ? "" : unknown.front(),
                      .known = known_to(command)};
  }
}

}  // namespace forescale
