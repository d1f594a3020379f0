#include "studies/sweep/sweep_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/json_input.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using Inputs = std::map<std::string, json>;

constexpr std::size_t kPointsMax = 1'000'000;

// FNV-1a, 64 bits.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", hash);
}

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw InputError(
        {.source = file, .path = "", .value = "", .constraint = "cannot be opened for reading"});
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string text_of_value(const json& scalar) {
  return scalar.is_string() ? scalar.get<std::string>() : scalar.dump();
}

// As the command line gets them: 16 and "16" are the same.
std::vector<std::string> texts_of(const json& value) {
  std::vector<std::string> texts;
  if (value.is_array())
    for (const json& element : value) texts.push_back(text_of_value(element));
  else
    texts.push_back(text_of_value(value));
  return texts;
}

const CommandLine& study_command(const JsonInput& study, const CommandLines& commands) {
  const JsonInput name = study.at("command");
  const auto found = commands.find(name.string());
  if (found != commands.end()) return *found->second;
  std::vector<std::string> known;
  for (const auto& [command, line] : commands) known.push_back(command);
  name.fail("is " + unknown_name(name.string(), known));
}

void check_scalar(const JsonInput& value) {
  if (!value.is_string() && !value.raw().is_number()) value.fail("must be text or a number");
  if (value.is_string() && value.string().empty()) value.fail("must not be empty");
}

StudyPoint point_of(const std::string& command, const Inputs& inputs) {
  StudyPoint point;
  point.arguments.push_back(command);
  json canonical = json::object();
  for (const auto& [option, value] : inputs) {
    canonical[option] = texts_of(value);
    for (const std::string& text : texts_of(value))
      point.arguments.push_back(fmt::format("--{}={}", option, text));
  }
  point.arguments.emplace_back("--json");
  point.key = hash_of(json{{"command", command}, {"inputs", canonical}}.dump());
  point.inputs = json(inputs).dump();
  return point;
}

class StudyReader {
 public:
  StudyReader(const JsonInput& root, const CommandLines& commands)
      : root_(root), line_(study_command(root, commands)) {
    study_.command = root.at("command").string();
  }

  Study read() {
    if (const auto fixed = root_.find("fixed")) fixed_ = inputs_of(*fixed);
    const auto grid = root_.find("grid");
    const auto points = root_.find("points");
    if (grid.has_value() == points.has_value())
      root_.fail("must have either \"grid\" or \"points\"");
    if (grid)
      read_grid(*grid);
    else
      read_points(*points);
    return std::move(study_);
  }

 private:
  Inputs inputs_of(const JsonInput& object) {
    Inputs inputs;
    for (const std::string& option : object.keys()) {
      const JsonInput value = object.at(option);
      check_option(option, value);
      check_value(option, value);
      inputs.emplace(option, value.raw());
    }
    return inputs;
  }

  void check_option(const std::string& option, const JsonInput& value) const {
    const std::vector<std::string> known = line_.options();
    if (std::find(known.begin(), known.end(), option) == known.end())
      value.fail("option is " + unknown_name(option, known));
    if (fixed_.contains(option)) value.fail("is in \"fixed\" already");
  }

  void check_value(const std::string& option, const JsonInput& value) {
    if (line_.is_flag(option)) {
      value.boolean();
      return;
    }
    if (value.is_array()) {
      if (!line_.is_repeatable(option)) value.fail("must be one value: it cannot be repeated");
      if (value.elements().empty()) value.fail("must have at least one value");
      for (const JsonInput& element : value.elements()) check_scalar(element);
    } else {
      check_scalar(value);
    }
    const std::vector<std::string> texts = texts_of(value.raw());
    const std::string complaint = line_.complaint_about(option, texts);
    if (!complaint.empty())
      value.fail(fmt::format("must be what `forescale {}` takes: {}", study_.command, complaint));
    for (const std::string& text : texts) add_file(text);
  }

  // Answers depend on what is in the files that a study names, not on their names alone.
  void add_file(const std::string& text) {
    std::error_code ignored;
    if (!study_.files.contains(text) && std::filesystem::is_regular_file(text, ignored))
      study_.files[text] = hash_of(read_file(text));
  }

  void check_line(const StudyPoint& point, const JsonInput& where) const {
    const std::string complaint = line_.complaint_about_line(point.arguments);
    if (!complaint.empty())
      where.fail(
          fmt::format("must be a whole question to `forescale {}`: {}", study_.command, complaint));
  }

  void check_list(const std::string& option, const JsonInput& list) {
    check_option(option, list);
    if (list.elements().empty()) list.fail("must have at least one value");
    std::set<std::vector<std::string>> seen;
    for (const JsonInput& value : list.elements()) {
      check_value(option, value);
      if (!seen.insert(texts_of(value.raw())).second) value.fail("is in the list already");
    }
  }

  void read_grid(const JsonInput& grid) {
    study_.varied = grid.keys();
    if (study_.varied.empty()) grid.fail("must have at least one option with its values");
    std::size_t count = 1;
    std::vector<std::vector<JsonInput>> lists;
    for (const std::string& option : study_.varied) {
      check_list(option, grid.at(option));
      lists.push_back(grid.at(option).elements());
      count *= lists.back().size();
      if (count > kPointsMax)
        grid.fail(fmt::format("must have at most {} points in all", kPointsMax));
    }
    for (std::size_t number = 0; number < count; ++number) {
      Inputs inputs = fixed_;
      std::size_t rest = number;
      for (std::size_t i = lists.size(); i-- > 0; rest /= lists[i].size())
        inputs[study_.varied[i]] = lists[i][rest % lists[i].size()].raw();
      study_.points.push_back(point_of(study_.command, inputs));
    }
    check_line(study_.points.front(), grid);  // all have the same options
  }

  void read_points(const JsonInput& points) {
    std::map<std::string, std::string> paths;
    std::set<std::string> varied;
    for (const JsonInput& element : points.elements()) {
      Inputs inputs = inputs_of(element);
      for (const auto& [option, value] : inputs) varied.insert(option);
      inputs.insert(fixed_.begin(), fixed_.end());
      StudyPoint point = point_of(study_.command, inputs);
      check_line(point, element);
      const auto [first, is_new] = paths.emplace(point.key, element.path());
      if (!is_new) element.fail("is the same point as " + first->second);
      study_.points.push_back(std::move(point));
    }
    if (study_.points.empty()) points.fail("must have at least one point");
    if (study_.points.size() > kPointsMax)
      points.fail(fmt::format("must be at most {}", kPointsMax));
    study_.varied.assign(varied.begin(), varied.end());
  }

  const JsonInput& root_;
  const CommandLine& line_;
  Inputs fixed_;
  Study study_;
};

std::vector<std::size_t> places_by_key(const Study& study) {
  std::vector<std::size_t> places(study.points.size());
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    return study.points[a].key < study.points[b].key;
  });
  return places;
}

}  // namespace

Study load_study(const std::string& file, const CommandLines& commands) {
  const JsonInput root = JsonInput::from_file(file);
  root.allow_only({"format", "command", "fixed", "grid", "points"});
  root.at("format").one_of({"forescale-study-1"});
  Study study = StudyReader(root, commands).read();
  study.name = std::filesystem::path(file).stem();
  std::string keys;
  std::set<std::string> seen;
  for (const StudyPoint& point : study.points) {
    FORESCALE_CHECK(seen.insert(point.key).second, "two points have one key: " + point.key);
    keys += point.key;
  }
  study.id = hash_of(keys);
  return study;
}

StudyShard parse_shard(const std::string& text) {
  const auto refuse = [&]() -> InputError {
    return InputError(
        {.source = "--shard",
         .path = "",
         .value = text,
         .constraint = fmt::format("must be i/N with 0 <= i < N <= {}: 0/4 to 3/4", kShardsMax)});
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw refuse();
  std::int64_t index = 0;
  std::int64_t count = 0;
  try {
    index = parse_integer(text.substr(0, slash), "--shard");
    count = parse_integer(text.substr(slash + 1), "--shard");
  } catch (const InputError&) {
    throw refuse();
  }
  if (index < 0 || index >= count || count > kShardsMax) throw refuse();
  return {.index = static_cast<int>(index), .count = static_cast<int>(count)};
}

std::vector<std::size_t> points_of(const Study& study, const StudyShard& shard) {
  const std::vector<std::size_t> all = places_by_key(study);
  std::vector<std::size_t> places;
  for (auto i = static_cast<std::size_t>(shard.index); i < all.size();
       i += static_cast<std::size_t>(shard.count))
    places.push_back(all[i]);
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace forescale
