// Whether this machine can run forescale's MPI programs.
#pragma once

#include <string>

#include "base/error.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale::testing {

// Why `library` cannot be used here, empty if it can.
inline std::string mpi_obstacle(const std::string& library) {
  try {
    mpi_launcher(library);
    mpi_program(library, FORESCALE_PROGRAM);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace forescale::testing
