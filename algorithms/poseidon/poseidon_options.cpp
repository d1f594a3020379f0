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
      {.name = "leave",
       .summary = "when gradients leave for the servers: as a layer is ready (Algorithm 2), or all "
                  "when the worker ends its clock, after the backward pass",
       .unit = OptionUnit::kChoice,
       .fallback = 0,
       .choices = {"ready", "clock"},
       .source = "Algorithm 2; clock: sailing-pmls/bosen at c72480c4, abstract_bg_worker.cpp",
       .tried = {0, 1}},
      {.name = "factors",
       .summary = "a layer waits for the factors of all peers (Algorithm 3), or applies those that "
                  "come later with the next clock's",
       .unit = OptionUnit::kChoice,
       .fallback = 0,
       .choices = {"awaited", "late"},
       .source = "Algorithm 3; late: sailing-pmls/pmls-caffe at 4bb4b608, src/caffe/solver.cpp, "
                 "ThreadSyncWithSVB",
       .tried = {0, 1}},
      {.name = "rows",
       .summary = "equal rows of a tensor, which are what servers share",
       .unit = OptionUnit::kCount,
       .fallback = 256,
       .min = 1,
       .max = 65536,
       .choices = {},
       .source = "sailing-pmls/pmls-caffe at 4bb4b608, examples/imagenet/train_imagenet.sh: "
                 "num_rows_per_table=256 (googlenet 32, cifar10 1)",
       .tried = doublings(1, 1024)},
      {.name = "comm_channels",
       .summary = "threads of a server, each with rows of its own",
       .unit = OptionUnit::kCount,
       .fallback = 8,
       .min = 1,
       .max = 1024,
       .choices = {},
       .source = "sailing-pmls/pmls-caffe at 4bb4b608, examples/imagenet/train_imagenet.sh and "
                 "googlenet: num_comm_channels_per_client=8 (cifar10 1)",
       .tried = doublings(1, 16)},
      {.name = "server_flops",
       .summary = "FLOP/s of a server that multiplies factors",
       .unit = OptionUnit::kRatio,
       .fallback = 8.6e10,
       .min = 1e6,
       .choices = {},
       .source = "one CPU of 16 Opteron 6272 cores, 2.1 GHz: 268.8 GFLOP/s in single precision "
                 "(8 modules, 2 fused units of 4 values each), of which a matrix product reaches "
                 "a third to nine tenths"}};
}

PoseidonSettings poseidon_settings(const TrainingJob& job) {
  PoseidonSettings settings;
  settings.wait_free = job.options.choice("backpropagation") == 1;
  settings.fully_connected = static_cast<FullyConnected>(job.options.choice("fc"));
  settings.three_level = job.options.flag("three_level");
  settings.servers = static_cast<int>(job.options.integer("servers"));
  settings.at_clock = job.options.choice("leave") == 1;
  settings.waits_for_factors = job.options.choice("factors") == 0;
  settings.rows = static_cast<int>(job.options.integer("rows"));
  settings.comm_channels = static_cast<int>(job.options.integer("comm_channels"));
  settings.server_flops = job.options.number("server_flops");
  return settings;
}

Servers poseidon_servers(const TrainingJob& job, int /*workers*/) {
  const PoseidonSettings settings = poseidon_settings(job);
  return {.count = settings.servers, .own_hosts = false, .each_node = settings.servers == 0};
}

}  // namespace forescale
