// Messages a second of the simulator. One engine a process, so every repetition is a child that
// measures itself: making the machine and running it, without starting a program.
#include <benchmark/benchmark.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "sim/isolate.hpp"
#include "sim/run/simulate.hpp"
#include "tests/benchmarks/calls.hpp"

namespace forescale::benchmarks {
namespace {

void simulator(benchmark::State& state, const BenchmarkCall& question) {
  const Platform platform = load_platform(star_of(state.range(0)));
  const Stack stack = load_stack("ideal");
  const auto simulate = [&] {
    SessionOptions options;
    options.choices[question.collective().op] = question.plan;
    const auto begin = std::chrono::steady_clock::now();
    const CollectiveOutcome outcome = simulate_collective(
        platform, stack,
        {.op = question.collective().op, .bytes = question.bytes, .label = "benchmark"},
        static_cast<int>(state.range(0)), options);
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    return nlohmann::json{outcome.messages, wall.count()}.dump();
  };
  std::int64_t messages = 0;
  for ([[maybe_unused]] auto _ : state) {
    const auto answer = parse_json(run_isolated({simulate}, 1, [](size_t) {}).front());
    messages += answer[0].get<std::int64_t>();
    state.SetIterationTime(answer[1]);
  }
  state.SetItemsProcessed(messages);
}

BENCHMARK_CAPTURE(simulator, ring, ring())
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulator, cb8, cb8())->Arg(160)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace forescale::benchmarks
