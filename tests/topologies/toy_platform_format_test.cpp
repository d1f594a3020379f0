// A format that platforms are imported from and that registers itself here: it is recognised, and
// no other file knows of it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

// "toy machine: 3": so many nodes on one switch.
void import_toy_machine(const PlatformInput& input, const PlatformChoices& /*choices*/,
                        PlatformDraft& draft) {
  DraftFabric fabric{.file = input.name(), .link = "hdr"};
  fabric.nodes = std::stoi(input.text.substr(input.text.find(':') + 1));
  fabric.switches.add("toy");
  for (int i = 0; i < fabric.nodes; ++i) fabric.switches.nodes[0].push_back(i);
  draft.set_fabric(std::move(fabric));
}

const bool kToyMachineRegistered = Registry<PlatformFormat>::add(
    {.name = "toy-machine",
     .description = "nodes of this test",
     .detects = [](const std::string& text) { return text.starts_with("toy machine:"); },
     .import = import_toy_machine});

TEST(ToyPlatformFormat, IsRecognisedAndImported) {
  EXPECT_TRUE(kToyMachineRegistered);
  const ScratchFolder folder("toy");
  std::ofstream(folder.file("toy")) << "toy machine: 3";
  const nlohmann::json platform = parse_json(import_platform({folder.file("toy")}, {}));
  EXPECT_EQ(platform["node"]["count"], 3);
  EXPECT_EQ(platform["fabric"]["link"], "hdr");
  EXPECT_EQ(platform["fabric"]["layout"], "star");
}

}  // namespace
}  // namespace forescale
