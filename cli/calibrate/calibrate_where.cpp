#include "cli/calibrate/calibrate_where.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <system_error>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "calibrate/testbed/testbed.hpp"

namespace forescale {
namespace {

// By variable of its launcher; 0: not set.
int from_environment(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) return std::max(1, std::atoi(text));
  return 0;
}

bool is_started_by_openmpi() { return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr; }

std::string library_of(const MpiPlace& place) {
  if (!place.library.empty()) return place.library;
  return is_in_mpi() && !is_started_by_openmpi() ? "mpich" : "openmpi";
}

// Ranks that a file has room for: a line a host, "name", "name slots=2" or "name:2".
int slots_in(const std::string& hostfile) {
  std::ifstream file(hostfile);
  if (!file) refuse("--hostfile", hostfile, "cannot be read");
  int slots = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host;
    if (!(words >> host)) continue;
    std::string count = "1";
    if (const auto colon = host.find(':'); colon != std::string::npos)
      count = host.substr(colon + 1);
    for (std::string word; words >> word;)
      if (word.starts_with("slots=")) count = word.substr(6);
    slots += static_cast<int>(parse_integer(count, hostfile));
  }
  if (slots < 1) refuse("--hostfile", hostfile, "must list at least one host");
  return slots;
}

}  // namespace

void add_place_options(Subcommand command, MpiPlace& place) {
  command.add_option("--testbed", place.testbed, "On this testbed (forescale testbed up)");
  command.add_option("--hostfile", place.hostfile, "On these hosts, as mpirun reads them");
  command
      .add_option("--ranks", place.ranks,
                  "Ranks (default: one a host); without a testbed or hosts: on this machine")
      .in_range(1, 4096);
  command.add_option("--mpi", place.library, "openmpi (default) or mpich")
      .one_of({"openmpi", "mpich"});
}

// SLURM_STEP_ID is set for what srun starts, not in a job's script.
bool is_in_mpi() {
  return from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) > 0 ||
         (std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("SLURM_PROCID") != nullptr);
}

int rank_count(const MpiPlace& place) {
  if (is_in_mpi()) {
    const auto settled = [](const std::string& option) {
      refuse(option, "", "mpirun or srun has started this program and has settled where it runs");
    };
    if (!place.testbed.empty()) settled("--testbed");
    if (!place.hostfile.empty()) settled("--hostfile");
    if (place.ranks > 0) settled("--ranks");
    return from_environment({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"});
  }
  if (!place.testbed.empty() && !place.hostfile.empty())
    refuse("--hostfile", place.hostfile, "cannot be combined with --testbed");
  if (!place.testbed.empty()) {
    const Testbed testbed = Testbed::find(place.testbed, "--testbed");
    return place.ranks > 0 ? place.ranks : testbed.spec().hosts;
  }
  if (!place.hostfile.empty()) {
    const int slots = slots_in(place.hostfile);
    return place.ranks > 0 ? place.ranks : slots;
  }
  if (place.ranks == 0)
    refuse("--ranks", "", "is needed where neither --testbed nor --hostfile says where to run");
  return place.ranks;
}

std::vector<std::string> mpi_command(const MpiPlace& place, int ranks) {
  const std::string library = library_of(place);
  std::vector<std::string> command;
  if (!place.testbed.empty()) {
    command = Testbed::find(place.testbed, "--testbed").mpi_command(library, ranks);
  } else if (!place.hostfile.empty()) {
    const std::string option = library == "mpich" ? "-f" : "--hostfile";
    command = {mpi_launcher(library), option, place.hostfile, "-np", std::to_string(ranks)};
  } else {
    command = loopback_command(library, ranks);
  }
  command.push_back(mpi_program(library));
  return command;
}

void become_mpi_program(const MpiPlace& place, const std::string& request,
                        const std::string& answer_file) {
  const std::string program = mpi_program(library_of(place));
  // A file without a name, so that nothing is left behind.
  const int file = memfd_create("forescale-request", 0);
  if (file < 0 ||
      write(file, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
    throw std::system_error(errno, std::generic_category(), "the request");
  std::string request_file = fmt::format("/proc/self/fd/{}", file);
  std::string answer = answer_file;
  std::string name = program;
  std::array<char*, 4> arguments = {name.data(), request_file.data(), answer.data(), nullptr};
  execv(program.c_str(), arguments.data());
  throw std::system_error(errno, std::generic_category(), program);
}

}  // namespace forescale
