#include "base/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

constexpr double kKi = 1024;

TEST(ParseSeconds, EveryUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("2s", "t").value, 2);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5ms", "t").value, 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_seconds("25us", "t").value, 25e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("7ns", "t").value, 7e-9);
  EXPECT_DOUBLE_EQ(parse_seconds("2min", "t").value, 2 * 60);
  EXPECT_DOUBLE_EQ(parse_seconds("1e-3 s", "t").value, 1e-3);
  EXPECT_EQ(parse_seconds("0s", "t").value, 0);
}

TEST(ParseBytes, EveryUnit) {
  EXPECT_EQ(parse_bytes("64", "b").value, 64);
  EXPECT_EQ(parse_bytes("64B", "b").value, 64);
  EXPECT_EQ(parse_bytes("3kB", "b").value, 3 * 1000);
  EXPECT_EQ(parse_bytes("3MB", "b").value, 3 * 1000 * 1000);
  EXPECT_EQ(parse_bytes("3GB", "b").value, 3LL * 1000 * 1000 * 1000);
  EXPECT_EQ(parse_bytes("3TB", "b").value, 3LL * 1000 * 1000 * 1000 * 1000);
  EXPECT_EQ(parse_bytes("3KiB", "b").value, 3LL << 10);
  EXPECT_EQ(parse_bytes("256MiB", "b").value, 256LL << 20);
  EXPECT_EQ(parse_bytes("3GiB", "b").value, 3LL << 30);
  EXPECT_EQ(parse_bytes("3TiB", "b").value, 3LL << 40);
  EXPECT_EQ(parse_bytes("0.5KiB", "b").value, 512);
  EXPECT_EQ(parse_bytes("8 MiB", "b").value, 8LL << 20);
}

// GB = 1e9 bytes, GiB = 2^30 bytes, Gbit/s = 1e9 bit/s.
TEST(ParseBandwidth, EveryUnit) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("5B/s", "r").value, 5);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5kB/s", "r").value, 5e3);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5MB/s", "r").value, 5e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("12.5GB/s", "r").value, 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5TB/s", "r").value, 5e12);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5KiB/s", "r").value, 5 * kKi);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5MiB/s", "r").value, 5 * kKi * kKi);
  EXPECT_DOUBLE_EQ(parse_bandwidth("5GiB/s", "r").value, 5 * kKi * kKi * kKi);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8kbit/s", "r").value, 1e3);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8Mbit/s", "r").value, 1e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Gbit/s", "r").value, 100e9 / 8);
  EXPECT_DOUBLE_EQ(parse_bandwidth("8Tbit/s", "r").value, 1e12);
}

TEST(ParseUnits, SaysWhatIsWrong) {
  EXPECT_THAT(refusal([] { parse_seconds("25", "--latency"); }),
              HasSubstr("--latency = 25: needs a unit, such as 25us"));
  EXPECT_THAT(refusal([] { parse_seconds("-1us", "--latency"); }),
              HasSubstr("--latency = -1us: must be >= 0"));
  EXPECT_THAT(refusal([] { parse_bytes("-1MiB", "--bytes"); }), HasSubstr("must be >= 0"));
  for (const char* ambiguous : {"100Gb/s", "100Gbps"})
    EXPECT_THAT(refusal([&] { parse_bandwidth(ambiguous, "--bw"); }),
                HasSubstr("may be bits or bytes: say Gbit/s or GB/s"));
  EXPECT_THAT(refusal([] { parse_bandwidth("12.5GB/", "--bw"); }),
              HasSubstr("unit \"GB/\" is unknown; did you mean \"GB/s\"?"));
  EXPECT_THAT(refusal([] { parse_bytes("3Mib", "--bytes"); }), HasSubstr("did you mean \"MiB\"?"));
  EXPECT_THAT(refusal([] { parse_bandwidth("0GB/s", "--bw"); }), HasSubstr("must be > 0"));
  EXPECT_THAT(refusal([] { parse_bandwidth("5", "--bw"); }), HasSubstr("needs a unit"));
  EXPECT_THAT(refusal([] { parse_bytes("1.5B", "--bytes"); }),
              HasSubstr("must be a whole number of bytes"));
  EXPECT_THAT(refusal([] { parse_bytes("", "--bytes"); }), HasSubstr("--bytes = \"\""));
  for (const char* text : {"nan s", "inf s", "fast", "s", "--1s", "1e400s"})
    EXPECT_THAT(refusal([text] { parse_seconds(text, "--t"); }), HasSubstr("must be a number"))
        << text;
  EXPECT_THAT(refusal([] { parse_bytes("1e10TB", "--bytes"); }), HasSubstr("must be below"));
  EXPECT_THAT(refusal([] { parse_bytes("12 MiB x", "--bytes"); }), HasSubstr("unknown"));
}

TEST(ParseInteger, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("42", "n"), 42);
  EXPECT_EQ(parse_integer("-42", "n"), -42);
  for (const char* text : {"", "4.5", "4x", " 4", "99999999999999999999"})
    EXPECT_THAT(refusal([text] { parse_integer(text, "--n"); }),
                HasSubstr("must be a whole number"))
        << text;
}

TEST(ParseIntegers, ListsAndDoublingRanges) {
  const auto list = [](const char* text) { return parse_integers(text, "--gpus"); };
  using Integers = std::vector<std::int64_t>;
  EXPECT_EQ(list("16,32,64"), (Integers{16, 32, 64}));
  EXPECT_EQ(list("16..160"), (Integers{16, 32, 64, 128, 160}));
  EXPECT_EQ(list("16..128"), (Integers{16, 32, 64, 128}));
  EXPECT_EQ(list("5..5"), (Integers{5}));
  EXPECT_EQ(list("1,4..16,160"), (Integers{1, 4, 8, 16, 160}));
  EXPECT_EQ(list("7"), (Integers{7}));
  // No overflow on the way to the end.
  EXPECT_EQ(list("4611686018427387904..9223372036854775807"),
            (Integers{std::int64_t{1} << 62, 9223372036854775807}));
}

TEST(ParseIntegers, RefusesBrokenLists) {
  const auto said = [](const char* text) {
    return refusal([text] { parse_integers(text, "--gpus"); });
  };
  EXPECT_THAT(said("16,,32"), HasSubstr("must be a whole number"));
  EXPECT_THAT(said("16,"), HasSubstr("must be a whole number"));
  EXPECT_THAT(said(""), HasSubstr("must be a whole number"));
  EXPECT_THAT(said("0..8"), HasSubstr("must start above 0"));
  EXPECT_THAT(said("8..4"), HasSubstr("must not end below its start"));
  EXPECT_THAT(said("8.."), HasSubstr("must be a whole number"));
  EXPECT_THAT(said("1..2..4"), HasSubstr("must be a whole number"));
}

TEST(ParseByteList, DoublesInBytes) {
  const std::vector<Bytes> sizes = parse_byte_list("64KiB..256KiB,1MB", "--bytes");
  const std::vector<Bytes> expected = {{64 << 10}, {128 << 10}, {256 << 10}, {1000000}};
  EXPECT_EQ(sizes, expected);
}

TEST(ToText, FourDigitsAndTheLargestFittingUnit) {
  EXPECT_EQ(to_text(Seconds{0}), "0 s");
  EXPECT_EQ(to_text(Seconds{2.5e-8}), "25 ns");
  EXPECT_EQ(to_text(Seconds{25e-6}), "25 us");
  EXPECT_EQ(to_text(Seconds{1.23456e-3}), "1.235 ms");
  EXPECT_EQ(to_text(Seconds{12.5}), "12.5 s");
  EXPECT_EQ(to_text(Bytes{0}), "0 B");
  EXPECT_EQ(to_text(Bytes{1000}), "1000 B");
  EXPECT_EQ(to_text(Bytes{256LL << 20}), "256 MiB");
  EXPECT_EQ(to_text(Bytes{3LL << 39}), "1.5 TiB");
  EXPECT_EQ(to_text(Bytes{5LL << 50}), "5120 TiB");
  EXPECT_EQ(to_text(BytesPerSecond{12.5e9}), "12.5 GB/s");
  EXPECT_EQ(to_text(BytesPerSecond{999}), "999 B/s");
  EXPECT_EQ(to_text(BytesPerSecond{1e3}), "1 kB/s");
  EXPECT_EQ(to_text(BytesPerSecond{2e15}), "2000 TB/s");
}

TEST(ToText, IsReadBack) {
  for (const double time_s : {1.5e-9, 2.5e-6, 3.5e-3, 4.5})
    EXPECT_DOUBLE_EQ(parse_seconds(to_text(Seconds{time_s}), "t").value, time_s);
  for (const std::int64_t bytes : {0LL, 1LL, 1023LL, 1LL << 10, 3LL << 20, 5LL << 40})
    EXPECT_EQ(parse_bytes(to_text(Bytes{bytes}), "b").value, bytes);
}

TEST(Quantities, AddAndScale) {
  Seconds time{1};
  time += Seconds{0.5};
  time -= Seconds{0.25};
  EXPECT_EQ((2.0 * time + Seconds{1}).value, 2 * 1.25 + 1);
  EXPECT_EQ(Seconds{3} / Seconds{2}, 1.5);
  EXPECT_LT(Seconds{1}, Seconds{2});
  EXPECT_EQ((Bytes{3} + Bytes{4}).value, 7);
  EXPECT_EQ((Bytes{3} - Bytes{4}).value, -1);
}

}  // namespace
}  // namespace forescale
