// Training measured on one GPU: the total of a compute table becomes the measured one, its split
// over layers and passes stays.
//
// Text: RATE[images/s]@BATCH, several with commas, [:SPREAD%]; "1400@64,2500images/s@256:3%".
// SPREAD is half of the 90 % interval. "7248@256x8": of 8 GPUs together, each with that batch, once
// alone; sim/ask/ask.hpp makes it one GPU's. Or a file NAME.csv whose columns are batch and
// images_per_s, sequences_per_s or iteration_s (others are left alone); what is kept are its
// numbers. With one batch all times are scaled alike; with several the part that does not grow with
// the batch is fitted apart (line_fit.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compute/compute_time.hpp"

namespace forescale {

struct ThroughputPoint {
  double images_per_s = 0;
  std::int64_t batch = 0;  // of each GPU
  std::int64_t gpus = 1;
  bool operator==(const ThroughputPoint&) const = default;
};

struct MeasuredThroughput {
  std::vector<ThroughputPoint> points;
  // Assumed: 33 H100 SXM5 of Lambda's table, ResNet-50 in TF32, are within 0.2 % of each other on
  // one cloud, and up to 8 % apart between vendors (lambdal/deeplearning-benchmark, aa5addb6).
  double spread = 0.02;
  bool operator==(const MeasuredThroughput&) const = default;
};

// InputError naming `option` or the file.
MeasuredThroughput parse_throughput(const std::string& text, const std::string& option);
std::string to_text(const MeasuredThroughput& throughput);  // what reads back as the same

// Layers are scaled so that an iteration of a batch takes batch / rate * `factor`; the update
// stays. Of one GPU's points. InputError naming --throughput where the update alone takes longer.
void take_throughput(const MeasuredThroughput& throughput, double factor, ComputeTable& table);

}  // namespace forescale
