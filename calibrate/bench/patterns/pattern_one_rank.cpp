// What one CPU core does without any message: adding, copying, multiplying matrices. Buffers stay
// where they are, so sizes that fit a cache are measured from that cache, as a collective finds
// chunks that have just arrived.
#include <algorithm>
#include <cmath>
#include <cstring>

#ifdef FORESCALE_OPENBLAS
#include <cblas.h>
#endif

#include "calibrate/bench/patterns/pattern.hpp"

namespace forescale {
namespace {

// Small sizes are repeated until they take some microseconds.
int inner_repetitions(const PatternCall& call) {
  return static_cast<int>(std::max<std::int64_t>(1, (std::int64_t{1} << 17) / (call.bytes + 64)));
}

// Keeps the compiler from leaving out work whose result nobody reads.
void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

double reduction(const PatternCall& call) {
  auto* sum = reinterpret_cast<float*>(call.received);
  const auto* addend = reinterpret_cast<const float*>(call.sent);
  const std::int64_t count = call.bytes / static_cast<std::int64_t>(sizeof(float));
  const int times = inner_repetitions(call);
  for (int i = 0; i < times; ++i) {
    for (std::int64_t k = 0; k < count; ++k) sum[k] += addend[k];
    use(sum);
  }
  return (clock_s() - call.start_s) / times;
}

double memory_copy(const PatternCall& call) {
  const int times = inner_repetitions(call);
  for (int i = 0; i < times; ++i) {
    std::memcpy(call.received, call.sent, static_cast<std::size_t>(call.bytes));
    use(call.received);
  }
  return (clock_s() - call.start_s) / times;
}

#ifdef FORESCALE_OPENBLAS
// Three matrices of order n in `bytes`; they are in the blocks of `received`, a third of it each.
double gemm(const PatternCall& call) {
  const int order = static_cast<int>(std::lround(std::sqrt(static_cast<double>(call.bytes) / 12)));
  const std::int64_t elements = std::int64_t{order} * order;
  const auto* a = reinterpret_cast<const float*>(call.sent);
  auto* c = reinterpret_cast<float*>(call.received);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, order, order, order, 1.0F, a, order,
              a + elements, order, 0.0F, c, order);
  use(c);
  return clock_s() - call.start_s;
}
#endif

const bool kPatternOneRankRegistered = [] {
  const auto one_block = [](int, int) { return 1; };
#ifdef FORESCALE_OPENBLAS
  openblas_set_num_threads(1);
  Registry<PatternCode>::add(
      {.name = "gemm", .starts_together = false, .blocks = one_block, .run = gemm});
#endif
  Registry<PatternCode>::add(
      {.name = "reduction", .starts_together = false, .blocks = one_block, .run = reduction});
  return Registry<PatternCode>::add(
      {.name = "memory-copy", .starts_together = false, .blocks = one_block, .run = memory_copy});
}();

}  // namespace
}  // namespace forescale
