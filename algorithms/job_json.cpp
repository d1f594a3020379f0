#include "algorithms/job_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/registry.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kSecondsMax = 1e9;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 50;
constexpr std::int64_t kCountMax = 1 << 30;
constexpr std::int64_t kValueBytesMax = 8;

json stage_to_json(const TrainingStage& stage) {
  return {{"name", stage.name},
          {"forward_s", stage.forward_s},
          {"backward_s", stage.backward_s},
          {"update_s", stage.update_s},
          {"parameter_bytes", stage.parameter_bytes},
          {"tensor_bytes", stage.tensor_bytes},
          {"looked_up_bytes", stage.looked_up_bytes},
          {"matrix_rows", stage.matrix_rows},
          {"matrix_columns", stage.matrix_columns}};
}

TrainingStage stage_from_json(const JsonInput& in) {
  in.allow_only({"name", "forward_s", "backward_s", "update_s", "parameter_bytes", "tensor_bytes",
                 "looked_up_bytes", "matrix_rows", "matrix_columns"});
  TrainingStage stage;
  stage.name = in.at("name").string();
  stage.forward_s = in.at("forward_s").number(0, kSecondsMax);
  stage.backward_s = in.at("backward_s").number(0, kSecondsMax);
  stage.update_s = in.at("update_s").number(0, kSecondsMax);
  stage.parameter_bytes = in.at("parameter_bytes").integer(0, kBytesMax);
  std::int64_t sum = 0;
  for (const JsonInput& bytes : in.at("tensor_bytes").elements()) {
    stage.tensor_bytes.push_back(bytes.integer(0, kBytesMax));
    sum += stage.tensor_bytes.back();
  }
  if (!stage.tensor_bytes.empty() && sum != stage.parameter_bytes)
    in.at("tensor_bytes").fail("must add up to parameter_bytes");
  if (const auto bytes = in.find("looked_up_bytes"))
    stage.looked_up_bytes = bytes->integer(0, kBytesMax);
  stage.matrix_rows = in.at("matrix_rows").integer(0, kCountMax);
  stage.matrix_columns = in.at("matrix_columns").integer(0, kCountMax);
  return stage;
}

json host_to_json(const HostCosts& host) {
  return {{"add_s_per_byte", host.add_s_per_byte},
          {"copy_s_per_byte", host.copy_s_per_byte},
          {"update_s_per_byte", host.update_s_per_byte},
          {"encode_s_per_byte", host.encode_s_per_byte},
          {"decode_s_per_byte", host.decode_s_per_byte},
          {"request_s", host.request_s},
          {"request_bytes", host.request_bytes},
          {"stages_through_host", host.stages_through_host},
          {"threads", host.threads}};
}

HostCosts host_from_json(const JsonInput& in) {
  in.allow_only({"add_s_per_byte", "copy_s_per_byte", "update_s_per_byte", "encode_s_per_byte",
                 "decode_s_per_byte", "request_s", "request_bytes", "stages_through_host",
                 "threads"});
  constexpr int kThreadsMax = 1024;
  HostCosts host;
  host.add_s_per_byte = in.at("add_s_per_byte").number(0, kSecondsMax);
  host.copy_s_per_byte = in.at("copy_s_per_byte").number(0, kSecondsMax);
  host.update_s_per_byte = in.at("update_s_per_byte").number(0, kSecondsMax);
  host.encode_s_per_byte = in.at("encode_s_per_byte").number(0, kSecondsMax);
  host.decode_s_per_byte = in.at("decode_s_per_byte").number(0, kSecondsMax);
  host.request_s = in.at("request_s").number(0, kSecondsMax);
  host.request_bytes = in.at("request_bytes").integer(0, kBytesMax);
  host.stages_through_host = in.at("stages_through_host").boolean();
  host.threads = static_cast<int>(in.at("threads").integer(1, kThreadsMax));
  return host;
}

ScheduleOptions options_from_json(const JsonInput& in, const Schedule& schedule) {
  std::map<std::string, double> values;
  std::vector<std::string> names;
  for (const Option& option : schedule.options) {
    names.push_back(option.name);
    const double value = in.at(option.name).number(option.min, option.max);
    const auto choices = static_cast<double>(option.choices.size());
    if (option.unit == OptionUnit::kChoice && value >= choices)
      in.at(option.name).fail(fmt::format("must be below {}, the number of choices", choices));
    values[option.name] = value;
  }
  for (const std::string& key : in.keys())
    if (std::find(names.begin(), names.end(), key) == names.end())
      in.at(key).fail(unknown_name(key, names));
  return ScheduleOptions(std::move(values));
}

}  // namespace

json job_to_json(const TrainingJob& job) {
  json stages = json::array();
  for (const TrainingStage& stage : job.stages) stages.push_back(stage_to_json(stage));
  return {{"stages", std::move(stages)},
          {"iterations", job.iterations},
          {"batch", job.batch},
          {"largest_batch", job.largest_batch},
          {"value_bytes", job.value_bytes},
          {"options", job.options.values()},
          {"host", host_to_json(job.host)},
          {"gpu_flops", job.gpu_flops},
          {"gpu_pack_s_per_byte", job.gpu_pack_s_per_byte},
          {"gpu_launch_s", job.gpu_launch_s}};
}

TrainingJob job_from_json(const JsonInput& in, const Schedule& schedule) {
  in.allow_only({"stages", "iterations", "batch", "largest_batch", "value_bytes", "options", "host",
                 "gpu_flops", "gpu_pack_s_per_byte", "gpu_launch_s"});
  constexpr int kIterationsMax = 1 << 20;
  TrainingJob job;
  for (const JsonInput& stage : in.at("stages").elements())
    job.stages.push_back(stage_from_json(stage));
  if (job.stages.empty()) in.at("stages").fail("must not be empty");
  job.iterations = static_cast<int>(in.at("iterations").integer(1, kIterationsMax));
  job.batch = in.at("batch").integer(0, kCountMax);
  job.largest_batch = in.at("largest_batch").integer(0, kCountMax);
  if (const auto bytes = in.find("value_bytes"))
    job.value_bytes = bytes->integer(1, kValueBytesMax);
  job.options = options_from_json(in.at("options"), schedule);
  job.host = host_from_json(in.at("host"));
  job.gpu_flops = in.at("gpu_flops").number(0, 1e21);
  job.gpu_pack_s_per_byte = in.at("gpu_pack_s_per_byte").number(0, kSecondsMax);
  job.gpu_launch_s = in.at("gpu_launch_s").number(0, kSecondsMax);
  return job;
}

}  // namespace forescale
