// SMPI traces that are wrong: refused with the line and the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "tests/base/refusal.hpp"
#include "tests/traces/smpi_files.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

TEST(FormatSmpiRefusals, RefusesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "has no calls"},
      {"0 init\n0 compute 1\n", "rank 0 has no \"finalize\""},
      {"0 compute 1\n", "line 1 = 0 compute 1: must come after the rank's \"init\""},
      {"0 init\n0 init\n", "line 2 = 0 init: is there for the second time"},
      {"1 init\n1 finalize\n", "rank 0 is missing"},
      {ranks(1, "0 alreduce 5 5\n"), "did you mean \"allreduce\""},
      {ranks(1, "0 allreduce 5\n"), "must have 2 numbers"},
      {ranks(1, "0 compute nan\n"), "must be a number"},
      {ranks(1, "0 compute 1e400\n"), "must be a number"},
      {ranks(1, "0 compute -1\n"), "must be at least 0"},
      {ranks(1, "0 compute 1e30\n"), "too long"},
      {ranks(1, "0 bcast 1e300\n"), "which are too many"},
      {ranks(1, "0 bcast 1 1\n"), "a whole number from 0 to 0, not 1"},
      {ranks(1, "0 bcast 1 0 51\n"), "no datatype of data"},
      {ranks(1, "0 bcast 1 0 99\n"), "a whole number from 0 to 53, not 99"},
      {ranks(1, "-1 bcast 1\n"), "line 2 = -1: must be a rank"},
      {ranks(1, "99999999999 bcast 1\n"), "must be a rank"},
      {ranks(1, "0 bcast \xff\xfe\n"), "line 2 = ??: must be a number"},
      {ranks(2, "0 send 1 0 5\n"), "line 3: is a message of rank 0 to rank 1 with tag 0"},
      {ranks(2, "0 recv 1 0 5\n"), "rank 1 with tag 0 that it does not send"},
      {ranks(2, "0 send 1 0 5\n1 recv 0 0 4\n"), "has room for 4 bytes, but rank 0 sends 5"},
      {ranks(2, "0 recv -555 0 5\n"), "from any rank"},
      {ranks(2, "0 recv 1 -444 5\n"), "with any tag"},
      {ranks(2, "0 barrier\n"), "line 3 = barrier: is called by all ranks, but rank 1"},
      {ranks(2, "0 barrier\n1 bcast 1\n"), "line 4 = bcast: comes where rank 0 calls barrier"},
      {ranks(2, "0 bcast 1\n1 bcast 2\n"), "has 2 bytes, which is another size"},
      {ranks(2, "0 alltoall 1 1\n1 alltoall 2 1\n"), "has 2 bytes, which is another size"},
      {ranks(2, "0 bcast 1 0\n1 bcast 1 1\n"), "has another root"},
      {ranks(2, "0 reducescatter 1 2 3\n1 reducescatter 2 1 3\n"), "has other counts"},
      {ranks(3, all(3, "alltoallv 1 1 1 1 1 1 1")), "at least 8 numbers with 3 ranks, not 7"},
      {ranks(3, all(3, "alltoall 1e15 1")), "in all, which are too many"},
  };
  for (const auto& [text, reason] : wrong)
    EXPECT_THAT(smpi_refusal(text), HasSubstr(reason)) << text;
}

TEST(FormatSmpiRefusals, RefusesFilesThatDoNotFit) {
  const std::string one = in_file("one.txt", ranks(1, ""));
  const auto refused = [](const std::vector<std::string>& files) {
    return refusal([&] { smpi().import(files, {}); });
  };
  EXPECT_THAT(refused({one, one}), HasSubstr("is a rank that"));
  EXPECT_THAT(refused({in_file("gone.txt", "no such file\n")}), HasSubstr("must be a rank"));
  EXPECT_THAT(refused({in_file("gone.txt", "none.txt\n")}), HasSubstr("none.txt"));
  EXPECT_THAT(refused({in_file("long.txt", std::string(70 << 20, ' '))}),
              HasSubstr("line 1: is longer than 64 MiB"));
}

TEST(FormatSmpiRefusals, RefusesDamagedGzip) {
  const std::string file = in_file("whole.gz", "");
  std::string calls;
  for (int i = 0; i < 20000; ++i) calls += fmt::format("0 compute {}\n", (i * 7919) % 10007);
  const std::string text = ranks(1, calls);
  gzFile out = gzopen(file.c_str(), "wb");
  ASSERT_EQ(gzwrite(out, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  gzclose(out);
  EXPECT_EQ(smpi().import({file}, kGigaflop).found.kernels, 20000u);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THROW(smpi().import({file}, kGigaflop), InputError);
}

}  // namespace
}  // namespace forescale::testing
