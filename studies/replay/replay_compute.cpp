#include "studies/replay/replay_compute.hpp"

#include <functional>
#include <map>

#include "base/error.hpp"
#include "studies/replay/kernel_scaling.hpp"

namespace forescale {
namespace {

using KernelTime = std::function<double(const LabelledKernel& kernel)>;

void change_kernels(Program& program, const KernelTime& time_s) {
  std::map<const void*, ActionList> changed;  // ranks that do the same share their lists
  for (ProgramRank& rank : program.ranks)
    for (ProgramThread& thread : rank.threads) {
      const auto [done, is_new] = changed.try_emplace(thread.actions.identity(), thread.actions);
      if (is_new) done->second.scale_kernels(time_s);
      thread.actions = done->second;
    }
}

// What --gpu starts from. InputError where the trace is of no GPU.
std::string traced_gpu_of(const ReplayText& text, const MeasuredRun& measured,
                          const Program& program) {
  if (!text.traced_gpu.empty()) return text.traced_gpu;
  std::string known = measured.gpu.empty() ? recorded_gpu(program) : gpu_model_of(measured.gpu);
  if (known.empty())
    throw InputError(
        {.source = "--gpu",
         .path = "",
         .value = text.gpu,
         .constraint = measured.gpu.empty()
                           ? "needs --traced-gpu: the trace does not say on which GPU it was "
                             "measured"
                           : "needs --traced-gpu: \"" + measured.gpu +
                                 "\", which the trace names, is none of forescale's GPUs"});
  return known;
}

}  // namespace

std::string recorded_gpu(const Program& program) {
  if (program.platform.empty()) return "";
  try {
    const Platform platform = load_platform(program.platform);
    return platform.has_gpus() ? platform.gpu_models.front().name : "";
  } catch (const InputError&) {
    return "";  // a file of another machine
  }
}

void scale_compute(Program& program, double scale) {
  if (scale == 1) return;
  for (auto& job : program.jobs) {
    auto scaled = std::make_shared<TrainingJob>(*job);
    for (TrainingStage& stage : scaled->stages) {
      stage.forward_s *= scale;
      stage.backward_s *= scale;
      stage.update_s *= scale;
    }
    job = std::move(scaled);
  }
  change_kernels(program,
                 [scale](const LabelledKernel& kernel) { return kernel.duration_s * scale; });
}

void split_kernels(Program& program, double factor, Scenario scenario) {
  if (factor == 1) return;
  const bool all = scenario.end() == (factor < 1 ? Scenario::kFast : Scenario::kSlow);
  const bool none = scenario.end() == (factor < 1 ? Scenario::kSlow : Scenario::kFast);
  change_kernels(program, [&](const LabelledKernel& kernel) {
    const bool is_matrix = side_of_kernel(kernel.label) != RooflineSide::kMemory;
    return all || (is_matrix && !none) ? kernel.duration_s * factor : kernel.duration_s;
  });
}

ScaledTime move_to_gpu(Program& program, const MeasuredRun& measured, const ReplayText& text,
                       Scenario scenario) {
  const std::string traced = traced_gpu_of(text, measured, program);
  if (traced == text.gpu) return {};
  KernelScaling scaling(traced, text.gpu, scenario);
  for (const ProgramRank& rank : program.ranks)
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions)
        if (const auto* kernel = std::get_if<Kernel>(&action.what);
            kernel != nullptr && kernel->work != nullptr &&
            side_of_kernel(kernel->label) != RooflineSide::kMemory)
          scaling.take_traced(*kernel->work, kernel->duration_s);
  change_kernels(program, [&](const LabelledKernel& kernel) {
    return scaling.scaled_s(kernel.label, kernel.duration_s, kernel.work);
  });
  return scaling.scaled();
}

}  // namespace forescale
