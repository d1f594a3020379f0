// Large JSON files, value by value, plain and compressed.
#include "traces/formats/json_scan.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using Values = std::vector<std::pair<std::string, std::string>>;  // key, text

Values scan(const std::string& file) {
  TraceInput input(file);
  JsonScan values(input, "list");
  Values found;
  while (values.next()) found.emplace_back(values.key(), values.text());
  return found;
}

std::string scan_refusal(const std::string& text) {
  const TraceFolder folder;
  const std::string file = folder.write("t.json", text);
  return refusal([&] { scan(file); });
}

TEST(JsonScan, GivesElementsAndTheOtherMembers) {
  const TraceFolder folder;
  const std::string text =
      R"( {"a": 1, "list" : [ {"x": "]}\"{"}, [1, [2]], 3.5 , "s"], "b": {"list": [0]}, "list": 7} )";
  const auto wanted = ElementsAre(Pair("a", "1"), Pair("", R"({"x": "]}\"{"})"),
                                  Pair("", "[1, [2]]"), Pair("", "3.5"), Pair("", "\"s\""),
                                  Pair("b", R"({"list": [0]})"), Pair("list", "7"));
  EXPECT_THAT(scan(folder.write("t.json", text)), wanted);
  EXPECT_THAT(scan(folder.write_compressed("t.json.gz", text)), wanted);
}

TEST(JsonScan, TakesArraysAndNothing) {
  const TraceFolder folder;
  EXPECT_THAT(scan(folder.write("t.json", "[1,{}]")), ElementsAre(Pair("", "1"), Pair("", "{}")));
  EXPECT_THAT(scan(folder.write("t.json", "[]")), ElementsAre());
  EXPECT_THAT(scan(folder.write("t.json", R"({"list": [], "a": null})")),
              ElementsAre(Pair("a", "null")));
}

TEST(JsonScan, SaysWhereItBreaks) {
  EXPECT_THAT(scan_refusal(""), HasSubstr("is no JSON object or array"));
  EXPECT_THAT(scan_refusal("hello"), HasSubstr("is no JSON object or array"));
  EXPECT_THAT(scan_refusal("[1, {\"a\": 2"),
              HasSubstr("ends within the value that begins at byte 4"));
  EXPECT_THAT(scan_refusal("[1 2]"), HasSubstr("byte 4: is no JSON: expected , or ]"));
  EXPECT_THAT(scan_refusal("{\"a\" 1}"), HasSubstr("expected the colon"));
  EXPECT_THAT(scan_refusal("{1: 2}"), HasSubstr("expected a key"));
  EXPECT_THAT(scan_refusal("[\"abc"), HasSubstr("ends within a string"));
  EXPECT_THAT(scan_refusal("[1,"), HasSubstr("ends where a value is expected"));
}

TEST(JsonScan, HoldsDeepAndLongValuesInBounds) {
  EXPECT_THAT(scan_refusal(std::string(10'000'000, '[')), HasSubstr("ends within the value"));
  EXPECT_THAT(scan_refusal("[\"" + std::string(70 << 20, 'x')), HasSubstr("more than 64 MiB"));
}

TEST(TraceInput, SaysWhereACompressedFileIsDamaged) {
  const TraceFolder folder;
  std::string text = "[0";
  for (int i = 1; i < 100'000; ++i) text += "," + std::to_string(i * 7919);
  const std::string whole = folder.write_compressed("whole.gz", text + "]");
  EXPECT_EQ(scan(whole).size(), 100'000U);
  std::ifstream in(whole, std::ios::binary);
  std::stringstream packed;
  packed << in.rdbuf();
  const std::string half = folder.write("half.gz", packed.str().substr(0, packed.str().size() / 2));
  EXPECT_THAT(refusal([&] { scan(half); }), HasSubstr("it ends within compressed data after"));
  std::string damaged = packed.str();
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  EXPECT_THAT(refusal([&] { scan(folder.write("bad.gz", damaged)); }), HasSubstr("is damaged"));
  EXPECT_THAT(refusal([&] { scan(folder.path("none")); }), HasSubstr("cannot be opened"));
  EXPECT_THAT(refusal([&] { scan(folder.path("")); }), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace forescale::testing
