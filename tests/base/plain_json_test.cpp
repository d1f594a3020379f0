#include "base/plain_json.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/data_files.hpp"
#include "base/json_text.hpp"

namespace forescale {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Types of numbers too: 1 and 1.0 are equal to nlohmann.
void expect_same(const std::string& text, const std::string& of) {
  const auto plain = parse_plain_json(text);
  ASSERT_TRUE(plain) << of;
  EXPECT_EQ(*plain, parse_json(text)) << of;
  EXPECT_EQ(plain->dump(), parse_json(text).dump()) << of;
}

TEST(PlainJson, ReadsEveryFileOfOursAsTheOtherParserDoes) {
  int files = 0;
  for (const char* folder : {"models", "topologies", "algorithms"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_path(folder))) {
      if (entry.path().extension() != ".json") continue;
      expect_same(text_of(entry.path()), entry.path());
      ++files;
    }
  EXPECT_GT(files, 200);
}

TEST(PlainJson, ReadsNumbersAsTheOtherParserDoes) {
  for (const char* text :
       {"[0, -0, 0.0, -0.0, 1, -1, 1.0, 1e3, 1E-3, 0.1, 1e308, 5e-324, 4.35, 100000000000000000]",
        "[9223372036854775807, 9223372036854775808, 18446744073709551615, -9223372036854775808]",
        R"(["", "é", "\u00e9\n\"", "\ud83d\ude00", true, false, null, {}, [], [[]], {"a": {}}])",
        "  7 ", "\"x\"", "null"})
    expect_same(text, text);
}

TEST(PlainJson, LeavesTheRestToTheOtherParser) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\" 1}", "01", "nan", "'a'", "1 2", "[1] x", "\"\xff\"",
        "\"\\ud800\"", "\"a\nb\"", "1e400", "-1e400", "18446744073709551616",
        "{\"a\": 1, \"a\": 1}", "[{\"b\": {\"c\": 1, \"d\": 2, \"c\": 3}}]"})
    EXPECT_FALSE(parse_plain_json(text)) << text;
  EXPECT_FALSE(parse_plain_json(std::string(5000, '[') + std::string(5000, ']')));
}

}  // namespace
}  // namespace forescale
