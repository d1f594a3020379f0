// Tables of which each sample looks up some rows. In FP32 whatever the precision of training is,
// and learned by plain SGD: gradients are those of the rows that were looked up. Several GPUs have
// each some of the tables, and exchange what was looked up.
#pragma once

#include <cstdint>

namespace forescale {

struct EmbeddingTables {
  std::int64_t values = 0;     // of all of them
  std::int64_t looked_up = 0;  // values, of one sample
};

}  // namespace forescale
