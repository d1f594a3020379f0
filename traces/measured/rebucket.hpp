// Gradients in other buckets than those of the run that was traced.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

// Sizes of PyTorch DDP's buckets, for gradients in the order in which they are ready: a bucket is
// closed by the gradient that makes it `cap` bytes or more, the first one at 1 MiB already.
// Source: torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size, and
// kDefaultFirstBucketBytes, release 1.13.
std::vector<std::int64_t> bucket_sizes(const std::vector<MeasuredGradient>& gradients,
                                       std::int64_t cap);

// Replaces the all-reduces of every step by those of other buckets, each launched when its last
// gradient is ready. InputError when sizes of gradients are not known, or are not what the step's
// all-reduces carry.
void rebucket(MeasuredRank& rank, std::int64_t cap);

}  // namespace forescale
