// Where a measurement was made: what an answer says about machine, libraries and date.
#pragma once

#include <map>
#include <string>

namespace forescale {

struct ProvenanceChoice {
  bool environment = false;  // variables of MPI, its transports, OpenMP and Slurm; may name hosts
  bool hosts = false;        // the name of each rank's host
};

// Collective over MPI_COMM_WORLD; the text is rank 0's, elsewhere it may lack what others said.
std::map<std::string, std::string> provenance(const ProvenanceChoice& choice);

}  // namespace forescale
