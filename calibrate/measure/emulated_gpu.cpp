#include "calibrate/measure/emulated_gpu.hpp"

#include <algorithm>
#include <limits>

namespace forescale {
namespace {

constexpr double kRounding_s = 1e-12;

}  // namespace

void EmulatedGpu::launch(double now_s, const Kernel& kernel, std::function<void()> finished) {
  if (streams_.empty()) at_s_ = now_s;
  Stream& stream = streams_[kernel.stream];
  stream.queue.push_back(
      {.left_s = kernel.duration_s, .phase = kernel.phase, .finished = std::move(finished)});
  if (stream.queue.size() == 1) change_(now_s, kernel.phase, +1);
}

double EmulatedGpu::least_left_s() const {
  double least_s = std::numeric_limits<double>::infinity();
  for (const auto& [number, stream] : streams_)
    least_s = std::min(least_s, stream.queue.front().left_s);
  return std::max(0.0, least_s);
}

bool EmulatedGpu::end_first(double at_s, Stream& stream) {
  const Item item = std::move(stream.queue.front());
  stream.queue.pop_front();
  change_(at_s, item.phase, -1);
  if (!stream.queue.empty()) change_(at_s, stream.queue.front().phase, +1);
  item.finished();
  return stream.queue.empty();
}

void EmulatedGpu::advance(double now_s) {
  while (!streams_.empty()) {
    const auto sharing = static_cast<double>(streams_.size());
    const double passed_s = std::min(now_s - at_s_, least_left_s() * sharing);
    if (passed_s < 0) return;
    at_s_ += passed_s;
    bool has_ended = false;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
      Item& first = stream->second.queue.front();
      first.left_s -= passed_s / sharing;
      const bool ends = first.left_s <= kRounding_s;
      has_ended = has_ended || ends;
      stream = ends && end_first(at_s_, stream->second) ? streams_.erase(stream) : ++stream;
    }
    if (!has_ended) return;
  }
}

std::optional<double> EmulatedGpu::next_end_s() const {
  if (streams_.empty()) return std::nullopt;
  return at_s_ + least_left_s() * static_cast<double>(streams_.size());
}

std::vector<int> EmulatedGpu::busy_streams() const {
  std::vector<int> numbers;
  for (const auto& [number, stream] : streams_) numbers.push_back(number);
  return numbers;
}

void EmulatedGpu::work(double now_s, int stream_number, double done_s) {
  Stream& stream = streams_.at(stream_number);
  stream.queue.front().left_s -= done_s;
  // Ends where it is nearest to its time, half a piece of work early or late.
  while (stream.queue.front().left_s < done_s / 2) {
    const double rest_s = stream.queue.front().left_s;
    if (end_first(now_s, stream)) {
      streams_.erase(stream_number);
      return;
    }
    stream.queue.front().left_s += rest_s;
  }
}

}  // namespace forescale
