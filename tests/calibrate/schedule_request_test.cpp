// What is written for the MPI programs is read back as it was; what they cannot run is refused.
#include "calibrate/measure/schedule_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "algorithms/job_json.hpp"
#include "base/error.hpp"
#include "base/registry.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Every number another one, none of them short in binary.
TrainingJob odd_job(const Schedule& schedule) {
  TrainingJob job;
  job.stages = {{.name = "conv \"1\"",
                 .forward_s = 0.1,
                 .backward_s = 1.0 / 3,
                 .update_s = 1e-7,
                 .parameter_bytes = 1'000'000'007,
                 .tensor_bytes = {1'000'000'000, 7},
                 .matrix_rows = 11,
                 .matrix_columns = 13},
                {.name = "relu", .forward_s = 0.7}};
  job.iterations = 5;
  job.batch = 17;
  job.largest_batch = 19;
  job.options = ScheduleOptions::parse(schedule.options, {{"cycle_time", "3.3ms"}}, "test");
  job.host = {.add_s_per_byte = 0.1e-9,
              .update_s_per_byte = 0.2e-9,
              .encode_s_per_byte = 0.3e-9,
              .decode_s_per_byte = 0.7e-9,
              .request_s = 1.1e-6,
              .request_bytes = 23,
              .stages_through_host = false,
              .threads = 29};
  job.gpu_flops = 1.23e12;
  job.gpu_pack_s_per_byte = 3.1e-11;
  job.gpu_launch_s = 9.7e-6;
  return job;
}

ScheduleRequest odd_request() {
  const Schedule& schedule = Registry<Schedule>::find("horovod", "test");
  ScheduleRequest request;
  request.schedule = schedule.name;
  request.workers = 2;
  request.jobs = {odd_job(schedule), odd_job(schedule), odd_job(schedule)};
  request.jobs[1].stages[0].forward_s = 0.3;
  request.nodes = {0, 3, 7};
  SelectionRule small;
  small.up_to_ranks = 4;
  small.up_to_bytes = 4096;
  small.algorithm = "recursive-doubling";
  SelectionRule large;
  large.algorithm = "hierarchical";
  large.options = {{"chunk_bytes", 65536}, {"chain_size", 3}, {"levels", "chain:3,binomial"}};
  request.choices["all-reduce"] = {small, large};
  SelectionRule gather;
  gather.algorithm = "binomial";
  request.control_choices["gather"] = {gather};
  request.compute = Compute::kGemm;
  request.progress_thread = true;
  request.host_copy_bytes_per_s = 1.1e10;
  request.stuck_s = 7.3;
  return request;
}

// As the caller sends it, with what all tasks have in common.
json sent(const ScheduleRequest& request) {
  json text = schedule_request_to_json(request);
  text["format"] = "forescale-mpi-request-1";
  text["wait"] = {{"nap_s", 20e-6}};
  text["channels"] = 4;
  return text;
}

ScheduleRequest schedule_request_from(const json& text) {
  return schedule_request_from_json(JsonInput::from_text(text.dump(), "request.json"));
}

TEST(ScheduleRequest, IsReadBackAsItWas) {
  const ScheduleRequest request = odd_request();
  const ScheduleRequest back = schedule_request_from(sent(request));
  EXPECT_EQ(schedule_request_to_json(back).dump(), schedule_request_to_json(request).dump());
  const TrainingJob& job = back.jobs[1];
  EXPECT_EQ(job.stages[0].forward_s, 0.3);
  EXPECT_EQ(job.stages[0].backward_s, 1.0 / 3);
  EXPECT_EQ(job.stages[0].tensor_bytes, (std::vector<std::int64_t>{1'000'000'000, 7}));
  EXPECT_EQ(job.options.values(), request.jobs[1].options.values());
  EXPECT_EQ(job.host.threads, 29);
  EXPECT_FALSE(job.host.stages_through_host);
  EXPECT_EQ(back.nodes, request.nodes);
  EXPECT_EQ(back.compute, Compute::kGemm);
  EXPECT_EQ(back.choices.at("all-reduce").at(1).options,
            request.choices.at("all-reduce").at(1).options);
  EXPECT_EQ(back.choices.at("all-reduce").at(0).up_to_bytes, 4096);
}

TEST(ScheduleRequest, TakesOneRuleWithoutAList) {
  json text = sent(odd_request());
  text["choices"]["reduce"] = {{"algorithm", "chain"}, {"chunk_bytes", 4096}};
  const ScheduleRequest request = schedule_request_from(text);
  ASSERT_EQ(request.choices.at("reduce").size(), 1u);
  EXPECT_EQ(request.choices.at("reduce").front().options, (OptionValues{{"chunk_bytes", 4096}}));
}

TEST(ScheduleRequest, RefusesWhatCannotRun) {
  struct Mistake {
    std::string path;  // JSON pointer
    json value;        // null: removed
    std::string said;
  };
  const std::vector<Mistake> mistakes = {
      {"/schedule", "horovodd", "horovod"},
      {"/jobs/1/iterations", 6, "same number of iterations"},
      {"/jobs/1/options/cycle_tim", 1, "cycle_time"},
      {"/jobs/1/options/cycle_time", -1, "/jobs/1/options/cycle_time"},
      {"/jobs/1/options/announce", 2, "number of choices"},
      {"/jobs/2/stages", json::array(), "must not be empty"},
      {"/jobs/0/stages/0/forward_s", -1, "/jobs/0/stages/0/forward_s"},
      {"/jobs/0/host/threads", 0, "threads"},
      {"/nodes", json::array({0, 1}), "one entry for each job"},
      {"/workers", 4, "/workers"},
      {"/choices/all-reduce/0/algorithm", "rin", "ring"},
      {"/compute", "sleeep", "sleep"},
      {"/stuck", 3, "stuck_s"}};
  for (const Mistake& mistake : mistakes) {
    json text = sent(odd_request());
    text[json::json_pointer(mistake.path)] = mistake.value;
    try {
      schedule_request_from(text);
      ADD_FAILURE() << mistake.path << " passes";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("request.json")) << mistake.path;
      EXPECT_THAT(error.what(), HasSubstr(mistake.said)) << mistake.path;
    }
  }
}

}  // namespace
}  // namespace forescale
