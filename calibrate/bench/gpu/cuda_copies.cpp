#include <new>
#include <vector>

#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"

namespace forescale {
namespace {

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
          const Stream& stream) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), "a copy");
}

class PinnedCopy : public GatedWork {
 public:
  PinnedCopy(std::size_t bytes, cudaMemcpyKind kind) : host_(bytes), device_(bytes) {
    const bool is_up = kind == cudaMemcpyHostToDevice;
    void* to = is_up ? device_.get() : host_.get();
    const void* from = is_up ? host_.get() : device_.get();
    set_work([=](const Stream& stream) { copy(to, from, bytes, kind, stream); });
  }

 private:
  PinnedMemory host_;
  DeviceMemory device_;
};

// By the host's clock: the call returns when the copy is done, or as good as done.
class PageableCopy : public Repeatable {
 public:
  PageableCopy(std::size_t bytes, cudaMemcpyKind kind)
      : host_(host_memory(bytes)), device_(bytes), kind_(kind) {}

  double mean_s(int count) override {
    const bool is_up = kind_ == cudaMemcpyHostToDevice;
    void* to = is_up ? device_.get() : host_.data();
    const void* from = is_up ? host_.data() : device_.get();
    const double begin_s = host_s();
    for (int i = 0; i < count; ++i) check_cuda(cudaMemcpy(to, from, host_.size(), kind_), "a copy");
    check_cuda(cudaDeviceSynchronize(), "a copy");
    return (host_s() - begin_s) / count;
  }

 private:
  // Written to, so that its pages exist.
  static std::vector<char> host_memory(std::size_t bytes) {
    try {
      return std::vector<char>(bytes, 1);
    } catch (const std::bad_alloc&) {
      throw GpuTrouble(GpuTrouble::Kind::kOutOfMemory, "out of memory on the host");
    }
  }

  std::vector<char> host_;
  DeviceMemory device_;
  cudaMemcpyKind kind_;
};

class DeviceCopy : public GatedWork {
 public:
  explicit DeviceCopy(std::size_t bytes) : from_(bytes), to_(bytes) {
    set_work([this, bytes](const Stream& stream) {
      copy(to_.get(), from_.get(), bytes, cudaMemcpyDeviceToDevice, stream);
    });
  }

 private:
  DeviceMemory from_;
  DeviceMemory to_;
};

class Fill : public GatedWork {
 public:
  explicit Fill(std::size_t bytes) : memory_(bytes) {
    set_work([this, bytes](const Stream& stream) {
      check_cuda(cudaMemsetAsync(memory_.get(), 0, bytes, stream.get()), "a fill");
    });
  }

 private:
  DeviceMemory memory_;
};

// `count` copies each way in two streams that begin together, until both have ended.
class BothWays : public Repeatable {
 public:
  explicit BothWays(std::size_t bytes)
      : bytes_(bytes), sent_(bytes), received_(bytes), from_(bytes), to_(bytes) {}

  double mean_s(int count) override {
    double seconds = 0;
    gate_.time(
        up_, [&] { enqueue(count); }, [&] { seconds = end_.seconds_since(begin_); });
    return seconds / count;
  }

 private:
  void enqueue(int count) {
    begin_.record(up_);
    begin_.be_awaited_by(down_);
    for (int i = 0; i < count; ++i) {
      copy(to_.get(), sent_.get(), bytes_, cudaMemcpyHostToDevice, up_);
      copy(received_.get(), from_.get(), bytes_, cudaMemcpyDeviceToHost, down_);
    }
    down_end_.record(down_);
    down_end_.be_awaited_by(up_);
    end_.record(up_);
  }

  std::size_t bytes_;
  PinnedMemory sent_;
  PinnedMemory received_;
  DeviceMemory from_;
  DeviceMemory to_;
  Stream up_;
  Stream down_;
  Event begin_;
  Event down_end_;
  Event end_;
  StreamGate gate_;
};

}  // namespace

std::unique_ptr<Repeatable> start_copy(const std::string& pattern, std::size_t bytes) {
  if (pattern == "host-to-device")
    return std::make_unique<PinnedCopy>(bytes, cudaMemcpyHostToDevice);
  if (pattern == "device-to-host")
    return std::make_unique<PinnedCopy>(bytes, cudaMemcpyDeviceToHost);
  if (pattern == "host-to-device-pageable")
    return std::make_unique<PageableCopy>(bytes, cudaMemcpyHostToDevice);
  if (pattern == "device-to-host-pageable")
    return std::make_unique<PageableCopy>(bytes, cudaMemcpyDeviceToHost);
  if (pattern == "copy-both-ways") return std::make_unique<BothWays>(bytes);
  if (pattern == "memory-copy") return std::make_unique<DeviceCopy>(bytes);
  if (pattern == "fill") return std::make_unique<Fill>(bytes);
  return nullptr;
}

}  // namespace forescale
