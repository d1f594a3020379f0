// Numbers of Chakra's schema, et_def.proto.
#pragma once

#include <cstdint>

namespace forescale {

// NodeType.
enum ChakraNodeType : std::int64_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kCommSend = 5,
  kCommReceive = 6,
  kCommCollective = 7,
  kStorage = 8,
  kBatch = 9,
  kCheckpoint = 10
};

}  // namespace forescale
