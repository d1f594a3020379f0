#include "sim/engine/local_work.hpp"

#include <algorithm>

namespace forescale {

void LocalWork::record(Track track, double begin_s, std::int64_t bytes) {
  if (settings_.timeline == nullptr) return;
  settings_.timeline->add({.rank = settings_.rank,
                           .track = track,
                           .label = settings_.label,
                           .begin_s = begin_s,
                           .end_s = world().now_s(),
                           .bytes = bytes});
}

void LocalWork::reduce(std::int64_t bytes, std::function<void()> done) {
  const double begin_s = world().now_s();
  run_reduction(bytes, [this, begin_s, bytes, done = std::move(done)] {
    record(Track::kReduction, begin_s, bytes);
    done();
  });
}

void LocalWork::run_reduction(std::int64_t bytes, std::function<void()> done) {
  const Lanes& lanes = machine_.lanes();
  switch (reduction().place) {
    case ReductionPlace::kFree:
      done();
      return;
    case ReductionPlace::kFixed:
      world().after(lanes.reduce_s(bytes, settings_.place), std::move(done));
      return;
    case ReductionPlace::kGpu: {
      const GpuModel& gpu = lanes.platform().gpu_models.front();
      // a += b reads two operands and writes one.
      const double work_s = 3.0 * static_cast<double>(bytes) / gpu.memory_bandwidth.value;
      reducing_.then = [this, synchronize_s = gpu.synchronize.value, done = std::move(done)] {
        world().after(synchronize_s, done);
      };
      world().after(gpu.kernel_launch.value, [this, work_s] {
        world().start_task(machine_.gpu(settings_.rank), work_s, &reducing_);
      });
      return;
    }
    case ReductionPlace::kCpu: {
      reducing_.then = std::move(done);
      const double flow_bytes = Lanes::reduction_flow_bytes(bytes);
      world().in_kernel([this, flow_bytes] {
        const Machine::Path& path = machine_.reduction_path(settings_.rank);
        path.account(flow_bytes);
        world().start_flow(path.links, flow_bytes, &reducing_);
      });
      return;
    }
  }
}

void LocalWork::copy_locally(std::int64_t bytes, std::function<void()> done) {
  if (reduction().place != ReductionPlace::kGpu) {
    done();
    return;
  }
  // Every byte is read once and written once.
  const double work_s = 2.0 * static_cast<double>(bytes) /
                        machine_.lanes().platform().gpu_models.front().memory_bandwidth.value;
  copying_.then = std::move(done);
  world().in_kernel(
      [this, work_s] { world().start_task(machine_.gpu(settings_.rank), work_s, &copying_); });
}

void LocalWork::copy_to_host(std::int64_t bytes, std::function<void()> done) {
  copy_whole(&Machine::copy_out_path, bytes, std::move(done));
}

void LocalWork::copy_from_host(std::int64_t bytes, std::function<void()> done) {
  copy_whole(&Machine::copy_in_path, bytes, std::move(done));
}

// At the hardware's shared rate, but no faster than the stack's.
void LocalWork::copy_whole(PathOfRank path_of, std::int64_t bytes, std::function<void()> done) {
  const double begin_s = world().now_s();
  const double least_s = settings_.through_host_bandwidth > 0
                             ? static_cast<double>(bytes) / settings_.through_host_bandwidth
                             : 0;
  copying_.then = [this, begin_s, least_s, bytes, done = std::move(done)] {
    const double left_s = std::max(0.0, begin_s + least_s - world().now_s());
    world().after(left_s, [this, begin_s, bytes, done] {
      record(Track::kCopy, begin_s, bytes);
      done();
    });
  };
  world().in_kernel([this, path_of, bytes] {
    const Machine::Path& path = (machine_.*path_of)(settings_.rank);
    path.account(static_cast<double>(bytes));
    world().start_flow(path.links, static_cast<double>(bytes), &copying_);
  });
}

}  // namespace forescale
