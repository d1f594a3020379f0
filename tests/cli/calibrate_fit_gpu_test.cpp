// Measurements of GPUs through the command line: import, fit, hold-out, and predictions from the
// model.
#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

std::string published(const std::string& name) {
  return source_file("calibrate/published_gpus/" + name + ".json");
}

TEST(CalibrateFitGpu, WritesAModelThatPredictionsTake) {
  const Workshop workshop;
  const std::string model = workshop.path("m40.json");
  expect_answer("calibrate fit " + published("m40") + " --name m40 -o " + model,
                {"convolution backward-weights fp32", "gemm forward fp32", "median error",
                 "GPU model: " + model});
  expect_refused("calibrate fit " + published("m40") + " -o " + model,
                 {"--out = " + model, "--force replaces it"});
  const std::string predict =
      "predict --platform kesch --system s-caffe-obr --model resnet-50 --batch 64 --gpus 2 ";
  const nlohmann::json with = expect_answer(predict + "--json --gpu-model " + model).json();
  const nlohmann::json without = expect_answer(predict + "--json").json();
  EXPECT_NE(with["points"][0]["iteration_s"], without["points"][0]["iteration_s"]);
  const std::string text = with.dump();
  EXPECT_NE(text.find("from measured shapes"), std::string::npos);
  EXPECT_NE(text.find("the data sheet's roofline"), std::string::npos);
  // What was measured of launches counts too, and takes the assumed number's place.
  nlohmann::json slow = parse_json(text_of(model));
  slow["launch_s"] = {{"value", 1e-3}, {"fast", 9e-4}, {"slow", 2e-3}, {"source", "made up"}};
  const nlohmann::json launched =
      expect_answer(predict + "--json --gpu-model " + workshop.file("slow.json", slow.dump()))
          .json();
  EXPECT_GT(launched["points"][0]["iteration_s"], with["points"][0]["iteration_s"]);
  EXPECT_EQ(launched["numbers"].size(), with["numbers"].size());
  // The same where the platform's file names it, at both ends of the range too.
  nlohmann::json platform = parse_json(text_of(source_file("topologies/presets/kesch.json")));
  platform["node"]["gpu_model"] = model;
  const nlohmann::json named =
      expect_answer(
          "predict --system s-caffe-obr --model resnet-50 --batch 64 --gpus 2 --json "
          "--platform " +
          workshop.file("kesch.json", platform.dump()))
          .json();
  EXPECT_EQ(named["points"], with["points"]);
  EXPECT_EQ(named["compute"], with["compute"]);
  expect_refused(predict + "--gpu-model m41", {"--gpu-model", "did you mean \"m40\""});
  expect_refused(predict + "--precision fp16", {"--precision = fp16", "needs --gpu-model"});
  expect_refused(predict + "--gpu-model v100",
                 {"--gpu-model = v100", "another GPU than k80, which has none"});
  expect_refused(predict + "--memory-format hwcn", {"--memory-format = hwcn", "nchw, nhwc"});
  expect_refused(predict + "--gpu-model m40 --precision fp8", {"--precision = fp8"});
}

// Kernels that are twice the model's own times: the ratio is one half, whatever they are.
TEST(CalibrateJudge, SaysHowFarAModelIsOff) {
  const Workshop workshop;
  const std::string judged = source_file("tests/calibrate/data/judged_gpus/h100.json");
  const nlohmann::json first =
      expect_answer("calibrate judge " + judged + " --gpu h100 --json").json();
  EXPECT_EQ(first["gpu_model"], "h100");
  nlohmann::json twice = parse_json(text_of(judged));
  ASSERT_EQ(first["kernels"].size(), twice["kernels"].size());
  for (size_t i = 0; i < twice["kernels"].size(); ++i) {
    nlohmann::json& kernel = twice["kernels"][i];
    for (const char* end : {"low_s", "high_s"}) kernel.erase(end);
    kernel["time_s"] = 2 * first["kernels"][i]["predicted_s"].get<double>();
  }
  const std::string file = workshop.file("twice.json", twice.dump());
  const nlohmann::json again =
      expect_answer("calibrate judge " + file + " --gpu h100 --json").json();
  ASSERT_FALSE(again.at("groups").empty());
  for (const nlohmann::json& group : again.at("groups")) {
    EXPECT_NEAR(group["median_ratio"], 0.5, 1e-9) << group;
    EXPECT_NEAR(group["p90_abs_error"], 0.5, 1e-9) << group;
  }
  expect_answer("calibrate judge " + file + " --gpu h100",
                {"by the model h100", "attention backward bf16, cudnn", "50.0 %"});
  expect_answer("calibrate judge " + file + " --gpu h200 --csv", {"kernel,pass,precision"});
  expect_refused("calibrate judge " + file + " --gpu k80", {"--gpu = k80", "--gpu-model"});
  expect_refused("calibrate judge " + file + " --gpu h1000", {"--gpu = h1000", "h100"});
  expect_refused(
      "calibrate judge " + source_file("calibrate/measured_gpus/h100-copies.json") + " --gpu h100",
      {"h100-copies.json", "must have kernels that h100 knows"});
}

TEST(CalibrateFitGpu, HoldsKernelsOutAndPrintsTheError) {
  const std::string files = published("p100") + " " + published("titan-x-caffe");
  expect_answer("calibrate fit --hold-out " + files,
                {"50 % of the shapes predicted from the others", "p100", "titan-x-caffe",
                 "gemm forward fp16", "roofline alone"});
  const nlohmann::json rows =
      expect_answer("calibrate fit --hold-out --splits 2 --by-layer --seed 3 --json " + files)
          .json()["held_out"];
  const nlohmann::json& all = rows.back();
  EXPECT_EQ(all["kernels"], "all");
  EXPECT_LT(all["median_abs_error"], 0.15);
  EXPECT_EQ(run_program("calibrate fit --hold-out --json " + files).out,
            run_program("calibrate fit --hold-out --json " + files).out);
  expect_refused("calibrate fit --hold-out --hold-out-share 1 " + files, {"--hold-out = 1"});
  expect_refused("calibrate fit " + files, {"must be one file"});
}

TEST(CalibrateFitGpu, ShowsKernels) {
  expect_answer("calibrate show " + published("v100"),
                {"Tesla V100", "convolution forward fp16", "kernels"});
  expect_answer("calibrate show --csv " + published("v100"), {"gemm 1760x16x1760 NN"});
}

TEST(CalibrateFitGpu, ImportsATableOfSeveralDevices) {
  const Workshop workshop;
  const std::string table = workshop.file(
      "gemm.csv",
      "device,sheet,precision,M,N,K,a_transpose,b_transpose,time_ms,tflops_as_printed,path\n"
      "A,s,Float,64,64,64,N,N,0.01,1,p\nB,s,Float,64,64,64,N,N,0.02,1,p\n");
  const std::string out = workshop.path("b.json");
  expect_answer("calibrate import " + table + " --device B -o " + out,
                {"gemm forward fp32", "20 us", "1 kernels"});
  EXPECT_EQ(parse_json(text_of(out))["machine"], "B");
  expect_refused("calibrate import " + table, {"A, B: say which with --device"});
}

TEST(ModelShow, MarksWhereALayersTimesComeFrom) {
  const std::string show = "model show vgg-16 --gpu v100 --gpu-model v100 ";
  expect_answer(show, {"forward from", "measured shapes", "the data sheet's roofline",
                       "vgg-16 on v100 (fp32, nchw)"});
  const double single = expect_answer(show + "--json").json()["compute"]["forward_s"];
  const double half =
      expect_answer(show + "--precision fp16 --json").json()["compute"]["forward_s"];
  EXPECT_LT(half, 0.7 * single);
  expect_refused(show + "--precision fp8", {"--precision = fp8"});
}

TEST(ModelHoldOut, PrintsBothWays) {
  expect_answer(
      "model hold-out --gpu v100 --network resnet-50",
      {"from other networks", "from other batches", "published images/s", "median |error|"});
  const nlohmann::json rows =
      expect_answer("model hold-out --gpu p100 --network vgg-16 --json").json();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["from"], "other networks");
  expect_refused("model hold-out --gpu v101", {"did you mean \"v100\""});
}

}  // namespace
}  // namespace forescale::testing
