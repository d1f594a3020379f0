// Why a run of an MPI program failed, from what it and its launcher print.
#pragma once

#include <string>

namespace forescale {

// How the program's own error lines begin.
inline constexpr const char* kFailureLine = "forescale-mpi: ";

// The program's first error line; else the rank and the signal that mpirun of Open MPI names, or
// the process that MPICH's names (all of them end at once there, so it names no rank); else the
// exit code.
std::string mpi_failure(const std::string& err_tail, int exit_code);

}  // namespace forescale
