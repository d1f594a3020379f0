// forescale-mpi-openmpi and forescale-mpi-mpich: REQUEST.json ANSWER.json (request.hpp).
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "base/error.hpp"
#include "calibrate/bench/polled.hpp"
#include "calibrate/bench/rank_watch.hpp"
#include "calibrate/bench/request.hpp"
#include "calibrate/bench/tasks.hpp"
#include "calibrate/measure/mpi_failure.hpp"

namespace forescale {
namespace {

void run_task(const std::string& request_file, const std::string& answer_file) {
  const JsonInput request = JsonInput::from_file(request_file);
  const CommonRequest common = read_common(request);
  TaskSettings settings = {.patience = Patience(common.nap_s),
                           .channels = common.channels,
                           .answer = AnswerFile(answer_file)};
  if (common.task == "collectives") run_collectives(request, settings);
  if (common.task == "counts") run_counts(request, settings);
  if (common.task == "patterns") run_patterns(request, settings);
  if (common.task == "schedule") run_schedule(request, settings);
  // Ranks that have finished wait here, and not in MPI_Finalize, which would spin.
  wait_for_all(MPI_COMM_WORLD, Patience(std::max(common.nap_s, 1e-3)));
}

int run(int argc, char** argv) {
  try {
    if (argc != 3)
      throw InputError({.source = argv[0],
                        .path = "",
                        .value = "",
                        .constraint = "takes two arguments: REQUEST.json ANSWER.json"});
    run_task(argv[1], argv[2]);
    return 0;
  } catch (const InputError& error) {
    if (rank_in(MPI_COMM_WORLD) == 0) fmt::print(stderr, "{}{}\n", kFailureLine, error.what());
    return 2;
  } catch (const std::exception& error) {
    // One rank's trouble: the others wait for it in vain.
    fmt::print(stderr, "{}rank {}: {}\n", kFailureLine, rank_in(MPI_COMM_WORLD), error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
}

}  // namespace
}  // namespace forescale

int main(int argc, char** argv) {
  return forescale::run_watched([&] {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    const int exit_code = forescale::run(argc, argv);
#ifdef MPICH_NUMVERSION
    // MPICH over TCP alone, as on a testbed, may hang in MPI_Finalize: UCX waits for ranks that no
    // longer answer (openucx/ucx issue 8738).
    if (std::getenv("UCX_TLS") != nullptr) {
      MPI_Barrier(MPI_COMM_WORLD);
      std::fflush(nullptr);
      _exit(exit_code);
    }
#endif
    MPI_Finalize();
    return exit_code;
  });
}
