// `forescale report`: results as one page to look at, print and send.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
  TimelineLimits limits;
  std::string line;  // as typed
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

// "2 predictions, 1 timeline", in the order of the files.
std::string kinds_of(const nlohmann::json& document) {
  std::vector<std::pair<std::string, size_t>> counts;
  for (const auto& file : document["files"]) {
    const std::string kind = file["kind"];
    const auto known = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& count) { return count.first == kind; });
    if (known == counts.end())
      counts.emplace_back(kind, 1);
    else
      ++known->second;
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts) parts.push_back(count_of(count, kind));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void run(const ReportOptions& options) {
  check_output(options);
  const std::vector<ReportView> views = report_views();
  nlohmann::json document = read_report_inputs(options.files, views, options.limits);
  document["title"] = options.title;
  document["command"] = options.line;
  document["generator"] = fmt::format("forescale {}", kVersion);
  for (const std::string note : document["notes"]) fmt::print(stderr, "forescale: {}\n", note);
  const std::string page = report_page(document, views);
  write_file(options.output, page, "--output");
  fmt::print("written: {} ({:.1f} MB: {}); open it in a browser\n", options.output,
             static_cast<double>(page.size()) / 1e6, kinds_of(document));
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
      "  forescale compare --platform ri2,owens ... -o compared.json; forescale report "
      "compared.json\n"
      "  forescale tune collective ... --json > tuned.json; forescale report tuned.json\n"
      "A RESULT is what one of these printed with --json or wrote with -o: predict (with --layout\n"
      "too), compare, collective, crossover, sweep and merge, tune (collective, schedule, "
      "layout),\n"
      "replay, validate, calibrate fit, execute (collective, schedule); or a Chrome trace, as\n"
      "--trace writes it. Several predictions are drawn over each other. The page needs nothing\n"
      "but a browser (a timeline: Chromium 80, Firefox 113, Safari 16.4 or later); what it says\n"
      "of inputs is text, whatever they contain.");
  command.add_option("RESULT", options->files, "JSON files of results and timelines").required();
  command.add_option("-o,--output", options->output, "File to write (default: report.html)");
  command.add_option("--title", options->title, "Heading of the page (default: the result's)");
  command
      .add_option("--spans-max", options->limits.spans_max,
                  "Spans of a timeline that are kept apart (default: a million); of more, the\n"
                  "shortest are drawn as one with their neighbours, and the page says so")
      .positive();
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kReportRegistered = Registry<Command>::add({.name = "report", .add = add_report});

}  // namespace
}  // namespace forescale
