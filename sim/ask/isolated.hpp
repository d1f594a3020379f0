// Typed answers of simulations in processes of their own (sim/isolate.hpp). An Answer has to_json
// and from_json, as NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE makes them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "base/progress.hpp"
#include "sim/engine/world.hpp"
#include "sim/isolate.hpp"

namespace forescale {

// In the order of the tasks, on `parallel` cores (0: all). What the first task to fail by order
// threw is thrown.
template <class Answer>
std::vector<Answer> isolated(const std::vector<std::function<Answer()>>& tasks,
                             const std::string& label, int parallel = 0) {
  std::vector<std::function<std::string()>> texts;
  for (const auto& task : tasks) texts.push_back([&task] { return nlohmann::json(task()).dump(); });
  load_simgrid();  // once for all
  ProgressLine progress(label, tasks.size());
  std::vector<Answer> answers;
  for (const std::string& text : run_isolated(texts, parallel > 0 ? parallel : available_cores(),
                                              [&](size_t finished) { progress.done(finished); }))
    answers.push_back(parse_json(text).get<Answer>());
  return answers;
}

}  // namespace forescale
