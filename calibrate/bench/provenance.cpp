#include "calibrate/bench/provenance.hpp"

#include <fmt/format.h>
#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "calibrate/bench/patterns/when_and_where.hpp"
#include "calibrate/bench/polled.hpp"

extern char** environ;

namespace forescale {
namespace {

// Its first lines: what follows is how it was configured, in places with the builder's host name.
std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> buffer{};
  int length = 0;
  MPI_Get_library_version(buffer.data(), &length);
  const std::string text(buffer.data());
  if (text.rfind("Open MPI", 0) == 0) {
    std::string version = text.substr(0, text.find(','));
    const auto ident = text.find(", ident");
    if (ident != std::string::npos)
      version += text.substr(ident, text.find(',', ident + 1) - ident);
    return version;
  }
  std::string version;
  for (const std::string_view key : {"MPICH Version", "MPICH Device"}) {
    const auto begin = text.find(key);
    if (begin == std::string::npos) continue;
    for (const char letter : text.substr(begin, text.find('\n', begin) - begin))
      if (letter != '\t') version += letter;
    version += "; ";
  }
  return version.empty() ? text.substr(0, text.find('\n')) : version.substr(0, version.size() - 2);
}

bool matters(std::string_view variable) {
  for (const std::string_view prefix :
       {"OMPI_", "PMIX_", "PRTE_", "MPICH_", "MPIR_", "HYDRA_", "I_MPI_", "MV2_", "UCX_", "FI_",
        "OMP_", "OPENBLAS_", "SLURM_"})
    if (variable.rfind(prefix, 0) == 0) return true;
  return false;
}

std::string environment() {
  std::string text;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (matters(*variable)) text += fmt::format("{}{}", text.empty() ? "" : "\n", *variable);
  return text;
}

std::string hosts() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  const int ranks = size_of(MPI_COMM_WORLD);
  std::vector<char> names(name.size() * static_cast<std::size_t>(ranks));
  MPI_Gather(name.data(), static_cast<int>(name.size()), MPI_CHAR, names.data(),
             static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::string text;
  for (int rank = 0; rank < ranks; ++rank)
    text += fmt::format("{}{}", rank == 0 ? "" : ", ",
                        &names[name.size() * static_cast<std::size_t>(rank)]);
  return text;
}

}  // namespace

std::map<std::string, std::string> provenance(const ProvenanceChoice& choice) {
  utsname kernel{};
  uname(&kernel);
  std::map<std::string, std::string> facts = {
      {"date", now_utc()},
      {"mpi", library_version()},
      {"compiler", fmt::format("GCC-compatible {}", __VERSION__)},
      {"kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)},
      {"cpu", cpu_model()},
      {"cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
      {"ranks", std::to_string(size_of(MPI_COMM_WORLD))}};
  if (choice.environment) facts["environment"] = environment();
  if (choice.hosts) facts["hosts"] = hosts();
  return facts;
}

}  // namespace forescale
