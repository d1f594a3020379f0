// nccl-tests 2 (and rccl-tests), standard output.
//
//   # Collective test starting: all_reduce_perf
//   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) ...
//   #  Rank  0 Group  0 Pid 123 on node device  0 [0000:18:00] ...
//   #                                                  out-of-place                   in-place
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time
//   ... #        (B)    (elements)                               (us)  (GB/s)  (GB/s) (us) ...
//      8388608       2097152     float     sum      -1    80.32  104.44  182.77      0    79.90 ...
//   # Avg bus bandwidth    : 182.1
//
// The time is out-of-place, in us, a mean over iterations and, unless -a 3 was given, over ranks.
// "size" is the larger of a rank's send and receive buffer, which is what we call bytes for every
// operation (doc/PERFORMANCE.md: "S is the size in bytes of the total array"; alltoall.cu: all that
// one rank sends). sendrecv: every rank sends to the next one, our shift.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "algorithms/operation.hpp"
#include "base/units.hpp"
#include "calibrate/import/import_format.hpp"

namespace forescale {
namespace {

struct NcclTest {
  Pattern pattern = Pattern::kCollective;
  CollectiveOp op = CollectiveOp::kAllReduce;
};
// By the name of the program, without "_perf".
std::optional<NcclTest> nccl_test_called(std::string_view name) {
  if (name == "sendrecv") return NcclTest{Pattern::kShift};
  if (const auto op = op_called(Tool::kNcclTests, name)) return NcclTest{Pattern::kCollective, *op};
  return std::nullopt;
}

constexpr std::string_view kStart = "# Collective test starting:";

bool is_column_header(std::string_view line) {
  return line.starts_with('#') && contains(line, "algbw") && contains(line, "busbw") &&
         contains(line, "time");
}

class NcclTestsImporter : public LogImporter {
 public:
  explicit NcclTestsImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    const std::string_view text = line.text;
    if (const size_t at = text.find("NCCL version "); at != std::string_view::npos)
      if (const auto words = words_of(text.substr(at)); words.size() > 2)
        target_.measurement().library = "NCCL " + shortened(words[2]);
    if (text.starts_with(kStart)) {
      begin(line, text.substr(kStart.size()));
    } else if (text.starts_with("# nThread ")) {
      // Before 2.17 a run begins here.
      if (is_started_) begin(line, {});
      is_started_ = true;
    } else if (text.starts_with("#") && words_of(text).size() > 2 && words_of(text)[1] == "Rank") {
      read_rank(line);
    } else if (contains(text, " nranks ")) {
      nranks_ = target_.rank_count(line, leading_integer(text.substr(text.find(" nranks ") + 8)));
    } else if (is_column_header(text)) {
      read_columns(line);
    } else if (!columns_.empty() && text.starts_with("#") && contains(text, "(GB/s)")) {
      has_units_ = contains(text, "(us)");
      if (!has_units_) target_.refuse(line, "must give times in (us)");
    } else if (text.starts_with("# Out of bounds values")) {
      const size_t colon = std::min(text.find(':'), text.size());
      if (contains(text, "FAILED") ||
          leading_integer(text.substr(std::min(colon + 1, text.size()))))
        target_.refuse(line, "the benchmark itself found wrong data");
    } else if (text.starts_with("# Avg bus bandwidth")) {
      finish();
    } else if (!is_skipped_ && is_row(text)) {
      read_row(line);
    }
  }

  void end(const LogLine& last) override {
    last_ = last;
    require_end();
    finish();
  }

 private:
  // `program` is empty where the log does not name it.
  void begin(const LogLine& line, std::string_view program) {
    last_ = line;
    require_end();
    finish();
    is_started_ = program.empty();
    header_ = line;
    columns_.clear();
    ranks_seen_.clear();
    nranks_ = 0;
    const std::vector<std::string_view> words = words_of(program);
    program_ = words.empty() ? std::string() : std::string(words.front());
  }

  // "#  Rank  3 Group  0 Pid ...".
  void read_rank(const LogLine& line) {
    if (!ranks_seen_.insert(target_.integer(line, words_of(line.text)[2])).second)
      target_.refuse(line,
                     "this rank is listed twice: several runs at once, as nccl-tests built without "
                     "MPI print under mpirun?");
  }

  void read_columns(const LogLine& line) {
    if (is_open_) {
      last_ = line;
      require_end();
      finish();
    }
    columns_.clear();
    for (const std::string_view word : words_of(line.text))
      if (word != "#") columns_.emplace_back(word);
    if (columns_.front() != "size")
      target_.refuse(line, "must begin with the size: nccl-tests before 2.0 are not read");
    time_ = index_of("time");
    if (time_ == columns_.size()) target_.refuse(line, "has no column \"time\"");
    header_columns_ = line;
    is_open_ = true;
    has_units_ = false;
    kind_.clear();
    start_series();
  }

  void start_series() {
    const std::optional<NcclTest> test = find_test();
    is_skipped_ = !test;
    if (is_skipped_) {
      target_.note(header_,
                   fmt::format("\"{}\" is skipped: no pattern of ours", shortened(program_)));
      return;
    }
    Series series{.pattern = test->pattern, .ranks = rank_count(), .place = "gpu"};
    if (test->pattern == Pattern::kCollective) series.op = name_of(test->op);
    if (test->pattern == Pattern::kShift && series.ranks < 2)
      target_.refuse(header_columns_, "sendrecv needs 2 ranks");
    needs_redop_ = test->pattern == Pattern::kCollective && operation(test->op).sums;
    target_.begin_series(std::move(series));
    target_.note(index_of("time", time_ + 1) < columns_.size()
                     ? "out-of-place times are taken, in-place ones are not"
                     : "the log has one set of times");
    target_.note("times are means over ranks unless -a 3 was given, not those of the slowest");
  }

  // What ran, nothing if it is no pattern of ours.
  std::optional<NcclTest> find_test() const {
    const std::string& op = target_.options().op;
    if (program_.empty()) {
      if (op.empty())
        target_.refuse(header_columns_, "no line before says which operation ran: give --op");
      return NcclTest{Pattern::kCollective, parse_collective_op(op, "--op")};
    }
    const std::optional<NcclTest> test =
        nccl_test_called(program_.substr(0, program_.find("_perf")));
    if (!test || op.empty()) return test;
    if (test->pattern != Pattern::kCollective || op != name_of(test->op))
      target_.refuse(header_, fmt::format("is another operation than --op {}", op));
    return test;
  }

  int rank_count() const {
    const auto listed = static_cast<std::int64_t>(ranks_seen_.size());
    if (listed > 0 && *ranks_seen_.rbegin() == listed - 1)
      return target_.rank_count(header_columns_, listed);
    if (nranks_ > 0) return nranks_;
    if (target_.options().ranks == 0)
      target_.refuse(header_columns_, fmt::format("{}: give --ranks",
                                                  listed > 0 ? "the list of ranks has gaps"
                                                             : "no line before says how many ranks "
                                                               "took part"));
    return target_.options().ranks;
  }

  void read_row(const LogLine& line) {
    if (columns_.empty()) target_.refuse(line, "is a row before the header of its columns");
    if (!is_open_) return;  // the table has ended
    if (!has_units_) target_.refuse(line, "must come after the line of units, (us) and (GB/s)");
    if (!line.is_whole) {
      target_.refuse_cut(line, "the file ends within this row");
      return;
    }
    std::vector<std::string_view> words = words_of(line.text);
    // Operations that reduce nothing leave "redop" empty in versions before 2.13.
    const size_t redop = index_of("redop");
    if (!needs_redop_ && redop < columns_.size() && words.size() == columns_.size() - 1 &&
        std::isalpha(static_cast<unsigned char>(words[redop].front())) == 0)
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(redop), "none");
    if (words.size() != columns_.size())
      target_.refuse(line, fmt::format("must have {} columns and has {}: cut short or garbled",
                                       columns_.size(), words.size()));
    expect_correct(line, words);
    if (!is_first_kind(line, words)) return;
    const std::int64_t size = target_.integer(line, words.front());
    if (size == 0) {
      target_.note("sizes of 0, less than an element for each rank, are left out");
    } else if (words[time_] == "N/A") {
      target_.note(line, "has no out-of-place time");
    } else {
      target_.add_point(line, size, target_.positive(line, words[time_], "time") * kMicrosecond_s);
    }
  }

  void expect_correct(const LogLine& line, const std::vector<std::string_view>& words) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] != "#wrong" || words[i] == "0" || words[i] == "0e+00") continue;
      if (words[i] != "N/A") target_.refuse(line, "the benchmark itself found wrong data");
      target_.note("results of some rows were not checked (#wrong is N/A)");
    }
  }

  // With -d all or -o all a table holds one sweep for each type and operator: the first is taken.
  bool is_first_kind(const LogLine& line, const std::vector<std::string_view>& words) {
    std::string kind;
    for (const char* column : {"type", "redop", "root"})
      if (index_of(column) < columns_.size())
        kind += (kind.empty() ? "" : " ") + std::string(words[index_of(column)]);
    if (kind_.empty()) kind_ = kind;
    if (kind == kind_) return true;
    target_.note(line,
                 fmt::format("left out: only \"{}\" of this table is taken", shortened(kind_)));
    return false;
  }

  size_t index_of(std::string_view column, size_t from = 0) const {
    const auto begin =
        columns_.begin() + static_cast<std::ptrdiff_t>(std::min(from, columns_.size()));
    return static_cast<size_t>(std::find(begin, columns_.end(), column) - columns_.begin());
  }

  void require_end() {
    if (is_open_)
      target_.refuse_cut(last_, "the table before has no \"# Avg bus bandwidth\" at its end");
  }

  void finish() {
    if (!is_open_) return;
    is_open_ = false;
    if (!is_skipped_ && !target_.has_points())
      target_.refuse_cut(header_columns_, "this table has no rows");
    target_.finish_series();
  }

  ImportTarget& target_;
  LogLine header_;                     // where the run begins
  LogLine header_columns_;             // of its table
  LogLine last_;                       // that was read
  std::string program_;                // "all_reduce_perf", empty where the log does not say
  std::set<std::int64_t> ranks_seen_;  // in the list of devices
  int nranks_ = 0;                     // said by NCCL's own lines
  bool is_started_ = false;            // "# nThread" was seen in this run
  bool is_open_ = false;               // a table was begun and not ended
  bool is_skipped_ = false;            // its rows are not read
  bool has_units_ = false;
  bool needs_redop_ = false;
  std::vector<std::string> columns_;
  size_t time_ = 0;  // index of the out-of-place time
  std::string kind_;
};

bool recognises_nccl_tests(std::string_view line) {
  return line.starts_with(kStart) || line.starts_with("# nccl-tests version ") ||
         (line.starts_with("# nThread ") && contains(line, " minBytes ")) || is_column_header(line);
}

std::unique_ptr<LogImporter> open_nccl_tests(ImportTarget& target) {
  return std::make_unique<NcclTestsImporter>(target);
}

const bool kNcclTestsRegistered = Registry<LogFormat>::add(
    {.name = "nccl-tests", .recognises = recognises_nccl_tests, .open = open_nccl_tests});

}  // namespace
}  // namespace forescale
