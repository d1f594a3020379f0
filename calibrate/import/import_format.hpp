// What the importers of logs share: lines, numbers, and the measurement being built.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective.hpp"
#include "base/registry.hpp"
#include "calibrate/import/import_log.hpp"

namespace forescale {

// A line without its end, without blanks around it and without a launcher's label
// ("[1,0]<stdout>:" of mpirun --tag-output).
struct LogLine {
  int number = 0;  // from 1
  std::string text;
  bool is_whole = true;  // false: the file ends within it
};

// Fit for people and JSON: at most 60 characters, what is not printable as '?'.
std::string shortened(std::string_view text);
bool contains(std::string_view text, std::string_view part);
// Words between blanks and tabs.
std::vector<std::string_view> words_of(std::string_view text);
// Whether a line means to be a row of numbers: its first word begins like a number. "7) gcc/12" of
// a list of modules does not.
bool is_row(std::string_view text);
// The whole number at the start of `text`, behind blanks; 0 if there is none.
std::int64_t leading_integer(std::string_view text);

class ImportTarget {
 public:
  ImportTarget(std::string file, LogImportOptions options)
      : file_(std::move(file)), options_(std::move(options)) {}

  const LogImportOptions& options() const { return options_; }
  Measurement& measurement() { return measurement_; }

  // Throws InputError for this line. `line` may be an earlier one.
  [[noreturn]] void refuse(const LogLine& line, const std::string& why) const;
  // The log ends too early, here: refused, or noted if that is allowed.
  void refuse_cut(const LogLine& line, const std::string& why);
  // A note for people, once.
  void note(const std::string& text);
  void note(const LogLine& line, const std::string& text);

  // Numbers of a row's words. Refused: anything but digits (a comma, a unit), not finite, negative.
  std::int64_t integer(const LogLine& line, std::string_view word) const;
  double positive(const LogLine& line, std::string_view word, const char* what) const;
  // `count` ranks, refused if nobody has so many.
  int rank_count(const LogLine& line, std::int64_t count) const;
  // `blocks` times `size`, refused if it does not fit.
  std::int64_t times(const LogLine& line, std::int64_t size, int blocks) const;

  // Starts a series; finish_series() keeps it if it has points and tells whether it has.
  void begin_series(Series series);
  void add_point(const LogLine& line, std::int64_t bytes, double time_s);
  // Refused where the shape or the time cannot be.
  void add_kernel(const LogLine& line, const MeasuredKernel& measured);
  bool has_points() const { return !series_.points.empty(); }
  bool finish_series();
  const Series& series() const { return series_; }

  const std::string& file() const { return file_; }

 private:
  std::string file_;
  LogImportOptions options_;
  Measurement measurement_;
  Series series_;
};

// Reads the lines of one log, from the first that `recognises` on.
class LogImporter {
 public:
  virtual ~LogImporter() = default;
  virtual void read(const LogLine& line) = 0;
  // `last` is the last line of the file.
  virtual void end(const LogLine& last) = 0;
};

struct LogFormat {
  std::string name;
  // Whether only this tool writes such a line.
  bool (*recognises)(std::string_view line) = nullptr;
  std::unique_ptr<LogImporter> (*open)(ImportTarget& target) = nullptr;
};

}  // namespace forescale
