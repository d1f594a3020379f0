#include "calibrate/bench/polled.hpp"

namespace forescale {

void finish(MPI_Request& request, const Patience& patience) {
  patience.wait([&request] {
    int is_done = 0;
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    return is_done != 0;
  });
}

void wait_for_all(MPI_Comm communicator, const Patience& patience) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(communicator, &request);
  finish(request, patience);
}

double maximum(double value, MPI_Comm communicator, const Patience& patience) {
  double result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&value, &result, 1, MPI_DOUBLE, MPI_MAX, communicator, &request);
  finish(request, patience);
  return result;
}

void tell_all(void* data, int bytes, MPI_Comm communicator, const Patience& patience) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(data, bytes, MPI_BYTE, 0, communicator, &request);
  finish(request, patience);
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  return size;
}

}  // namespace forescale
