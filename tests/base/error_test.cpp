#include "base/error.hpp"

#include <gtest/gtest.h>

namespace forescale {
namespace {

std::string text_of(InputErrorParts parts) { return InputError(std::move(parts)).what(); }

TEST(InputErrorText, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(text_of({.source = "dgx.json",
                     .path = "/links/3/latency_s",
                     .value = "-1",
                     .constraint = "must be >= 0"}),
            "dgx.json:/links/3/latency_s = -1: must be >= 0");
  EXPECT_EQ(text_of({.source = "--gpus", .path = "", .value = "0", .constraint = "must be >= 1"}),
            "--gpus = 0: must be >= 1");
  EXPECT_EQ(text_of({.source = "a.json", .path = "/b", .value = "", .constraint = "is missing"}),
            "a.json:/b: is missing");
  EXPECT_EQ(text_of({.source = "a.json", .path = "", .value = "", .constraint = "is empty"}),
            "a.json: is empty");
}

TEST(InputErrorText, CutsLongValuesBetweenCharacters) {
  const auto with_value = [](const std::string& value) {
    return text_of({.source = "--slots", .path = "", .value = value, .constraint = "is wrong"});
  };
  EXPECT_EQ(with_value(std::string(200, '1')), "--slots = " + std::string(200, '1') + ": is wrong");
  EXPECT_EQ(with_value(std::string(201, '1')),
            "--slots = " + std::string(160, '1') + "... (201 bytes): is wrong");
  std::string umlauts = "1";
  for (int i = 0; i < 150; ++i) umlauts += "\u00e4";
  const std::string cut = umlauts.substr(0, 159);  // the 80th begins at byte 159
  EXPECT_EQ(with_value(umlauts), "--slots = " + cut + "... (301 bytes): is wrong");
}

TEST(Nearest, IsTheSmallestEditDistance) {
  const std::vector<std::string> names = {"latency_s", "bandwidth_bytes_per_s", "duplex"};
  EXPECT_EQ(nearest("latency", names), "latency_s");
  EXPECT_EQ(nearest("latnecy_s", names), "latency_s");
  EXPECT_EQ(nearest("bandwidth_byte_per_s", names), "bandwidth_bytes_per_s");
  EXPECT_EQ(nearest("duplx", names), "duplex");
  EXPECT_EQ(nearest("duplex", names), "duplex");
  EXPECT_EQ(nearest("bandwith", names), "bandwidth_bytes_per_s") << "how it begins";
  EXPECT_EQ(nearest("aws-p6", {"aws-p5", "aws-p6-b200"}), "aws-p6-b200");
}

TEST(Nearest, IsNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("colour", {"latency_s", "bandwidth"}), "");
  EXPECT_EQ(nearest("ring", {}), "");
  // Two edits are near, three of a short word are not.
  EXPECT_EQ(nearest("abc", {"axy"}), "axy");
  EXPECT_EQ(nearest("abc", {"xyz"}), "");
  // A third of a long word is.
  EXPECT_EQ(nearest("abcdefghijkl", {"abcdefghWXYZ"}), "abcdefghWXYZ");
}

TEST(Nearest, TakesTheFirstOfEquallyNear) { EXPECT_EQ(nearest("cx", {"ca", "cb"}), "ca"); }

TEST(UnknownName, ListsAllAndSuggestsOne) {
  EXPECT_EQ(unknown_name("rign", {"ring", "chain"}),
            "unknown; did you mean \"ring\"? (one of: ring, chain)");
  EXPECT_EQ(unknown_name("zzzzzz", {"ring", "chain"}), "unknown (one of: ring, chain)");
}

TEST(CheckDeathTest, NamesConditionAndMessage) {
  EXPECT_DEATH(FORESCALE_CHECK(1 + 1 == 3, "arithmetic"), "1 \\+ 1 == 3.*arithmetic");
}

}  // namespace
}  // namespace forescale
