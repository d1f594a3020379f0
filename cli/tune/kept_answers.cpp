#include "cli/tune/kept_answers.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/common_options.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "cli/report/sha256.hpp"

namespace forescale {

using nlohmann::json;

std::string digest(const Provenance& provenance) {
  std::ostringstream numbers;
  numbers.precision(17);
  for (const NumberSource& number : provenance.numbers)
    numbers << number.path << '=' << number.value << ' ' << number.fast << ' ' << number.slow
            << '\n';
  return sha256_hex(numbers.str()).substr(0, 16);
}

std::string digest(const std::map<std::string, Alternative>& alternatives) {
  std::ostringstream text;
  text.precision(17);
  for (const auto& [name, alternative] : alternatives) {
    text << name << ' ' << alternative.chunk_factor << '\n';
    for (const auto& [op, rules] : alternative.rules)
      for (const SelectionRule& rule : rules)
        text << op << ' ' << rule.up_to_ranks << ' ' << rule.from_nodes << ' ' << rule.up_to_nodes
             << ' ' << rule.ranks_per_node << ' ' << rule.up_to_bytes << ' ' << rule.algorithm
             << ' ' << rule.options.number(kChunkBytes) << ' ' << rule.protocol << ' '
             << rule.call_overhead.value << '\n';
  }
  return sha256_hex(text.str()).substr(0, 16);
}

std::vector<TunedPoint> read_answered(const std::string& file, const json& expected) {
  std::vector<TunedPoint> answered;
  std::ifstream in(file);
  if (!in) return answered;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const json text = parse_json_or_discard(line);
    if (number == 1 && (!text.is_object() || text != expected))
      throw InputError({.source = file,
                        .path = "line 1",
                        .value = line.substr(0, 200),
                        .constraint = "must be " + expected.dump() + ": choose another --resume"});
    if (number == 1 || !text.is_object()) continue;  // a last line that was cut short
    try {
      answered.push_back(text.get<TunedPoint>());
    } catch (const json::exception& error) {
      throw InputError({.source = file,
                        .path = fmt::format("line {}", number),
                        .value = line.substr(0, 80),
                        .constraint = error.what()});
    }
  }
  return answered;
}

KeptAnswers::KeptAnswers(const std::string& file, const json& about) : file_(file) {
  if (file_.empty()) return;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file_, error);
  const bool is_new = error || bytes == 0;
  append(is_new ? about.dump() + "\n" : "\n");  // ends a line that was cut short
}

void KeptAnswers::keep(const TunedPoint& point) const {
  if (!file_.empty()) append(json(point).dump() + "\n");
}

void KeptAnswers::append(const std::string& text) const {
  std::ofstream out(file_, std::ios::app);
  out << text;
  if (!out.flush())
    throw InputError({.source = "--resume",
                      .path = "",
                      .value = file_,
                      .constraint = fmt::format("cannot be written: {}", std::strerror(errno))});
}

}  // namespace forescale
