// Jobs in place of actions: as JSON, and in programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "algorithms/job_json.hpp"
#include "tests/base/refusal.hpp"
#include "traces/program/program.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::refusal;

const Schedule kSchedule{.name = "s",
                         .summary = "",
                         .source = "",
                         .options = {{.name = "tick",
                                      .summary = "",
                                      .unit = OptionUnit::kSeconds,
                                      .fallback = 0,
                                      .min = 0,
                                      .max = 1,
                                      .choices = {},
                                      .source = ""}}};

TrainingJob sample_job() {
  TrainingJob job;
  job.stages.push_back({.name = "fc",
                        .forward_s = 0.1 + 0.2,
                        .backward_s = 2,
                        .update_s = 3,
                        .parameter_bytes = 12,
                        .tensor_bytes = {8, 4},
                        .looked_up_bytes = 10,
                        .matrix_rows = 5,
                        .matrix_columns = 6});
  job.iterations = 7;
  job.batch = 8;
  job.largest_batch = 9;
  job.options = ScheduleOptions({{"tick", 0.5}});
  job.host.add_s_per_byte = 1e-10 / 3;
  job.host.stages_through_host = false;
  job.host.threads = 4;
  job.gpu_flops = 1e13;
  job.gpu_launch_s = 1e-5;
  return job;
}

TrainingJob read_job(const json& text) {
  return job_from_json(JsonInput::from_text(text.dump(), "j"), kSchedule);
}

std::string job_refusal(const json& text) {
  return refusal([&] { read_job(text); });
}

TEST(ProgramJobs, ReadsWhatItWritesToTheLastBit) {
  const TrainingJob job = read_job(job_to_json(sample_job()));
  ASSERT_EQ(job.stages.size(), 1U);
  EXPECT_EQ(job.stages[0].forward_s, 0.1 + 0.2);
  EXPECT_THAT(job.stages[0].tensor_bytes, ElementsAre(8, 4));
  EXPECT_EQ(job.stages[0].matrix_columns, 6);
  EXPECT_EQ(job.options.number("tick"), 0.5);
  EXPECT_EQ(job.host.add_s_per_byte, 1e-10 / 3);
  EXPECT_FALSE(job.host.stages_through_host);
  EXPECT_EQ(job.gpu_launch_s, 1e-5);
  EXPECT_EQ(job_to_json(job), job_to_json(sample_job()));
}

TEST(ProgramJobs, NamesWhatIsWrong) {
  const auto with = [](const char* pointer, const json& value) {
    json job = job_to_json(sample_job());
    job[json::json_pointer(pointer)] = value;
    return job_refusal(job);
  };
  EXPECT_THAT(with("/options/tick", 2), HasSubstr("tick"));
  EXPECT_THAT(with("/options/tock", 0), HasSubstr("tock"));
  EXPECT_THAT(with("/stages/0/tensor_bytes", {8, 5}), HasSubstr("must add up to parameter_bytes"));
  EXPECT_THAT(with("/stages/0/forward_s", -1), HasSubstr("forward_s"));
  EXPECT_THAT(with("/stages", json::array()), HasSubstr("must not be empty"));
  EXPECT_THAT(with("/host/threads", 0), HasSubstr("threads"));
  EXPECT_THAT(with("/batches", 1), HasSubstr("batches"));
  json cut = job_to_json(sample_job());
  cut.erase("host");
  EXPECT_THAT(job_refusal(cut), HasSubstr("host"));
}

// A program of jobs: one schedule for all ranks, no actions, as many iterations as the header says.
TEST(ProgramJobs, AProgramOfJobsHangsTogether) {
  const auto read_lines = [](const std::string& lines) {
    std::istringstream in(
        R"({"format": "forescale-program-1", "title": "t", "ranks": 2, "workers": 2,)"
        R"( "iterations": 7, "images": [8, 8], "schedule": "phases"})"
        "\n" +
        lines);
    return refusal([&] { read_program(in, "p.jsonl"); });
  };
  json job = job_to_json(sample_job());
  job["options"] = json::object();
  const auto rank = [](int number, const json& of_job) {
    return json{{"rank", number}, {"job", of_job}}.dump() + "\n";
  };
  EXPECT_EQ(read_lines(rank(0, job) + "{\"rank\": 1, \"same_as\": 0}\n"), "accepted");
  EXPECT_THAT(read_lines(rank(0, job)), HasSubstr("rank 1 is missing"));
  EXPECT_THAT(read_lines(rank(0, job) + "{\"rank\": 1}\n"), HasSubstr("job"));
  EXPECT_THAT(read_lines(rank(0, job) + "{\"do\": \"end-iteration\"}\n"),
              HasSubstr("must come after"));
  job["iterations"] = 6;
  EXPECT_THAT(read_lines(rank(0, job)), HasSubstr("must be 7"));
}

}  // namespace
}  // namespace forescale
