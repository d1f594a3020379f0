// A study: many questions to one command of forescale, as a JSON file.
//
//   {"format": "forescale-study-1", "command": "collective",
//    "fixed": {"platform": "kesch", "op": "reduce"},
//    "grid": {"ranks": [16, 32], "bytes": ["1MiB", "8MiB"]}}
//
// "grid" is the product of its lists, in the order of the options' names, the last one changing
// first; "points": [{...}, ...] lists them instead. Options are those of the command line without
// their dashes; a value is text or a number, true or false for a flag, a list for an option that
// may be repeated.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace forescale {

// What a command's own parser says about options and values.
class CommandLine {
 public:
  CommandLine() = default;
  virtual ~CommandLine() = default;
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  virtual std::vector<std::string> options() const = 0;  // names that a study may give
  virtual bool is_flag(const std::string& option) const = 0;
  virtual bool is_repeatable(const std::string& option) const = 0;
  // What is wrong with these values of the option, or with a whole line; empty: nothing.
  virtual std::string complaint_about(const std::string& option,
                                      const std::vector<std::string>& values) const = 0;
  virtual std::string complaint_about_line(const std::vector<std::string>& arguments) const = 0;
};
using CommandLines = std::map<std::string, std::unique_ptr<CommandLine>>;

struct StudyPoint {
  std::string key;                     // hash of its command and inputs, 16 hexadecimal digits
  std::string inputs;                  // JSON object: option -> value as the study has it
  std::vector<std::string> arguments;  // "collective", "--bytes=1MiB", ..., "--json"
};

struct Study {
  std::string name;  // the file's, without folder and ending
  std::string command;
  std::vector<std::string> varied;  // options of the grid or of any point, by name
  std::vector<StudyPoint> points;
  std::string id;  // hash of all keys, in their order
  // Values that name a file -> hash of what is in it.
  std::map<std::string, std::string> files;
};

// InputError naming file, JSON pointer, value and constraint for whatever is wrong before anything
// runs: unknown keys and options, values that the command's parser refuses, options that it misses,
// an empty grid, the same value or point twice.
Study load_study(const std::string& file, const CommandLines& commands);

// "0/4": the first of four parts of a study.
struct StudyShard {
  int index = 0;
  int count = 1;
};
constexpr int kShardsMax = 100'000;
// InputError naming --shard.
StudyShard parse_shard(const std::string& text);
// Places in study.points that belong to the shard: in the order of keys every count-th, so that
// parts differ by one point at most and no part gets all points of one value.
std::vector<std::size_t> points_of(const Study& study, const StudyShard& shard);

}  // namespace forescale
