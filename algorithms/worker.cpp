#include "algorithms/worker.hpp"

namespace forescale {

const char* name_of(Timer::For what) {
  switch (what) {
    case Timer::For::kTimer:
      return "timer";
    case Timer::For::kCopy:
      return "copy";
    case Timer::For::kLaunch:
      return "launch latency";
    case Timer::For::kGap:
      return "gap between tasks";
    case Timer::For::kCommunication:
      return "communication as measured";
    case Timer::For::kCorrection:
      return "collective beyond the prediction";
    case Timer::For::kOtherRanks:
      return "wait for ranks not traced";
    case Timer::For::kUnexplained:
      return "wait not explained";
  }
  return "";
}

}  // namespace forescale
