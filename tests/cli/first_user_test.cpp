// What people type who see the program for the first time, and what a full disk makes of an answer:
// refused with its place, or said; never a plausible number, never exit code 0.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

const std::string kFirstStar = "--platform star:hosts=8,bandwidth=1GB/s,latency=1us ";
const std::string kFirstCollective =
    "collective " + kFirstStar + "--op all-reduce --ranks 8 --bytes 1MiB ";
const std::string kFirstPrediction =
    "predict --platform kesch --gpus 2 --model googlenet --batch 256 --system s-caffe-obr ";

TEST(FirstUser, AnAnswerThatNobodyGotIsNoAnswer) {
  for (const std::string& command :
       {kFirstCollective, kFirstPrediction, std::string("--version"), std::string("platform list"),
        std::string("stack show nccl-2.3 --json")}) {
    const Outcome full = run_program(command + " >/dev/full");
    EXPECT_EQ(full.exit_code, 1) << command;
    EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
    EXPECT_EQ(run_program(command + " >&-").exit_code, 1) << command;
    EXPECT_EQ(run_program(command + " >/dev/null").exit_code, 0) << command;
  }
}

TEST(FirstUser, AFullDiskLeavesNoTruncatedFile) {
  const Workshop workshop;
  const std::string file = workshop.path("run");
  // As a full disk, to a process that may write 8 blocks of 512 bytes or 1 KiB.
  const std::string limited = "ulimit -f 8; trap '' XFSZ;";
  for (const std::string option : {"--trace", "--record"}) {
    const Outcome outcome = run_program(kFirstPrediction + option + " " + file, limited);
    EXPECT_EQ(outcome.exit_code, 2) << option << outcome.err;
    EXPECT_NE(outcome.err.find(option + " = " + file + ": cannot be written: File too large"),
              std::string::npos)
        << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(file)) << option;
    EXPECT_EQ(run_program(kFirstPrediction + option + " " + file).exit_code, 0);
    EXPECT_TRUE(std::filesystem::remove(file));
  }
}

TEST(FirstUser, WhereToWriteIsLookedAtBeforeLongWork) {
  for (const std::string& command :
       {kFirstPrediction + "--iterations 100000 --trace",
        kFirstPrediction + "--iterations 100000 --record", std::string("validate -o")})
    expect_refused(command + " /no/such/folder/file", {"cannot be written: No such file"});
}

TEST(FirstUser, NumbersThatAreNoneAreRefused) {
  const std::string compare =
      "compare --platform ri2,owens --system horovod-mpi-opt --model resnet-50 --batch 64 "
      "--scaling weak --gpus 1,2 ";
  expect_refused(compare + "--efficiency nan", {"--efficiency", "nan must be finite"});
  expect_refused(compare + "--efficiency inf", {"--efficiency", "inf"});
  expect_refused(kFirstPrediction + "--iterations 0", {"--iterations = 0: must be >= 1"});
  expect_refused(kFirstPrediction + "--iterations 1000000000",
                 {"--iterations", "must be <= 100000"});
  expect_refused("sweep study.json --jobs 0", {"--jobs: 0 must be > 0"});
  expect_refused(kFirstPrediction + "--draws 1000000000", {"--draws", "must be from"});
}

TEST(FirstUser, EmptyValuesAreRefused) {
  for (const char* option : {"--gpus", "--option", "--data", "--noise", "--stack"})
    expect_refused(kFirstPrediction + option + " ''", {option, "is empty"});
}

TEST(FirstUser, SizesThatLackAUnitAreRefused) {
  const std::string sizes = "collective " + kFirstStar + "--op all-reduce --ranks 8 --bytes ";
  expect_refused(sizes + "1,5MiB", {"--bytes = 1,5MiB", "\"1\" needs a unit"});
  expect_refused(sizes + "1..5MiB", {"\"1\" needs a unit"});
  expect_answer(sizes + "0,1024,4096");
  expect_answer(sizes + "0,1KiB");
}

TEST(FirstUser, ChunksThatTakeHoursAreRefused) {
  expect_refused("collective " + kFirstStar +
                     "--op reduce --algorithm chain --ranks 8 --bytes 1GiB --chunk-bytes 1",
                 {"--chunk-bytes = 1 B", "1 GiB into 1073741824 chunks"});
}

TEST(FirstUser, ReplaysRefuseTheirs) {
  const Workshop workshop;
  const std::string run = workshop.path("run.jsonl");
  expect_answer(kFirstPrediction + "--record " + run);
  for (const char* scale : {"inf", "nan"})
    expect_refused("replay " + run + " --compute-scale " + scale, {"--compute-scale", scale});
  expect_refused("replay " + run + " --compute-scale 1e300", {"must be from 1e-6 to 1e6"});
  expect_refused("replay " + run + " --bucket 0", {"--bucket = 0: must be at least one byte"});
}

TEST(FirstUser, PlatformsThatAreNoFilesSayWhatTheyAre) {
  const Workshop workshop;
  const auto on = [](const std::string& platform) {
    return "collective --platform " + platform + " --op all-reduce --ranks 8 --bytes 1MiB";
  };
  expect_refused(on("/tmp"), {"--platform = /tmp: is a folder"});
  expect_refused(on("/dev/null"), {"--platform = /dev/null: is no plain file"});
  workshop.file("mine", "{}");
  const std::string here = "cd " + workshop.path("") + ";";
  expect_refused(on("mine"), {"unknown", "the file of that name here is ./mine"}, here);
  expect_refused(on("./mine"), {"./mine:/format: is required"}, here);
  expect_refused("model show " + workshop.file("empty.prototxt", ""), {"empty.prototxt: is empty"});
}

TEST(FirstUser, AKeyTwiceIsRefused) {
  const Workshop workshop;
  const std::string study =
      workshop.file("s.json", R"({"format": "forescale-study-1", "command": "collective",
                                  "command": "predict", "fixed": {}, "grid": {"ranks": [2]}})");
  expect_refused("sweep " + study, {"command: is a key that an object has twice"});
}

TEST(FirstUser, AStudyOfBadInputAloneIsBadInput) {
  const Workshop workshop;
  const auto run = [&](const std::string& ranks, const std::string& algorithm) {
    const std::string study = workshop.file(
        "s.json", R"({"format": "forescale-study-1", "command": "collective", "fixed": {)"
                  R"("platform": "star:hosts=8,bandwidth=1GB/s,latency=1us", "op": "reduce",)"
                  R"("bytes": 1024, "algorithm": ")" +
                      algorithm + R"("}, "grid": {"ranks": )" + ranks + "}}");
    std::filesystem::remove(workshop.path("s.sqlite"));
    return run_program("sweep " + study + " -o " + workshop.path("s.sqlite"));
  };
  const Outcome unknown = run("[2, 4]", "nope");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("has no point that can be answered; the first: --algorithm = nope"),
            std::string::npos)
      << unknown.err;
  EXPECT_EQ(run("[4.5]", "chain").exit_code, 2);
  EXPECT_EQ(run("[4, 9]", "chain").exit_code, 0);  // one of them fails, and is kept
}

TEST(FirstUser, AnErrorWithinTheSimulationIsOneLine) {
  const Outcome outcome = run_program(
      "predict --platform aws-p2.8xlarge --gpus 16 --model resnet-50 --batch 32 "
      "--system nvidia-caffe");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

// It was a segmentation fault: what adds on a CPU needs one.
TEST(FirstUser, AStackThatAddsOnACpuIsRefusedWhereThereIsNone) {
  for (const char* engine : {"sim", "cost", "both"})
    expect_refused(
        "collective --platform star:hosts=4,bandwidth=12.5GB/s,latency=5us --op "
        "all-reduce --ranks 4 --bytes 64KiB --stack gloo --engine " +
            std::string(engine),
        {"stack gloo:/host_reduction/place = cpu", "star says none"});
  expect_refused(
      "tune collective --platform star:hosts=4,bandwidth=12.5GB/s,latency=5us --ranks 4 "
      "--bytes 64KiB --stack gloo",
      {"stack gloo:/host_reduction/place = cpu", "star says none"});
  expect_answer(
      "collective --platform star:hosts=4,bandwidth=12.5GB/s,latency=5us,cpu=xeon-e5-2690v3 "
      "--op all-reduce --ranks 4 --bytes 64KiB --stack gloo",
      {"reducing"});
  // What adds nothing does not.
  expect_answer(
      "collective --platform star:hosts=4,bandwidth=12.5GB/s,latency=5us --op broadcast "
      "--ranks 4 --bytes 64KiB --stack gloo");
}

// What a fuzzer found: names that no file system takes, bytes that are no text, models of more
// layers than memory.
TEST(FirstUser, NamesThatAreNone) {
  const std::string longest(400, 'a');
  for (const std::string& name : {longest, longest + ".json", "./" + longest}) {
    expect_refused("platform show " + name, {"--platform = ", "aaa"});
    expect_refused("stack show " + name, {"aaa"});
  }
  expect_refused("platform show \"$(printf 'torus:dim\\377=4')\"", {"argument 3", "must be UTF-8"});
  expect_refused("model show llama-2-7b:num_hidden_layers=50368",
                 {"num_hidden_layers = 50368: must be <= 10000"});
}

}  // namespace
}  // namespace forescale::testing
