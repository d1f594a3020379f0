// OSU micro-benchmarks (OMB) 3 to 7, standard output.
//
//   # OSU MPI Allreduce Latency Test v7.5
//   # Datatype: MPI_INT.
//   # Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
//   4                      11.69              9.50             14.02        1000
//
// Times are those of one call in us, means over all iterations. A collective's is the mean over
// ranks ("Avg") unless -f was given; with -f the slowest rank's ("Max") is taken. MB = 1e6 bytes.
//
// What "Size" is (OMB's sources, c/mpi/collective/*.c and c/mpi/pt2pt): the message that one rank
// sends another for allgather, gather, scatter and alltoall, so our bytes are ranks times that; the
// whole vector for allreduce, reduce, broadcast and reduce_scatter (whose counts are size / ranks).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "algorithms/operation.hpp"
#include "base/units.hpp"
#include "calibrate/import/import_format.hpp"

namespace forescale {
namespace {

constexpr double kMega = 1e6;

// What a test's number means for a series.
enum class OsuMeaning {
  kLatency,        // time of the pattern itself
  kBandwidth,      // a window of messages one way: bytes / bandwidth is the time of each
  kBothWays,       // windows in both directions, their bytes added: one exchange moves 2 x bytes
  kSumOfPairs,     // bandwidth of all pairs together
  kBlockOfVector,  // latency; the size is one rank's block
};

struct OsuTest {
  std::string_view title;  // between the library's and "Test v7.5"
  Pattern pattern;
  OsuMeaning meaning;
  CollectiveOp op = CollectiveOp::kAllReduce;
};

// osu_bibw: both send a window of messages to each other before they wait, so a time is that of a
// message each way, many in a row. osu_multi_lat: ping-pongs of all pairs at once, the i-th rank
// with the (pairs + i)-th, half of a round trip. osu_mbw_mr: a window of one-way messages of each
// of those pairs.
constexpr std::array kTests{
    OsuTest{"Latency", Pattern::kPingPong, OsuMeaning::kLatency},
    OsuTest{"Bandwidth", Pattern::kStream, OsuMeaning::kBandwidth},
    OsuTest{"Bi-Directional Bandwidth", Pattern::kExchange, OsuMeaning::kBothWays},
    OsuTest{"Multi Latency", Pattern::kPairs, OsuMeaning::kLatency},
    OsuTest{"Multiple Bandwidth / Message Rate", Pattern::kPairs, OsuMeaning::kSumOfPairs},
    OsuTest{"Barrier Latency", Pattern::kBarrier, OsuMeaning::kLatency},
};

// Those of collectives are in the operations' own table.
std::optional<OsuTest> osu_test_called(std::string_view title) {
  for (const OsuTest& test : kTests)
    if (title == test.title) return test;
  const std::optional<CollectiveOp> op = op_called(Tool::kOsu, title);
  if (!op) return std::nullopt;
  const bool is_block = operation(*op).passes_blocks();
  return OsuTest{*name_in(Tool::kOsu, *op), Pattern::kCollective,
                 is_block ? OsuMeaning::kBlockOfVector : OsuMeaning::kLatency, *op};
}

// Columns, written without blanks and in lower case.
enum class Column { kSize, kTime, kMaxTime, kBandwidth, kRate, kValidation, kOther };
struct ColumnName {
  std::string_view text;
  Column column;
};
constexpr std::array kOsuColumns{
    ColumnName{"size", Column::kSize},
    ColumnName{"avglatency(us)", Column::kTime},
    ColumnName{"latency(us)", Column::kTime},
    ColumnName{"maxlatency(us)", Column::kMaxTime},
    ColumnName{"minlatency(us)", Column::kOther},
    ColumnName{"bi-bandwidth(mb/s)", Column::kBandwidth},
    ColumnName{"bandwidth(mb/s)", Column::kBandwidth},
    ColumnName{"mb/s", Column::kBandwidth},
    ColumnName{"messages/s", Column::kRate},
    ColumnName{"iterations", Column::kOther},
    ColumnName{"validation", Column::kValidation},
};

// "p99.9taillat(us)": length of it at the start of `text`, 0 if it is not there.
size_t tail_column(std::string_view text) {
  if (!text.starts_with('p')) return 0;
  const size_t tail = text.find_first_not_of("0123456789.", 1);
  if (tail == std::string_view::npos || tail == 1) return 0;
  for (const std::string_view name : {"taillat(us)", "tailbw(mb/s)"})
    if (text.substr(tail).starts_with(name)) return tail + name.size();
  return 0;
}

// "# Size   Avg Latency(us)"; empty where a part of it is no column of OSU.
std::vector<Column> columns_of(std::string_view header) {
  std::string packed;
  for (const char c : header)
    if (c != '#' && c != ' ' && c != '\t')
      packed += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<Column> columns;
  for (std::string_view rest = packed; !rest.empty();) {
    const auto known =
        std::find_if(kOsuColumns.begin(), kOsuColumns.end(),
                     [&](const ColumnName& name) { return rest.starts_with(name.text); });
    const size_t length = known != kOsuColumns.end() ? known->text.size() : tail_column(rest);
    if (length == 0) return {};
    columns.push_back(known != kOsuColumns.end() ? known->column : Column::kOther);
    rest.remove_prefix(length);
  }
  return columns;
}

class OsuImporter : public LogImporter {
 public:
  explicit OsuImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    const std::string_view text = line.text;
    if (text.starts_with("# OSU ")) {
      finish();
      begin(line);
    } else if (!test_) {
      return;  // rows of a test that is skipped
    } else if (text.starts_with("# Send Buffer on ")) {
      read_place(line);
    } else if (text.starts_with("# [ pairs:")) {
      pairs_ = target_.rank_count(line, 2 * leading_integer(text.substr(text.find(':') + 1))) / 2;
    } else if (text.starts_with("# Size") || text.starts_with("# Avg Latency") ||
               text.starts_with("# Latency")) {
      read_columns(line);
    } else if (is_row(text)) {
      read_row(line);
    }
  }

  // OSU writes nothing at its end that could be missing.
  void end(const LogLine&) override { finish(); }

 private:
  void begin(const LogLine& line) {
    test_.reset();
    header_ = line;
    columns_.clear();
    pairs_ = 0;
    is_device_ = false;
    place_.clear();
    std::string_view rest = std::string_view(line.text).substr(std::string_view("# OSU ").size());
    const size_t blank = rest.find(' ');
    const std::string_view library = rest.substr(0, blank);
    rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    const size_t end = rest.rfind(" Test");
    const std::string_view title = rest.substr(0, end);
    const bool is_mpi = library == "MPI" || library.starts_with("MPI-");
    const bool is_nccl = library == "NCCL" || library == "RCCL";
    const std::optional<OsuTest> found = osu_test_called(title);
    if (end == std::string_view::npos || (!is_mpi && !is_nccl) || !found) {
      target_.note(line,
                   fmt::format("\"{}\" is skipped: no pattern of ours", shortened(line.text)));
      return;
    }
    test_ = found;
    is_time_ =
        found->meaning == OsuMeaning::kLatency || found->meaning == OsuMeaning::kBlockOfVector;
    place_ = is_nccl ? "gpu" : library == "MPI" ? "host" : "";
    is_device_ = place_ != "host";
  }

  // "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)".
  void read_place(const LogLine& line) {
    const size_t split = line.text.find(" and Receive Buffer on ");
    if (split == std::string::npos) target_.refuse(line, "must say where both buffers are");
    const auto place = [](std::string_view text) {
      return text.find("HOST") != std::string_view::npos ? "host" : "gpu";
    };
    const std::string_view text = line.text;
    place_ = place(text.substr(0, split));
    if (place_ != place(text.substr(split))) {
      target_.note(line, "skipped: one buffer is on the host and one on a GPU");
      test_.reset();
    }
  }

  void read_columns(const LogLine& line) {
    if (!columns_.empty()) target_.refuse(line, "is a second header of columns in one test");
    columns_ = columns_of(line.text);
    if (columns_.empty()) target_.refuse(line, "has a column that no OSU benchmark writes");
    const bool has_size = columns_.front() == Column::kSize;
    if (has_size == (test_->pattern == Pattern::kBarrier))
      target_.refuse(line, has_size ? "a barrier has no size" : "must begin with the size");
    if (index_of(is_time_ ? Column::kTime : Column::kBandwidth) == columns_.size())
      target_.refuse(
          line, fmt::format("must have {}, as the title in line {} says",
                            is_time_ ? "a latency in us" : "a bandwidth in MB/s", header_.number));
    start_series(line);
  }

  void start_series(const LogLine& line) {
    Series series{.pattern = test_->pattern};
    const int given = target_.options().ranks;
    if (test_->meaning == OsuMeaning::kSumOfPairs) {
      if (pairs_ == 0) target_.refuse(line, "must come after \"# [ pairs: N ]\"");
      series.ranks = 2 * pairs_;
    } else if (test_->pattern == Pattern::kBarrier || test_->pattern == Pattern::kPairs ||
               test_->pattern == Pattern::kCollective) {
      if (given == 0)
        target_.refuse(header_, "does not say how many ranks took part: give --ranks");
      series.ranks = given;
      if (test_->pattern == Pattern::kPairs && given % 2 != 0)
        target_.refuse(header_, fmt::format("cannot have --ranks {}: it has pairs", given));
    }
    if (is_device_ && place_.empty()) place_ = target_.options().place;
    if (place_.empty())
      target_.refuse(header_, "does not say where the buffers are: give --place host or gpu");
    series.place = place_;
    if (test_->pattern == Pattern::kCollective) series.op = name_of(test_->op);
    target_.begin_series(std::move(series));
    if (is_time_ && test_->pattern != Pattern::kPingPong &&
        index_of(Column::kMaxTime) == columns_.size())
      target_.note("times without -f are means over ranks, not those of the slowest");
    if (test_->meaning == OsuMeaning::kSumOfPairs)
      target_.note("pairs of osu_mbw_mr send windows of messages: the time of each, in a row");
  }

  void read_row(const LogLine& line) {
    if (columns_.empty()) target_.refuse(line, "is a row before the header of its columns");
    if (!line.is_whole) {
      target_.refuse_cut(line, "the file ends within this row");
      return;
    }
    const std::vector<std::string_view> words = words_of(line.text);
    if (words.size() != columns_.size())
      target_.refuse(line, fmt::format("must have {} columns and has {}: cut short or garbled",
                                       columns_.size(), words.size()));
    const size_t validation = index_of(Column::kValidation);
    if (validation < words.size() && words[validation] != "Pass" && words[validation] != "-")
      target_.refuse(line, "the benchmark itself found wrong data");
    const bool has_size = columns_.front() == Column::kSize;
    const std::int64_t size = has_size ? target_.integer(line, words.front()) : 0;
    const std::int64_t bytes = test_->meaning == OsuMeaning::kBlockOfVector
                                   ? target_.times(line, size, target_.series().ranks)
                                   : size;
    target_.add_point(line, bytes, time_of(line, words, size));
  }

  double time_of(const LogLine& line, const std::vector<std::string_view>& words,
                 std::int64_t size) const {
    const auto number = [&](Column column, const char* what) {
      return target_.positive(line, words[index_of(column)], what);
    };
    const auto bytes = static_cast<double>(size);
    if (is_time_) {
      const double mean_us = number(Column::kTime, "latency");
      if (index_of(Column::kMaxTime) == columns_.size()) return mean_us * kMicrosecond_s;
      const double slowest_us = number(Column::kMaxTime, "latency");
      if (slowest_us < mean_us) target_.refuse(line, "the maximum is below the mean");
      return slowest_us * kMicrosecond_s;
    }
    if (size == 0) target_.refuse(line, "a bandwidth needs a size > 0");
    const double bandwidth = number(Column::kBandwidth, "bandwidth") * kMega;
    if (test_->meaning == OsuMeaning::kBandwidth) return bytes / bandwidth;
    if (test_->meaning == OsuMeaning::kBothWays) return 2 * bytes / bandwidth;
    // Messages per second have more digits than MB/s for small messages.
    if (index_of(Column::kRate) < columns_.size())
      return pairs_ / number(Column::kRate, "message rate");
    return pairs_ * bytes / bandwidth;
  }

  size_t index_of(Column column) const {
    return static_cast<size_t>(std::find(columns_.begin(), columns_.end(), column) -
                               columns_.begin());
  }

  void finish() {
    if (!test_) return;
    if (!target_.has_points()) target_.refuse_cut(header_, "this test has no rows");
    target_.finish_series();
    test_.reset();
  }

  ImportTarget& target_;
  std::optional<OsuTest> test_;  // that is being read; none: rows are skipped
  LogLine header_;               // its title
  std::vector<Column> columns_;
  bool is_time_ = true;  // its rows are times, not bandwidths
  int pairs_ = 0;
  bool is_device_ = false;  // built for GPUs, which does not say where its buffers were
  std::string place_;
};

bool recognises_osu(std::string_view line) { return line.starts_with("# OSU "); }

std::unique_ptr<LogImporter> open_osu(ImportTarget& target) {
  return std::make_unique<OsuImporter>(target);
}

const bool kOsuRegistered =
    Registry<LogFormat>::add({.name = "osu", .recognises = recognises_osu, .open = open_osu});

}  // namespace
}  // namespace forescale
