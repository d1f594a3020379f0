// Poseidon under BSP: a parameter server with a shard on every node, layers pushed and pulled
// during the backward pass (DWBP) or after it, fully connected layers by the structure-aware
// protocol (SACP).
//
// Poseidon, arXiv 1512.06216, sections 4.1 to 4.3, Algorithms 1 to 3. Hinges on: how much of the
// backward pass is left when the large layers are done; the CPU's share of every byte (staging,
// serialising, adding); the sockets' rate.
#include "algorithms/poseidon/poseidon.hpp"
#include "algorithms/poseidon/poseidon_options.hpp"

namespace forescale {
namespace {

const bool kPoseidonRegistered = Registry<Schedule>::add(
    {.name = "poseidon",
     .summary = "sharded parameter server, layers sent during the backward pass, factors of fully "
                "connected layers among peers",
     .source = "Poseidon, arXiv 1512.06216, section 4, Algorithms 1 to 3",
     .options = poseidon_options(),
     .run = [](Worker& worker,
               const TrainingJob& job) { run_poseidon(worker, job, poseidon_settings(job)); },
     .servers = poseidon_servers,
     .traffic =
         [](const TrainingJob& job, int workers, const std::vector<int>& nodes) {
           return poseidon_traffic(job, workers, nodes, poseidon_settings(job));
         },
     .follows_arrivals = true,
     .iterations = 4});

}  // namespace
}  // namespace forescale
