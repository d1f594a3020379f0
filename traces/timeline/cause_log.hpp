// What everything in a simulation followed from: written by the simulator, read backwards for the
// critical path.
//
// A moment is the end of some work. It knows the moment that the work followed from, so that the
// path from any moment back to the beginning has no gaps. A collective follows from the last rank's
// call, a message from the later of its two sides, a kernel from its launch or from the one before
// it on its stream, all that a thread does from the wait that it last went through.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace forescale {

enum class Cause : std::uint8_t {
  kCompute,
  kHost,  // work of the host: launches, copies in its memory
  kCopy,  // between GPU and host
  kInput,
  kTimer,
  kMessage,
  kCollective
};
const char* name_of(Cause cause);

class CauseLog {
 public:
  using Moment = std::int64_t;
  static constexpr Moment kStart = -1;  // of everything

  struct Work {
    Cause cause = Cause::kCompute;
    std::string label;  // of a collective: the operation and its label
  };
  struct Entry {
    double time_s = 0;
    Moment after = kStart;
    double late_s = 0;  // by how much the moment it follows from was later than most ranks' own
    int rank = 0;
    int work = 0;  // index of works()
  };

  // Work of a rank that ends now. Moments are made in order of time.
  Moment add(int rank, double time_s, Moment after, Cause cause, const std::string& label,
             double late_s = 0);
  // Forgets moments before that time: paths end there.
  void forget_before(double time_s);

  bool knows(Moment moment) const { return moment >= first_; }
  const Entry& entry(Moment moment) const {
    return entries_[static_cast<std::size_t>(moment - first_)];
  }
  const std::vector<Work>& works() const { return works_; }

 private:
  Moment first_ = 0;  // that is not forgotten
  std::deque<Entry> entries_;
  std::vector<Work> works_;
  std::map<std::pair<Cause, std::string>, int> work_index_;
};

// One piece of work on the path, or the part of it within the path's time.
struct PathPart {
  double begin_s = 0;
  double end_s = 0;
  int rank = 0;
  int work = 0;
  // Compute or host work of a rank that the other ranks of a collective waited for: that collective
  // could have begun at the beginning of this part for most of them.
  bool is_straggling = false;
};

struct CriticalPath {
  double begin_s = 0;
  double end_s = 0;
  std::vector<PathPart> parts;        // in order of time, without gaps
  std::vector<CauseLog::Work> works;  // by PathPart::work
  // Time by cause: "compute", "host", "all-reduce", "message", "straggler: rank 3", ...; "start"
  // where the path begins later than begin_s. Sums up to end_s - begin_s.
  std::map<std::string, double> by_cause_s;
};

// From `last` back to `begin_s`.
CriticalPath critical_path(const CauseLog& log, CauseLog::Moment last, double begin_s);

}  // namespace forescale
