#include "calibrate/import/import_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "calibrate/import/import_format.hpp"
#include "calibrate/import/import_profiler.hpp"

namespace forescale {
namespace {

constexpr size_t kLineBytesMax = 65536;
constexpr const char* kProfilerTrace = "pytorch-profiler";  // is read as a whole, not by lines

// "[1,0]<stdout>:" of Open MPI; "" if there is none.
std::string_view without_label(std::string_view text) {
  if (!text.starts_with('[')) return text;
  const size_t digits = text.find_first_not_of("0123456789,", 1);
  if (digits == std::string_view::npos || text[digits] != ']') return text;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"})
    if (text.substr(digits + 1).starts_with(stream)) return text.substr(digits + 1 + stream.size());
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

class LogReader {
 public:
  LogReader(std::istream& in, const ImportTarget& target) : in_(in), target_(target) {}

  // The next line; false at the end of the file.
  bool next(LogLine& line) {
    raw_.clear();
    ++line.number;
    line.is_whole = false;
    for (int c = in_.get(); c != std::istream::traits_type::eof(); c = in_.get()) {
      if (c == '\n') {
        line.is_whole = true;
        break;
      }
      take(static_cast<char>(c), line);
    }
    if (in_.bad()) target_.refuse(line, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (!line.is_whole && raw_.empty()) {
      --line.number;
      return false;
    }
    std::string_view text = raw_;
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (line.number == 1 && text.starts_with(kByteOrderMark))
      text.remove_prefix(kByteOrderMark.size());
    line.text = trimmed(without_label(trimmed(text)));
    return true;
  }

 private:
  void take(char c, LogLine& line) {
    // Colours of other programs begin with ESC; a bell harms nobody either.
    const bool is_control = (c >= 0 && c < ' ' && c != '\t' && c != '\r' && c != '\x1b' &&
                             c != '\a' && c != '\b' && c != '\f' && c != '\v') ||
                            c == '\x7f';
    if (is_control || raw_.size() == kLineBytesMax) line.text = raw_;
    if (is_control)
      target_.refuse(line, fmt::format("must be text, and holds a byte 0x{:02x}", int{c}));
    if (raw_.size() == kLineBytesMax)
      target_.refuse(line, fmt::format("is longer than {} bytes: this is no log", kLineBytesMax));
    raw_ += c;
  }

  std::istream& in_;
  const ImportTarget& target_;
  std::string raw_;
};

// What launchers and runtimes say when a program dies.
bool says_aborted(std::string_view text) {
  for (const char* words :
       {"Segmentation fault", "*** Process received signal ***", "MPI_ABORT was invoked",
        "application called MPI_Abort", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
        "exited on signal", "DUE TO TIME LIMIT", "Test NCCL failure", "Test CUDA failure",
        "DATA VALIDATION ERROR"})
    if (text.find(words) != std::string_view::npos) return true;
  return false;
}

const LogFormat* recognise(std::string_view text) {
  for (const auto& [name, format] : Registry<LogFormat>::all())
    if (format.recognises(text)) return &format;
  return nullptr;
}

void expect_same_format(const LogLine& line, const LogFormat* told, const LogFormat& format,
                        const ImportTarget& target) {
  if (told == nullptr || told == &format) return;
  target.refuse(line, fmt::format("is of {}, not of {}: one file holds the log of one tool",
                                  told->name, format.name));
}

Measurement import_stream(std::istream& in, const std::string& file, const std::string& format_name,
                          const LogImportOptions& options) {
  const LogFormat* format =
      format_name == "auto" ? nullptr : &Registry<LogFormat>::find(format_name, "--from");
  if (!options.op.empty()) parse_collective_op(options.op, "--op");
  ImportTarget target(file, options);
  LogReader reader(in, target);
  std::unique_ptr<LogImporter> importer;
  LogLine line;
  LogLine first;
  while (reader.next(line)) {
    if (line.text.empty()) continue;
    if (first.number == 0) first = line;
    const LogFormat* told = recognise(line.text);
    if (told != nullptr && format == nullptr) format = told;
    if (told != nullptr) expect_same_format(line, told, *format, target);
    if (importer == nullptr && told != nullptr) importer = format->open(target);
    if (importer == nullptr) continue;
    if (says_aborted(line.text)) target.refuse_cut(line, "the benchmark was stopped here");
    importer->read(line);
  }
  if (line.number == 0) line.number = 1;
  if (first.number == 0) target.refuse(line, "the file is empty");
  if (importer == nullptr)
    target.refuse(first,
                  format_name == "auto"
                      ? fmt::format("this is no log of {}: no line is the header of one",
                                    fmt::join(log_formats(), ", "))
                      : fmt::format("this is no log of {}: no line is its header", format->name));
  importer->end(line);
  target.finish_series();
  Measurement& measurement = target.measurement();
  if (measurement.series.empty() && measurement.kernels.empty())
    target.refuse(line, fmt::format("the log ends without a test that can be read{}{}",
                                    measurement.notes.empty() ? "" : ": ",
                                    fmt::join(measurement.notes, "; ")));
  for (Series& series : measurement.series) {
    if (series.pattern != Pattern::kCollective) continue;
    if (series.ranks % options.ranks_per_host != 0)
      target.refuse(line, fmt::format("--ranks-per-host {} must divide the {} ranks",
                                      options.ranks_per_host, series.ranks));
    series.ranks_per_host = options.ranks_per_host;
  }
  measurement.provenance["logs"] =
      fmt::format("{} ({})", std::filesystem::path(file).filename().string(), format->name);
  return std::move(measurement);
}

// What differs, in the order it came in.
void add_new(std::vector<std::string>& all, const std::string& one) {
  if (!one.empty() && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
}

}  // namespace

std::vector<std::string> log_formats() {
  std::vector<std::string> names = Registry<LogFormat>::names();
  names.emplace_back(kProfilerTrace);
  return names;
}

Measurement import_log(const std::string& file, const std::string& format,
                       const LogImportOptions& options) {
  const auto refuse = [&](const std::string& why) {
    throw InputError({.source = file, .path = "", .value = "", .constraint = why});
  };
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse("is a folder");
  if (format == kProfilerTrace || (format == "auto" && is_profiler_trace(file)))
    return import_profiler_trace(file);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(fmt::format("cannot be opened for reading: {}", std::strerror(errno)));
  return import_stream(in, file, format, options);
}

Measurement import_log_text(const std::string& text, const std::string& file,
                            const std::string& format, const LogImportOptions& options) {
  std::istringstream in(text);
  return import_stream(in, file, format, options);
}

Measurement merge_measurements(const std::vector<Measurement>& parts) {
  Measurement all;
  std::vector<std::string> machines;
  std::vector<std::string> libraries;
  std::map<std::string, std::vector<std::string>> provenance;
  std::map<std::string, std::vector<std::string>> gpu;
  for (const Measurement& part : parts) {
    add_new(machines, part.machine);
    add_new(libraries, part.library);
    for (const auto& [key, value] : part.provenance) add_new(provenance[key], value);
    all.notes.insert(all.notes.end(), part.notes.begin(), part.notes.end());
    all.series.insert(all.series.end(), part.series.begin(), part.series.end());
    all.kernels.insert(all.kernels.end(), part.kernels.begin(), part.kernels.end());
    for (const auto& [key, value] : part.gpu) add_new(gpu[key], value);
  }
  all.machine = fmt::format("{}", fmt::join(machines, "; "));
  all.library = fmt::format("{}", fmt::join(libraries, "; "));
  for (const auto& [key, values] : provenance)
    all.provenance[key] = fmt::format("{}", fmt::join(values, "; "));
  for (const auto& [key, values] : gpu) all.gpu[key] = fmt::format("{}", fmt::join(values, "; "));
  return all;
}

}  // namespace forescale
