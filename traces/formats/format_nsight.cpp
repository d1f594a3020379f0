// Nsight Systems: what `nsys export --type sqlite` writes, of one process or of several.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/sqlite.hpp"
#include "traces/formats/kineto/execution_trace.hpp"
#include "traces/formats/kineto/kineto_event.hpp"
#include "traces/formats/trace_input.hpp"
#include "traces/measured/gpu_timeline.hpp"
#include "traces/measured/rebuild.hpp"

namespace forescale {
namespace {

constexpr const char* kHead = "SQLite format 3";

// Ids of processes and threads hold the process in these bits.
std::int64_t process_of(std::int64_t global_id) { return (global_id / 0x1000000) % 0x1000000; }

class Report {
 public:
  explicit Report(const std::string& file) : database_(file, Sqlite::Access::kRead) {
    SqliteStatement tables(database_, "SELECT name FROM sqlite_master WHERE type = 'table'");
    while (tables.step()) tables_.insert(tables.text(0));
    if (!has("CUPTI_ACTIVITY_KIND_KERNEL") || !has("StringIds"))
      throw InputError({.source = file,
                        .path = "",
                        .value = "",
                        .constraint =
                            "has no CUPTI_ACTIVITY_KIND_KERNEL and StringIds: no report of Nsight "
                            "Systems, or one without kernels"});
  }

  std::vector<MeasuredRank> read() {
    read_kernels();
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
      if (has(table)) read_copies(table);
    if (has("CUPTI_ACTIVITY_KIND_RUNTIME")) read_calls();
    if (has("NVTX_EVENTS")) read_annotations();
    if (timelines_.empty())
      throw InputError({.source = database_.file(),
                        .path = "CUPTI_ACTIVITY_KIND_KERNEL",
                        .value = "",
                        .constraint = "must have a kernel at least"});
    std::vector<MeasuredRank> ranks;
    for (auto& [process, timeline] : timelines_) {
      MeasuredRank rank{.file = database_.file()};
      rank.steps = std::move(steps_[process]);
      timeline.fill(rank);
      ranks.push_back(std::move(rank));
    }
    return ranks;
  }

 private:
  std::string text(const SqliteStatement& row, int column) const {
    std::string found = row.text(column);
    if (!simdjson::validate_utf8(found))
      throw InputError({.source = database_.file(),
                        .path = "StringIds",
                        .value = "",
                        .constraint = "must be texts in UTF-8"});
    return found;
  }

  bool has(const std::string& table) const { return tables_.contains(table); }

  ClockSpan span(const SqliteStatement& row, const char* table) const {
    const ClockSpan found{.begin_ns = row.integer(0), .end_ns = row.integer(1)};
    constexpr std::int64_t kTime_ns_max = std::int64_t{1} << 62;
    if (found.begin_ns < 0 || found.end_ns < found.begin_ns || found.end_ns > kTime_ns_max)
      throw InputError({.source = database_.file(),
                        .path = table,
                        .value = fmt::format("{} to {}", found.begin_ns, found.end_ns),
                        .constraint = "must be a time that does not end before it begins"});
    return found;
  }

  void read_kernels() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
    SqliteStatement row(database_,
                        "SELECT k.start, k.end, k.streamId, k.correlationId, k.globalPid, s.value "
                        "FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s "
                        "ON s.id = k.demangledName ORDER BY k.start");
    while (row.step())
      timelines_[process_of(row.integer(4))].take_task({.name = text(row, 5),
                                                        .span = span(row, kTable),
                                                        .stream = row.integer(2),
                                                        .correlation = row.integer(3)});
  }

  void read_copies(const std::string& table) {
    SqliteStatement row(database_, "SELECT start, end, streamId, correlationId, globalPid FROM " +
                                       table + " ORDER BY start");
    while (row.step())
      timelines_[process_of(row.integer(4))].take_task({.name = "copy",
                                                        .span = span(row, table.c_str()),
                                                        .stream = row.integer(2),
                                                        .correlation = row.integer(3),
                                                        .is_copy = true});
  }

  void read_calls() {
    SqliteStatement row(database_,
                        "SELECT r.start, r.end, r.correlationId, r.globalTid, s.value "
                        "FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s "
                        "ON s.id = r.nameId ORDER BY r.start");
    while (row.step()) {
      const auto timeline = timelines_.find(process_of(row.integer(3)));
      if (timeline == timelines_.end()) continue;  // of a process without kernels
      timeline->second.take_call(row.text(4), span(row, "CUPTI_ACTIVITY_KIND_RUNTIME"),
                                 row.integer(2));
    }
  }

  void read_annotations() {
    SqliteStatement row(database_,
                        "SELECT n.start, n.end, n.globalTid, COALESCE(n.text, s.value) "
                        "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId "
                        "WHERE n.end IS NOT NULL ORDER BY n.start");
    while (row.step()) {
      const std::int64_t process = process_of(row.integer(2));
      const auto timeline = timelines_.find(process);
      if (timeline == timelines_.end()) continue;
      const std::string name = text(row, 3);
      const ClockSpan where = span(row, "NVTX_EVENTS");
      if (name.rfind("ProfilerStep#", 0) == 0) steps_[process].push_back(where);
      if (GpuTimeline::is_nccl(name))
        timeline->second.take_annotation(where, collective_of(name), -1);
    }
  }

  Sqlite database_;
  std::set<std::string> tables_;
  std::map<std::int64_t, GpuTimeline> timelines_;  // by process
  std::map<std::int64_t, std::vector<ClockSpan>> steps_;
};

// As kineto: an execution trace behind a report has its sizes.
ImportedTrace import_nsight(const std::vector<std::string>& files, const ImportOptions& options) {
  std::vector<MeasuredRank> ranks;
  for (const std::string& file : files) {
    if (is_execution_trace(head_of_trace(file)) && !ranks.empty()) {
      add_execution_trace(file, ranks.back());
      continue;
    }
    if (head_of_trace(file).rfind(kHead, 0) != 0)
      throw InputError({.source = file,
                        .path = "",
                        .value = "",
                        .constraint = "is no SQLite file, as the one before it is"});
    for (MeasuredRank& rank : Report(file).read()) ranks.push_back(std::move(rank));
  }
  return rebuild(std::move(ranks), options);
}

const bool kNsightRegistered = Registry<TraceFormat>::add(
    {.name = "nsight",
     .description = "Nsight Systems' SQLite export, execution traces behind it",
     .reads = {"--ranks", "--batch", "--size", "--group", "--split", "--without-stragglers"},
     .detects = [](const std::string& /*file*/,
                   const std::string& head) { return head.rfind(kHead, 0) == 0; },
     .import = import_nsight});

}  // namespace
}  // namespace forescale
