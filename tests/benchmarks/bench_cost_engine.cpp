// Operations a second: of the cost engine, and of the plans alone, which it consumes.
#include <benchmark/benchmark.h>

#include "sim/cost_engine.hpp"
#include "tests/benchmarks/calls.hpp"

namespace forescale::benchmarks {
namespace {

// items_per_second: operations (a message is two, its send and its receive).
void cost_engine(benchmark::State& state, const BenchmarkCall& question) {
  const CollectiveCall call = question.call(state.range(0));
  constexpr StepCost kStep{.alpha_s = 1e-6, .beta_s_per_byte = 1 / 12.5e9};
  std::int64_t operations = 0;
  for ([[maybe_unused]] auto _ : state)
    operations +=
        static_cast<std::int64_t>(evaluate_cost(question.collective(), call, kStep).operations);
  state.SetItemsProcessed(operations);
}

// The same on lanes that differ: KESCH under MVAPICH2-GDR.
void cost_engine_lanes(benchmark::State& state, const BenchmarkCall& question) {
  const CollectiveCall call = question.call(state.range(0));
  const Platform platform = load_platform("kesch");
  const Stack stack = load_stack("mvapich2-gdr");
  const Lanes lanes(platform, stack);
  const std::vector<int> slots = first_slots(platform, call.rank_count).slots;
  std::int64_t operations = 0;
  for ([[maybe_unused]] auto _ : state)
    operations += static_cast<std::int64_t>(
        evaluate_cost(question.collective(), call, lanes, lanes.default_place(), slots).operations);
  state.SetItemsProcessed(operations);
}

// Rank after rank: no time, no matching.
void op_stream(benchmark::State& state, const BenchmarkCall& question) {
  const CollectiveCall call = question.call(state.range(0));
  std::int64_t operations = 0;
  for ([[maybe_unused]] auto _ : state)
    for (int rank = 0; rank < call.rank_count; ++rank) {
      OpStream stream = question.collective().plan(call, rank);
      for (; stream.next(); ++operations) benchmark::DoNotOptimize(stream.op());
    }
  state.SetItemsProcessed(operations);
}

BENCHMARK_CAPTURE(cost_engine, ring, ring())->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cost_engine, cb8, cb8())->Arg(160)->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cost_engine, binomial, binomial())->Arg(65536)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cost_engine_lanes, cb8, cb8())->Arg(160)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(op_stream, ring, ring())->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(op_stream, cb8, cb8())->Arg(160)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forescale::benchmarks
