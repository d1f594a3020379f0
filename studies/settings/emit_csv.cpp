// A table for people and other programs: one line a region, any plan of forescale.
#include <fmt/format.h>

#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

std::string csv_quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

std::string emit_csv(const TunedSettings& settings, const std::string& /*version*/) {
  if (settings.regions.empty()) return "";
  std::string text = "operation,ranks,from_bytes,to_bytes,algorithm,segment_bytes,plan\n";
  for (const SettingsRegion& region : settings.regions) {
    text += fmt::format("{},{},{},{},", name_of(region.op), region.ranks, region.from_bytes,
                        region.to_bytes == std::numeric_limits<std::int64_t>::max()
                            ? ""
                            : std::to_string(region.to_bytes));
    if (region.chosen)
      text += fmt::format("{},{},{}\n", csv_quoted(region.chosen->id), region.chosen->segment_bytes,
                          csv_quoted(plan_text(region.chosen->plan)));
    else
      text += ",,\n";
  }
  return text;
}

const bool kCsvRegistered = Registry<SettingsFormat>::add(
    {.name = "csv",
     .summary = "table of regions, with any plan of forescale",
     .library = "forescale",
     .file_name = "tuned.csv",
     .emit = emit_csv,
     .how_to_load = [](const std::string& file) {
       return fmt::format("# {} is for people and other programs\n", file);
     }});

}  // namespace
}  // namespace forescale
