// `forescale report`: results as one page to look at, print and send.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "cli/command.hpp"
#include "cli/report/inputs.hpp"
#include "cli/report/page.hpp"
#include "cli/version.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

struct ReportOptions {
  std::vector<std::string> files;
  std::string output = "report.html";
  std::string title;
};

[[noreturn]] void refuse_output(const std::string& file, const std::string& constraint) {
  throw InputError({.source = "--output", .path = "", .value = file, .constraint = constraint});
}

// Before anything is written: not over an input, a folder or a device.
void check_output(const ReportOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(options.output, error);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status)) refuse_output(options.output, "is there and is no plain file");
  for (const std::string& file : options.files)
    if (fs::equivalent(file, options.output, error))
      refuse_output(options.output, "is an input of this report");
}

std::string count_of(size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Words as a shell reads them back.
std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-+=:,./@%") == std::string::npos;
  if (is_plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_line(const ReportOptions& options) {
  std::string text = "forescale report";
  for (const std::string& file : options.files) text += " " + shell_word(file);
  if (!options.title.empty()) text += " --title " + shell_word(options.title);
  return text + " -o " + shell_word(options.output);
}

void run(const ReportOptions& options) {
  check_output(options);
  nlohmann::json document = read_report_inputs(options.files);
  document["title"] = options.title;
  document["command"] = command_line(options);
  document["generator"] = fmt::format("forescale {}", kVersion);
  for (const std::string note : document["notes"]) fmt::print(stderr, "forescale: {}\n", note);
  const std::string page = report_page(document);
  write_file(options.output, page, "--output");
  std::vector<std::string> parts;
  for (const char* what : {"prediction", "validation", "tuning", "timeline"})
    if (const size_t count = document[std::string(what) + "s"].size(); count > 0)
      parts.push_back(count_of(count, what));
  fmt::print("written: {} ({:.1f} MB: {}); open it in a browser\n", options.output,
             static_cast<double>(page.size()) / 1e6, fmt::join(parts, ", "));
}

void add_report(Subcommand app) {
  auto options = std::make_shared<ReportOptions>();
  Subcommand command = app.add_subcommand(
      "report", "One page (HTML, no network) of results: curves, breakdown, timeline, sources");
  command.footer(
      "Examples:\n"
      "  forescale predict --platform kesch --gpus 16..128 --model googlenet --batch 1024 \\\n"
      "    --system s-caffe-obr-hr --trace timeline.json --json > obr.json\n"
      "  forescale report obr.json timeline.json -o report.html\n"
      "  forescale report b.json ob.json obr.json --title \"Three designs of S-Caffe\"\n"
      "A RESULT is what `predict`, `validate`, `compare` or `tune collective` printed with "
      "--json,\n"
      "or a Chrome trace. Several predictions are drawn over each other. The page needs nothing\n"
      "but a browser; what it says of inputs is text, whatever they contain.");
  command.add_option("RESULT", options->files, "JSON files of results and timelines").required();
  command.add_option("-o,--output", options->output, "File to write (default: report.html)");
  command.add_option("--title", options->title, "Heading of the page (default: the result's)");
  command.callback([options] { run(*options); });
}

const bool kReportRegistered = Registry<Command>::add({.name = "report", .add = add_report});

}  // namespace
}  // namespace forescale
