// Says which rank died, and of what: launchers do not always know, because they end all the others
// at once.
#pragma once

#include <functional>

namespace forescale {

// Runs `body` in a child process, before any MPI call, and gives its exit code. When a signal ended
// the child, says so on stderr in the form that calibrate/measure/mpi_failure.hpp finds (but for a
// broken pipe, which is a consequence), and gives 128 + N. The child ends with this process.
int run_watched(const std::function<int()>& body);

}  // namespace forescale
