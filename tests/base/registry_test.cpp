#include "base/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forescale {
namespace {

struct Toy {
  std::string name;
  int value = 0;
};

const bool kSecond = Registry<Toy>::add({.name = "second", .value = 2});
const bool kFirst = Registry<Toy>::add({.name = "first", .value = 1});

TEST(Registry, FindsByNameAndListsInOrder) {
  EXPECT_TRUE(kFirst && kSecond);
  EXPECT_EQ(Registry<Toy>::find("second", "test").value, 2);
  EXPECT_EQ(Registry<Toy>::names(), (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(Registry<Toy>::all().size(), 2u);
}

TEST(Registry, UnknownNameIsAnInputErrorWithTheNearest) {
  try {
    Registry<Toy>::find("frist", "--toy");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--toy = frist: unknown; did you mean \"first\"? (one of: first, second)");
  }
}

TEST(RegistryDeathTest, SameNameTwiceIsABug) {
  EXPECT_DEATH(Registry<Toy>::add({.name = "first", .value = 3}), "registered twice: first");
}

}  // namespace
}  // namespace forescale
