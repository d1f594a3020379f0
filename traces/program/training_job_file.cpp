#include "traces/program/training_job_file.hpp"

#include <nlohmann/json.hpp>

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kSeconds_max = 1e9;
constexpr std::int64_t kBytes_max = std::int64_t{1} << 50;
constexpr std::int64_t kCount_max = 1 << 30;

TrainingStage read_stage(const JsonInput& in) {
  in.allow_only({"name", "forward_s", "backward_s", "update_s", "parameter_bytes", "tensor_bytes",
                 "matrix_rows", "matrix_columns"});
  TrainingStage stage{.name = in.at("name").string(),
                      .forward_s = in.at("forward_s").number(0, kSeconds_max),
                      .backward_s = in.at("backward_s").number(0, kSeconds_max),
                      .update_s = in.at("update_s").number(0, kSeconds_max),
                      .parameter_bytes = in.at("parameter_bytes").integer(0, kBytes_max),
                      .tensor_bytes = {},
                      .matrix_rows = in.at("matrix_rows").integer(0, kCount_max),
                      .matrix_columns = in.at("matrix_columns").integer(0, kCount_max)};
  std::int64_t sum = 0;
  for (const JsonInput& bytes : in.at("tensor_bytes").elements()) {
    stage.tensor_bytes.push_back(bytes.integer(0, kBytes_max));
    sum += stage.tensor_bytes.back();
  }
  if (!stage.tensor_bytes.empty() && sum != stage.parameter_bytes)
    in.at("tensor_bytes").fail("must add up to parameter_bytes");
  return stage;
}

json to_json(const TrainingStage& stage) {
  return {{"name", stage.name},
          {"forward_s", stage.forward_s},
          {"backward_s", stage.backward_s},
          {"update_s", stage.update_s},
          {"parameter_bytes", stage.parameter_bytes},
          {"tensor_bytes", stage.tensor_bytes},
          {"matrix_rows", stage.matrix_rows},
          {"matrix_columns", stage.matrix_columns}};
}

HostCosts read_host(const JsonInput& in) {
  in.allow_only({"add_s_per_byte", "update_s_per_byte", "encode_s_per_byte", "decode_s_per_byte",
                 "request_s", "request_bytes", "stages_through_host", "threads"});
  const auto s = [&](const char* key) { return in.at(key).number(0, kSeconds_max); };
  return {.add_s_per_byte = s("add_s_per_byte"),
          .update_s_per_byte = s("update_s_per_byte"),
          .encode_s_per_byte = s("encode_s_per_byte"),
          .decode_s_per_byte = s("decode_s_per_byte"),
          .request_s = s("request_s"),
          .request_bytes = in.at("request_bytes").integer(0, kBytes_max),
          .stages_through_host = in.at("stages_through_host").boolean(),
          .threads = static_cast<int>(in.at("threads").integer(1, 1 << 16))};
}

json to_json(const HostCosts& host) {
  return {{"add_s_per_byte", host.add_s_per_byte},
          {"update_s_per_byte", host.update_s_per_byte},
          {"encode_s_per_byte", host.encode_s_per_byte},
          {"decode_s_per_byte", host.decode_s_per_byte},
          {"request_s", host.request_s},
          {"request_bytes", host.request_bytes},
          {"stages_through_host", host.stages_through_host},
          {"threads", host.threads}};
}

ScheduleOptions read_options(const JsonInput& in, const Schedule& schedule) {
  std::map<std::string, double> values;
  for (const ScheduleOption& option : schedule.options)
    values[option.name] = in.at(option.name).number(option.min, option.max);
  for (const std::string& name : in.keys())
    if (!values.contains(name)) in.at(name).fail("is no option of schedule " + schedule.name);
  return ScheduleOptions(std::move(values));
}

}  // namespace

json to_json(const TrainingJob& job) {
  json stages = json::array();
  for (const TrainingStage& stage : job.stages) stages.push_back(to_json(stage));
  return {{"stages", stages},
          {"iterations", job.iterations},
          {"batch", job.batch},
          {"largest_batch", job.largest_batch},
          {"options", job.options.values()},
          {"host", to_json(job.host)},
          {"gpu_flops", job.gpu_flops},
          {"gpu_pack_s_per_byte", job.gpu_pack_s_per_byte},
          {"gpu_launch_s", job.gpu_launch_s}};
}

TrainingJob read_training_job(const JsonInput& in, const Schedule& schedule) {
  in.allow_only({"stages", "iterations", "batch", "largest_batch", "options", "host", "gpu_flops",
                 "gpu_pack_s_per_byte", "gpu_launch_s"});
  TrainingJob job{.stages = {},
                  .iterations = static_cast<int>(in.at("iterations").integer(1, 1 << 20)),
                  .batch = in.at("batch").integer(0, kCount_max),
                  .largest_batch = in.at("largest_batch").integer(0, kCount_max),
                  .options = read_options(in.at("options"), schedule),
                  .host = read_host(in.at("host")),
                  .gpu_flops = in.at("gpu_flops").number(0, 1e21),
                  .gpu_pack_s_per_byte = in.at("gpu_pack_s_per_byte").number(0, kSeconds_max),
                  .gpu_launch_s = in.at("gpu_launch_s").number(0, kSeconds_max)};
  for (const JsonInput& stage : in.at("stages").elements()) job.stages.push_back(read_stage(stage));
  if (job.stages.empty()) in.at("stages").fail("must have at least one stage");
  return job;
}

}  // namespace forescale
