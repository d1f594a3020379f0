// The timeline of a rank that computes on its host: collectives of gloo run beside it, and where it
// waits for them is read off its gaps.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

class HostTimeline {
 public:
  // Every operator and annotation of the CPU; `bytes` of a collective, -1 where it is not known.
  void take(std::string_view name, const ClockSpan& span, const std::string& thread,
            std::int64_t bytes);
  bool is_empty() const { return ops_.empty(); }
  // Calls, tasks and collectives of the thread that did most. `rank.steps` are known already.
  void fill(MeasuredRank& rank);
  // When gradients were ready, also where kernels compute them: as the host saw it.
  void fill_gradients(MeasuredRank& rank);

 private:
  struct Collective {
    ClockSpan span;
    CollectiveOp op;
    std::int64_t bytes = -1;
    std::string thread;
  };
  struct Launch {
    ClockSpan span;
    CollectiveOp op;
    Collective* ran = nullptr;  // null: its end is not in the trace
  };

  std::string main_thread() const;
  void match(MeasuredRank& rank);
  std::vector<ClockSpan> gaps(const std::string& thread) const;
  std::int64_t busy_end_ns(const ClockSpan& op) const;
  std::vector<ClockSpan> waits(const std::vector<ClockSpan>& gaps, const MeasuredRank& rank);
  void end_with(Launch& launch, const ClockSpan& wait);

  std::map<std::string, std::vector<ClockSpan>> ops_;  // by thread; no scopes around others
  std::vector<Launch> launches_;
  std::vector<Collective> collectives_;
  std::deque<Collective> unseen_;  // that ended when they were waited for
  std::vector<ClockSpan> optimizer_;
  std::vector<ClockSpan> gradients_;
};

}  // namespace forescale
