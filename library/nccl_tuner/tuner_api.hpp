// What NCCL's tuner plug-ins are called by and with, versions 3 to 6 of that interface (6: NCCL
// 2.30): facts of NVIDIA/nccl, src/include/plugin/tuner/tuner_v3.h to tuner_v6.h and nccl_tuner.h,
// commit 1fc949c5, written down here so that the plug-in builds without NCCL. Where NCCL's own
// headers are, tests/library/nccl_headers.cpp holds these to them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forescale::nccl {

// ncclResult_t
enum Result : int { kSuccess = 0, kInternalError = 3, kInvalidUsage = 5 };

// ncclFunc_t
enum Function : int {
  kBroadcast = 0,
  kReduce = 1,
  kAllGather = 2,
  kReduceScatter = 3,
  kAllReduce = 4
};

// NCCL_ALGO_*
enum Algorithm : int {
  kTree = 0,
  kRing = 1,
  kCollNetDirect = 2,
  kCollNetChain = 3,
  kNvls = 4,
  kNvlsTree = 5,
  kPat = 6
};

// NCCL_PROTO_*
enum Protocol : int { kLl = 0, kLl128 = 1, kSimple = 2 };

// ncclDebugLogLevel, and the flag of what has to do with tuning.
enum LogLevel : int { kWarn = 2, kInfo = 3 };
inline constexpr unsigned long kTuning = 64;
using Logger = void (*)(LogLevel level, unsigned long flags, const char* file, int line,
                        const char* format, ...);

// Costs are a table of algorithms by protocols, microseconds; below 0 is not possible.
using Costs = float**;

struct Tuner3 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*get_collective)(void* context, Function function, std::size_t bytes, int pipe_ops,
                           Costs costs, int algorithms, int protocols, int* channels);
  Result (*destroy)(void* context);
};

struct Tuner4 {
  const char* name;
  Result (*init)(std::size_t ranks, std::size_t nodes, Logger log, void** context);
  Result (*get_collective)(void* context, Function function, std::size_t bytes, int pipe_ops,
                           Costs costs, int algorithms, int protocols, int is_registered,
                           int* channels);
  Result (*destroy)(void* context);
};

// `domains` and `constants` are ncclNvlDomainInfo_v5_t and ncclTunerConstants_v5_t: not looked at.
struct Tuner5 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger log, void* domains, void* constants);
  Result (*get_collective)(void* context, Function function, std::size_t bytes, int pipe_ops,
                           Costs costs, int algorithms, int protocols, int is_registered,
                           int* channels);
  Result (*finalize)(void* context);
};

struct Tuner6 {
  const char* name;
  Result (*init)(void** context, std::uint64_t communicator, std::size_t ranks, std::size_t nodes,
                 Logger log, void* domains, void* constants);
  Result (*get_collective)(void* context, Function function, std::size_t bytes, int pipe_ops,
                           Costs costs, int algorithms, int protocols, int is_registered,
                           int* channels);
  Result (*finalize)(void* context);
  Result (*get_chunk)(void* context, Function function, std::size_t bytes, int algorithm,
                      int protocol, int channels, std::size_t* chunk_bytes);
};

}  // namespace forescale::nccl
