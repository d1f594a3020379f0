// Convolutions of cuDNN 8 and 9, each by the fastest algorithm that cuDNN finds by timing all of
// them (what frameworks call benchmark mode), in a workspace of 1 GiB or what there is.
// It is asked twice: at first the code of what it tries may have to be loaded, which is in its
// times. Limits: the classic interface. In a training step of ResNet-50 on H100 PyTorch's
// convolutions took what these take, within 3 % (docs/gpu_measurements.md).
#include <cudnn.h>
#include <fmt/format.h>

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "calibrate/bench/gpu/cuda_libraries.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"
#include "calibrate/bench/gpu/random_memory.hpp"

namespace forescale {
namespace {

constexpr std::size_t kWorkspaceMax = std::size_t{1} << 30;

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS)
    library_failed(fmt::format("cuDNN: {}: {}", what, cudnnGetErrorString(status)),
                   status == CUDNN_STATUS_ALLOC_FAILED);
}

// A descriptor by the two functions that make and end it.
template <class Descriptor, cudnnStatus_t (*create)(Descriptor*),
          cudnnStatus_t (*destroy)(Descriptor)>
class Described {
 public:
  Described() { check_cudnn(create(&descriptor_), "a descriptor"); }
  ~Described() { destroy(descriptor_); }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
};
using Tensor =
    Described<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter =
    Described<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Rule = Described<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                       cudnnDestroyConvolutionDescriptor>;

cudnnDataType_t type_of(Precision precision) {
  if (precision == Precision::kFp16) return CUDNN_DATA_HALF;
  if (precision == Precision::kBf16) return CUDNN_DATA_BFLOAT16;
  return CUDNN_DATA_FLOAT;
}

cudnnMathType_t arithmetic_of(Precision precision) {
  return precision == Precision::kFp32 ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH;
}

int as_int(std::int64_t value) { return static_cast<int>(value); }

// The three tensors and the rule of a convolution.
struct Problem {
  Problem(const ConvolutionShape& s, Precision precision, cudnnTensorFormat_t format) {
    const cudnnDataType_t type = type_of(precision);
    check_cudnn(cudnnSetTensor4dDescriptor(x.get(), format, type, as_int(s.batch),
                                           as_int(s.channels), as_int(s.height), as_int(s.width)),
                "the input's shape");
    check_cudnn(cudnnSetFilter4dDescriptor(w.get(), type, format, as_int(s.filters),
                                           as_int(s.channels / s.groups), as_int(s.filter_height),
                                           as_int(s.filter_width)),
                "the filters' shape");
    check_cudnn(cudnnSetConvolution2dDescriptor(
                    rule.get(), as_int(s.pad_height), as_int(s.pad_width), as_int(s.stride_height),
                    as_int(s.stride_width), 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
                "the convolution");
    check_cudnn(cudnnSetConvolutionGroupCount(rule.get(), as_int(s.groups)), "the groups");
    check_cudnn(cudnnSetConvolutionMathType(rule.get(), arithmetic_of(precision)),
                "the arithmetic");
    check_cudnn(
        cudnnSetTensor4dDescriptor(y.get(), format, type, as_int(s.batch), as_int(s.filters),
                                   as_int(s.output_height()), as_int(s.output_width())),
        "the output's shape");
  }

  Tensor x;
  Filter w;
  Tensor y;
  Rule rule;
};

// As large as can be had, at most kWorkspaceMax.
class Workspace {
 public:
  Workspace() {
    for (bytes_ = kWorkspaceMax; bytes_ > 1; bytes_ /= 4) {
      try {
        memory_.emplace(bytes_);
        return;
      } catch (const GpuTrouble& trouble) {
        if (trouble.kind() != GpuTrouble::Kind::kOutOfMemory) throw;
      }
    }
    memory_.emplace(bytes_);
  }
  void* get() const { return memory_->get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
  std::optional<DeviceMemory> memory_;
};

// The first, they come by growing time, that works within the workspace and keeps to the precision.
template <class Found>
const Found& best_of(const std::vector<Found>& found, const Workspace& workspace,
                     Precision precision) {
  for (const Found& one : found) {
    if (one.status != CUDNN_STATUS_SUCCESS || one.memory > workspace.bytes()) continue;
    if (precision == Precision::kFp32 && one.mathType == CUDNN_TENSOR_OP_MATH) continue;
    if (one.mathType == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION) continue;  // to FP16
    return one;
  }
  throw GpuTrouble(GpuTrouble::Kind::kUnsupported, "cuDNN: no algorithm does it");
}

constexpr std::array<const char*, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> kForwardNames = {
    "implicit-gemm", "implicit-precomp-gemm", "gemm", "direct", "fft", "fft-tiling",
    "winograd",      "winograd-nonfused"};
constexpr std::array<const char*, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> kDataNames = {
    "algorithm-0", "algorithm-1", "fft", "fft-tiling", "winograd", "winograd-nonfused"};
constexpr std::array<const char*, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> kWeightNames = {
    "algorithm-0", "algorithm-1",       "fft",       "algorithm-3",
    "winograd",    "winograd-nonfused", "fft-tiling"};

template <std::size_t count>
std::string name_in(const std::array<const char*, count>& names, int algorithm) {
  const auto index = static_cast<std::size_t>(algorithm);
  return index < count ? names[index] : fmt::format("algorithm-{}", algorithm);
}

class Convolution : public GatedWork {
 public:
  Convolution(cudnnHandle_t handle, const ConvolutionShape& s, KernelPass pass, Precision precision,
              cudnnTensorFormat_t format)
      : handle_(handle),
        precision_(precision),
        problem_(s, precision, format),
        x_(s.batch * s.channels * s.height * s.width, precision, 1),
        w_(s.filters * (s.channels / s.groups) * s.filter_height * s.filter_width, precision, 2),
        y_(s.batch * s.filters * s.output_height() * s.output_width(), precision, 3) {
    check_cudnn(cudnnSetStream(handle, stream().get()), "cudnnSetStream");
    if (pass == KernelPass::kForward)
      prepare_forward();
    else if (pass == KernelPass::kBackwardData)
      prepare_data();
    else
      prepare_weights();
  }

  std::string algorithm() const override { return algorithm_; }

 private:
  // Room for every algorithm with every arithmetic.
  static constexpr int kFoundMax = 32;
  static constexpr int kTimesAsked = 2;

  // As it was found, but that the default may mean TF32.
  void set_arithmetic(cudnnMathType_t found) {
    const cudnnMathType_t type = precision_ == Precision::kFp32 ? CUDNN_FMA_MATH : found;
    check_cudnn(cudnnSetConvolutionMathType(problem_.rule.get(), type), "the arithmetic");
  }

  void prepare_forward() {
    std::vector<cudnnConvolutionFwdAlgoPerf_t> found(kFoundMax);
    int count = 0;
    for (int asked = 0; asked < kTimesAsked; ++asked)
      check_cudnn(cudnnFindConvolutionForwardAlgorithmEx(
                      handle_, problem_.x.get(), x_.get(), problem_.w.get(), w_.get(),
                      problem_.rule.get(), problem_.y.get(), y_.get(), kFoundMax, &count,
                      found.data(), workspace_.get(), workspace_.bytes()),
                  "finding an algorithm");
    found.resize(static_cast<std::size_t>(count));
    const auto best = best_of(found, workspace_, precision_);
    set_arithmetic(best.mathType);
    algorithm_ = name_in(kForwardNames, static_cast<int>(best.algo));
    set_work([this, best](const Stream&) {
      check_cudnn(
          cudnnConvolutionForward(handle_, &one_, problem_.x.get(), x_.get(), problem_.w.get(),
                                  w_.get(), problem_.rule.get(), best.algo, workspace_.get(),
                                  best.memory, &zero_, problem_.y.get(), y_.get()),
          "a convolution");
    });
  }

  void prepare_data() {
    std::vector<cudnnConvolutionBwdDataAlgoPerf_t> found(kFoundMax);
    int count = 0;
    for (int asked = 0; asked < kTimesAsked; ++asked)
      check_cudnn(cudnnFindConvolutionBackwardDataAlgorithmEx(
                      handle_, problem_.w.get(), w_.get(), problem_.y.get(), y_.get(),
                      problem_.rule.get(), problem_.x.get(), x_.get(), kFoundMax, &count,
                      found.data(), workspace_.get(), workspace_.bytes()),
                  "finding an algorithm");
    found.resize(static_cast<std::size_t>(count));
    const auto best = best_of(found, workspace_, precision_);
    set_arithmetic(best.mathType);
    algorithm_ = name_in(kDataNames, static_cast<int>(best.algo));
    set_work([this, best](const Stream&) {
      check_cudnn(
          cudnnConvolutionBackwardData(handle_, &one_, problem_.w.get(), w_.get(), problem_.y.get(),
                                       y_.get(), problem_.rule.get(), best.algo, workspace_.get(),
                                       best.memory, &zero_, problem_.x.get(), x_.get()),
          "a convolution");
    });
  }

  void prepare_weights() {
    std::vector<cudnnConvolutionBwdFilterAlgoPerf_t> found(kFoundMax);
    int count = 0;
    for (int asked = 0; asked < kTimesAsked; ++asked)
      check_cudnn(cudnnFindConvolutionBackwardFilterAlgorithmEx(
                      handle_, problem_.x.get(), x_.get(), problem_.y.get(), y_.get(),
                      problem_.rule.get(), problem_.w.get(), w_.get(), kFoundMax, &count,
                      found.data(), workspace_.get(), workspace_.bytes()),
                  "finding an algorithm");
    found.resize(static_cast<std::size_t>(count));
    const auto best = best_of(found, workspace_, precision_);
    set_arithmetic(best.mathType);
    algorithm_ = name_in(kWeightNames, static_cast<int>(best.algo));
    set_work([this, best](const Stream&) {
      check_cudnn(cudnnConvolutionBackwardFilter(handle_, &one_, problem_.x.get(), x_.get(),
                                                 problem_.y.get(), y_.get(), problem_.rule.get(),
                                                 best.algo, workspace_.get(), best.memory, &zero_,
                                                 problem_.w.get(), w_.get()),
                  "a convolution");
    });
  }

  cudnnHandle_t handle_;
  Precision precision_;
  Problem problem_;
  RandomMemory x_;
  RandomMemory w_;
  RandomMemory y_;
  Workspace workspace_;
  std::string algorithm_;
  float one_ = 1;
  float zero_ = 0;
};

class Cudnn : public KernelLibrary {
 public:
  explicit Cudnn(const std::string& layout)
      : format_(layout == "nhwc" ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW) {
    check_cudnn(cudnnCreate(&handle_), "cudnnCreate");
  }
  ~Cudnn() override { cudnnDestroy(handle_); }
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  std::string version() const override { return std::to_string(cudnnGetVersion()); }
  std::unique_ptr<Repeatable> start(const GpuKernel& kernel) override {
    require_precision(kernel.precision);
    return std::make_unique<Convolution>(handle_, std::get<ConvolutionShape>(kernel.shape),
                                         kernel.pass, kernel.precision, format_);
  }

 private:
  cudnnTensorFormat_t format_;
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<KernelLibrary> open_cudnn(const std::string& layout) {
  return std::make_unique<Cudnn>(layout);
}

}  // namespace forescale
