#include "studies/layout/layout_trace.hpp"

#include <fmt/format.h>

#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

std::string label_of(const PipelinePass& pass) {
  const char* kind = "";
  switch (pass.kind) {
    case PassKind::kForward:
      kind = "forward";
      break;
    case PassKind::kBackward:
      kind = "backward";
      break;
    case PassKind::kInputGradient:
      kind = "backward of inputs";
      break;
    case PassKind::kWeightGradient:
      kind = "backward of weights";
      break;
  }
  return fmt::format("{}, stage {}, micro-batch {}", kind, pass.stage, pass.micro_batch);
}

}  // namespace

void write_layout_trace(const LayoutPrediction& prediction, std::ostream& out) {
  Timeline timeline;
  std::vector<RankPlace> places;
  const std::vector<PipelineTimes> copies =
      pipeline_times(*prediction.schedule, prediction.shape, prediction.copies);
  const PipelineTimes& times = *std::ranges::max_element(
      copies, {}, [](const PipelineTimes& copy) { return copy.passes_end_s(); });
  const double update_s = times.end_s() + prediction.norm_s;
  for (size_t i = 0; i < times.passes.size(); ++i) {
    const int rank = static_cast<int>(i);
    places.push_back({.node = 0,
                      .node_name = fmt::format("{} on {} GPUs of {}", prediction.model,
                                               prediction.gpus, prediction.platform),
                      .rank_name = fmt::format("pipeline rank {}", rank)});
    const auto add = [&](Track track, const std::string& label, double begin_s, double end_s) {
      timeline.add({.rank = rank,
                    .track = track,
                    .label = timeline.label(label),
                    .begin_s = begin_s,
                    .end_s = end_s});
    };
    for (const PassTime& pass : times.passes[i])
      add(Track::kCompute, label_of(pass.pass), pass.begin_s, pass.end_s);
    add(Track::kCompute, "optimizer", update_s, update_s + prediction.optimizer_s);
    for (const StateTime& state : times.states[i])
      add(Track::kCollective,
          fmt::format("{}, stage {}", state.of_gradients ? "gradients" : "parameters", state.stage),
          state.begin_s, state.end_s);
  }
  write_chrome_trace(timeline, places, out);
}

}  // namespace forescale
