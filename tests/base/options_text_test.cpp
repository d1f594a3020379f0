#include "base/options_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

OptionsText parse(const std::string& text) { return OptionsText::parse(text, "--stack"); }

TEST(OptionsText, NameAndValues) {
  const OptionsText bare = parse("ideal");
  EXPECT_EQ(bare.name(), "ideal");
  EXPECT_TRUE(bare.empty());
  const OptionsText text = parse("ideal:eager=8KiB,overlap=true,channels=4");
  EXPECT_EQ(text.name(), "ideal");
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.at("eager"), "8KiB");
  EXPECT_TRUE(text.boolean("overlap", false));
  EXPECT_EQ(text.integer("channels", 1, 1), 4);
  EXPECT_EQ(text.integer("absent", 7, 1), 7);
  EXPECT_FALSE(text.boolean("absent", false));
  EXPECT_FALSE(text.find("absent").has_value());
  EXPECT_EQ(parse("x:a=").at("a"), "");
  EXPECT_EQ(parse("x:a=b=c").at("a"), "b=c");
  EXPECT_EQ(text.where("eager"), "--stack ideal:eager");
}

TEST(OptionsText, ListsGoOnBehindCommas) {
  const OptionsText text = OptionsText::parse("x:a=1,2,b=3,4", "--stack", {"a", "b"});
  EXPECT_EQ(text.at("a"), "1,2");
  EXPECT_EQ(text.at("b"), "3,4");
  EXPECT_EQ(refusal([] { OptionsText::parse("x:b=1,2", "--stack", {"a"}); }),
            "--stack = 2: must have the form key=value");
  EXPECT_EQ(refusal([] { OptionsText::parse("x:2", "--stack", {"a"}); }),
            "--stack = 2: must have the form key=value");
}

TEST(OptionsText, ErrorsNameOptionNameAndKey) {
  EXPECT_EQ(refusal([] { parse(""); }), "--stack = \"\": is empty");
  EXPECT_EQ(refusal([] { parse(":a=b"); }), "--stack = \"\": is empty");
  EXPECT_EQ(refusal([] { parse("x:ab"); }), "--stack = ab: must have the form key=value");
  EXPECT_EQ(refusal([] { parse("x:=b"); }), "--stack = =b: must have the form key=value");
  EXPECT_EQ(refusal([] { parse("x:a=1,a=2"); }), "--stack = a=2: gives a key for the second time");
  EXPECT_EQ(refusal([] { parse("x:a=1").at("b"); }), "--stack x:b: is required and missing");
  EXPECT_EQ(refusal([] { parse("x:a=0").integer("a", 1, 1); }), "--stack x:a = 0: must be >= 1");
  EXPECT_EQ(refusal([] { parse("x:a=9").integer("a", 1, 1, 8); }), "--stack x:a = 9: must be <= 8");
  EXPECT_EQ(refusal([] { parse("x:a=many").integer("a", 1, 1); }),
            "--stack x:a = many: must be a whole number");
  EXPECT_EQ(refusal([] { parse("x:a=maybe").boolean("a", false); }),
            "--stack x:a = maybe: must be true or false");
  EXPECT_EQ(refusal([] {
              parse("x:egaer=1").allow_only({"eager", "overlap"});
            }),
            "--stack x:egaer = 1: key is unknown; did you mean \"eager\"? (one of: eager, "
            "overlap)");
  EXPECT_EQ(refusal([] { parse("x:a=1").allow_only({}); }), "--stack x:a = 1: takes no options");
  EXPECT_EQ(refusal([] { parse("x:eager=1").allow_only({"eager"}); }), "accepted");
}

}  // namespace
}  // namespace forescale
