// The task "patterns": series of point-to-point patterns and local work, measured within a budget.
//
// Rank 0 decides which point comes next (visit_order.hpp) and tells the ranks that take part; the
// others nap.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/collective.hpp"
#include "base/units.hpp"
#include "calibrate/bench/collectives/library_collective.hpp"
#include "calibrate/bench/patterns/pattern_rank.hpp"
#include "calibrate/bench/patterns/visit_order.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/provenance.hpp"
#include "calibrate/bench/tasks.hpp"
#include "calibrate/measure/measurement.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kBytesMax = std::int64_t{1} << 30;  // MPI counts in int
constexpr double kNap_s = 1e-3;                            // of a rank that does not take part
constexpr double kAttentive_s = 5e-3;  // how long it waits as attentively as in a pattern
constexpr double kWriteEvery_s = 1;
constexpr int kCommandTag = 1;
constexpr int kResultTag = 2;

struct PatternRequest {
  std::vector<PatternSeries> series;
  VisitRule rule;
  ProvenanceChoice choice;
  std::string machine;
  std::map<std::string, std::string> provenance;  // what the asker knows: its command
  std::vector<std::string> notes;
};

std::vector<int> read_members(const JsonInput& in, int ranks) {
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  const auto given = in.find("members");
  if (!given) return members;
  members.clear();
  for (const JsonInput& element : given->elements()) {
    members.push_back(static_cast<int>(element.integer(0, size_of(MPI_COMM_WORLD) - 1)));
    if (std::count(members.begin(), members.end(), members.back()) > 1)
      element.fail("is there twice");
  }
  if (static_cast<int>(members.size()) != ranks) given->fail("must list as many as \"ranks\" says");
  return members;
}

void check_ranks(const JsonInput& ranks, const std::string& pattern, int count) {
  const bool is_local = pattern == "reduction" || pattern == "memory-copy" || pattern == "gemm";
  const bool is_pair = pattern == "ping-pong" || pattern == "stream" || pattern == "late-receive";
  const bool is_even = pattern == "exchange" || pattern == "pairs";
  if (is_local && count != 1) ranks.fail("must be 1 for " + pattern);
  if (is_pair && count != 2) ranks.fail("must be 2 for " + pattern);
  if (!is_local && count < 2) ranks.fail("must be at least 2 for " + pattern);
  if (is_even && count % 2 != 0) ranks.fail("must be even for " + pattern);
}

PatternSeries read_series(const JsonInput& in) {
  in.allow_only({"pattern", "ranks", "members", "op", "bytes"});
  PatternSeries series;
  series.pattern = in.at("pattern").string();
  std::vector<std::string> names;
  for (const Pattern pattern : rank_patterns()) names.emplace_back(name_of(pattern));
  if (std::find(names.begin(), names.end(), series.pattern) == names.end())
    in.at("pattern").fail("is " + unknown_name(series.pattern, names));
  const auto ranks = static_cast<int>(in.at("ranks").integer(1, size_of(MPI_COMM_WORLD)));
  check_ranks(in.at("ranks"), series.pattern, ranks);
  series.members = read_members(in, ranks);
  if (series.pattern == "collective")
    series.op = in.at("op").one_of(
        {"reduce", "broadcast", "all-reduce", "allgather", "reduce-scatter", "all-to-all"});
  for (const JsonInput& size : in.at("bytes").elements()) {
    series.bytes.push_back(size.integer(0, kBytesMax));
    if (series.bytes.size() > 1 && series.bytes.back() <= series.bytes[series.bytes.size() - 2])
      size.fail("must be larger than the size before");
    if (series.op.empty()) continue;
    const std::string refusal = library_collective_refusal(
        parse_collective_op(series.op, in.file()), series.bytes.back(), ranks);
    if (!refusal.empty()) size.fail(refusal);
  }
  if (series.bytes.empty()) in.at("bytes").fail("must have at least one size");
  return series;
}

PatternRequest read_pattern_request(const JsonInput& in) {
  in.allow_only({"format", "task", "wait", "channels", "budget_s", "relative_interval",
                 "repetitions_max", "seed", "series", "machine", "provenance",
                 "include_environment", "include_hosts"});
  PatternRequest request;
  request.rule.budget_s = in.at("budget_s").number(0.01);
  if (const auto interval = in.find("relative_interval"))
    request.rule.relative_interval = interval->number(0, 1);
  if (const auto repetitions = in.find("repetitions_max"))
    request.rule.repetitions_max = static_cast<int>(repetitions->integer(1, 1000000));
  if (const auto seed = in.find("seed"))
    request.rule.seed = static_cast<std::uint64_t>(seed->integer(0));
  if (const auto machine = in.find("machine")) request.machine = machine->string();
  if (const auto facts = in.find("provenance"))
    for (const std::string& key : facts->keys()) request.provenance[key] = facts->at(key).string();
  if (const auto wanted = in.find("include_environment"))
    request.choice.environment = wanted->boolean();
  if (const auto wanted = in.find("include_hosts")) request.choice.hosts = wanted->boolean();
  for (const JsonInput& element : in.at("series").elements()) {
    request.series.push_back(read_series(element));
    if (request.series.back().pattern != "gemm" || Registry<PatternCode>::all().contains("gemm"))
      continue;
    request.series.pop_back();
    request.notes.emplace_back("gemm was left out: this program was built without OpenBLAS");
  }
  if (request.series.empty()) in.at("series").fail("must have at least one series");
  return request;
}

std::vector<PointSamples> points_of(const std::vector<PatternSeries>& series) {
  std::vector<PointSamples> points;
  for (std::size_t i = 0; i < series.size(); ++i)
    for (std::size_t k = 0; k < series[i].bytes.size(); ++k)
      points.push_back({.series = i, .size = k, .bytes = series[i].bytes[k]});
  return points;
}

// "fan-in of 7 ranks at 4 MiB".
std::string name_of(const PatternSeries& series, std::int64_t bytes) {
  return fmt::format("{} of {} ranks at {}", series.pattern, series.members.size(),
                     to_text(Bytes{bytes}));
}

// Points in few words: "shift of 4 ranks at 1 KiB, 2 KiB; ...".
class NamedPoints {
 public:
  void add(const PatternSeries& series, std::int64_t bytes) {
    if (last_ == &series) {
      text_ += ", " + to_text(Bytes{bytes});
      return;
    }
    text_ += (last_ == nullptr ? "" : "; ") + name_of(series, bytes);
    last_ = &series;
  }
  bool empty() const { return last_ == nullptr; }
  const std::string& text() const { return text_; }

 private:
  const PatternSeries* last_ = nullptr;
  std::string text_;
};

// Waits as in a pattern at first, then with long naps: whoever takes part needs the cores.
void wait_politely(MPI_Request& request, const Patience& patience) {
  const double begin_s = clock_s();
  bool is_done = false;
  const auto poll = [&] {
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return is_done = done != 0;
  };
  patience.wait([&] { return poll() || clock_s() - begin_s > kAttentive_s; });
  if (!is_done) Patience(std::max(patience.nap_s(), kNap_s)).wait(poll);
}

// Rank 0: who decides, and who collects.
class Conductor {
 public:
  Conductor(const PatternRequest& request, std::map<std::string, std::string> facts,
            MPI_Comm control, TaskSettings& settings)
      : request_(request),
        control_(control),
        settings_(settings),
        rank_(request.series, settings.patience),
        order_(points_of(request.series), request.rule) {
    document_.machine = request.machine;
    document_.library = mpi_library();
    document_.provenance = std::move(facts);
    for (const auto& [key, text] : request.provenance) document_.provenance[key] = text;
  }

  void run() {
    const double begin_s = clock_s();
    double written_s = begin_s;
    ProgressLines progress;
    while (const auto visit = order_.next(clock_s() - begin_s)) {
      measure(*visit);
      progress.say(progress_text(clock_s() - begin_s));
      if (clock_s() - written_s < kWriteEvery_s) continue;
      settings_.answer.write(answer(false));
      written_s = clock_s();
    }
    dismiss();
    settings_.answer.write(answer(true));
  }

 private:
  void measure(const Visit& visit) {
    const PointSamples& point = order_.points()[visit.point];
    const PatternSeries& series = request_.series[point.series];
    const VisitCommand command{.series = static_cast<int>(point.series),
                               .size = static_cast<int>(point.size),
                               .warm_up = visit.warm_up,
                               .repetitions = visit.repetitions,
                               .is_checked = visit.is_first ? 1 : 0};
    const double begin_s = clock_s();
    bool takes_part = false;
    for (const int member : series.members) {
      takes_part = takes_part || member == 0;
      if (member != 0) tell(member, command);
    }
    VisitResult result;
    if (takes_part) result = rank_.visit(command);
    if (series.members.front() != 0) result = collect(series.members.front(), command);
    if (!result.is_correct)
      wrong_.push_back(name_of(series, point.bytes) + ": what arrived was not what was sent");
    order_.done(visit, result.samples_s, clock_s() - begin_s);
  }

  void tell(int rank, const VisitCommand& command) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(&command, sizeof command, MPI_BYTE, rank, kCommandTag, control_, &request);
    finish(request, settings_.patience);
  }

  VisitResult collect(int from, const VisitCommand& command) {
    std::vector<double> numbers(static_cast<std::size_t>(command.repetitions) + 1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, from, kResultTag,
              control_, &request);
    wait_politely(request, settings_.patience);
    return {.is_correct = numbers.front() > 0,
            .samples_s = std::vector<double>(numbers.begin() + 1, numbers.end())};
  }

  void dismiss() {
    for (int rank = 1; rank < size_of(control_); ++rank) tell(rank, VisitCommand{});
  }

  std::string progress_text(double elapsed_s) const {
    std::size_t known = 0;
    for (const PointSamples& point : order_.points())
      if (order_.is_enough(point)) ++known;
    return fmt::format("{:.0f} s of {:.0f} s: {} of {} points known to {:.2g} %", elapsed_s,
                       request_.rule.budget_s, known, order_.points().size(),
                       100 * request_.rule.relative_interval);
  }

  nlohmann::json answer(bool is_finished) const {
    Measurement measurement = document_;
    for (const PatternSeries& wanted : request_.series) {
      Series series;
      for (const Pattern pattern : rank_patterns())
        if (wanted.pattern == forescale::name_of(pattern)) series.pattern = pattern;
      series.ranks = static_cast<int>(wanted.members.size());
      series.members = wanted.members;
      series.op = wanted.op;
      measurement.series.push_back(series);
    }
    for (const PointSamples& point : order_.points())
      if (!point.samples_s.empty()) add_point(measurement.series[point.series], point);
    std::erase_if(measurement.series, [](const Series& series) { return series.points.empty(); });
    measurement.notes = request_.notes;
    measurement.notes.insert(measurement.notes.end(), wrong_.begin(), wrong_.end());
    if (!is_finished) measurement.notes.emplace_back("measuring had not ended: points are missing");
    if (is_finished) add_shortcomings(measurement.notes);
    return to_json(measurement);
  }

  void add_point(Series& series, const PointSamples& point) const {
    const SampleSummary summary = summarize(point.samples_s);
    MeasuredPoint result{.bytes = point.bytes,
                         .time_s = summary.median,
                         .low_s = summary.low,
                         .high_s = summary.high,
                         .p10_s = summary.p10,
                         .p90_s = summary.p90,
                         .samples = summary.samples};
    if (series.pattern == Pattern::kGemm)
      result.flops = 2 * std::pow(static_cast<double>(point.bytes) / 12, 1.5);
    series.points.push_back(result);
  }

  // What the budget was too small for.
  void add_shortcomings(std::vector<std::string>& notes) const {
    NamedPoints missing;
    NamedPoints few;
    std::size_t wide = 0;
    for (const PointSamples& point : order_.points()) {
      const PatternSeries& series = request_.series[point.series];
      const std::size_t samples = point.samples_s.size();
      if (samples == 0)
        missing.add(series, point.bytes);
      else if (samples < static_cast<std::size_t>(VisitOrder::kLeast))
        few.add(series, point.bytes);
      if (!order_.is_enough(point)) ++wide;
    }
    const std::string budget = fmt::format("the budget of {} s", request_.rule.budget_s);
    if (!missing.empty()) notes.push_back(budget + " ended before: " + missing.text());
    if (!few.empty())
      notes.push_back(fmt::format("{} allowed fewer than {} repetitions: {}", budget,
                                  VisitOrder::kLeast, few.text()));
    if (wide > 0)
      notes.push_back(
          fmt::format("{} of {} medians have a 95 % interval wider than +-{:.2g} % after {}", wide,
                      order_.points().size(), 100 * request_.rule.relative_interval, budget));
  }

  const PatternRequest& request_;
  MPI_Comm control_;
  TaskSettings& settings_;
  PatternRank rank_;
  VisitOrder order_;
  Measurement document_;
  std::vector<std::string> wrong_;
};

// All other ranks.
void follow(const PatternRequest& request, MPI_Comm control, const Patience& patience) {
  PatternRank rank(request.series, patience);
  for (;;) {
    VisitCommand command;
    MPI_Request told = MPI_REQUEST_NULL;
    MPI_Irecv(&command, sizeof command, MPI_BYTE, 0, kCommandTag, control, &told);
    wait_politely(told, patience);
    if (command.series < 0) return;
    const VisitResult result = rank.visit(command);
    const PatternSeries& series = request.series[static_cast<std::size_t>(command.series)];
    if (series.members.front() != rank_in(MPI_COMM_WORLD)) continue;
    std::vector<double> numbers = {result.is_correct ? 1.0 : 0.0};
    numbers.insert(numbers.end(), result.samples_s.begin(), result.samples_s.end());
    MPI_Request reply = MPI_REQUEST_NULL;
    MPI_Isend(numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, 0, kResultTag, control,
              &reply);
    finish(reply, patience);
  }
}

}  // namespace

void run_patterns(const JsonInput& in, TaskSettings& settings) {
  const PatternRequest request = read_pattern_request(in);
  std::map<std::string, std::string> facts = provenance(request.choice);
  MPI_Comm control = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  if (rank_in(control) == 0)
    Conductor(request, std::move(facts), control, settings).run();
  else
    follow(request, control, settings.patience);
  MPI_Comm_free(&control);
}

}  // namespace forescale
