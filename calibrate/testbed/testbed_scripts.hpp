// The scripts in a testbed's folder.
#pragma once

#include "calibrate/testbed/testbed.hpp"

namespace forescale {

// Writes what Testbed::mpi_command() refers to, and makes a folder for each host's temporary files.
void write_testbed_scripts(const TestbedSpec& spec);

}  // namespace forescale
