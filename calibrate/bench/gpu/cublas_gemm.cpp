#include <cublas_v2.h>
#include <fmt/format.h>

#include <variant>

#include "calibrate/bench/gpu/cuda_libraries.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"
#include "calibrate/bench/gpu/random_memory.hpp"

namespace forescale {
namespace {

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    library_failed(fmt::format("cuBLAS: {} failed with status {}", what, static_cast<int>(status)),
                   status == CUBLAS_STATUS_ALLOC_FAILED);
}

cudaDataType type_of(Precision precision) {
  if (precision == Precision::kFp16) return CUDA_R_16F;
  if (precision == Precision::kBf16) return CUDA_R_16BF;
  return CUDA_R_32F;
}

// C (m x n) = A (m x k) B (k x n), column-major.
class Gemm : public GatedWork {
 public:
  Gemm(cublasHandle_t handle, const GemmShape& shape, Precision precision)
      : a_(shape.m * shape.k, precision, 1),
        b_(shape.k * shape.n, precision, 2),
        c_(shape.m * shape.n, precision, 3) {
    const cudaDataType type = type_of(precision);
    const cublasComputeType_t compute =
        precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const auto m = static_cast<int>(shape.m);
    const auto n = static_cast<int>(shape.n);
    const auto k = static_cast<int>(shape.k);
    const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const cublasOperation_t op_a = op(shape.transpose_a);
    const cublasOperation_t op_b = op(shape.transpose_b);
    check_cublas(cublasSetStream(handle, stream().get()), "cublasSetStream");
    set_work([=, this](const Stream&) {
      const float one = 1;
      const float zero = 0;
      check_cublas(
          cublasGemmEx(handle, op_a, op_b, m, n, k, &one, a_.get(), type,
                       op_a == CUBLAS_OP_T ? k : m, b_.get(), type, op_b == CUBLAS_OP_T ? n : k,
                       &zero, c_.get(), type, m, compute, CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
    });
  }

 private:
  RandomMemory a_;
  RandomMemory b_;
  RandomMemory c_;
};

class Cublas : public KernelLibrary {
 public:
  Cublas() { check_cublas(cublasCreate(&handle_), "cublasCreate"); }
  ~Cublas() override { cublasDestroy(handle_); }
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string version() const override {
    int version = 0;
    check_cublas(cublasGetVersion(handle_, &version), "cublasGetVersion");
    return std::to_string(version);
  }
  std::unique_ptr<Repeatable> start(const GpuKernel& kernel) override {
    require_precision(kernel.precision);
    return std::make_unique<Gemm>(handle_, std::get<GemmShape>(kernel.shape), kernel.precision);
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelLibrary> open_cublas() { return std::make_unique<Cublas>(); }

void require_precision(Precision precision) {
  int device = 0;
  int major = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
             "the compute capability");
  const bool is_new = precision == Precision::kTf32 || precision == Precision::kBf16;
  if (is_new && major < 8)
    throw GpuTrouble(
        GpuTrouble::Kind::kUnsupported,
        fmt::format("{} needs a GPU of compute capability 8.0 or above", name_of(precision)));
  if (precision == Precision::kFp16 && major < 6)
    throw GpuTrouble(GpuTrouble::Kind::kUnsupported,
                     "fp16 needs a GPU of compute capability 6.0 or above");
}

}  // namespace forescale
