// `predict --record` and `replay` as a person runs them.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

constexpr const char* kPredict =
    "predict --platform cluster-b --gpus 2,4 --model alexnet --batch 32 --system s-caffe-obr-hr ";

TEST(Replay, TakesTheTimeThatWasPredicted) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  const double predicted_s =
      expect_answer(std::string(kPredict) + "--no-range --json --record " + file)
          .json()["points"][1]["iteration_s"];
  const nlohmann::json replayed = expect_answer("replay " + file + " --json").json();
  EXPECT_NEAR(replayed["iteration_s"], predicted_s, 1e-9 * predicted_s);
  EXPECT_LT(replayed["iteration_fast_s"], replayed["iteration_s"]);
  EXPECT_EQ(replayed["ranks"], 4);
  expect_answer("replay " + file + " --platform kesch --trace " + workshop.path("t.json"),
                {"replayed on kesch", "iteration", "busiest"});
  EXPECT_NE(text_of(workshop.path("t.json")).find("traceEvents"), std::string::npos);
}

// A line for the run as it is and for each what-if, with the numbers of the JSON.
TEST(Replay, CsvHasALineForEachWhatIf) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(std::string(kPredict) + "--no-range --record " + file);
  const std::string asked = "replay " + file + " --no-range --what-if platform=kesch ";
  const nlohmann::json answer = expect_answer(asked + "--json").json();
  std::istringstream csv(expect_answer(asked + "--csv").out);
  std::string head;
  std::string base;
  std::string changed;
  std::string more;
  std::getline(csv, head);
  std::getline(csv, base);
  std::getline(csv, changed);
  EXPECT_FALSE(std::getline(csv, more)) << more;
  EXPECT_TRUE(head.starts_with("what_if,platform,stack,ranks,iteration_s,")) << head;
  const std::string time = answer["what_if"][0]["replay"]["iteration_s"].dump();
  EXPECT_TRUE(base.starts_with(",cluster-b,")) << base;
  EXPECT_NE(base.find("," + answer["iteration_s"].dump() + ","), std::string::npos) << base;
  EXPECT_TRUE(changed.starts_with("platform=kesch,kesch,")) << changed;
  EXPECT_NE(changed.find("," + time + ","), std::string::npos) << changed;
  expect_refused("replay " + file + " --csv --json", {"--csv", "--json"});
  expect_answer("replay --help", {"compute-scale, gpu, group, link,", "without-stragglers"});
}

// Whoever replays a K80's run on V100s must not read its time as theirs.
TEST(Replay, SaysThatComputeIsAsRecordedOnAnotherGpu) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(
      "predict --platform kesch --gpus 4 --model alexnet --batch 128 --system "
      "s-caffe-obr-hr --no-range --record " +
      file);
  expect_answer("replay " + file + " --platform dgx-1-v100 --no-range",
                {"note: compute takes what it took on k80, not what it would on v100-sxm2: --gpu"});
  // It says itself where it was recorded.
  const auto iteration_s = [&](const std::string& more) {
    return expect_answer("replay " + file + " --platform dgx-1-v100 --no-range --json " + more)
        .json()["iteration_s"]
        .get<double>();
  };
  EXPECT_EQ(iteration_s("--gpu v100-sxm2"), iteration_s("--gpu v100-sxm2 --traced-gpu k80"));
  const std::string there = expect_answer("replay " + file + " --no-range").out;
  EXPECT_EQ(there.find("compute takes what it took"), std::string::npos);
}

std::string public_trace(const std::string& name) {
  return std::string(FORESCALE_SOURCE_DIR) + "/tests/traces/data/kineto/" + name + ".json.gz";
}

// One GPU that sends nothing takes what was measured; what is sent can take longer than predicted,
// the rest cannot.
TEST(Replay, RangeIsOfWhatIsSimulated) {
  const auto over_nominal = [](const std::string& question) {
    const nlohmann::json answer = expect_answer("replay " + question + " --json").json();
    return answer["iteration_slow_s"].get<double>() / answer["iteration_s"].get<double>() - 1;
  };
  EXPECT_NEAR(over_nominal(public_trace("h100_qwen") + " --platform dgx-h100"), 0, 1e-9);
  const double exposed = over_nominal(public_trace("nccl_data") + " --platform dgx-a100");
  EXPECT_GT(exposed, 0.005);
  EXPECT_LT(exposed, 0.05);
}

// Of eight ranks one was traced: what it waited for the others is in a replay of the trace, not in
// a program that is made of it, and is another's on another platform.
TEST(Replay, SaysWhereWaitsAreLeftOut) {
  const Workshop workshop;
  const std::string trace = public_trace("mi300x_resnet");
  const char* const note = "is not in the program";
  expect_answer("import " + trace + " -o " + workshop.path("p.jsonl"), {note});
  expect_answer("export " + trace + " --format chakra -o " + workshop.path("et"), {note});
  EXPECT_EQ(expect_answer("import " + trace).out.find(note), std::string::npos);
  expect_answer("replay " + trace +
                    " --platform dgx-h100 --no-range --no-critical-path "
                    "--what-if gpu=h100",
                {"--traced-platform azure-nd-mi300x keeps what its rank waited",
                 "note on gpu=h100: kernels scaled to h100"});
}

// Each change of machine and ranks, as an option and as a what-if, gives the same.
TEST(Replay, ComparesMachinesThatAreNotAsTheyShouldBe) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(std::string(kPredict) + "--no-range --record " + file);
  const std::string replay = "replay " + file + " --no-range --no-critical-path --json ";
  const auto all = run_program(replay +
                               "--what-if straggler=1:1.5 --what-if link=node0=0.1 "
                               "--what-if \"noise=sigma=0.1 network-scale=0.5\"")
                       .json();
  const std::vector<std::string> options = {"--straggler 1:1.5", "--link node0=0.1",
                                            "--noise sigma=0.1 --network-scale 0.5"};
  for (std::size_t i = 0; i < options.size(); ++i)
    EXPECT_EQ(all["what_if"][i]["replay"]["iteration_s"],
              run_program(replay + options[i]).json()["iteration_s"])
        << options[i];
  EXPECT_GT(all["what_if"][0]["replay"]["iteration_s"].get<double>(),
            all["iteration_s"].get<double>());
  expect_refused("replay " + file + " --straggler 9:2", {"--straggler", "below 4"});
  // What no run is needed for to see is refused before the first.
  for (const char* wrong : {"straggler=3", "noise=0.05", "platform=keesch", "link=node0=2"})
    expect_refused("replay " + file + " --no-range --what-if " + wrong, {" = "});
}

TEST(Replay, BadInputIsRefused) {
  const Workshop workshop;
  const std::string file = workshop.path("run.jsonl");
  expect_answer(std::string(kPredict) + "--no-range --record " + file);
  const std::string cut =
      workshop.file("cut.jsonl", text_of(file).substr(0, text_of(file).size() / 2));
  expect_refused("replay " + cut, {"cut.jsonl"});
  expect_refused("replay " + file + " --bucket 5MiB", {"--bucket", "format program"});
  expect_refused("replay " + file + " --ranks 9", {"--ranks", "the program's own"});
  expect_refused("import " + file + " --flops-per-s fast", {"--flops-per-s", "fast"});
  expect_answer("import " + file, {"(program): 4 ranks", "reduce", "compute tasks"});
  expect_refused("replay /nowhere.jsonl", {"/nowhere.jsonl", "cannot be opened"});
  expect_refused("replay " + workshop.file("empty.jsonl", ""), {"empty.jsonl", "is empty"});
  expect_refused("replay " + file + " --platform star:hosts=2,bandwidth=1GB/s,latency=1us",
                 {"the program's workers"});
  expect_refused(std::string(kPredict) + "--record /nowhere/p.jsonl",
                 {"--record", "cannot be written"});
}

}  // namespace
}  // namespace forescale::testing
