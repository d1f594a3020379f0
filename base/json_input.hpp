// Strict JSON reading: every error names file, JSON pointer, value and constraint.
//
// A number of the physical world is written in one of three forms:
//   "latency_s": 1e-6                                          (source: the file itself)
//   "latency_s": "1us"                                         (text with a unit)
//   "latency_s": {"value": 1e-6, "source": "data sheet, p. 3"} (or "assumed": "why",
//                 with "fast" and "slow": the ends of what is plausible; a measured number may
//                 have them too: the ends of its interval)
// Each one read is noted in a Provenance, so that an answer can say what it rests on.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace forescale {

// Which value every number of the input files takes: of an uncertain one, assumed or measured with
// an interval, its nominal value, the end that makes things faster or slower, or one drawn between
// its ends; and of numbers that are scaled, a multiple of that.
//
// A draw is triangular between the ends, its peak at the nominal value, on a logarithmic scale
// where all three are above 0. It follows from the draw's number, the file's name with its folder,
// and the path: the same number has the same value in everything that is asked of one draw.
class Scenario {
 public:
  enum End { kNominal, kFast, kSlow };
  Scenario(End end = kNominal) : end_(end) {}  // NOLINT(google-explicit-constructor)
  static Scenario drawn(int draw);             // from 0

  End end() const { return end_; }  // kNominal of a draw
  bool is_draw() const { return draw_ >= 0; }
  int draw() const { return draw_; }  // -1: none
  std::string name() const;           // "nominal", "fast", "slow", "draw 3"; without factors
  // Where the number at `path` of `file` lies: -1 at its fast end, 0 nominal, 1 at its slow end.
  double position(const std::string& file, const std::string& path) const;
  // The same, but the number at `path` (a JSON pointer) of `file` is `factor` times what it would
  // be; both as NumberSource names them.
  Scenario scaled(const std::string& file, const std::string& path, double factor) const;
  // 1 where nothing else was said.
  double factor(const std::string& file, const std::string& path) const;

 private:
  using Factors = std::map<std::pair<std::string, std::string>, double>;
  End end_;
  int draw_ = -1;
  std::shared_ptr<const Factors> factors_;  // null: none
};

// A number between its ends, by Scenario::position().
double value_at(double position, double fast, double value, double slow);

struct NumberSource {
  std::string file;
  std::string path;    // JSON pointer
  double value = 0;    // in the unit that the key's ending names
  std::string source;  // citation, or the reason of an assumption
  bool assumed = false;
  double fast = 0;  // plausible ends; equal to value where none are given
  double slow = 0;
};

struct Provenance {
  Scenario scenario;
  std::vector<NumberSource> numbers;
};

class JsonInput {
 public:
  // InputError when the file cannot be read or is no JSON (with line and column).
  static JsonInput from_file(const std::string& file, Provenance* provenance = nullptr);
  static JsonInput from_text(const std::string& text, const std::string& file,
                             Provenance* provenance = nullptr);

  // Members. at() fails when the key is missing; find() gives nothing.
  JsonInput at(const std::string& key) const;
  std::optional<JsonInput> find(const std::string& key) const;
  bool has(const std::string& key) const;
  // Fails on a key outside the list, naming the nearest known key. "note" and "source" are always
  // allowed: they are for people.
  void allow_only(std::initializer_list<const char*> keys) const;
  void allow_only(const std::vector<std::string>& keys) const;
  std::vector<std::string> keys() const;

  // Arrays.
  std::vector<JsonInput> elements() const;

  // Scalars; each fails with the constraint that was broken.
  std::string string() const;
  std::string one_of(std::initializer_list<const char*> values) const;
  bool boolean() const;
  std::int64_t integer(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  double number(double min, double max = std::numeric_limits<double>::infinity()) const;

  // Physical numbers, noted in the Provenance. Seconds >= 0, bandwidths and rates > 0.
  Seconds seconds() const;
  Bytes bytes(std::int64_t min = 0) const;
  BytesPerSecond bandwidth() const;
  FlopsPerSecond flops_rate() const;
  double factor(double min, double max) const;  // dimensionless physical number

  bool is_object() const;
  bool is_array() const;
  bool is_string() const;
  const nlohmann::json& raw() const { return *value_; }
  const std::string& file() const;
  const std::string& path() const { return path_; }
  Provenance* provenance() const { return provenance_; }

  // Throws InputError for this value.
  [[noreturn]] void fail(const std::string& constraint) const;

 private:
  struct Document;
  JsonInput(std::shared_ptr<const Document> document, const nlohmann::json* value, std::string path,
            Provenance* provenance);
  JsonInput child(const std::string& key, const nlohmann::json& value) const;
  std::string path_of(const std::string& key) const;
  template <class Parse>
  double physical(double min, bool above_min, Parse parse_text) const;

  std::shared_ptr<const Document> document_;
  const nlohmann::json* value_;
  std::string path_;
  Provenance* provenance_;
};

}  // namespace forescale
