#include "sim/ask/rank_split.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {

RankSplit parse_split(const std::string& text, const std::string& source) {
  std::string word = text;
  word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const std::string kind = word.substr(0, 3);
  if (kind != "mod" && kind != "div") refuse(source, text, "must be mod8, or div8");
  const std::vector<std::int64_t> counts = parse_integers(word.substr(kind.size()), source);
  if (counts.size() != 1 || counts.front() < 1)
    refuse(source, text, "must be mod8, or div8: a number that is at least 1");
  return {.is_modulo = kind == "mod", .count = counts.front()};
}

std::vector<std::vector<int>> groups_of_ranks(std::int64_t ranks, const RankSplit& split,
                                              const std::string& source) {
  if (split.count > ranks || ranks % split.count != 0)
    refuse(source, std::to_string(split.count),
           fmt::format("must divide the {} ranks into groups of one size", ranks));
  const std::int64_t size = split.is_modulo ? ranks / split.count : split.count;
  std::vector<std::vector<int>> groups(static_cast<size_t>(ranks / size));
  for (std::int64_t rank = 0; rank < ranks; ++rank)
    groups[static_cast<size_t>(split.is_modulo ? rank % split.count : rank / split.count)]
        .push_back(static_cast<int>(rank));
  return groups;
}

}  // namespace forescale
