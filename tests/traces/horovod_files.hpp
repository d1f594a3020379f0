// Horovod's timelines made in tests.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "tests/base/refusal.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing::horovod {

// Events as Horovod writes them; times in microseconds.
inline std::string named(int tensor, const std::string& name) {
  return fmt::format(
      R"({{"name": "process_name", "ph": "M", "pid": {0}, "args": {{"name": "{1}"}}}},)"
      "\n"
      R"({{"name": "process_sort_index", "ph": "M", "pid": {0}, "args": {{"sort_index": {0}}}}},)"
      "\n",
      tensor, name);
}
inline std::string begin(int tensor, const std::string& name, double time_us) {
  return fmt::format(R"({{"ph": "B", "name": "{}", "ts": {}, "pid": {}}},)"
                     "\n",
                     name, time_us, tensor);
}
inline std::string tick(int tensor, int rank, double time_us) {
  return fmt::format(R"({{"ph": "X", "name": "{}", "ts": {}, "pid": {}, "dur": 0}},)"
                     "\n",
                     rank, time_us, tensor);
}
inline std::string end(int tensor, double time_us) {
  return fmt::format(R"({{"ph": "E", "ts": {}, "pid": {}}},)"
                     "\n",
                     time_us, tensor);
}
inline std::string end(int tensor, double time_us, const std::string& shape,
                       const std::string& dtype = "float32") {
  return fmt::format(
      R"({{"ph": "E", "ts": {}, "pid": {}, "args": {{"dtype": "{}", "shape": "[{}]"}}}},)"
      "\n",
      time_us, tensor, dtype, shape);
}
inline std::string cycle(double time_us) {
  return fmt::format(R"({{"ph": "i", "name": "CYCLE_START", "ts": {}, "s": "g"}},)"
                     "\n",
                     time_us);
}
// Without its end.
inline std::string timeline(const std::string& events) {
  return R"([
{"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros":1}},
)" + events;
}
// A negotiation, the ranks ready one after the other.
inline std::string negotiation(int tensor, const std::vector<double>& ready_us,
                               const std::string& op = "ALLREDUCE") {
  std::string text = begin(tensor, "NEGOTIATE_" + op, ready_us.front());
  for (size_t rank = 0; rank < ready_us.size(); ++rank)
    text += tick(tensor, static_cast<int>(rank), ready_us[rank]);
  return text + end(tensor, ready_us.back());
}
inline std::string operation(int tensor, double begin_us, double end_us, const std::string& shape,
                             const std::string& op = "ALLREDUCE") {
  return begin(tensor, op, begin_us) + begin(tensor, "NCCL_ALLREDUCE", begin_us) +
         end(tensor, end_us) + end(tensor, end_us, shape);
}

inline ImportedTrace import(const std::string& text, const ImportOptions& options = {}) {
  const TraceFolder folder;
  return import_trace({folder.write("timeline.json", text)}, options);
}
inline std::string refusal(const std::string& text) {
  return testing::refusal([&] { import(text); });
}

// Two ranks, two iterations of tensors a (100 floats) and b (50), reduced one by one; rank 1 is
// later by 10 us.
inline std::string two_ranks() {
  return timeline(named(1, "a") + negotiation(1, {0, 10}) + cycle(15) +
                  operation(1, 20, 100, "10, 10") + named(2, "b") + negotiation(2, {100, 110}) +
                  operation(2, 115, 150, "50") + negotiation(1, {180, 190}) +
                  operation(1, 190, 250, "10, 10") + negotiation(2, {260, 270}) +
                  operation(2, 270, 300, "50"));
}

}  // namespace forescale::testing::horovod
