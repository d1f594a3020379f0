// A platform from a few answers, for machines that are not there yet.
#pragma once

#include <optional>
#include <string>

#include "topologies/import/platform_draft.hpp"

namespace forescale {

struct PlatformAnswers {
  PlatformChoices choices;
  int gpus = 0;                      // of a node
  std::optional<int> adapters = {};  // of a node; none: as in the preset with the GPU
};

// The text of a platform file. InputError naming the option for what is missing.
std::string new_platform(const PlatformAnswers& answers);

// What a node of so many such GPUs has by default: of the preset with the GPU, in proportion.
int usual_adapters(const std::string& gpu, int gpus);

}  // namespace forescale
