#include "base/utf8.hpp"

#include <gtest/gtest.h>

namespace forescale {
namespace {

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* text : {"", "plain", "\xc3\xa4 and \xe2\x82\xac", "\"\\\n\t", "\xef\xbf\xbd"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
    EXPECT_EQ(as_utf8(text), text);
  }
  for (const char* text : {"\xff", "half \xc3", "too long \xc0\x80", "a surrogate \xed\xa0\x80"})
    EXPECT_FALSE(is_utf8(text)) << text;
  EXPECT_EQ(as_utf8("dim\xff=4"), "dim\xef\xbf\xbd=4");
}

}  // namespace
}  // namespace forescale
