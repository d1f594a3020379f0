#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"

namespace forescale {
namespace {

// Makes `device` the current one while it lives.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

void allow_access(int from, int to) {
  int can_access = 0;
  check_cuda(cudaDeviceCanAccessPeer(&can_access, from, to), "peer access");
  if (can_access == 0) return;
  const CurrentDevice current(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status != cudaErrorPeerAccessAlreadyEnabled) check_cuda(status, "peer access");
  cudaGetLastError();
}

DeviceMemory memory_of(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  return DeviceMemory(bytes);
}

class PeerCopy : public GatedWork {
 public:
  PeerCopy(int from, int to, std::size_t bytes)
      : sent_(memory_of(from, bytes)), received_(memory_of(to, bytes)) {
    allow_access(from, to);
    allow_access(to, from);
    set_work([this, from, to, bytes](const Stream& stream) {
      check_cuda(cudaMemcpyPeerAsync(received_.get(), to, sent_.get(), from, bytes, stream.get()),
                 "a copy between GPUs");
    });
  }

 private:
  DeviceMemory sent_;
  DeviceMemory received_;
};

}  // namespace

std::unique_ptr<Repeatable> start_peer_copy(int from, int to, std::size_t bytes) {
  return std::make_unique<PeerCopy>(from, to, bytes);
}

}  // namespace forescale
