#include "traces/formats/chakra/chakra_groups.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

class Parser {
 public:
  Parser(const std::string& file, const std::string& path) : file_(file), path_(path) {}

  std::vector<ChakraGroup> groups(const std::string& text) {
    std::vector<ChakraGroup> found;
    const std::size_t begin = text.find("[{");
    const std::size_t end = text.rfind("}]");
    if (begin == std::string::npos || end == std::string::npos || end < begin) return found;
    dom::array list;
    const simdjson::padded_string json(std::string_view(text).substr(begin, end + 2 - begin));
    if (parser_.parse(json).get(list) != simdjson::SUCCESS)
      fail("process groups that are no list in JSON");
    for (const dom::element group : list) found.push_back(one(group));
    return found;
  }

 private:
  [[noreturn]] void fail(const std::string& value) const {
    throw InputError({.source = file_,
                      .path = path_,
                      .value = value,
                      .constraint = "must be [{\"pg_name\": \"0\", \"ranks\": [0, 1], ...}, ...]"});
  }

  ChakraGroup one(dom::element group) const {
    ChakraGroup found;
    std::string_view name;
    std::int64_t number = 0;
    if (group["pg_name"].get(name) == simdjson::SUCCESS)
      found.name = name;
    else if (group["pg_name"].get(number) == simdjson::SUCCESS)
      found.name = std::to_string(number);
    else
      fail("a process group without pg_name");
    dom::array list;
    dom::object by_rank;
    if (group["ranks"].get(list) == simdjson::SUCCESS) {
      for (const dom::element rank : list) {
        if (rank.get(number) != simdjson::SUCCESS) fail("a rank that is no number");
        add(found, number);
      }
    } else if (group["ranks"].get(by_rank) == simdjson::SUCCESS) {
      for (const auto& [key, value] : by_rank) add(found, rank_of(key));
    } else {
      fail(fmt::format("process group \"{}\" without ranks", found.name));
    }
    check_distinct(found);
    if (found.ranks.empty())
      for (const char* const key : {"group_size", "pg_size"})
        if (group[key].get(number) == simdjson::SUCCESS) found.world_size = number;
    return found;
  }

  void add(ChakraGroup& group, std::int64_t rank) const {
    if (rank < 0 || rank >= kProgramRanksMax) fail(fmt::format("rank {}", rank));
    group.ranks.push_back(static_cast<int>(rank));
  }

  void check_distinct(const ChakraGroup& group) const {
    std::vector<int> sorted = group.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      fail(fmt::format("rank {} twice in process group \"{}\"", *twice, group.name));
  }

  std::int64_t rank_of(std::string_view key) const {
    std::int64_t rank = -1;
    const char* const end = key.data() + key.size();
    if (std::from_chars(key.data(), end, rank).ptr != end) fail(std::string(key));
    return rank;
  }

  const std::string& file_;
  const std::string& path_;
  dom::parser parser_;
};

}  // namespace

std::vector<ChakraGroup> parse_chakra_groups(const std::string& text, const std::string& file,
                                             const std::string& path) {
  return Parser(file, path).groups(text);
}

}  // namespace forescale
