// Whole programs, as a person waits for them: wall time from fork to exit, processor time and the
// largest memory of the process (peak_MB, 1e6 bytes).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <sstream>
#include <string>
#include <vector>

#include "tests/benchmarks/calls.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to us

namespace forescale::benchmarks {
namespace {

struct Finished {
  int status = -1;
  double wall_s = 0;
  double cpu_s = 0;
  double peak_bytes = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

Finished run_once(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  Finished finished;
  pid_t pid = -1;
  const auto begin = std::chrono::steady_clock::now();
  rusage usage{};
  if (posix_spawn(&pid, arguments.front(), &actions, nullptr, arguments.data(), environ) == 0)
    wait4(pid, &finished.status, 0, &usage);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  posix_spawn_file_actions_destroy(&actions);
  finished.wall_s = wall.count();
  finished.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  finished.peak_bytes = 1024.0 * static_cast<double>(usage.ru_maxrss);
  return finished;
}

void process(benchmark::State& state, const std::string& command) {
  std::vector<std::string> words;
  std::istringstream text(command);
  for (std::string word; text >> word;) words.push_back(word);
  double cpu_s = 0;
  double peak_bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Finished finished = run_once(words);
    if (finished.status != 0) state.SkipWithError("the program failed");
    state.SetIterationTime(finished.wall_s);
    cpu_s += finished.cpu_s;
    peak_bytes = std::max(peak_bytes, finished.peak_bytes);
  }
  state.counters["cpu_s"] = benchmark::Counter(cpu_s, benchmark::Counter::kAvgIterations);
  state.counters["peak_MB"] = peak_bytes / 1e6;
}

std::string collective(int ranks, const std::string& rest) {
  return fmt::format("{} collective --platform {} --ranks {} {}", FORESCALE_PROGRAM, star_of(ranks),
                     ranks, rest);
}

const std::string kRing = "--algorithm ring --bytes 100MiB --engine ";
const std::string kCb8 =
    "--op reduce --algorithm cb --chain-size 8 --bytes 256MiB --chunk-bytes 4MiB --engine ";

const bool kRegistered = [] {
  const std::vector<std::pair<std::string, std::string>> commands = {
      {"start", FORESCALE_PROGRAM " --version"},
      {"cost/ring/1024", collective(1024, kRing + "cost")},
      {"cost/ring/4096", collective(4096, kRing + "cost")},
      {"cost/cb8/65536", collective(65536, kCb8 + "cost")},
      {"sim/ring/256", collective(256, kRing + "sim")},
      {"sim/ring/1024", collective(1024, kRing + "sim")},
      {"sim/cb8/160", collective(160, kCb8 + "sim")},
      {"bare/ring/256", BARE_PROGRAM " 256"},
      {"bare/ring/1024", BARE_PROGRAM " 1024"},
      {"predict/googlenet/160",
       FORESCALE_PROGRAM " predict --platform kesch --gpus 160 --model googlenet --batch 1024 "
                         "--system s-caffe-obr-hr --no-range"}};
  for (const auto& [name, command] : commands)
    benchmark::RegisterBenchmark(name.c_str(), process, command)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace forescale::benchmarks
