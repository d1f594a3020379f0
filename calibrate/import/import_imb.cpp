// Intel MPI Benchmarks (IMB-MPI1) 3 to 2021, standard output.
//
//   # Benchmarking Allreduce
//   # #processes = 4
//   #----------------------------------------------------------------
//          #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
//               8         1000         4.50        18.59        11.69
//
// Of t_min, t_max and t_avg over ranks t_max is taken: a measurement's time is that of the slowest
// rank. Bandwidths are not read: IMB before 2018 means 2^20 bytes by a Mbyte, later ones 1e6.
//
// What "#bytes" (X) is: Intel MPI Benchmarks User Guide 2021.8, the page of each benchmark.
// Allgather: every process inputs X; Gather, Scatter, Alltoall: X from or for each process; so our
// bytes are X times processes. Allreduce, Reduce, Bcast: the whole vector. Reduce_scatter: the
// whole vector in guides to 2018, X for each process in 2021.2 and later (and in the sources,
// IMB_reduce_scatter.c, without IMB2018); between them a log does not tell, and the block is left
// out.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "algorithms/operation.hpp"
#include "base/units.hpp"
#include "calibrate/import/import_format.hpp"

namespace forescale {
namespace {

enum class ImbMeaning {
  kTime,           // t[usec] or t_max[usec]
  kBlockOfVector,  // the same; #bytes is one rank's block
  kReduceScatter,  // either, by version
  kOneWayRate,     // Msg/sec of all pairs together
  kBothWaysRate    // of all pairs and both directions
};

struct Benchmark {
  std::string_view name;
  Pattern pattern;
  ImbMeaning meaning;
  CollectiveOp op = CollectiveOp::kAllReduce;
};

// PingPing: two ranks send to each other at once. Sendrecv: each sends to its right neighbour and
// receives from its left one, in a row. Uniband, Biband: windows of messages between the i-th and
// the (processes/2 + i)-th rank, one way and both ways (IMB_bandwidth.c; scale_bw 1 and 2).
constexpr std::array kBenchmarks{
    Benchmark{"PingPong", Pattern::kPingPong, ImbMeaning::kTime},
    Benchmark{"PingPing", Pattern::kExchange, ImbMeaning::kTime},
    Benchmark{"Sendrecv", Pattern::kShift, ImbMeaning::kTime},
    Benchmark{"Uniband", Pattern::kPairs, ImbMeaning::kOneWayRate},
    Benchmark{"Biband", Pattern::kExchange, ImbMeaning::kBothWaysRate},
    Benchmark{"Barrier", Pattern::kBarrier, ImbMeaning::kTime},
};

// Those of collectives are in the operations' own table.
std::optional<Benchmark> benchmark_called(std::string_view name) {
  for (const Benchmark& benchmark : kBenchmarks)
    if (name == benchmark.name) return benchmark;
  const std::optional<CollectiveOp> op = op_called(Tool::kImb, name);
  if (!op) return std::nullopt;
  ImbMeaning meaning = ImbMeaning::kTime;
  if (operation(*op).passes_blocks()) meaning = ImbMeaning::kBlockOfVector;
  if (*op == CollectiveOp::kReduceScatter) meaning = ImbMeaning::kReduceScatter;
  return Benchmark{*name_in(Tool::kImb, *op), Pattern::kCollective, meaning, *op};
}

constexpr std::string_view kTitle = "# Benchmarking ";
constexpr std::array<std::string_view, 10> kImbColumns{
    "#bytes",      "#repetitions", "t[usec]", "t_min[usec]", "t_max[usec]",
    "t_avg[usec]", "Mbytes/sec",   "Msg/sec", "defects",     "#window_size"};

bool is_suite_title(std::string_view line) {
  return line.starts_with('#') && line.find("Intel") != std::string_view::npos &&
         line.find("MPI Benchmark") != std::string_view::npos;
}

// 2019 of "Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part", 3 of "... Suite V3.2.2".
std::int64_t version_of(std::string_view title) {
  title.remove_prefix(title.find("MPI Benchmark"));
  const size_t digit = title.find_first_of("0123456789");
  return digit == std::string_view::npos ? 0 : leading_integer(title.substr(digit));
}

class ImbImporter : public LogImporter {
 public:
  explicit ImbImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    const std::string_view text = line.text;
    if (is_suite_title(text)) {
      version_ = version_of(text);
    } else if (text.starts_with(kTitle)) {
      finish();
      begin(line);
    } else if (text.find("All processes entering MPI_Finalize") != std::string_view::npos) {
      finish();
      is_ended_ = true;
    } else if (!benchmark_) {
      return;  // rows of a block that is skipped
    } else if (text.starts_with("# #processes =")) {
      ranks_ = target_.rank_count(line, leading_integer(text.substr(text.find('=') + 1)));
    } else if (text.starts_with("# (") && text.find("groups of") != std::string_view::npos) {
      skip("its groups run at the same time, which no pattern of ours does");
    } else if (text.starts_with("#bytes") || text.starts_with("#repetitions")) {
      read_columns(line);
    } else if (is_row(text)) {
      read_row(line);
    }
  }

  void end(const LogLine& last) override {
    finish();
    if (!is_ended_)
      target_.refuse_cut(last, "the log ends without \"All processes entering MPI_Finalize\"");
  }

 private:
  void begin(const LogLine& line) {
    header_ = line;
    is_ended_ = false;
    columns_.clear();
    ranks_ = 0;
    const std::string_view name = std::string_view(line.text).substr(kTitle.size());
    benchmark_ = benchmark_called(name);
    if (!benchmark_)
      skip(name == "Exchange" ? "each rank exchanges with two neighbours, which no pattern of ours "
                                "does"
                              : "no pattern of ours");
    else if (benchmark_->meaning == ImbMeaning::kReduceScatter)
      set_reduce_scatter();
    else
      is_block_ = benchmark_->meaning == ImbMeaning::kBlockOfVector;
  }

  void set_reduce_scatter() {
    constexpr std::int64_t kLastWhole = 2018;
    constexpr std::int64_t kFirstBlock = 2021;
    if (version_ == 0 || (version_ > kLastWhole && version_ < kFirstBlock))
      skip("whether its sizes are of the vector or of a block depends on IMB's version");
    is_block_ = version_ >= kFirstBlock;
  }

  void skip(const std::string& why) {
    target_.note(header_, fmt::format("\"{}\" is skipped: {}", shortened(header_.text), why));
    benchmark_.reset();
  }

  void read_columns(const LogLine& line) {
    if (!columns_.empty()) target_.refuse(line, "is a second header of columns in one block");
    if (ranks_ == 0) target_.refuse(line, "must come after \"# #processes = N\"");
    for (const std::string_view word : words_of(line.text)) {
      if (std::find(kImbColumns.begin(), kImbColumns.end(), word) == kImbColumns.end())
        target_.refuse(line, fmt::format("has a column \"{}\" that IMB does not write", word));
      columns_.emplace_back(word);
    }
    const bool is_rate = benchmark_->meaning == ImbMeaning::kOneWayRate ||
                         benchmark_->meaning == ImbMeaning::kBothWaysRate;
    value_ = is_rate ? index_of("Msg/sec") : std::min(index_of("t_max[usec]"), index_of("t[usec]"));
    if (value_ == columns_.size())
      target_.refuse(line, is_rate ? "must have Msg/sec" : "must have t_max[usec] or t[usec]");
    bytes_ = index_of("#bytes");
    if ((bytes_ == columns_.size()) != (benchmark_->pattern == Pattern::kBarrier))
      target_.refuse(line,
                     bytes_ == columns_.size() ? "must have #bytes" : "a barrier has no size");
    start_series(line);
  }

  void start_series(const LogLine& line) {
    Series series{.pattern = benchmark_->pattern, .ranks = ranks_};
    const bool is_pair =
        benchmark_->pattern == Pattern::kPingPong ||
        (benchmark_->pattern == Pattern::kExchange && benchmark_->meaning == ImbMeaning::kTime);
    if (is_pair && ranks_ != 2)
      target_.refuse(line, fmt::format("\"{}\" has 2 processes, not {}", benchmark_->name, ranks_));
    if (benchmark_->pattern != Pattern::kCollective && benchmark_->pattern != Pattern::kBarrier &&
        ranks_ < 2)
      target_.refuse(line, fmt::format("\"{}\" needs 2 processes", benchmark_->name));
    if (!is_time()) {
      series.ranks = ranks_ / 2 * 2;  // an odd one out waits
      if (benchmark_->meaning == ImbMeaning::kOneWayRate && series.ranks == 2)
        series.pattern = Pattern::kStream;
      // Our exchange is between neighbours in the list of members.
      if (benchmark_->meaning == ImbMeaning::kBothWaysRate && series.ranks > 2)
        for (int i = 0; i < series.ranks / 2; ++i) {
          series.members.push_back(i);
          series.members.push_back(series.ranks / 2 + i);
        }
      target_.note("Uniband and Biband send windows of messages: the time of each, in a row");
    }
    if (benchmark_->pattern == Pattern::kCollective) series.op = name_of(benchmark_->op);
    if (!target_.options().place.empty()) series.place = target_.options().place;
    if (benchmark_->pattern == Pattern::kCollective && has_root(benchmark_->op))
      target_.note("IMB gives the root to another rank in each call");
    target_.begin_series(std::move(series));
  }

  bool is_time() const {
    return benchmark_->meaning != ImbMeaning::kOneWayRate &&
           benchmark_->meaning != ImbMeaning::kBothWaysRate;
  }

  void read_row(const LogLine& line) {
    if (columns_.empty()) target_.refuse(line, "is a row before the header of its columns");
    if (!line.is_whole) {
      target_.refuse_cut(line, "the file ends within this row");
      return;
    }
    for (const char* failure : {"out-of-mem.", "int-overflow.", "time-out."})
      if (line.text.find(failure) != std::string::npos) {
        target_.note(line, fmt::format("not measured: {}", failure));
        return;
      }
    const std::vector<std::string_view> words = words_of(line.text);
    if (words.size() != columns_.size())
      target_.refuse(line, fmt::format("must have {} columns and has {}: cut short or garbled",
                                       columns_.size(), words.size()));
    const std::int64_t size = bytes_ < words.size() ? target_.integer(line, words[bytes_]) : 0;
    // A collective of nothing may return at once, which two decimals do not show.
    if (is_time() && size == 0 && words[value_] == "0.00") {
      target_.note(line, "left out: a time of 0.00 for 0 bytes");
      return;
    }
    target_.add_point(line, is_block_ ? target_.times(line, size, ranks_) : size,
                      time_of(line, words[value_]));
  }

  double time_of(const LogLine& line, std::string_view word) const {
    if (is_time()) return target_.positive(line, word, "time") * kMicrosecond_s;
    const double directions = benchmark_->meaning == ImbMeaning::kBothWaysRate ? 2 : 1;
    const int pairs = ranks_ / 2;
    return directions * pairs / target_.positive(line, word, "message rate");
  }

  size_t index_of(std::string_view column) const {
    return static_cast<size_t>(std::find(columns_.begin(), columns_.end(), column) -
                               columns_.begin());
  }

  void finish() {
    if (!benchmark_) return;
    if (!target_.has_points()) target_.refuse_cut(header_, "this block has no rows");
    target_.finish_series();
    benchmark_.reset();
  }

  ImportTarget& target_;
  std::optional<Benchmark> benchmark_;  // that is being read; none: rows are skipped
  LogLine header_;                      // its title
  std::vector<std::string> columns_;
  size_t bytes_ = 0;  // index of #bytes, columns_.size() if there is none
  size_t value_ = 0;  // index of what is read
  int ranks_ = 0;
  bool is_block_ = false;  // #bytes is one rank's block
  bool is_ended_ = false;  // nothing is missing so far
  std::int64_t version_ = 0;
};

bool recognises_imb(std::string_view line) {
  return is_suite_title(line) || line.starts_with(kTitle);
}

std::unique_ptr<LogImporter> open_imb(ImportTarget& target) {
  return std::make_unique<ImbImporter>(target);
}

const bool kImbRegistered =
    Registry<LogFormat>::add({.name = "imb", .recognises = recognises_imb, .open = open_imb});

}  // namespace
}  // namespace forescale
