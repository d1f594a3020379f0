// A platform with nothing left open, as the text of a platform file: a device and a link a line.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "topologies/import/platform_draft.hpp"

namespace forescale {

struct FinishedPlatform {
  std::string name;
  std::string description = {};
  std::string nccl = {};  // empty: not known
  int nodes = 0;
  int cores = 0;  // of a node; 0: those of its sockets
  std::map<std::string, nlohmann::json> link_classes = {};
  PlatformDraft draft = {};  // its node, sources and what is assumed
  std::optional<FatTreeShape> fabric = {};
};

std::string text_of_platform(const FinishedPlatform& platform);

}  // namespace forescale
