#include <nccl.h>

#include <map>

#include "calibrate/bench/gpu/cuda_kernels.hpp"
#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"

namespace forescale {
namespace {

void check_nccl(ncclResult_t status) {
  if (status != ncclSuccess)
    library_failed(std::string("NCCL: ") + ncclGetErrorString(status), false);
}

class Communicators {
 public:
  explicit Communicators(const std::vector<int>& devices) : all_(devices.size()) {
    check_nccl(ncclCommInitAll(all_.data(), static_cast<int>(devices.size()), devices.data()));
  }
  ~Communicators() {
    for (const ncclComm_t one : all_) ncclCommDestroy(one);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  ncclComm_t of(std::size_t index) const { return all_[index]; }

 private:
  std::vector<ncclComm_t> all_;
};

class AllReduce : public Repeatable {
 public:
  AllReduce(const std::vector<int>& devices, std::size_t bytes, const Communicators& communicators)
      : count_(bytes / sizeof(float)), communicators_(communicators) {
    int before = 0;
    check_cuda(cudaGetDevice(&before), "cudaGetDevice");
    for (const int device : devices) {
      check_cuda(cudaSetDevice(device), "cudaSetDevice");
      parts_.push_back(std::make_unique<Part>(count_ * sizeof(float)));
      enqueue_random(parts_.back()->values.get(), ValueType::kFp32, count_, 1, nullptr);
      check_enqueued("random numbers");
      check_cuda(cudaDeviceSynchronize(), "random numbers");
    }
    check_cuda(cudaSetDevice(before), "cudaSetDevice");
  }

  double mean_s(int count) override {
    const double begin_s = host_s();
    for (int i = 0; i < count; ++i) {
      check_nccl(ncclGroupStart());
      for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
        float* values = parts_[rank]->values.floats();
        check_nccl(ncclAllReduce(values, values, count_, ncclFloat, ncclSum,
                                 communicators_.of(rank), parts_[rank]->stream.get()));
      }
      check_nccl(ncclGroupEnd());
    }
    for (const auto& part : parts_) part->stream.wait();
    return (host_s() - begin_s) / count;
  }
  int count_max() const override { return 64; }

 private:
  struct Part {
    explicit Part(std::size_t bytes) : values(bytes) {}
    DeviceMemory values;
    Stream stream;
  };

  std::size_t count_;
  const Communicators& communicators_;
  std::vector<std::unique_ptr<Part>> parts_;
};

// Making communicators takes seconds: one set for each group of devices, kept.
class NcclAllReduces : public AllReduces {
 public:
  std::unique_ptr<Repeatable> start(const std::vector<int>& devices, std::size_t bytes) override {
    const Communicators& group = groups_.try_emplace(devices, devices).first->second;
    return std::make_unique<AllReduce>(devices, bytes, group);
  }

 private:
  std::map<std::vector<int>, Communicators> groups_;
};

}  // namespace

std::unique_ptr<AllReduces> nccl_all_reduces() { return std::make_unique<NcclAllReduces>(); }

}  // namespace forescale
