// GOAL, the schedules of LogGOPSim and ATLAHS, of a program: its collectives as the sends and
// receives of the algorithms that a stack chooses on a platform.
#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "models/stack.hpp"
#include "topologies/platform.hpp"
#include "traces/program/program.hpp"

namespace forescale {

struct GoalExport {
  std::uint64_t tasks = 0;
  std::uint64_t messages = 0;  // sends, those of collectives included
  double bytes = 0;            // that they carry
  std::vector<std::string> notes = {};
};

// All ranks, in nanoseconds and bytes. What additions and calls of collectives cost is not in it:
// the program that runs the schedule has its own model.
GoalExport export_goal(const Program& program, const Platform& platform, const Stack& stack,
                       const std::map<CollectiveOp, PlanChoice>& choices, std::ostream& out);

}  // namespace forescale
