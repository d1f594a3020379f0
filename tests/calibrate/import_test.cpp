// Logs of OSU, IMB and nccl-tests: every number of the fixtures, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/calibrate/logs.hpp"

namespace forescale::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr double kMicro = 1e-6;

// (bytes, time in us), rounded to 1e-9 us: what the tables say.
std::vector<std::pair<std::int64_t, double>> points_us(const Series& series) {
  std::vector<std::pair<std::int64_t, double>> list;
  for (const MeasuredPoint& point : series.points) {
    EXPECT_EQ(point.low_s, point.time_s);
    EXPECT_EQ(point.p90_s, point.time_s);
    EXPECT_EQ(point.samples, 1);
    list.emplace_back(point.bytes, std::round(point.time_s / kMicro * 1e9) / 1e9);
  }
  return list;
}

TEST(ImportOsu, LatencyIsOneWay) {
  const Measurement measurement = import_log(fixture("osu_latency_v7.1.txt"), "auto", {});
  ASSERT_EQ(measurement.series.size(), 1U);
  const Series& series = measurement.series.front();
  EXPECT_EQ(series.pattern, Pattern::kPingPong);
  EXPECT_EQ(series.ranks, 2);
  EXPECT_EQ(series.place, "host");
  EXPECT_THAT(points_us(series),
              ElementsAre(Pair(0, 2.1), Pair(1, 2.2), Pair(1024, 3.5), Pair(1048576, 105.25)));
  EXPECT_EQ(measurement.provenance.at("logs"), "osu_latency_v7.1.txt (osu)");
  EXPECT_TRUE(measurement.notes.empty());
}

TEST(ImportOsu, BandwidthIsTheTimeOfAMessageInARow) {
  const Measurement measurement = import_log(fixture("osu_bw_v3.3.txt"), "osu", {});
  ASSERT_EQ(measurement.series.size(), 2U);
  EXPECT_EQ(measurement.series[0].pattern, Pattern::kStream);
  // 1 B / 2 MB/s, 1000 B / 500 MB/s, 4e6 B / 8000 MB/s.
  EXPECT_THAT(points_us(measurement.series[0]),
              ElementsAre(Pair(1, 0.5), Pair(1000, 2.0), Pair(4000000, 500.0)));
  EXPECT_EQ(measurement.series[1].pattern, Pattern::kExchange);
  // A message each way: 2 B / 3.2 MB/s, 2e6 B / 10000 MB/s.
  EXPECT_THAT(points_us(measurement.series[1]), ElementsAre(Pair(1, 0.625), Pair(1000000, 200.0)));
}

TEST(ImportOsu, PairsShareTheSumOfMessages) {
  const Measurement measurement = import_log(fixture("osu_mbw_mr_v5.6.2.txt"), "auto", {});
  ASSERT_EQ(measurement.series.size(), 1U);
  EXPECT_EQ(measurement.series[0].pattern, Pattern::kPairs);
  EXPECT_EQ(measurement.series[0].ranks, 8);
  // 4 pairs / 8e6 messages a second, 4 / 4e6.
  EXPECT_THAT(points_us(measurement.series[0]), ElementsAre(Pair(1, 0.5), Pair(1000, 1.0)));
}

TEST(ImportOsu, CollectivesTakeTheSlowestRankAndOurSizes) {
  const Measurement measurement =
      import_log(fixture("osu_collectives_v7.5.txt"), "auto", {.ranks = 4});
  ASSERT_EQ(measurement.series.size(), 3U);
  EXPECT_EQ(measurement.series[0].op, "allgather");
  EXPECT_EQ(measurement.series[0].ranks, 4);
  // The size is a rank's block; the time Max, not Avg.
  EXPECT_THAT(points_us(measurement.series[0]), ElementsAre(Pair(4, 16.0), Pair(4096, 48.0)));
  // The size is the whole vector.
  EXPECT_EQ(measurement.series[1].op, "reduce-scatter");
  EXPECT_THAT(points_us(measurement.series[1]), ElementsAre(Pair(4, 6.0), Pair(4096, 22.0)));
  EXPECT_EQ(measurement.series[2].pattern, Pattern::kBarrier);
  EXPECT_THAT(points_us(measurement.series[2]), ElementsAre(Pair(0, 9.75)));
  EXPECT_THAT(measurement.notes, Contains(HasSubstr("Non-blocking Allreduce")));
  EXPECT_THAT(measurement.notes, Contains(HasSubstr("means over ranks")));
}

TEST(ImportOsu, BuffersOnDevicesAreSaidOrAsked) {
  const Measurement measurement = import_log(fixture("osu_cuda_latency_v5.6.3.txt"), "auto", {});
  EXPECT_EQ(measurement.series.at(0).place, "gpu");
  const std::string silent =
      "# OSU MPI-CUDA Latency Test v7.5\n# Size       Avg Latency(us)\n1      2.75\n";
  EXPECT_THAT(log_refusal(silent, "auto"), HasSubstr("--place"));
  const Measurement told = import_log_text(silent, "log.txt", "auto", {.place = "gpu"});
  EXPECT_EQ(told.series.at(0).place, "gpu");
  const std::string mixed =
      "# OSU MPI-CUDA Latency Test v5.6\n"
      "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"
      "# Size          Latency (us)\n1      2.75\n";
  EXPECT_THAT(log_refusal(mixed, "auto"), HasSubstr("one buffer is on the host"));
}

TEST(ImportOsu, HeadersOfAllVersions) {
  for (const std::string columns :
       {"# Size Latency (us)", "# Size\t\tLatency (us)", "# Size          Latency (us)\r",
        "# Size       Avg Latency(us)", "# Size       Avg Latency(us)   P50 Tail Lat(us)"}) {
    const bool has_tail = columns.find("P50") != std::string::npos;
    const std::string text = "# OSU MPI Latency Test v3.1.1\n" + columns +
                             "\n# Datatype: MPI_CHAR.\n" + "8    1.50" +
                             (has_tail ? "   1.40" : "") + "\r\n";
    const Measurement measurement = import_log_text(text, "log.txt", "auto", {});
    EXPECT_THAT(points_us(measurement.series.at(0)), ElementsAre(Pair(8, 1.5))) << columns;
  }
}

TEST(ImportImb, EveryBlock) {
  const Measurement measurement = import_log(fixture("imb_2018.txt"), "auto", {});
  ASSERT_EQ(measurement.series.size(), 10U);
  const auto expect = [&](size_t index, Pattern pattern, int ranks, const std::string& op,
                          const std::vector<std::pair<std::int64_t, double>>& points) {
    const Series& series = measurement.series[index];
    EXPECT_EQ(series.pattern, pattern) << index;
    EXPECT_EQ(series.ranks, ranks) << index;
    EXPECT_EQ(series.op, op) << index;
    EXPECT_EQ(points_us(series), points) << index;
  };
  expect(0, Pattern::kPingPong, 2, "", {{0, 1.5}, {1000, 2.5}, {1000000, 120}});
  expect(1, Pattern::kExchange, 2, "", {{0, 1.75}, {1000000, 200}});
  expect(2, Pattern::kShift, 4, "", {{1, 2.4}, {1000000, 160}});
  // 2 pairs / 4e6 messages a second, 2 / 2e6.
  expect(3, Pattern::kPairs, 4, "", {{0, 0.5}, {1000, 1}});
  // 2 pairs, 2 directions: 4 messages / 3.2e6 a second.
  expect(4, Pattern::kExchange, 4, "", {{1000, 1.25}});
  EXPECT_THAT(measurement.series[4].members, ElementsAre(0, 2, 1, 3));
  expect(5, Pattern::kCollective, 4, "all-reduce", {{4, 8}, {4096, 24}});
  expect(6, Pattern::kCollective, 4, "reduce-scatter", {{4096, 13}});
  expect(7, Pattern::kCollective, 4, "all-to-all", {{4 * 1024, 33}});
  expect(8, Pattern::kCollective, 2, "broadcast", {{8, 1.4}});
  expect(9, Pattern::kBarrier, 4, "", {{0, 3.5}});
  for (const char* note : {"two neighbours", "0.00 for 0 bytes", "out-of-mem", "another rank"})
    EXPECT_THAT(measurement.notes, Contains(HasSubstr(note)));
}

TEST(ImportImb, ReduceScatterDependsOnTheVersion) {
  const auto with = [](const std::string& title) {
    return replaced(text_of(fixture("imb_2018.txt")), "Intel(R) MPI Benchmarks 2018", title);
  };
  const auto reduce_scatter = [&](const std::string& title) -> std::int64_t {
    for (const Series& series : import_log_text(with(title), "log", "imb", {}).series)
      if (series.op == "reduce-scatter") return series.points.at(0).bytes;
    return 0;  // left out
  };
  EXPECT_EQ(reduce_scatter("Intel (R) MPI Benchmarks 4.1"), 4096);
  EXPECT_EQ(reduce_scatter("Intel(R) MPI Benchmark Suite V3.2.2"), 4096);
  EXPECT_EQ(reduce_scatter("Intel(R) MPI Benchmarks 2021.3"), 4 * 4096);
  EXPECT_EQ(reduce_scatter("Intel(R) MPI Benchmarks 2019 Update 6"), 0);
}

TEST(ImportNcclTests, LabelsDebugLinesAndScientificNotation) {
  const Measurement measurement = import_log(fixture("nccl_all_reduce_2.17.txt"), "auto", {});
  ASSERT_EQ(measurement.series.size(), 1U);
  const Series& series = measurement.series[0];
  EXPECT_EQ(series.op, "all-reduce");
  EXPECT_EQ(series.ranks, 4);
  EXPECT_EQ(series.place, "gpu");
  EXPECT_THAT(points_us(series),
              ElementsAre(Pair(8, 12.5), Pair(8192, 16.0), Pair(8388608, 1000.0)));
  EXPECT_EQ(measurement.library, "NCCL 2.25.1+cuda12.8");
  for (const char* note : {"in-place ones are not", "#wrong is N/A", "-a 3"})
    EXPECT_THAT(measurement.notes, Contains(HasSubstr(note)));
}

TEST(ImportNcclTests, OlderColumnsNeedTheOperation) {
  const std::string file = fixture("nccl_alltoall_2.0.txt");
  EXPECT_THAT(log_refusal(text_of(file), "auto"), HasSubstr("give --op"));
  const Measurement measurement = import_log(file, "nccl-tests", {.op = "all-to-all"});
  ASSERT_EQ(measurement.series.size(), 1U);
  EXPECT_EQ(measurement.series[0].op, "all-to-all");
  EXPECT_EQ(measurement.series[0].ranks, 4);
  EXPECT_THAT(points_us(measurement.series[0]), ElementsAre(Pair(2048, 20.0), Pair(1048576, 50.0)));
  EXPECT_THAT(measurement.notes, Contains(HasSubstr("sizes of 0")));
}

TEST(ImportNcclTests, LinesCutShortAreRefusedOrPassedOver) {
  const std::string log = text_of(fixture("nccl_all_reduce_2.17.txt"));
  EXPECT_THAT(log_refusal(replaced(replaced(log, " time ", " tim! "), " time ", " time! "), "auto"),
              HasSubstr("has no column \"time\""));
  EXPECT_EQ(import_log_text(replaced(log, "NCCL version 2.25.1+cuda12.8", "NCCL version "), "log",
                            "auto", {})
                .library,
            "");
}

TEST(ImportNcclTests, TheLogsOwnOperationIsNotOverruled) {
  EXPECT_THAT(
      log_refusal(text_of(fixture("nccl_all_reduce_2.17.txt")), "auto", {.op = "broadcast"}),
      HasSubstr("another operation than --op broadcast"));
}

TEST(ImportNcclTests, RanksFromNcclsOwnLinesOrAsked) {
  const std::string head = "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor)\n";
  const std::string info =
      "n0:1:1 [0] NCCL INFO comm 0x1 rank 3 nranks 16 cudaDev 3 - Init COMPLETE\n";
  const std::string table =
      "#       size         count      type   redop    root     time   algbw   busbw\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
      "           8             2     float     sum      -1    12.50    0.00    0.00\n"
      "# Avg bus bandwidth    : 0.0\n";
  const LogImportOptions options{.op = "all-reduce"};
  EXPECT_EQ(import_log_text(head + info + table, "log", "auto", options).series.at(0).ranks, 16);
  EXPECT_THAT(log_refusal(head + table, "auto", options), HasSubstr("give --ranks"));
}

TEST(Import, TwoTestsAreTwoSeriesAndFilesAreJoined) {
  const Measurement one = import_log(fixture("osu_bw_v3.3.txt"), "auto", {});
  const Measurement two = import_log(fixture("nccl_all_reduce_2.17.txt"), "auto", {});
  const Measurement all = merge_measurements({one, two, one});
  EXPECT_EQ(all.series.size(), 5U);
  EXPECT_EQ(all.library, "NCCL 2.25.1+cuda12.8");
  EXPECT_EQ(all.provenance.at("logs"),
            "osu_bw_v3.3.txt (osu); nccl_all_reduce_2.17.txt (nccl-tests)");
}

// Numbered rows of a table, counted without the importer.
size_t rows_of(const std::string& text) {
  std::istringstream lines(text);
  size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    std::int64_t size = 0;
    double number = 0;
    if (std::istringstream(line) >> size >> number) ++rows;
  }
  return rows;
}

TEST(Import, SamplesOfOthers) {
  for (const std::string name : {"osu_allreduce_v7.5.txt", "imb_allreduce.txt"}) {
    const Measurement measurement = import_log(fixture(name), "auto", {.ranks = 16});
    ASSERT_EQ(measurement.series.size(), 1U) << name;
    EXPECT_EQ(measurement.series[0].op, "all-reduce");
    EXPECT_EQ(measurement.series[0].points.size(), rows_of(text_of(fixture(name)))) << name;
  }
}

}  // namespace
}  // namespace forescale::testing
