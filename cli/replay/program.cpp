// The program: all subcommands under one command line. Exit codes: 0 answer, 2 bad input or usage,
// 3 the simulation could not finish, 4 a check failed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/version.hpp"

namespace forescale {
namespace {

constexpr int kBadInput = 2;
constexpr int kStuck = 3;
constexpr int kCheckFailed = 4;

// The most specific subcommand that was named.
const CLI::App& chosen(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : chosen(*subcommands.front());
}

// "forescale model show".
std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? "forescale"
             : full_name(*command.get_parent()) + " " + command.get_name();
}

// "did you mean --chain-size?" for a word that nothing expects.
std::string suggestion(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App* subcommand : command.get_subcommands(nullptr))
    names.push_back(subcommand->get_name());
  const std::string near = nearest(word.substr(0, word.find('=')), names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

int run(int count, char** arguments) {
  CLI::App app(
      "forescale predicts how distributed DNN training scales before the nodes are bought.");
  app.footer(
      "Examples:\n"
      "  forescale predict --platform kesch --gpus 1..160 --model googlenet --batch 1024 \\\n"
      "                    --system s-caffe-obr-hr\n"
      "  forescale collective --platform kesch --stack mvapich2-gdr --op reduce --ranks 160 \\\n"
      "                    --bytes 4MiB..256MiB\n"
      "  forescale platform show kesch\n"
      "Exit codes: 0 answer, 2 bad input, 3 the simulation could not finish, 4 a check failed.");
  app.set_version_flag("--version", fmt::format("forescale {}", kVersion));
  app.require_subcommand(1);
  for (const auto& [name, command] : Registry<Command>::all()) command.add(app);
  try {
    app.parse(count, arguments);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    // A misspelt word hides behind the "is required" that it causes.
    const CLI::App& command = chosen(app);
    const std::vector<std::string> unknown = app.remaining(true);
    if (unknown.empty())
      fmt::print(stderr, "forescale: {}\n", error.what());
    else
      fmt::print(stderr, "forescale: {} is not expected here{}\n", unknown.front(),
                 suggestion(command, unknown.front()));
    fmt::print(stderr, "Try: {} --help\n", full_name(command));
    return kBadInput;
  }
}

}  // namespace

int forescale_main(int count, char** arguments) {
  int exit_code = 1;
  try {
    return run(count, arguments);
  } catch (const InputError& error) {
    exit_code = kBadInput;
    fmt::print(stderr, "forescale: {}\n", error.what());
  } catch (const SimulationStuck& error) {
    exit_code = kStuck;
    fmt::print(stderr, "forescale: {}\n", error.what());
  } catch (const CheckFailed& error) {
    exit_code = kCheckFailed;
    fmt::print(stderr, "forescale: {}\n", error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "forescale: {}\n", error.what());
  }
  return exit_code;
}

}  // namespace forescale
