#include "base/json_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

JsonInput read(const std::string& text, Provenance* provenance = nullptr) {
  return JsonInput::from_text(text, "a.json", provenance);
}

// What reading key "x" of {"x": VALUE} by `get` is told.
template <class Get>
std::string refusal_of(const std::string& value, Get get) {
  return refusal([&] { get(read("{\"x\": " + value + "}").at("x")); });
}

const auto kSeconds = [](const JsonInput& in) { return in.seconds(); };
const auto kBytes = [](const JsonInput& in) { return in.bytes(1); };
const auto kBandwidth = [](const JsonInput& in) { return in.bandwidth(); };
const auto kInteger = [](const JsonInput& in) { return in.integer(1, 8); };

// ---- the three forms of a number ----

TEST(JsonNumbers, PlainTextAndSourced) {
  Provenance provenance;
  const JsonInput in = read(R"({"plain": 1e-6, "text": "1us",
      "sourced": {"value": 2e-6, "source": "data sheet"},
      "sourced_text": {"value": "3us", "source": "data sheet"},
      "rate": "12.5GB/s", "size": "8KiB", "flops": 1e12, "share": 0.5})",
                            &provenance);
  EXPECT_DOUBLE_EQ(in.at("plain").seconds().value, 1e-6);
  EXPECT_DOUBLE_EQ(in.at("text").seconds().value, 1e-6);
  EXPECT_DOUBLE_EQ(in.at("sourced").seconds().value, 2e-6);
  EXPECT_DOUBLE_EQ(in.at("sourced_text").seconds().value, 3e-6);
  EXPECT_DOUBLE_EQ(in.at("rate").bandwidth().value, 12.5e9);
  EXPECT_EQ(in.at("size").bytes().value, 8192);
  EXPECT_EQ(in.at("flops").flops_rate().value, 1e12);
  EXPECT_EQ(in.at("share").factor(0, 1), 0.5);
  ASSERT_EQ(provenance.numbers.size(), 8u);
  EXPECT_EQ(provenance.numbers[0].path, "/plain");
  EXPECT_THAT(provenance.numbers[0].source, HasSubstr("a.json"));
  EXPECT_EQ(provenance.numbers[2].source, "data sheet");
  for (const NumberSource& number : provenance.numbers) {
    EXPECT_FALSE(number.assumed) << number.path;
    EXPECT_EQ(number.fast, number.value) << number.path;
    EXPECT_EQ(number.slow, number.value) << number.path;
    EXPECT_EQ(number.file, "a.json");
  }
}

TEST(JsonNumbers, AssumedTakesTheScenariosEnd) {
  const auto value_in = [](Scenario scenario) {
    Provenance provenance{.scenario = scenario, .numbers = {}};
    const double value = read(R"({"x": {"value": "2us", "assumed": "guess", "fast": 1e-6,
                                        "slow": "4us"}})",
                              &provenance)
                             .at("x")
                             .seconds()
                             .value;
    EXPECT_EQ(provenance.numbers.size(), 1u);
    EXPECT_TRUE(provenance.numbers[0].assumed);
    EXPECT_EQ(provenance.numbers[0].source, "guess");
    EXPECT_DOUBLE_EQ(provenance.numbers[0].value, 2e-6);
    EXPECT_DOUBLE_EQ(provenance.numbers[0].fast, 1e-6);
    EXPECT_DOUBLE_EQ(provenance.numbers[0].slow, 4e-6);
    return value;
  };
  EXPECT_DOUBLE_EQ(value_in(Scenario::kNominal), 2e-6);
  EXPECT_DOUBLE_EQ(value_in(Scenario::kFast), 1e-6);
  EXPECT_DOUBLE_EQ(value_in(Scenario::kSlow), 4e-6);
}

TEST(JsonNumbers, MeasuredWithAnIntervalTakesTheScenariosEndToo) {
  const auto value_in = [](Scenario scenario) {
    Provenance provenance{.scenario = scenario, .numbers = {}};
    const double value = read(R"({"x": {"value": "10GB/s", "source": "measured", "fast": 11e9,
                                        "slow": 8e9}})",
                              &provenance)
                             .at("x")
                             .bandwidth()
                             .value;
    EXPECT_FALSE(provenance.numbers.at(0).assumed);
    return value;
  };
  EXPECT_DOUBLE_EQ(value_in(Scenario::kNominal), 10e9);
  EXPECT_DOUBLE_EQ(value_in(Scenario::kFast), 11e9);
  EXPECT_DOUBLE_EQ(value_in(Scenario::kSlow), 8e9);
}

TEST(JsonNumbers, AssumedNeedsBothEndsAroundItsValue) {
  EXPECT_THAT(refusal_of(R"({"value": 2, "assumed": "guess", "fast": 1})", kSeconds),
              HasSubstr("a.json:/x/slow: is required and missing"));
  EXPECT_THAT(refusal_of(R"({"value": 9, "assumed": "guess", "fast": 1, "slow": 4})", kSeconds),
              HasSubstr("a.json:/x: must have its value between \"fast\" and \"slow\""));
  EXPECT_THAT(refusal_of(R"({"value": 2, "assumed": "a", "source": "b"})", kSeconds),
              HasSubstr("must have either \"source\" or \"assumed\""));
  EXPECT_THAT(refusal_of(R"({"value": 2})", kSeconds),
              HasSubstr("must have either \"source\" or \"assumed\""));
  EXPECT_THAT(refusal_of(R"({"value": 2, "source": "a", "fast": 1})", kSeconds),
              HasSubstr("a.json:/x/slow: is required and missing"));
  EXPECT_THAT(refusal_of(R"({"value": 2, "assumed": "a", "fast": -1, "slow": 4})", kSeconds),
              HasSubstr("a.json:/x/fast = -1: must be >= 0"));
  EXPECT_THAT(refusal_of(R"({"value": 2, "sorce": "a"})", kSeconds),
              HasSubstr("a.json:/x/sorce = \"a\": key is unknown; did you mean \"source\"?"));
}

TEST(JsonNumbers, WrongOnesNameTheConstraint) {
  EXPECT_EQ(refusal_of("-1", kSeconds), "a.json:/x = -1: must be >= 0");
  EXPECT_EQ(refusal_of("0", kBandwidth), "a.json:/x = 0: must be > 0");
  EXPECT_EQ(refusal_of("0", kBytes), "a.json:/x = 0: must be >= 1");
  EXPECT_THAT(refusal_of("1.5", kBytes), HasSubstr("must be a whole number of bytes"));
  EXPECT_THAT(refusal_of("1e19", kBytes), HasSubstr("must be a whole number of bytes"));
  EXPECT_THAT(refusal_of("\"1\"", kSeconds), HasSubstr("a.json:/x = \"1\": needs a unit"));
  EXPECT_THAT(refusal_of("\"1GB\"", kSeconds), HasSubstr("unit \"GB\""));
  EXPECT_THAT(refusal_of("true", kSeconds), HasSubstr("must be a number, a text with a unit"));
  EXPECT_THAT(refusal_of("null", kSeconds), HasSubstr("must be a number, a text with a unit"));
  EXPECT_THAT(refusal_of("[1]", kSeconds), HasSubstr("must be a number, a text with a unit"));
  EXPECT_THAT(refusal_of("2", [](const JsonInput& in) { return in.factor(0, 1); }),
              HasSubstr("must be <= 1"));
  EXPECT_THAT(refusal_of("\"2\"", [](const JsonInput& in) { return in.factor(0, 1); }),
              HasSubstr("must be a number"));
}

// ---- members ----

TEST(JsonMembers, UnknownKeySuggestsTheNearest) {
  EXPECT_EQ(refusal([] {
              read(R"({"latnecy_s": 1})").allow_only({"latency_s", "duplex"});
            }),
            "a.json:/latnecy_s = 1: key is unknown; did you mean \"latency_s\"? (one of: "
            "latency_s, duplex)");
  EXPECT_EQ(
      refusal([] { read(R"({"note": 1, "source": 2, "duplex": 3})").allow_only({"duplex"}); }),
      "accepted");
  EXPECT_THAT(refusal([] { read("[1]").allow_only({"a"}); }),
              HasSubstr("a.json:/: must be an object"));
}

TEST(JsonMembers, MissingKeyIsNamed) {
  const JsonInput in = read(R"({"links": [{"a": 1}]})");
  EXPECT_EQ(refusal([&] { in.at("links").elements()[0].at("latency_s"); }),
            "a.json:/links/0/latency_s: is required and missing");
  EXPECT_FALSE(in.find("absent").has_value());
  EXPECT_TRUE(in.has("links"));
  EXPECT_EQ(refusal([&] { in.at("links").at("a"); }), "a.json:/links: must be an object");
}

TEST(JsonMembers, WrongTypesAreNamed) {
  const JsonInput in = read(R"({"x": 1, "list": [], "text": "abc"})");
  EXPECT_EQ(refusal([&] { in.at("x").string(); }), "a.json:/x = 1: must be a string");
  EXPECT_EQ(refusal([&] { in.at("x").elements(); }), "a.json:/x = 1: must be an array");
  EXPECT_EQ(refusal([&] { in.at("x").keys(); }), "a.json:/x = 1: must be an object");
  EXPECT_EQ(refusal([&] { in.at("x").boolean(); }), "a.json:/x = 1: must be true or false");
  EXPECT_EQ(refusal([&] { in.at("text").number(0); }), "a.json:/text = \"abc\": must be a number");
  EXPECT_EQ(refusal([&] {
              in.at("text").one_of({"abd", "xyz"});
            }),
            "a.json:/text = \"abc\": is unknown; did you mean \"abd\"? (one of: abd, xyz)");
  EXPECT_EQ(in.at("text").one_of({"abc"}), "abc");
  EXPECT_TRUE(in.at("list").elements().empty());
}

TEST(JsonMembers, IntegersKeepTheirRange) {
  EXPECT_EQ(read("[8]").elements()[0].integer(1, 8), 8);
  EXPECT_EQ(refusal_of("9", kInteger), "a.json:/x = 9: must be <= 8");
  EXPECT_EQ(refusal_of("0", kInteger), "a.json:/x = 0: must be >= 1");
  EXPECT_EQ(refusal_of("1.0", kInteger), "a.json:/x = 1.0: must be a whole number");
  EXPECT_EQ(refusal_of("\"1\"", kInteger), "a.json:/x = \"1\": must be a whole number");
  // Beyond 2^63 a signed number would be negative; beyond 2^64 JSON readers make it a double.
  const auto any = [](const JsonInput& in) { return in.integer(); };
  EXPECT_THAT(refusal_of("9223372036854775808", any), HasSubstr("must be <= 9223372036854775807"));
  EXPECT_THAT(refusal_of("18446744073709551616", any), HasSubstr("must be a whole number"));
  EXPECT_EQ(read("[9223372036854775807]").elements()[0].integer(), 9223372036854775807);
  EXPECT_EQ(read("[-9223372036854775808]").elements()[0].integer(),
            std::numeric_limits<std::int64_t>::min());
}

TEST(JsonMembers, PointerIsEscaped) {
  const JsonInput in = read(R"({"a/b": {"c~d": {"e~1": 1}}})");
  const JsonInput deep = in.at("a/b").at("c~d").at("e~1");
  EXPECT_EQ(deep.path(), "/a~1b/c~0d/e~01");
  // The pointer finds the value again.
  EXPECT_EQ(in.raw().at(nlohmann::json::json_pointer(deep.path())), 1);
}

TEST(JsonMembers, LongValuesAreCutInMessages) {
  const std::string text = refusal_of("\"" + std::string(500, 'a') + "\"", kInteger);
  EXPECT_LT(text.size(), 150u);
  EXPECT_THAT(text, HasSubstr("aaa..."));
}

// ---- files ----

TEST(JsonText, SyntaxErrorsHaveLineAndColumn) {
  EXPECT_EQ(refusal([] { read("{\n  \"a\": 1,\n  \"b\": }\n"); }),
            "a.json: must be complete JSON: syntax error at line 3, column 8");
  EXPECT_EQ(refusal([] { read("?"); }),
            "a.json: must be complete JSON: syntax error at line 1, column 1");
  EXPECT_THAT(refusal([] { read("{\"a\": 1} x"); }), HasSubstr("syntax error at line 1"));
}

TEST(JsonText, CutOffTextSaysSo) {
  const std::string whole = "{\n  \"a\": {\n    \"b\": [1, 2]\n  }\n}";
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_THAT(refusal([&] { read(whole.substr(0, length)); }),
                HasSubstr("the text ends too early at line "))
        << length;
  EXPECT_THAT(refusal([&] { read(whole.substr(0, 9)); }), HasSubstr("line 2, column 7"));
}

TEST(JsonText, MissingFileIsNamed) {
  EXPECT_EQ(refusal([] { JsonInput::from_file("no/such.json"); }),
            "no/such.json: cannot be opened for reading");
}

TEST(JsonInputText, ANumberBeyondADoubleIsAnInputError) {
  try {
    JsonInput::from_text(R"({"x": 1e999})", "big.json");
    FAIL() << "1e999 is no double";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("big.json"), std::string::npos);
  }
}

}  // namespace
}  // namespace forescale
