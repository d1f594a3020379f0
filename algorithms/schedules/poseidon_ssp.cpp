// Poseidon under stale synchronous parallel: a worker may be `staleness` clocks ahead of the
// slowest, and what it reads may miss as many of the others' updates. 0 is BSP.
//
// Poseidon, arXiv 1512.06216, sections 3.2 and 5.2.2; Ho et al., NIPS 2013. Hides communication as
// well as stragglers: a pull has `staleness` more iterations to arrive.
#include "algorithms/poseidon/poseidon.hpp"
#include "algorithms/poseidon/poseidon_options.hpp"

namespace forescale {
namespace {

std::vector<Option> poseidon_ssp_options() {
  std::vector<Option> options = poseidon_options();
  options.push_back({.name = "staleness",
                     .summary = "clocks that a worker may be ahead of the slowest",
                     .unit = OptionUnit::kCount,
                     .fallback = 1,
                     .max = 1000,
                     .choices = {},
                     .source = "",
                     .tried = {0, 1, 2, 3, 5, 10}});
  return options;
}

PoseidonSettings poseidon_ssp_settings(const TrainingJob& job) {
  PoseidonSettings settings = poseidon_settings(job);
  settings.staleness = static_cast<int>(job.options.integer("staleness"));
  return settings;
}

const bool kPoseidonSspRegistered = Registry<Schedule>::add(
    {.name = "poseidon-ssp",
     .summary = "Poseidon whose workers may read parameters that are some iterations old",
     .source = "Poseidon, arXiv 1512.06216, sections 3.2 and 5.2.2",
     .options = poseidon_ssp_options(),
     .run = [](Worker& worker,
               const TrainingJob& job) { run_poseidon(worker, job, poseidon_ssp_settings(job)); },
     .servers = poseidon_servers,
     .traffic =
         [](const TrainingJob& job, int workers, const std::vector<int>& nodes) {
           return poseidon_traffic(job, workers, nodes, poseidon_ssp_settings(job));
         },
     .is_asynchronous = true,
     .follows_arrivals = true,
     .iterations = 12});

}  // namespace
}  // namespace forescale
