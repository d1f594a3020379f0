// What platforms are imported from. A format is one format_*.cpp in this folder that registers
// itself.
#pragma once

#include <string>
#include <vector>

#include "base/registry.hpp"
#include "topologies/import/platform_draft.hpp"

namespace forescale {

struct PlatformInput {
  std::string file;
  std::string text;

  std::string at(std::size_t offset) const;        // "../node/topo.xml:12"
  std::string short_at(std::size_t offset) const;  // "topo.xml:12"
  std::string name() const;                        // "topo.xml"
};

// Entries of Registry<PlatformFormat>.
struct PlatformFormat {
  std::string name;         // "nccl-topology"
  std::string description;  // one line
  bool (*detects)(const std::string& text) = nullptr;
  // Adds a node or a fabric. InputError naming the file and the line for what is wrong with it.
  void (*import)(const PlatformInput& input, const PlatformChoices& choices,
                 PlatformDraft& draft) = nullptr;
};

// The text of a platform file made of these files, each told apart by its content.
std::string import_platform(const std::vector<std::string>& files, const PlatformChoices& choices);

}  // namespace forescale
