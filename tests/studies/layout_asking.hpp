// Asking for layouts on a machine whose messages cost what ideal ones do.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "studies/layout/layout_prediction.hpp"
#include "studies/layout/layout_setup.hpp"

namespace forescale::testing {

inline Question question_of(const std::string& layout, const std::string& model = "llama-2-7b") {
  Question question;
  question.platform = "dgx-h200";
  question.stack = "ideal:memory_accesses=3";
  question.model = model;
  question.sequence = 1024;
  question.layout = layout;
  return question;
}

inline LayoutPrediction predicted(const Question& question, std::int64_t gpus) {
  Asker asker;
  return predict_layouts({{.question = question, .gpus = gpus}}, asker).front();
}

inline LayoutPrediction predict(const std::string& layout, std::int64_t gpus,
                                const std::string& model = "llama-2-7b") {
  return predicted(question_of(layout, model), gpus);
}

inline std::int64_t memory_of(const LayoutPrediction& prediction, const std::string& name) {
  for (const MemoryPart& part : prediction.memory.parts)
    if (part.name == name) return part.bytes;
  throw std::runtime_error("no memory for " + name);
}

inline double sum_of_parts(const LayoutPrediction& prediction) {
  return prediction.compute_s + prediction.recompute_s + prediction.host_s + prediction.tensor_s +
         prediction.context_s + prediction.expert_s + prediction.pipeline_s + prediction.data_s +
         prediction.optimizer_s;
}

}  // namespace forescale::testing
