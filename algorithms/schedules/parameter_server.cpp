// Parameter server, synchronous and asynchronous, as algorithms/parameter_servers/push_pull.hpp
// describes it.
//
// S-Caffe, PPoPP 2017, section 3.2, describes the design of Inspur-Caffe, CNTK and Intel-Caffe:
// workers send their gradients to a server, which aggregates them and sends the result to each.
// Of one server and W workers with B bytes on one-port hosts of bandwidth b: the server takes W
// gradients in and gives W copies out, 2 W B / b, plus (W - 1) additions and an update.
#include <fmt/format.h>

#include "algorithms/parameter_servers/push_pull.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

PushPull parameter_server_plan(const TrainingJob& job, int servers, bool asynchronous) {
  PushPull plan;
  plan.asynchronous = asynchronous;
  plan.tensors = job.options.choice("push") == 0 ? tensors_of(job) : packed_tensor(job);
  plan.shards =
      shards_of(plan.tensors, static_cast<Sharding>(job.options.choice("sharding")), servers);
  return plan;
}

Servers servers(const TrainingJob& job, int workers) {
  const std::int64_t most = job.options.integer("max_workers");
  if (most > 0 && workers > most)
    throw InputError({.source = "--gpus",
                      .path = "",
                      .value = std::to_string(workers),
                      .constraint = fmt::format("must be <= {}: this parameter server takes no "
                                                "more workers (option max_workers)",
                                                most)});
  return chosen_servers(job, workers);
}

template <bool kAsynchronous>
void run_parameter_server(Worker& worker, const TrainingJob& job) {
  run_push_pull(
      worker, job,
      parameter_server_plan(job, worker.rank_count() - worker.worker_count(), kAsynchronous));
}

Traffic parameter_server_traffic(const TrainingJob& job, int workers,
                                 const std::vector<int>& /*nodes*/) {
  return shard_traffic(parameter_server_plan(job, chosen_servers(job, workers).count, false).shards,
                       workers);
}

const std::vector<Option> kOptions = {
    servers_option(1, "S-Caffe, PPoPP 2017, section 3.2: a server"),
    own_hosts_option(),
    {.name = "sharding",
     .summary = "which server keeps which tensor",
     .unit = OptionUnit::kChoice,
     .choices = {"round-robin", "greedy", "striped"},
     .source = "",
     .tried = {0, 1, 2}},
    {.name = "push",
     .summary = "each layer's gradient when it is ready, or all in one buffer after the last",
     .unit = OptionUnit::kChoice,
     .choices = {"layers", "packed"},
     .source = "",
     .tried = {0, 1}},
    {.name = "max_workers",
     .summary = "more workers are refused; 0: any number",
     .unit = OptionUnit::kCount,
     .fallback = 0,
     .choices = {},
     .source = ""}};

const bool kParameterServerRegistered = [] {
  return Registry<Schedule>::add(
             {.name = "parameter-server",
              .summary = "workers push gradients, servers add all and update, workers pull",
              .source = "S-Caffe, PPoPP 2017, section 3.2",
              .options = kOptions,
              .run = run_parameter_server<false>,
              .servers = servers,
              .traffic = parameter_server_traffic,
              .is_asynchronous = false,
              .iterations = 6}) &&
         Registry<Schedule>::add(
             {.name = "parameter-server-async",
              .summary = "the same, each worker at its own pace: a gradient updates on arrival",
              .source = "S-Caffe, PPoPP 2017, section 7: Inspur-Caffe's stale updates",
              .options = kOptions,
              .run = run_parameter_server<true>,
              .servers = servers,
              .traffic = parameter_server_traffic,
              .is_asynchronous = true,
              .follows_arrivals = true,
              .iterations = 12});
}();

}  // namespace
}  // namespace forescale
