#include "calibrate/bench/gpu/gpu_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace forescale {
namespace {

// No time takes more than this share of the budget, two samples excepted.
constexpr double kShareOfOne = 0.01;
constexpr double kOneMost_s = 0.5;
constexpr double kOneLeast_s = 0.02;
// More wide spreads than this share of all times: somebody else is there.
constexpr double kWideShare = 0.1;

enum class Next { kGoOn, kSkipRest, kEnd };

class GpuRun {
 public:
  GpuRun(const GpuRequest& request, GpuBench& bench, GpuAnswer& answer,
         const GpuSurroundings& around)
      : request_(request), bench_(bench), answer_(answer), around_(around) {
    begin_s_ = around.clock();
    for (const GpuSeriesRequest& series : request.series)
      points_asked_ += static_cast<int>(series.bytes.size() * groups_of(series).size());
  }

  std::string measure() {
    for (const std::string& warning : bench_.warnings_before()) answer_.note(warning);
    const bool is_whole = measure_series() && measure_kernels();
    if (!failure_.empty())
      answer_.note(failure_);
    else if (!is_whole)
      answer_.note(cut_short_text());
    // After a fault the GPU answers no more questions.
    if (failure_.empty())
      for (const std::string& warning : bench_.warnings_after()) answer_.note(warning);
    note_spread();
    return failure_;
  }

 private:
  std::vector<std::vector<int>> groups_of(const GpuSeriesRequest& series) const {
    return bench_.groups(series.pattern);
  }

  bool is_over() const {
    return around_.is_stopped() || around_.clock() - begin_s_ >= request_.budget_s;
  }

  bool measure_series() {
    for (const GpuSeriesRequest& series : request_.series) {
      const auto groups = groups_of(series);
      if (groups.empty())
        answer_.note(fmt::format("left out, {} needs two GPUs{}", series.pattern,
                                 series.op.empty() ? "" : ", and NCCL where this was built"));
      for (const std::vector<int>& members : groups) {
        answer_.begin_series(series, members);
        if (!measure_points(series, members)) return false;
      }
    }
    return true;
  }

  bool measure_points(const GpuSeriesRequest& series, const std::vector<int>& members) {
    for (const std::int64_t bytes : series.bytes) {
      if (is_over()) return false;
      const std::string what = fmt::format("{} of {} bytes", series.pattern, bytes);
      const Next next = attempt(what, [&] {
        const auto thing = bench_.start({series.pattern, members, bytes});
        answer_.add_point(bytes, repeat(*thing, until(), around_.clock));
      });
      ++points_done_;
      if (next == Next::kEnd) return false;
      if (next == Next::kSkipRest) break;  // larger ones fit no better
    }
    return true;
  }

  bool measure_kernels() {
    for (const GpuKernelRequest& kernel : request_.kernels) {
      if (is_over()) return false;
      const std::string what =
          fmt::format("{}, {}, {}", to_text(kernel.kernel), name_of(kernel.kernel.pass),
                      name_of(kernel.kernel.precision));
      const Next next = attempt(what, [&] {
        const auto thing = bench_.start(kernel.kernel);
        const SampleSummary times_s = repeat(*thing, until(), around_.clock);
        answer_.add_kernel(kernel, times_s, thing->algorithm());
      });
      if (next == Next::kEnd) return false;
      ++kernels_done_;
    }
    return true;
  }

  // Does it, and turns what goes wrong into a note.
  template <class Action>
  Next attempt(const std::string& what, const Action& action) {
    try {
      around_.on_progress(fmt::format("{:.0f} s: {}", around_.clock() - begin_s_, what));
      action();
      answer_.keep();
      return Next::kGoOn;
    } catch (const GpuTrouble& trouble) {
      switch (trouble.kind()) {
        case GpuTrouble::Kind::kUnusable:
          throw;
        case GpuTrouble::Kind::kOutOfMemory:
          answer_.note(fmt::format("left out, {}: {}", trouble.what(), what));
          return Next::kSkipRest;
        case GpuTrouble::Kind::kUnsupported:
          answer_.note(fmt::format("left out, {}", trouble.what()), what);
          return Next::kGoOn;
        case GpuTrouble::Kind::kFault:
          failure_ = fmt::format("{} ({})", trouble.what(), what);
          return Next::kEnd;
      }
      throw;
    }
  }

  RepeatUntil until() const {
    return {.relative_interval = request_.relative_interval,
            .samples_max = request_.samples_max,
            .most_s = std::clamp(kShareOfOne * request_.budget_s, kOneLeast_s, kOneMost_s),
            .end_s = begin_s_ + request_.budget_s};
  }

  std::string cut_short_text() const {
    return fmt::format("{} with {} of {} sizes of patterns and {} of {} kernels done",
                       around_.is_stopped()
                           ? "it was interrupted"
                           : fmt::format("the budget of {:g} s ended it", request_.budget_s),
                       points_done_, points_asked_, kernels_done_, request_.kernels.size());
  }

  void note_spread() {
    if (answer_.wide_times() <= kWideShare * answer_.times()) return;
    answer_.note(
        fmt::format("busy: {} of {} times scatter by more than 25 % of their median; is the GPU "
                    "used by others, or its clock not steady?",
                    answer_.wide_times(), answer_.times()));
  }

  const GpuRequest& request_;
  GpuBench& bench_;
  GpuAnswer& answer_;
  const GpuSurroundings& around_;
  double begin_s_ = 0;
  int points_asked_ = 0;
  int points_done_ = 0;
  std::size_t kernels_done_ = 0;
  std::string failure_;
};

}  // namespace

std::string measure_all(const GpuRequest& request, GpuBench& bench, GpuAnswer& answer,
                        const GpuSurroundings& around) {
  answer.set_facts(bench.facts());
  std::string failure = GpuRun(request, bench, answer, around).measure();
  answer.write();
  return failure;
}

}  // namespace forescale
