// Nsight Systems' SQLite export: tables as its versions write them, made by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/sqlite.hpp"
#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Kernels A and B with an all-reduce between them, all launched by one thread of each process.
void add_process(Sqlite& report, std::int64_t process) {
  const std::int64_t id = process * 0x1000000;
  const auto kernel = [&](const char* name, int begin, int end, int stream) {
    const auto correlation = report.integer("SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") + 1;
    report.execute(fmt::format(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, {}, {}, {}, (SELECT id FROM "
        "StringIds WHERE value = '{}'))",
        begin, end, stream, correlation, id, name));
    report.execute(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ({}, {}, {}, {}, 4)",
                               correlation, correlation + 1, correlation, id + 77));
  };
  kernel("A", 1'000, 2'000, 7);
  kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", 2'000, 5'000, 9);
  kernel("B", 5'000, 6'000, 7);
}

class NsightReport {
 public:
  explicit NsightReport(int processes) {
    Sqlite report(file(), Sqlite::Access::kWrite);
    report.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)");
    report.execute(
        "INSERT INTO StringIds VALUES (1, 'A'), (2, 'B'), (3, "
        "'ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)'), (4, 'cudaLaunchKernel_v7000')");
    report.execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, streamId INT, correlationId "
        "INT, globalPid INT, demangledName INT)");
    report.execute(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, correlationId INT, "
        "globalTid "
        "INT, nameId INT)");
    for (int process = 1; process <= processes; ++process) add_process(report, process);
  }
  std::string file() const { return folder_.path("report.sqlite"); }
  std::string execution_trace() const {
    return folder_.write(
        "e.json", R"({"schema":"1.0.1","nodes":[{"name":"c10d::allreduce_","id":1,)"
                  R"("input_shapes":[[[250]]],"input_types":["GenericList[Tensor(float)]"]}]})");
  }

 private:
  TraceFolder folder_;
};

TEST(Nsight, ProcessesAreRanksAndSizesComeFromBehind) {
  const NsightReport one(1);
  EXPECT_EQ(trace_format_of(one.file()).name, "nsight");
  EXPECT_THAT(refusal([&] { import_trace({one.file()}, {.ranks = 2}); }),
              HasSubstr("1 of all-reduce: without a size"));
  EXPECT_THAT(refusal([&] { import_trace({one.file()}, {}); }), HasSubstr("--ranks"));
  const ImportedTrace imported = import_trace({one.file(), one.execution_trace()}, {.ranks = 2});
  EXPECT_EQ(imported.program.ranks.size(), 2U);
  EXPECT_EQ(imported.found.kernels, 2U);
  EXPECT_EQ(imported.found.collectives.at("all-reduce").bytes, 1000);
  EXPECT_DOUBLE_EQ(imported.found.compute_s, 2e-6);
  const NsightReport two(2);
  EXPECT_THAT(refusal([&] { import_trace({two.file()}, {}); }),
              HasSubstr("2 of all-reduce: without a size"));
}

TEST(Nsight, RefusesWhatIsNoReport) {
  const TraceFolder folder;
  {
    Sqlite other(folder.path("other.sqlite"), Sqlite::Access::kWrite);
    other.execute("CREATE TABLE t (a INT)");
  }
  EXPECT_THAT(refusal([&] { import_trace({folder.path("other.sqlite")}, {}); }),
              HasSubstr("no CUPTI_ACTIVITY_KIND_KERNEL"));
  const std::string cut = folder.write("cut.sqlite", "SQLite format 3");
  EXPECT_THAT(refusal([&] { import_trace({cut}, {}); }), HasSubstr("SQLite: "));
  const NsightReport empty(0);
  EXPECT_THAT(refusal([&] { import_trace({empty.file()}, {.ranks = 2}); }),
              HasSubstr("must have a kernel at least"));
  const NsightReport reversed(1);
  {
    Sqlite report(reversed.file(), Sqlite::Access::kWrite);
    report.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 1 WHERE streamId = 9");
  }
  EXPECT_THAT(refusal([&] { import_trace({reversed.file()}, {.ranks = 2}); }),
              HasSubstr("does not end before it begins"));
  EXPECT_THAT(refusal([&] { import_trace({reversed.file()}, {.cycle_s = 1}); }),
              HasSubstr("--cycle"));
}

}  // namespace
}  // namespace forescale::testing
