// MPI calls that wait with patience: the library's own blocking calls would spin on a core that
// other ranks need. All but finish() are collective over the communicator.
#pragma once

#include <mpi.h>

#include "calibrate/bench/patience.hpp"

namespace forescale {

void finish(MPI_Request& request, const Patience& patience);
void wait_for_all(MPI_Comm communicator, const Patience& patience);  // a barrier
double maximum(double value, MPI_Comm communicator, const Patience& patience);
// `bytes` bytes at `data` of rank 0 end up with everybody.
void tell_all(void* data, int bytes, MPI_Comm communicator, const Patience& patience);

int rank_in(MPI_Comm communicator);
int size_of(MPI_Comm communicator);

}  // namespace forescale
