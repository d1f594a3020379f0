#include "calibrate/bench/gpu/cuda_bench.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <variant>

#include "calibrate/bench/gpu/cuda_call.hpp"
#include "calibrate/bench/gpu/cuda_libraries.hpp"
#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gpu_obstacle.hpp"
#include "calibrate/bench/gpu/nvml.hpp"

namespace forescale {
namespace {

// How many there are.
int find_gpus(int device) {
  GpuSearch search{.device = device};
  if (cudaDriverGetVersion(&search.driver_version) != cudaSuccess) search.driver_version = 0;
  cudaRuntimeGetVersion(&search.runtime_version);
  const cudaError_t status = cudaGetDeviceCount(&search.device_count);
  if (status != cudaSuccess) {
    search.error_name = cudaGetErrorName(status);
    search.error_text = cudaGetErrorString(status);
  }
  const std::string obstacle = gpu_obstacle(search);
  if (!obstacle.empty()) throw GpuTrouble(GpuTrouble::Kind::kUnusable, obstacle);
  return search.device_count;
}

std::string bus_id(int device) {
  std::array<char, 32> text{};
  check_cuda(cudaDeviceGetPCIBusId(text.data(), text.size(), device), "the GPU's address");
  return text.data();
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "an attribute of the GPU");
  return value;
}

// Where this fails there is no GPU to measure, rather than one that has failed.
void make_context(int device) {
  try {
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    check_cuda(cudaFree(nullptr), "making a context");
  } catch (const GpuTrouble& trouble) {
    if (trouble.kind() == GpuTrouble::Kind::kOutOfMemory) throw;
    throw GpuTrouble(GpuTrouble::Kind::kUnusable, trouble.what());
  }
}

class CudaBench : public GpuBench {
 public:
  CudaBench(int device, const std::string& layout)
      : device_(device),
        device_count_(find_gpus(device)),
        layout_(layout),
        nvml_(bus_id(device)),
        warnings_before_(nvml_.warnings_before()) {
    make_context(device);
    cublas_ = open_cublas();
    cudnn_ = open_cudnn(layout_);
    all_reduces_ = nccl_all_reduces();
    warm_up_gpu();
    check_odd_reductions();
  }

  std::map<std::string, std::string> facts() const override {
    std::map<std::string, std::string> facts = nvml_.facts();
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, device_), "the GPU's properties");
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "the driver's version");
    check_cuda(cudaRuntimeGetVersion(&runtime), "the runtime's version");
    facts["name"] = properties.name;
    facts["compute_capability"] = fmt::format("{}.{}", properties.major, properties.minor);
    facts["memory_bytes"] = std::to_string(properties.totalGlobalMem);
    facts["sm_count"] = std::to_string(properties.multiProcessorCount);
    facts["l2_bytes"] = std::to_string(properties.l2CacheSize);
    facts["driver_cuda"] = cuda_version_text(driver);
    facts["runtime"] = cuda_version_text(runtime);
    facts["cublas"] = cublas_->version();
    facts["cudnn"] = cudnn_ ? cudnn_->version() : "none";
    facts["convolution_layout"] = layout_;
    facts["gpu_count"] = std::to_string(device_count_);
    facts["device"] = std::to_string(device_);
    if (!facts.contains("clock_mhz_max"))
      facts["clock_mhz_max"] = std::to_string(attribute(cudaDevAttrClockRate, device_) / 1000);
    if (!facts.contains("ecc"))
      facts["ecc"] = attribute(cudaDevAttrEccEnabled, device_) == 1 ? "on" : "off";
    return facts;
  }

  std::vector<std::string> warnings_before() override { return warnings_before_; }
  std::vector<std::string> warnings_after() override { return nvml_.warnings_after(); }

  std::vector<std::vector<int>> groups(const std::string& pattern) const override {
    std::vector<std::vector<int>> groups;
    if (pattern == "peer-copy") {
      for (int other = 0; other < device_count_; ++other)
        if (other != device_) groups.push_back({device_, other});
    } else if (pattern == "collective") {
      if (all_reduces_ == nullptr) return {};
      for (int count = 2; count < device_count_; count *= 2) groups.push_back(first(count));
      if (device_count_ >= 2) groups.push_back(first(device_count_));
    } else {
      groups = {{device_}};
    }
    return groups;
  }

  std::unique_ptr<Repeatable> start(const GpuPatternPoint& point) override {
    const auto bytes = static_cast<std::size_t>(point.bytes);
    if (point.pattern == "launch" || point.pattern == "synchronize")
      return start_launch(point.pattern);
    if (point.pattern == "reduction" || point.pattern == "reduction-beside-kernel")
      return start_reduction(bytes, point.pattern != "reduction");
    if (point.pattern == "peer-copy")
      return start_peer_copy(point.members[0], point.members[1], bytes);
    if (point.pattern == "collective") return all_reduces_->start(point.members, bytes);
    if (auto copy = start_copy(point.pattern, bytes)) return copy;
    throw GpuTrouble(GpuTrouble::Kind::kUnsupported, point.pattern + " is not known");
  }

  std::unique_ptr<Repeatable> start(const GpuKernel& kernel) override {
    if (std::holds_alternative<GemmShape>(kernel.shape)) return cublas_->start(kernel);
    if (cudnn_ == nullptr)
      throw GpuTrouble(GpuTrouble::Kind::kUnsupported,
                       "forescale-gpu was built without cuDNN, so convolutions cannot be timed");
    return cudnn_->start(kernel);
  }

 private:
  static std::vector<int> first(int count) {
    std::vector<int> devices;
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
  }

  int device_;
  int device_count_;
  std::string layout_;
  Nvml nvml_;
  std::vector<std::string> warnings_before_;  // asked before this program does anything
  std::unique_ptr<KernelLibrary> cublas_;
  std::unique_ptr<KernelLibrary> cudnn_;
  std::unique_ptr<AllReduces> all_reduces_;
};

}  // namespace

std::unique_ptr<GpuBench> open_cuda_bench(int device, const std::string& layout) {
  return std::make_unique<CudaBench>(device, layout);
}

}  // namespace forescale
