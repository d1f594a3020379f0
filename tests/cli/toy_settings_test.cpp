// A settings format that registers itself here: `tune collective --emit` lists and writes it, and
// no other file knows of it. Reading back is for the two formats whose libraries run here, told
// apart by what a file says (studies/settings/settings_file.hpp).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "studies/settings/settings.hpp"
#include "tests/cli/in_process.hpp"

namespace forescale {
namespace {

using testing::answer_here;
using testing::text_of;
using testing::Workshop;

std::string emit(const TunedSettings& settings, const std::string& /*version*/) {
  std::string text;
  for (const SettingsRegion& region : settings.regions)
    text += fmt::format("{} ranks from {} B: {}\n", region.ranks, region.from_bytes,
                        region.chosen ? plan_text(region.chosen->plan) : "any");
  return text;
}

const bool kToySettingsRegistered = Registry<SettingsFormat>::add(
    {.name = "toy",
     .summary = "a line a region",
     .library = "this test",
     .file_name = "toy.txt",
     .emit = emit,
     .how_to_load = [](const std::string& file) { return "# cat " + file + "\n"; }});

TEST(ToySettings, AreListedAndEmitted) {
  EXPECT_TRUE(kToySettingsRegistered);
  answer_here("tune collective --help", {", toy"});
  const Workshop workshop;
  const std::string file = workshop.path("toy.txt");
  answer_here(
      "tune collective --platform star:hosts=4,bandwidth=1GB/s,latency=5us --ranks 4 --op "
      "all-reduce --bytes 64KiB..256KiB --emit toy --settings " +
      file);
  EXPECT_NE(text_of(file).find("4 ranks from 65536 B: all-reduce/"), std::string::npos)
      << text_of(file);
}

}  // namespace
}  // namespace forescale
