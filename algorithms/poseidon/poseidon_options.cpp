#include "algorithms/poseidon/poseidon_options.hpp"

namespace forescale {

std::vector<Option> poseidon_options() {
  return {
      {.name = "backpropagation",
       .summary = "when a layer is sent: after all of the backward pass, or as soon as it is done",
       .unit = OptionUnit::kChoice,
       .fallback = 1,
       .choices = {"traditional", "wait-free"},
       .source = "Poseidon, arXiv 1512.06216, section 4.2"},
      {.name = "fc",
       .summary = "fully connected layers: factors to all peers, factors to the server and "
                  "matrices back, matrices both ways, or what Algorithm 3 chooses of the first "
                  "two",
       .unit = OptionUnit::kChoice,
       .fallback = 0,
       .choices = {"auto", "factors", "factors-to-server", "matrices"},
       .source = "Poseidon, arXiv 1512.06216, section 4.3, Algorithm 3",
       .tried = {0, 1, 2, 3}},
      {.name = "three_level",
       .summary = "the GPUs of a node add up on their host and speak through one client",
       .unit = OptionUnit::kFlag,
       .fallback = 0,
       .choices = {},
       .source = "Poseidon, arXiv 1512.06216, section 4.1",
       .tried = {0, 1}},
      {.name = "servers",
       .summary = "shards of the parameter server; 0: one on every node of the workers",
       .unit = OptionUnit::kCount,
       .fallback = 0,
       .max = 4096,
       .choices = {},
       .source = "sailing-pmls/bosen: every process of the host file is client and server",
       .tried = doublings(1, 64)},
      {.name = "shard_bytes",
       .summary = "tensors are divided over the servers down to parts of this size",
       .unit = OptionUnit::kBytes,
       .fallback = 256 << 10,
       .min = 4,
       .choices = {},
       .source = "",
       .tried = doublings(64 << 10, 16 << 20)},
      {.name = "server_flops",
       .summary = "FLOP/s of a server that multiplies factors",
       .unit = OptionUnit::kRatio,
       .fallback = 2e11,
       .min = 1e6,
       .choices = {},
       .source = ""}};
}

PoseidonSettings poseidon_settings(const TrainingJob& job) {
  PoseidonSettings settings;
  settings.wait_free = job.options.choice("backpropagation") == 1;
  settings.fully_connected = static_cast<FullyConnected>(job.options.choice("fc"));
  settings.three_level = job.options.flag("three_level");
  settings.servers = static_cast<int>(job.options.integer("servers"));
  settings.shard_bytes = job.options.integer("shard_bytes");
  settings.server_flops = job.options.number("server_flops");
  return settings;
}

Servers poseidon_servers(const TrainingJob& job, int /*workers*/) {
  const PoseidonSettings settings = poseidon_settings(job);
  return {.count = settings.servers, .own_hosts = false, .each_node = settings.servers == 0};
}

}  // namespace forescale
