// What a rank of a program does as a graph of tasks, without threads: for formats that have none.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/program/program.hpp"

namespace forescale {

struct ProgramTask {
  // Tasks of the rank that have to be done before it begins: all of them stand above it.
  std::vector<std::uint32_t> needs = {};
  int thread = 0;  // that starts it
  // kKernel, kHostWork, kHostCopy, kTimer, kSend, kPut, kReceive, kCollective; kSignal: no work, it
  // only joins what it needs.
  Action::Kind kind = Action::Kind::kSignal;
  decltype(Action::what) what = {};  // a collective's group is filled in
};

struct ProgramTasks {
  std::vector<ProgramTask> tasks;
  // Where what is done next depends on what comes first: taken to be the first that is named.
  std::uint64_t choices = 0;
};

// InputError where the rank's threads wait for each other for ever, or for a program of a schedule
// that follows arrivals, which has no order of its own.
ProgramTasks tasks_of(const Program& program, int rank);

// The members of a collective: its group, or all workers.
std::vector<int> members_of(const Program& program, const CollectiveStep& step);

}  // namespace forescale
