// Where MPI programs run: on a testbed, over loopback, on the hosts of a file, or in place, as the
// ranks that a launcher has already started.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace forescale {

struct MpiPlace {
  std::string testbed;
  std::string hostfile;
  int ranks = 0;        // 0: as many as there are hosts
  std::string library;  // "openmpi" or "mpich"; empty: what has started this, else Open MPI
};

// --testbed, --hostfile, --ranks, --mpi.
void add_place_options(Subcommand command, MpiPlace& place);

// Has mpirun or srun started this process?
bool is_in_mpi();

// InputError naming the option when no place or two were named, a testbed is not up, or a file
// lists no hosts.
int rank_count(const MpiPlace& place);
// Launcher, its arguments and the MPI program, to be followed by the files of request and answer.
std::vector<std::string> mpi_command(const MpiPlace& place, int ranks);

// Replaces this process by the MPI program. InputError when that is not built.
[[noreturn]] void become_mpi_program(const MpiPlace& place, const std::string& request,
                                     const std::string& answer_file);

}  // namespace forescale
