// What the ranks of a layout hold in memory, by component.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "studies/layout/layout_setup.hpp"

namespace forescale {

struct MemoryPart {
  std::string name;
  std::int64_t bytes = 0;
};

struct LayoutMemory {
  std::vector<MemoryPart> parts;
  std::vector<std::vector<MemoryPart>> by_pipeline_rank;
  std::int64_t bytes = 0;
  std::int64_t allocated_bytes = 0;  // all parts but the framework's own
  std::int64_t low_bytes = 0;        // 90 % interval of what frameworks add
  std::int64_t high_bytes = 0;
};

// Of the rank that needs most.
LayoutMemory layout_memory(const LayoutSetUp& set_up);

}  // namespace forescale
