// The program: all subcommands under one command line. Exit codes: 0 answer, 1 standard output
// cannot be written, 2 bad input or usage, 3 the simulation could not finish, 4 a check failed.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/version.hpp"

namespace forescale {
namespace {

constexpr int kNotWritten = 1;  // or anything else that should not be
constexpr int kBadInput = 2;
constexpr int kStuck = 3;
constexpr int kCheckFailed = 4;

// "did you mean --chain-size?" for a word that nothing expects.
std::string suggestion(const UsageError& error) {
  const std::string near = nearest(error.unknown.substr(0, error.unknown.find('=')), error.known);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

// A misspelt word hides behind the "is required" that it causes.
void print(const UsageError& error) {
  if (error.unknown.empty())
    fmt::print(stderr, "forescale: {}\n", error.message);
  else
    fmt::print(stderr, "forescale: {} is not expected here{}\n", error.unknown, suggestion(error));
  fmt::print(stderr, "Try: forescale");
  for (const std::string& subcommand : error.subcommands) fmt::print(stderr, " {}", subcommand);
  fmt::print(stderr, " --help\n");
}

// What is still in the buffer may not fit; an answer that nobody got is none.
void finish_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output cannot be written");
}

// Options of one command are a twentieth of all: the others are there only for who asks for them.
void add_commands(Subcommand app, const std::string& first_word) {
  const auto& all = Registry<Command>::all();
  const auto named = all.find(first_word);
  if (named != all.end() && !named->second.knows_all) return named->second.add(app);
  for (const auto& [name, command] : all) command.add(app);
}

// Answers repeat their question in JSON, which is UTF-8.
void check_text(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (!is_utf8(arguments[i]))
      refuse(fmt::format("argument {}", i), as_utf8(arguments[i]), "must be UTF-8");
}

int run_program(int count, char** arguments) {
  const std::string first_word = count > 1 ? arguments[1] : "";
  const std::string version = fmt::format("forescale {}", kVersion);
  if (first_word == "--version") {  // needs no command
    fmt::print("{}\n", version);
    return 0;
  }
  CommandParser parser(
      "forescale predicts how distributed DNN training scales before the nodes are bought.");
  Subcommand app = parser.root();
  app.footer(
      "Examples:\n"
      "  forescale predict --platform kesch --gpus 1..160 --model googlenet --batch 1024 \\\n"
      "                    --system s-caffe-obr-hr\n"
      "  forescale collective --platform kesch --stack mvapich2-gdr --op reduce --ranks 160 \\\n"
      "                    --bytes 4MiB..256MiB\n"
      "  forescale platform show kesch\n"
      "Exit codes: 0 answer, 1 output cannot be written, 2 bad input, 3 the simulation could not\n"
      "finish, 4 a check failed.");
  parser.set_version(version);
  app.require_subcommand();
  add_commands(app, first_word);
  check_text(count, arguments);
  const std::optional<UsageError> error = parser.parse(count, arguments);
  if (error) print(*error);
  return error ? kBadInput : 0;
}

}  // namespace

int forescale_main(int count, char** arguments) {
  int exit_code = kNotWritten;
  try {
    const int answered = run_program(count, arguments);
    finish_output();
    return answered;
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
