#include "traces/measured/communication_kernels.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace forescale {
namespace {

struct KnownKernel {
  std::vector<std::string_view> parts;  // that its name has, all of them
  CommunicationKernel what;
};

// An exchange of counts, and the wait for all ranks that it is.
constexpr std::int64_t kCountBytes = 4;

// Names out of the libraries' sources.
const std::vector<KnownKernel>& known_kernels() {
  using Op = CollectiveOp;
  static const std::vector<KnownKernel> kernels = {
      // DeepEP, csrc/kernels/{intranode,internode,internode_ll}.cu; "dpsk::ep" in DeepSeek's
      // traces.
      {{"ep::", "notify_dispatch"}, {"notify_dispatch", Op::kAllReduce, kCountBytes, "DeepEP"}},
      {{"ep::", "cached_notify"}, {"cached_notify", Op::kAllReduce, kCountBytes, "DeepEP"}},
      {{"ep::", "::dispatch<"}, {"dispatch", Op::kAllToAll, -1, "DeepEP"}},
      {{"ep::", "::combine<"}, {"combine", Op::kAllToAll, -1, "DeepEP"}},
      // PyTorch, torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu.
      {{"multimem_all_reduce_kernel"}, {"multimem_all_reduce", Op::kAllReduce, -1, "PyTorch"}},
      {{"multimem_one_shot_all_reduce_kernel"},
       {"multimem_one_shot_all_reduce", Op::kAllReduce, -1, "PyTorch"}},
      {{"multimem_all_gather_kernel"}, {"multimem_all_gather", Op::kAllGather, -1, "PyTorch"}},
      {{"one_shot_all_reduce_kernel"}, {"one_shot_all_reduce", Op::kAllReduce, -1, "PyTorch"}},
      {{"two_shot_all_reduce_kernel"}, {"two_shot_all_reduce", Op::kAllReduce, -1, "PyTorch"}},
      // vLLM and SGLang, csrc/custom_all_reduce.cuh; ROCm's csrc/quickreduce.
      {{"cross_device_reduce_1stage"}, {"cross_device_reduce", Op::kAllReduce, -1, "vLLM"}},
      {{"cross_device_reduce_2stage"}, {"cross_device_reduce", Op::kAllReduce, -1, "vLLM"}},
      {{"quickreduce", "allreduce"}, {"quickreduce", Op::kAllReduce, -1, "vLLM"}},
      // TensorRT-LLM and FlashInfer, customAllReduceKernels.cu, allReduceFusionKernels.cu.
      {{"oneShotAllReduceKernel"}, {"oneShotAllReduce", Op::kAllReduce, -1, "TensorRT-LLM"}},
      {{"twoShotAllReduceKernel"}, {"twoShotAllReduce", Op::kAllReduce, -1, "TensorRT-LLM"}},
      {{"allreduce_fusion_kernel"}, {"allreduce_fusion", Op::kAllReduce, -1, "TensorRT-LLM"}},
      // Transformer Engine, comm_gemm_overlap/userbuffers/userbuffers.cu.
      {{"userbuffers_fp16_sum_inplace_gpu", "_rs"},
       {"userbuffers_rs", Op::kReduceScatter, -1, "Transformer Engine"}},
      {{"userbuffers_fp16_sum_inplace_gpu", "_ag"},
       {"userbuffers_ag", Op::kAllGather, -1, "Transformer Engine"}},
      {{"userbuffers_"}, {"userbuffers", std::nullopt, -1, "Transformer Engine"}},
      {{"nvshmem"}, {"nvshmem", std::nullopt, -1, "NVSHMEM"}}};
  return kernels;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

const CommunicationKernel* communication_kernel(std::string_view kernel) {
  for (const KnownKernel& known : known_kernels())
    if (std::all_of(known.parts.begin(), known.parts.end(),
                    [&](std::string_view part) { return has(kernel, part); }))
      return &known.what;
  return nullptr;
}

bool names_communication(std::string_view host_operator) {
  // Those of torch.distributed have annotations of their own within.
  if (host_operator.starts_with("c10d::") || host_operator.starts_with("nccl:")) return false;
  constexpr std::array<std::string_view, 6> kNames{"all_reduce",     "allreduce", "all_gather",
                                                   "reduce_scatter", "allgather", "all_to_all"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view part) { return has(host_operator, part); });
}

}  // namespace forescale
