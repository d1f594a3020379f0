// Logs that are cut, garbled, foreign or impossible: an InputError with line and reason, never a
// wrong point.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/base/refusal.hpp"
#include "tests/calibrate/logs.hpp"

namespace forescale::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kTitle = "# OSU MPI Latency Test v7.1\n";
const std::string kOsu = kTitle + "# Size          Latency (us)\n";

struct Fixture {
  const char* name;
  LogImportOptions options;
};
const std::vector<Fixture>& fixtures() {
  static const std::vector<Fixture> list{
      {"osu_latency_v7.1.txt", {}},        {"osu_bw_v3.3.txt", {}},
      {"osu_mbw_mr_v5.6.2.txt", {}},       {"osu_collectives_v7.5.txt", {.ranks = 4}},
      {"osu_cuda_latency_v5.6.3.txt", {}}, {"imb_2018.txt", {}},
      {"nccl_all_reduce_2.17.txt", {}},    {"nccl_alltoall_2.0.txt", {.op = "all-to-all"}}};
  return list;
}

TEST(ImportRefuses, WhatIsNoLog) {
  EXPECT_EQ(log_refusal("", "auto"), "log.txt:line 1: the file is empty");
  EXPECT_THAT(log_refusal(" \n\n", "auto"), HasSubstr("the file is empty"));
  EXPECT_THAT(log_refusal("\nhello, world\n", "auto"),
              AllOf(StartsWith("log.txt:line 2 = hello, world: "),
                    HasSubstr("no log of caffe-layers, caffe-time, deepbench, imb, "
                              "key-averages, nccl-tests, osu, pytorch-profiler")));
  EXPECT_THAT(log_refusal("hello\n", "osu"), HasSubstr("no log of osu: no line is its header"));
  EXPECT_THAT(log_refusal(kOsu + "1 2.00\n", "imb"), HasSubstr("line 1"));
  EXPECT_THAT(log_refusal(kOsu + "1 2.00\n", "imb"), HasSubstr("is of osu, not of imb"));
  EXPECT_THAT(log_refusal(kOsu + "1 2.00\n# Benchmarking PingPong\n", "auto"),
              AllOf(HasSubstr("line 4"), HasSubstr("is of imb, not of osu")));
  EXPECT_THAT(log_refusal("x", "hpl"), HasSubstr("--from = hpl: unknown"));
}

TEST(ImportRefuses, WhatIsNoText) {
  using std::string_literals::operator""s;
  EXPECT_THAT(log_refusal("\x7f"s + "ELF\x02\x01\x01\0\0"s, "auto"),
              HasSubstr("holds a byte 0x7f"));
  EXPECT_THAT(log_refusal(kOsu + "1  2\0.00\n"s, "auto"),
              AllOf(HasSubstr("line 3 = 1  2"), HasSubstr("holds a byte 0x00")));
  EXPECT_THAT(log_refusal(std::string(70000, 'x'), "auto"), HasSubstr("longer than 65536 bytes"));
  EXPECT_THAT(log_refusal(kOsu + std::string(70000, '1') + "\n", "auto"), HasSubstr("line 3"));
}

// A file that never ends, without line ends: refused after 64 KiB, not read.
TEST(ImportRefuses, EndlessLinesInBoundedMemory) {
  try {
    import_log("/dev/zero", "auto", {});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/dev/zero:line 1: must be text, and holds a byte 0x00");
  }
}

TEST(ImportRefuses, FilesThatCannotBeRead) {
  const auto why = [](const std::string& file) {
    return refusal([&] { import_log(file, "auto", {}); });
  };
  EXPECT_THAT(why("/nowhere.txt"), HasSubstr("No such file or directory"));
  EXPECT_THAT(why(::testing::TempDir()), HasSubstr("is a folder"));
}

TEST(ImportRefuses, RowsThatCannotBe) {
  const auto osu = [](const std::string& rows) { return log_refusal(kOsu + rows, "auto"); };
  EXPECT_EQ(osu("1  -2.00\n"), "log.txt:line 3 = 1  -2.00: the latency must be > 0");
  EXPECT_THAT(osu("1  0.00\n"), HasSubstr("must be > 0"));
  EXPECT_THAT(osu("-1  2.00\n"), HasSubstr("\"-1\" must be a whole number of bytes"));
  EXPECT_THAT(osu("1  2,00\n"), HasSubstr("\"2,00\" must be a latency"));
  EXPECT_THAT(osu("1.024  2.00\n"), HasSubstr("\"1.024\" must be a whole number"));
  EXPECT_THAT(osu("1K  2.00\n"), HasSubstr("\"1K\" must be a whole number"));
  EXPECT_THAT(osu("1  nan\n"), HasSubstr("\"nan\" must be a latency"));
  EXPECT_THAT(osu("1  inf\n"), HasSubstr("\"inf\" must be a latency"));
  EXPECT_THAT(osu("1  2.00us\n"), HasSubstr("\"2.00us\" must be a latency"));
  EXPECT_THAT(osu("1  1e999\n"), HasSubstr("must be a latency"));
  EXPECT_THAT(osu("99999999999999999999  2.00\n"), HasSubstr("must be a whole number"));
  EXPECT_THAT(osu("1\n"), HasSubstr("must have 2 columns and has 1"));
  EXPECT_THAT(osu("1  2.00  3.00\n"), HasSubstr("must have 2 columns and has 3"));
}

TEST(ImportRefuses, SizesThatDoNotGrow) {
  const auto osu = [](const std::string& rows) { return log_refusal(kOsu + rows, "auto"); };
  EXPECT_THAT(osu("1  2.00\n1  2.50\n"), AllOf(HasSubstr("line 4"), HasSubstr("there twice")));
  EXPECT_EQ(osu("1  2.00\n1  2.00\n2  2.10\n"), "accepted");
  EXPECT_THAT(osu("8  2.00\n1  2.00\n"), AllOf(HasSubstr("line 4"), HasSubstr("sizes must grow")));
}

TEST(ImportRefuses, WhatWasCutShort) {
  EXPECT_THAT(log_refusal(kOsu + "1  2.00\n1024  3.5", "auto"),
              AllOf(HasSubstr("line 4 = 1024  3.5"), HasSubstr("the file ends within this row")));
  EXPECT_THAT(log_refusal(kOsu, "auto"), AllOf(HasSubstr("line 1"), HasSubstr("has no rows")));
  EXPECT_THAT(log_refusal(kTitle + "1  2.00\n", "auto"),
              HasSubstr("before the header of its columns"));
  const std::string imb = text_of(fixture("imb_2018.txt"));
  EXPECT_THAT(log_refusal(imb.substr(0, imb.find("# All proc")), "auto"),
              HasSubstr("MPI_Finalize"));
  const std::string nccl = text_of(fixture("nccl_all_reduce_2.17.txt"));
  EXPECT_THAT(log_refusal(nccl.substr(0, nccl.find("[1,0]<stdout>:# Avg")), "auto"),
              HasSubstr("Avg bus bandwidth"));
  EXPECT_THAT(log_refusal(kOsu + "1  2.00\nslurmstepd: *** JOB 1 CANCELLED DUE TO TIME LIMIT ***\n",
                          "auto"),
              AllOf(HasSubstr("line 4"), HasSubstr("was stopped here")));
}

TEST(ImportRefuses, ButPartialTakesWhatCameBefore) {
  const Measurement measurement =
      import_log_text(kOsu + "1  2.00\n1024  3.5", "log.txt", "auto", {.partial = true});
  ASSERT_EQ(measurement.series.at(0).points.size(), 1U);
  ASSERT_EQ(measurement.notes.size(), 1U);
  EXPECT_EQ(measurement.notes[0], "log.txt: line 4: the file ends within this row");
}

TEST(ImportRefuses, MixedUnits) {
  EXPECT_THAT(log_refusal(kTitle + "# Size      Bandwidth (MB/s)\n1  2.00\n", "auto"),
              AllOf(HasSubstr("line 2"), HasSubstr("must have a latency in us")));
  EXPECT_THAT(log_refusal("# OSU MPI Bandwidth Test v7.1\n# Size  Latency (us)\n1  2.00\n", "auto"),
              HasSubstr("must have a bandwidth in MB/s"));
  EXPECT_THAT(log_refusal(kOsu + "1  2.00\n# Size      Bandwidth (MB/s)\n2  2.00\n", "auto"),
              AllOf(HasSubstr("line 4"), HasSubstr("second header")));
  EXPECT_THAT(log_refusal(kTitle + "# Size          Latency (ms)\n1  2.00\n", "auto"),
              HasSubstr("no OSU benchmark writes"));
  const std::string imb = text_of(fixture("imb_2018.txt"));
  EXPECT_THAT(log_refusal(replaced(imb, "t[usec]", "t[msec]"), "auto"), HasSubstr("\"t[msec]\""));
  const std::string nccl = text_of(fixture("nccl_all_reduce_2.17.txt"));
  EXPECT_THAT(log_refusal(replaced(nccl, "(us)", "(ms)  (us)"), "auto"), "accepted");
  EXPECT_THAT(log_refusal(replaced(replaced(nccl, "(us)", "(ms)"), "(us)", "(ms)"), "auto"),
              HasSubstr("must give times in (us)"));
}

TEST(ImportRefuses, WrongResults) {
  EXPECT_THAT(log_refusal(replaced(text_of(fixture("osu_collectives_v7.5.txt")), "Pass", "Fail"),
                          "auto", {.ranks = 4}),
              AllOf(HasSubstr("line 5"), HasSubstr("found wrong data")));
  const std::string nccl = text_of(fixture("nccl_all_reduce_2.17.txt"));
  EXPECT_THAT(log_refusal(replaced(nccl, "0.00    0.00      0", "0.00    0.00      7"), "auto"),
              HasSubstr("found wrong data"));
  EXPECT_THAT(log_refusal(replaced(nccl, "values : 0 OK", "values : 3 FAILED"), "auto"),
              HasSubstr("found wrong data"));
}

TEST(ImportRefuses, RanksThatAreNotSaid) {
  EXPECT_THAT(log_refusal(text_of(fixture("osu_collectives_v7.5.txt")), "auto"),
              AllOf(HasSubstr("line 2"), HasSubstr("give --ranks")));
  EXPECT_THAT(log_refusal("# OSU MPI Multi Latency Test v7.1\n# Size Latency (us)\n1 2.00\n",
                          "auto", {.ranks = 3}),
              HasSubstr("cannot have --ranks 3"));
  const std::string imb = text_of(fixture("imb_2018.txt"));
  EXPECT_THAT(log_refusal(replaced(imb, "#processes = 2", "#processes = two"), "auto"),
              HasSubstr("how many ranks"));
  EXPECT_THAT(log_refusal(replaced(imb, "#processes = 2", "#processes = 3"), "auto"),
              HasSubstr("has 2 processes, not 3"));
  const std::string nccl = text_of(fixture("nccl_all_reduce_2.17.txt"));
  EXPECT_THAT(log_refusal(replaced(nccl, "Rank  3", "Rank  2"), "auto"), HasSubstr("listed twice"));
  EXPECT_THAT(log_refusal(replaced(nccl, "Rank  3", "Rank  7"), "auto"), HasSubstr("gaps"));
}

// The result, or nothing where the log is refused; any other exception fails the test.
std::optional<Measurement> attempt(const std::string& text, const LogImportOptions& options) {
  try {
    Measurement measurement = import_log_text(text, "log.txt", "auto", options);
    // What comes out can be read again.
    read_measurement_text(to_json(measurement).dump(), "again.json");
    return measurement;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

bool is_prefix(const Measurement& cut, const Measurement& whole) {
  if (cut.series.size() > whole.series.size()) return false;
  for (size_t i = 0; i < cut.series.size(); ++i) {
    const std::vector<MeasuredPoint>& points = cut.series[i].points;
    const std::vector<MeasuredPoint>& all = whole.series[i].points;
    if (cut.series[i].ranks != whole.series[i].ranks || points.size() > all.size()) return false;
    for (size_t k = 0; k < points.size(); ++k)
      if (points[k].bytes != all[k].bytes || points[k].time_s != all[k].time_s) return false;
  }
  return true;
}

// Wherever a log is cut: refused, or what came before, never another number.
TEST(ImportRobust, ATruncatedLogIsRefusedOrAPrefix) {
  for (const Fixture& fixture_of : fixtures()) {
    const std::string text = text_of(fixture(fixture_of.name));
    const std::optional<Measurement> whole = attempt(text, fixture_of.options);
    ASSERT_TRUE(whole.has_value()) << fixture_of.name;
    for (const bool partial : {false, true}) {
      LogImportOptions options = fixture_of.options;
      options.partial = partial;
      for (size_t length = 0; length < text.size(); ++length) {
        const auto cut = attempt(text.substr(0, length), options);
        EXPECT_TRUE(!cut || is_prefix(*cut, *whole)) << fixture_of.name << " at " << length;
      }
    }
  }
}

TEST(ImportRobust, FlippedBytesNeverCrash) {
  std::mt19937 random(20240501);
  for (const Fixture& fixture_of : fixtures()) {
    const std::string text = text_of(fixture(fixture_of.name));
    for (int trial = 0; trial < 3000; ++trial) {
      std::string broken = text;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips)
        broken[random() % broken.size()] = static_cast<char>(random() % 256);
      if (random() % 4 == 0) broken.erase(random() % broken.size(), 1 + random() % 40);
      attempt(broken, fixture_of.options);
    }
  }
}

}  // namespace
}  // namespace forescale::testing
