#include "topologies/import/platform_draft.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace forescale {

int DraftNode::count(DeviceKind kind) const {
  return static_cast<int>(
      std::count_if(devices.begin(), devices.end(),
                    [kind](const DraftDevice& device) { return device.kind == kind; }));
}

void PlatformDraft::set_node(DraftNode value) {
  if (node) refuse(value.file, "", "describes a node, and so does " + node->file + ": give one");
  node = std::move(value);
}

void PlatformDraft::set_fabric(DraftFabric value) {
  if (fabric)
    refuse(value.file, "", "describes a fabric, and so does " + fabric->file + ": give one");
  fabric = std::move(value);
}

}  // namespace forescale
