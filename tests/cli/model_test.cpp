#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

// 3x8x8 -> 4 filters of 3x3 without padding -> 6x6 -> 10 classes.
constexpr const char* kTiny = R"(
name: "tiny"
layer { name: "data" type: "Data" top: "data" top: "label" }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 4 kernel_size: 3 } }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 10 } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" }
)";
constexpr int kConvParameters = 4 * 3 * 3 * 3 + 4;
constexpr int kFullParameters = 4 * 6 * 6 * 10 + 10;
constexpr double kConvFlops = 2.0 * 4 * 3 * 3 * 3 * 6 * 6;
constexpr double kFullFlops = 2.0 * 4 * 6 * 6 * 10;

TEST(ModelCommand, ListsThePublishedTotals) {
  for (const nlohmann::json& row : expect_answer("model list --json").json())
    if (row["name"] == "alexnet") {
      EXPECT_EQ(row["parameters"], 60'965'224);
      EXPECT_EQ(row["published_parameters"], 60'965'224);
      EXPECT_NE(row["published_source"], "");
    }
  expect_answer("model list", {"60,965,224", "googlenet", "published by"});
}

TEST(ModelCommand, ShowsTotalsWithAndWithoutAuxiliaryHeads) {
  expect_answer("model show googlenet",
                {"all:       13,378,280 parameters", "main only: 6,998,552 parameters",
                 "loss1/classifier (auxiliary)"});
}

TEST(ModelCommand, ShowsLayerTimesThatAddUp) {
  const nlohmann::json compute =
      expect_answer("model show googlenet --gpu k80 --batch 32 --json").json()["compute"];
  double forward_s = 0;
  double backward_s = 0;
  for (const nlohmann::json& layer : compute["layers"]) {
    forward_s += layer["forward_s"].get<double>();
    backward_s += layer["backward_s"].get<double>();
  }
  EXPECT_NEAR(forward_s, compute["forward_s"], 1e-9);
  EXPECT_NEAR(backward_s, compute["backward_s"], 1e-9);
  EXPECT_NEAR(forward_s + backward_s + compute["update_s"].get<double>(), compute["iteration_s"],
              1e-9);
  EXPECT_NEAR(compute["iteration_s"], 0.36, 0.36 * 0.01);  // CaffeGPI, Table 1
  EXPECT_FALSE(compute["assumed"]);
}

TEST(ModelCommand, SaysWhatIsMeasuredAndWhatAssumed) {
  expect_answer("model show googlenet --gpu k80", {"batch 32", "CaffeGPI", "memory:", "images/s"});
  expect_answer("model show cifar10-quick --gpu k80 --batch 16", {"times:   assumed:"});
  expect_answer("model show googlenet --gpu k80 --batch 64",
                {"warning: batch 64 lies outside the measured ones, 32 to 32"});
  expect_answer("model show googlenet --gpu k80 --sources", {"k80.json:/peak_flops_per_s"});
}

TEST(ModelCommand, RefusesWhatCannotBeComputed) {
  expect_refused("model show alexnet --batch 32", {"--batch requires --gpu"});
  expect_refused("model show alexnet --gpu k8", {"--gpu = k8: unknown", "did you mean"});
  expect_refused("model show alexnet --gpu k80 --batch 0", {"--batch = 0: must be >= 1"});
  expect_refused("model show alexnet --input-shape 3x227",
                 {"--input-shape = 3x227: must be channels x height x width"});
  for (const char* shape : {"3x227x227x1", "3x-1x5", "x", "3x0x5", "3x5x5x"})
    expect_refused(std::string("model show alexnet --input-shape ") + shape, {shape});
}

TEST(ModelCommand, ImportsAPrototxtThatShowReadsBack) {
  const Workshop workshop;
  const std::string prototxt = workshop.file("tiny.prototxt", kTiny);
  const std::string file = workshop.path("tiny.json");
  expect_answer("model import " + prototxt + " --input-shape 3x8x8 -o " + file,
                {file + ": 4 layers, 1,562 parameters"});
  const nlohmann::json imported =
      expect_answer("model import " + prototxt + " --input-shape 3x8x8").json();
  EXPECT_EQ(imported, parse_json(text_of(file)));
  EXPECT_EQ(imported["inferred"]["parameters"], kConvParameters + kFullParameters);
  EXPECT_EQ(imported["inferred"]["forward_flops_per_image"], kConvFlops + kFullFlops);
  // Weights' gradients everywhere, the input's only above a layer that learns.
  EXPECT_EQ(imported["inferred"]["backward_flops_per_image"], kConvFlops + 2 * kFullFlops);
  const nlohmann::json shown = expect_answer("model show " + file + " --json").json();
  EXPECT_EQ(shown["inferred"], imported["inferred"]);
  expect_answer("model check " + file, {file + ": ok, 4 layers, 1,562 parameters"});
}

TEST(ModelCommand, ImportNamesWhatIsWrong) {
  const Workshop workshop;
  const std::string prototxt = workshop.file("tiny.prototxt", kTiny);
  expect_refused("model import " + prototxt, {prototxt, "input's shape", "option"});
  const std::string text = kTiny;
  const std::string cut = workshop.file("cut.prototxt", text.substr(0, text.size() / 2));
  expect_refused("model import " + cut + " --input-shape 3x8x8", {cut});
  expect_refused("model import " + workshop.path("none.prototxt"),
                 {"none.prototxt: cannot be opened"});
  expect_refused("model import " + prototxt + " --input-shape 3x8x8 -o /nowhere/tiny.json",
                 {"--out = /nowhere/tiny.json: cannot be written"});
}

TEST(ModelCommand, CheckHoldsFilesAgainstTheirPublishedTotals) {
  const Workshop workshop;
  std::string text = text_of(source_file("models/workload/zoo/cifar10-quick.json"));
  text.replace(text.find("145578"), 6, "145579");
  const std::string file = workshop.file("wrong.json", text);
  expect_refused("model check " + file, {file + ":/published/parameters = 145579: must be 145578"});
}

}  // namespace
}  // namespace forescale::testing
