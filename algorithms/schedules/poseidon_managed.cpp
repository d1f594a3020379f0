// Poseidon with the bandwidth manager: every worker and server sends within a rate budget, the most
// urgent of its waiting messages first.
//
// Poseidon, arXiv 1512.06216, section 4.3.3; Wei et al., Managed Communication and Consistency,
// SoCC 2015. The order shows in the iteration time only where a forward pass starts before all
// layers are there (join=layer); the paper's code joins all threads first.
#include "algorithms/poseidon/poseidon.hpp"
#include "algorithms/poseidon/poseidon_options.hpp"

namespace forescale {
namespace {

std::vector<Option> poseidon_managed_options() {
  std::vector<Option> options = poseidon_options();
  options.push_back({.name = "budget",
                     .summary = "bytes a second that each worker, and each server, may send",
                     .unit = OptionUnit::kBytes,
                     .fallback = 1.25e9,
                     .min = 1,
                     .choices = {},
                     .source = ""});
  options.push_back({.name = "order",
                     .summary = "which message goes first: of the lowest layer, the first to come, "
                                "or of the largest updates (a seeded random order)",
                     .unit = OptionUnit::kChoice,
                     .fallback = 2,
                     .choices = {"layer", "arrival", "magnitude"},
                     .source = "Wei et al., SoCC 2015: by the relative magnitude of the updates",
                     .tried = {0, 1, 2}});
  options.push_back({.name = "join",
                     .summary = "a forward pass waits for all layers, or each layer for its own",
                     .unit = OptionUnit::kChoice,
                     .fallback = 0,
                     .choices = {"all", "layer"},
                     .source = "sailing-pmls/pmls-caffe, src/caffe/solver.cpp: joins all threads",
                     .tried = {0, 1}});
  return options;
}

PoseidonSettings poseidon_managed_settings(const TrainingJob& job) {
  PoseidonSettings settings = poseidon_settings(job);
  settings.budget_bytes_per_s = job.options.number("budget");
  settings.order = static_cast<SendOrder>(job.options.choice("order"));
  settings.join_by_layer = job.options.choice("join") == 1;
  return settings;
}

const bool kPoseidonManagedRegistered = Registry<Schedule>::add(
    {.name = "poseidon-managed",
     .summary = "Poseidon whose messages leave by priority within a rate budget",
     .source = "Poseidon, arXiv 1512.06216, section 4.3.3",
     .options = poseidon_managed_options(),
     .run =
         [](Worker& worker, const TrainingJob& job) {
           run_poseidon(worker, job, poseidon_managed_settings(job));
         },
     .servers = poseidon_servers,
     .traffic =
         [](const TrainingJob& job, int workers, const std::vector<int>& nodes) {
           return poseidon_traffic(job, workers, nodes, poseidon_managed_settings(job));
         },
     .follows_arrivals = true,
     .iterations = 16});

}  // namespace
}  // namespace forescale
