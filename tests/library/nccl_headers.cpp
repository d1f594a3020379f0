// Holds library/nccl_tuner/tuner_api.hpp to NCCL's own headers where they are: compiles or does
// not.
//   cmake -S . -B build/release -DFORESCALE_NCCL_HEADERS=/nccl/plugins/tuner/example/nccl
#include <tuner.h>
#include <cstddef>
#include <type_traits>

#include "library/nccl_tuner/tuner_api.hpp"

namespace nccl = forescale::nccl;

static_assert(nccl::kSuccess == int{ncclSuccess} &&
              nccl::kInternalError == int{ncclInternalError} &&
              nccl::kInvalidUsage == int{ncclInvalidUsage});
static_assert(nccl::kBroadcast == int{ncclFuncBroadcast} && nccl::kReduce == int{ncclFuncReduce} &&
              nccl::kAllGather == int{ncclFuncAllGather} &&
              nccl::kReduceScatter == int{ncclFuncReduceScatter} &&
              nccl::kAllReduce == int{ncclFuncAllReduce});
static_assert(nccl::kTree == NCCL_ALGO_TREE && nccl::kRing == NCCL_ALGO_RING &&
              nccl::kNvls == NCCL_ALGO_NVLS && nccl::kNvlsTree == NCCL_ALGO_NVLS_TREE &&
              nccl::kPat == NCCL_ALGO_PAT);
static_assert(nccl::kLl == NCCL_PROTO_LL && nccl::kLl128 == NCCL_PROTO_LL128 &&
              nccl::kSimple == NCCL_PROTO_SIMPLE);
static_assert(nccl::kWarn == int{NCCL_LOG_WARN} && nccl::kInfo == int{NCCL_LOG_INFO} &&
              nccl::kTuning == static_cast<unsigned long>(NCCL_TUNING));

// Arguments in number and size, and where the functions lie.
template <class Ours, class Theirs>
struct IsCalledAlike : std::false_type {};
template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct IsCalledAlike<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<sizeof...(Ours) == sizeof...(Theirs) &&
                         ((sizeof(Ours) == sizeof(Theirs) &&
                           std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>)&&...)> {};

#define EXPECT_ALIKE(ours, our_member, theirs, their_member)                   \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member)); \
  static_assert(IsCalledAlike<decltype(ours::our_member), decltype(theirs::their_member)>::value)

EXPECT_ALIKE(nccl::Tuner5, init, ncclTuner_v5_t, init);
EXPECT_ALIKE(nccl::Tuner5, get_collective, ncclTuner_v5_t, getCollInfo);
EXPECT_ALIKE(nccl::Tuner5, finalize, ncclTuner_v5_t, finalize);
static_assert(sizeof(nccl::Tuner5) == sizeof(ncclTuner_v5_t));
EXPECT_ALIKE(nccl::Tuner6, init, ncclTuner_v6_t, init);
EXPECT_ALIKE(nccl::Tuner6, get_collective, ncclTuner_v6_t, getCollInfo);
EXPECT_ALIKE(nccl::Tuner6, finalize, ncclTuner_v6_t, finalize);
EXPECT_ALIKE(nccl::Tuner6, get_chunk, ncclTuner_v6_t, getChunkSize);
static_assert(sizeof(nccl::Tuner6) == sizeof(ncclTuner_v6_t));
