// forescale-gpu: REQUEST.json ANSWER.json (gpu_request.hpp). Exit code 0: all of it or all that the
// budget allowed; 2: no usable GPU or a bad request; 1: it failed, and the answer holds what was
// measured before.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "base/error.hpp"
#include "calibrate/bench/gpu/cuda_bench.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"
#include "calibrate/bench/gpu/gpu_run.hpp"
#include "calibrate/bench/patterns/when_and_where.hpp"
#include "calibrate/measure/measure_gpu.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

volatile std::sig_atomic_t is_signalled = 0;

class ProgressOnStderr {
 public:
  void say(const std::string& line) {
    constexpr double kEvery_s = 1;
    if (host_s() - said_s_ < kEvery_s) return;
    said_s_ = host_s();
    fmt::print(stderr, "{}{}\n", kProgressLine, line);
    std::fflush(stderr);
  }

 private:
  double said_s_ = 0;
};

int fail(const std::string& why, int exit_code) {
  fmt::print(stderr, "{}{}\n", kGpuFailureLine, why);
  return exit_code;
}

int run(const std::string& request_file, const std::string& answer_file) {
  GpuRequest request = read_gpu_request(JsonInput::from_file(request_file));
  request.provenance["date"] = now_utc();
  request.provenance["cpu"] = cpu_model();
  const auto bench = open_cuda_bench(request.device, request.layout);
  GpuAnswer answer(request, answer_file);
  ProgressOnStderr progress;
  const std::string failure =
      measure_all(request, *bench, answer,
                  {.clock = host_s,
                   .is_stopped = [] { return is_signalled != 0; },
                   .on_progress = [&](const std::string& line) { progress.say(line); }});
  return failure.empty() ? 0 : fail(failure, 1);
}

int guarded_run(int argc, char** argv) {
  try {
    if (argc != 3) return fail("takes two arguments: REQUEST.json ANSWER.json", 2);
    return run(argv[1], argv[2]);
  } catch (const InputError& error) {
    return fail(error.what(), 2);
  } catch (const GpuTrouble& trouble) {
    if (trouble.kind() == GpuTrouble::Kind::kOutOfMemory)
      return fail("the GPU's memory is full before anything was measured: others use it", 2);
    return fail(trouble.what(), trouble.kind() == GpuTrouble::Kind::kUnusable ? 2 : 1);
  } catch (const std::exception& error) {
    return fail(error.what(), 1);
  }
}

}  // namespace
}  // namespace forescale

int main(int argc, char** argv) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, [](int) { forescale::is_signalled = 1; });
  return forescale::guarded_run(argc, argv);
}
