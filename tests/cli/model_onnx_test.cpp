// ONNX files wherever the program takes a network.
#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string onnx_file(const std::string& name) {
  return source_file("tests/models/data/onnx/" + name);
}

// Warnings are on stderr.
Outcome answered(const std::string& arguments, const std::vector<std::string>& parts = {}) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << outcome.err;
  for (const std::string& part : parts)
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " is not in " << outcome.out;
  return outcome;
}

double predicted_s(const std::string& model) {
  return answered(
             "predict --platform dgx-h100 --gpus 8 --batch 64 --scaling weak --no-range "
             "--system ddp-nccl --json --model " +
             model)
      .json()["points"][0]["iteration_s"];
}

TEST(ModelOnnx, APredictionIsTheZoos) {
  EXPECT_EQ(predicted_s(onnx_file("resnet-50.onnx")), predicted_s("resnet-50-v1.5"));
}

// Two sums in place of one, and the bias of the ends in a pass of its own.
TEST(ModelOnnx, APredictionOfBertIsNearlyTheZoos) {
  const double zoo_s = predicted_s("bert-base-squad");
  EXPECT_NEAR(predicted_s(onnx_file("bert-base.onnx")), zoo_s, 0.01 * zoo_s);
}

TEST(ModelOnnx, ImportsWhatShowAndPredictReadBack) {
  const Workshop workshop;
  const std::string file = workshop.path("net.json");
  const Outcome imported =
      answered("model import " + onnx_file("resnet-18-folded.onnx") + " -o " + file,
               {"11,173,002 parameters"});
  EXPECT_NE(imported.err.find("warning: 20 of 20 convolutions have a bias"), std::string::npos)
      << imported.err;
  const Outcome shown = answered("model show " + file + " --json");
  EXPECT_NE(shown.err.find("have a bias"), std::string::npos);
  EXPECT_EQ(shown.json()["inferred"]["parameters"], 11'173'002);
  EXPECT_EQ(predicted_s(file), predicted_s(onnx_file("resnet-18-folded.onnx")));
}

TEST(ModelOnnx, WarningsAreNotesAndInJson) {
  const std::string ask =
      "predict --platform dgx-h100 --gpus 8 --batch 64 --scaling weak "
      "--no-range --system ddp-nccl --model " +
      onnx_file("resnet-18-folded.onnx");
  answered(ask, {"note: 20 of 20 convolutions have a bias"});
  const Outcome outcome = answered(ask + " --json");
  EXPECT_NE(outcome.json()["warnings"].dump().find("have a bias"), std::string::npos);
  EXPECT_NE(outcome.err.find("have a bias"), std::string::npos);
}

TEST(ModelOnnx, TokensAreGivenBySeq) {
  answered("model show " + onnx_file("bert-tiny-17.onnx") + " --input-shape 128",
           {"590,850 parameters"});
  answered(
      "predict --platform dgx-h100 --gpus 8 --batch 64 --scaling weak --no-range "
      "--system ddp-nccl --seq 128 --model " +
      onnx_file("bert-tiny-17.onnx"));
}

TEST(ModelOnnx, RefusesWhatItCannotRead) {
  const Workshop workshop;
  const std::string cut =
      workshop.file("cut.onnx", text_of(onnx_file("mixed.onnx")).substr(0, 2000));
  expect_refused("model show " + cut, {cut + ": must be a complete ONNX model"});
  expect_refused("model show " + workshop.file("empty.onnx", ""), {"empty.onnx: is empty"});
  expect_refused("model import net.txt", {"FILE = net.txt: must be a Caffe .prototxt or an .onnx"});
  expect_refused("model show " + onnx_file("mixed.onnx"),
                 {"mixed.onnx:/graph/input/0: has open sides", "--input-shape", "\"image\""});
  expect_refused("model show " + onnx_file("mixed.onnx") + " --input-shape 5x32x32",
                 {"mixed.onnx:/graph/node/", "for 5 channels", "(Conv \"/stem/Conv\")"});
}

}  // namespace
}  // namespace forescale::testing
