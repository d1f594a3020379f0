// Public timelines of PyTorch's profiler: what is imported is what a plain count of the file gives.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/json_text.hpp"
#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/formats/trace_input.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kData = std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/";

json whole(const std::string& file) {
  TraceInput input(file);
  std::ostringstream text;
  text << input.stream().rdbuf();
  return parse_json(text.str());
}

struct Counted {
  std::uint64_t kernels = 0;
  std::uint64_t nccl = 0;  // and others like it
  double nccl_bytes = 0;   // of those that say so themselves, in FP32 or 64-bit integers
};

Counted count(const json& file) {
  Counted counted;
  std::map<std::int64_t, double> operand_bytes;  // by the operator that launched a kernel
  for (const json& event : file["traceEvents"])
    if (event.value("name", "") == "symm_mem::multimem_all_reduce_")
      operand_bytes[event["args"]["External id"]] =
          2 * event["args"]["Input Dims"][0][0].get<double>();
  for (const json& event : file["traceEvents"]) {
    const std::string category = event.value("cat", "");
    if (category != "kernel" && category != "Kernel") continue;
    if (event["name"].get<std::string>().find("multimem_all_reduce") != std::string::npos) {
      ++counted.nccl;  // of PyTorch's symmetric memory
      counted.nccl_bytes += operand_bytes.at(event["args"]["External id"]);
      continue;
    }
    if (event["name"].get<std::string>().rfind("nccl", 0) != 0) {
      ++counted.kernels;
      continue;
    }
    ++counted.nccl;
    const json& args = event["args"];
    const std::string key = args.value("Collective name", "").find("allgather") == std::string::npos
                                ? "In msg nelems"
                                : "Out msg nelems";
    const std::map<std::string, int> sizes{{"Float", 4}, {"Long", 8}, {"BFloat16", 2}, {"Byte", 1}};
    if (args.contains(key))
      counted.nccl_bytes += args[key].get<double>() * sizes.at(args["dtype"].get<std::string>());
  }
  return counted;
}

class KinetoSample : public ::testing::TestWithParam<const char*> {};

TEST_P(KinetoSample, IsImportedWithoutLoss) {
  const std::string file = kData + GetParam();
  const Counted counted = count(whole(file));
  const TraceFormat& format = trace_format_of(file);
  EXPECT_EQ(format.name, "kineto");
  const ImportedTrace imported = format.import({file}, {});
  std::uint64_t collectives = 0;
  double bytes = 0;
  for (const auto& [op, volume] : imported.found.collectives) {
    collectives += volume.count;
    bytes += volume.bytes;
  }
  std::uint64_t kept = 0;  // of which the file does not say what they carry
  for (const ProgramThread& thread : imported.program.ranks.front().threads)
    for (const Action& action : thread.actions)
      if (const auto* timer = std::get_if<Timer>(&action.what))
        kept += timer->what == Timer::For::kCommunication ? 1 : 0;
  EXPECT_EQ(collectives + kept, counted.nccl);
  EXPECT_EQ(imported.found.kernels, counted.kernels);
  if (counted.nccl_bytes > 0) {
    EXPECT_EQ(bytes, counted.nccl_bytes);
  }
  std::stringstream text;
  write_program(imported.program, text);
  const std::string once = text.str();
  std::ostringstream again;
  write_program(read_program(text, "written"), again);
  EXPECT_EQ(again.str(), once);
}

INSTANTIATE_TEST_SUITE_P(Public, KinetoSample,
                         ::testing::Values("nccl_data.json.gz", "b200_eager.json.gz",
                                           "control.json.gz", "sampled_rank-1.json.gz",
                                           "h100_qwen.json.gz", "mi300x_resnet.json.gz",
                                           "h100_resnet_50.json.gz"),
                         [](const auto& sample) {
                           std::string name = std::filesystem::path(sample.param).filename();
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

TEST(KinetoSamples, SizesThatATimelineLacksComeFromTheExecutionTrace) {
  const std::string timeline = kData + "torch_rank0.json.gz";
  const std::string execution = kData + "torch_execution_rank0.json.gz";
  const TraceFormat& format = trace_format_of(timeline);
  const auto import = [&](const std::vector<std::string>& files, int ranks) {
    return format.import(files, {.ranks = ranks});
  };
  EXPECT_THAT(refusal([&] { import({timeline}, 0); }), HasSubstr("--ranks"));
  EXPECT_THAT(refusal([&] { import({timeline}, 2); }),
              HasSubstr("9 of all-reduce, 6 of broadcast: without a size"));
  EXPECT_THAT(refusal([&] { import({execution}, 2); }), HasSubstr("behind the timeline"));
  const ImportedTrace imported = import({timeline, execution}, 2);
  double counted_bytes = 0;
  const json nodes = whole(execution)["nodes"];
  for (const json& node : nodes)
    if (node["name"] == "c10d::allreduce_")
      counted_bytes += 4 * node["input_shapes"][0][0][0].get<double>();
  const Volume& all_reduces = imported.found.collectives.at("all-reduce");
  EXPECT_EQ(all_reduces.count, 9U);
  EXPECT_EQ(all_reduces.bytes, 3 * counted_bytes);  // three iterations
  EXPECT_EQ(imported.program.iterations, 3);
  EXPECT_EQ(imported.program.ranks.size(), 2U);
}

}  // namespace
}  // namespace forescale::testing
