#include "base/shared_vector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forescale {
namespace {

using ::testing::ElementsAre;

TEST(SharedVector, IsOneUntilACopyIsEdited) {
  SharedVector<std::string> first;
  first.edit() = {"a", "b"};
  const std::string* const b = &first[1];
  EXPECT_EQ(&first.edit()[1], b);  // nobody else has it
  SharedVector<std::string> second = first;
  EXPECT_EQ(&second[1], b);
  second.edit().emplace_back("c");
  EXPECT_EQ(&first[1], b);
  EXPECT_THAT(std::vector<std::string>(first.begin(), first.end()), ElementsAre("a", "b"));
  EXPECT_THAT(std::vector<std::string>(second.begin(), second.end()), ElementsAre("a", "b", "c"));
  EXPECT_EQ(first.size() + second.size(), 5U);
}

}  // namespace
}  // namespace forescale
