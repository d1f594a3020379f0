// One's own measurement of a GPU: what is said is read, and the table takes what was measured.
#include "models/compute/measured_throughput.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "base/median.hpp"
#include "base/scratch_folder.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/measurements.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

std::string throughput_refusal(const std::string& text) {
  try {
    parse_throughput(text, "--throughput");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// Forward 1 + 0.1 a image, backward 2 + 0.2 a image, update 1, all in seconds.
ComputeTable two_layers() {
  ComputeTable table;
  table.layers = {
      {.forward_t0_s = 1, .forward_t1_s = 0.05, .backward_t0_s = 0, .backward_t1_s = 0.2},
      {.forward_t0_s = 0, .forward_t1_s = 0.05, .backward_t0_s = 2, .backward_t1_s = 0}};
  table.update_s = 1;
  return table;
}

TEST(MeasuredThroughput, IsARateABatchAndASpread) {
  const MeasuredThroughput plain = parse_throughput("2500images/s@256", "--throughput");
  EXPECT_EQ(plain.points, (std::vector<ThroughputPoint>{{2500, 256}}));
  EXPECT_EQ(plain.spread, 0.02);
  EXPECT_EQ(parse_throughput("2500@256:5%", "--throughput").spread, 0.05);
  EXPECT_EQ(parse_throughput(to_text(plain), "--throughput"), plain);
  const MeasuredThroughput two = parse_throughput("140sequences/s@8,250@32:3%", "--throughput");
  EXPECT_EQ(two.points, (std::vector<ThroughputPoint>{{140, 8}, {250, 32}}));
  EXPECT_EQ(parse_throughput(to_text(two), "--throughput"), two);
  const MeasuredThroughput node = parse_throughput("7248images/s@256x8:1%", "--throughput");
  EXPECT_EQ(node.points, (std::vector<ThroughputPoint>{{7248, 256, 8}}));
  EXPECT_EQ(to_text(node), "7248@256x8:1%");
  EXPECT_EQ(parse_throughput(to_text(node), "--throughput"), node);
}

TEST(MeasuredThroughput, RefusesWhatIsNone) {
  EXPECT_THAT(throughput_refusal("2500@256x0"), HasSubstr("number of GPUs >= 1"));
  EXPECT_THAT(throughput_refusal("2500@256x"), HasSubstr("must be a whole number"));
  EXPECT_THAT(throughput_refusal("900@64,2500@256x8"), HasSubstr("must be one measurement"));
  EXPECT_THAT(throughput_refusal("2500"), HasSubstr("needs the batch"));
  EXPECT_THAT(throughput_refusal("fast@256"), HasSubstr("RATE@BATCH"));
  EXPECT_THAT(throughput_refusal("-1@256"), HasSubstr("RATE@BATCH"));
  EXPECT_THAT(throughput_refusal("2500@0"), HasSubstr("batch >= 1"));
  EXPECT_THAT(throughput_refusal("2500@256:3"), HasSubstr("percent"));
  EXPECT_THAT(throughput_refusal("2500@256:100%"), HasSubstr("below 100 %"));
}

TEST(MeasuredThroughput, TheTableTakesItAndKeepsTheSplit) {
  ComputeTable table = two_layers();
  ASSERT_NEAR(table.iteration_s(10), 7, 1e-12);  // 2 + 4 + 1
  take_throughput({.points = {{2.5, 10}}}, 1, table);
  EXPECT_NEAR(table.iteration_s(10), 4, 1e-12);
  EXPECT_NEAR(table.backward_s(10) / table.forward_s(10), 2, 1e-12);
  EXPECT_NEAR(table.update_s, 1, 1e-12);
  EXPECT_NEAR(table.iteration_s(20), 1 + (3 + 6) * 0.5, 1e-12) << "another batch by the model";
  EXPECT_THAT(table.description, HasSubstr("times 0.5 at batch 10 to take what was measured"));
  take_throughput({.points = {{2.5, 10}}}, 1.25, table);
  EXPECT_NEAR(table.iteration_s(10), 5, 1e-12);
  EXPECT_THROW(take_throughput({.points = {{10, 10}}}, 1, table), InputError);
}

// 10 images in 7 s and 20 in 12 s: 2 s and 0.5 s an image, of which the update is 1 s.
TEST(MeasuredThroughput, SeveralBatchesGiveBothParts) {
  ComputeTable table = two_layers();
  take_throughput({.points = {{10.0 / 7, 10}, {20.0 / 12, 20}}}, 1, table);
  EXPECT_NEAR(table.iteration_s(10), 7, 1e-9);
  EXPECT_NEAR(table.iteration_s(20), 12, 1e-9);
  EXPECT_NEAR(table.iteration_s(40), 22, 1e-9);
}

// Of each published series the largest batch is one's own; the others, half of it and more, and
// all.
TEST(MeasuredThroughput, OtherBatchesFromOneOwnMeasurement) {
  std::vector<double> near;
  std::vector<double> all;
  for (const char* name : {"p100", "v100"}) {
    const GpuModel gpu = load_gpu(name, "--gpu", nullptr);
    const FittedGpu fitted = load_fitted_gpu(name, "--gpu", nullptr);
    for (const char* model : {"resnet-50", "inception-v3", "resnet-152", "vgg-16"}) {
      const Network network = load_network(model, "--model");
      for (const Framework framework :
           {Framework::kTensorFlow, Framework::kMxnet, Framework::kPyTorch}) {
        const auto rows = used_measurements(name, model, framework, nullptr);
        if (rows.size() < 2 || rows[0].framework != framework) continue;
        const auto own =
            std::max_element(rows.begin(), rows.end(),
                             [](const auto& a, const auto& b) { return a.batch < b.batch; });
        for (const TimedIteration& row : rows) {
          if (row.batch == own->batch) continue;
          ComputeTable table =
              fitted_compute(fitted, gpu, network, {.batches = {row.batch, own->batch}}, nullptr)
                  .table;
          take_throughput(
              {.points = {{static_cast<double>(own->batch) / own->iteration.value, own->batch}}}, 1,
              table);
          const double error = std::abs(table.iteration_s(row.batch) / row.iteration.value - 1);
          all.push_back(error);
          if (2 * row.batch >= own->batch) near.push_back(error);
        }
      }
    }
  }
  EXPECT_EQ(all.size(), 34U);
  EXPECT_LT(median(near), 0.05);
  EXPECT_LT(median(all), 0.06);
  RecordProperty("median_near", std::to_string(median(near)));
  RecordProperty("median_all", std::to_string(median(all)));
}

TEST(MeasuredThroughput, AFileOfBatches) {
  const ScratchFolder folder("throughput");
  const auto file = [&](const std::string& text) {
    const std::string path = folder.file("times.csv");
    std::ofstream(path) << text;
    return path;
  };
  const MeasuredThroughput read = parse_throughput(
      file("gpu,batch,iteration_s\nA100,64,0.05\r\n\"A,100\",256,0.16\n") + ":4%", "--throughput");
  EXPECT_EQ(read.points, (std::vector<ThroughputPoint>{{64 / 0.05, 64}, {256 / 0.16, 256}}));
  EXPECT_EQ(read.spread, 0.04);
  EXPECT_THAT(throughput_refusal(file("batch,speed\n1,2\n")), HasSubstr("images_per_s"));
  EXPECT_THAT(throughput_refusal(file("images_per_s\n2\n")), HasSubstr("column \"batch\""));
  EXPECT_THAT(throughput_refusal(file("batch,images_per_s\n1\n")), HasSubstr("times.csv:2"));
  EXPECT_THAT(throughput_refusal(file("batch,images_per_s\n")), HasSubstr("must have a row"));
  EXPECT_THAT(throughput_refusal("/nowhere/times.csv"), HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace forescale
