#include "topologies/import/platform_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/input_text.hpp"

namespace forescale {
namespace {

constexpr std::uintmax_t kInputBytesMax = 64 << 20;  // of 65,536 adapters ibnetdiscover writes 20

const PlatformFormat& platform_format_of(const PlatformInput& input) {
  std::string known;
  for (const auto& [name, format] : Registry<PlatformFormat>::all()) {
    if (format.detects(input.text)) return format;
    known += (known.empty() ? "" : "; ") + name + ": " + format.description;
  }
  refuse(input.file, "", "is nothing that a platform is imported from (" + known + ")");
}

}  // namespace

std::string PlatformInput::at(std::size_t offset) const {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return fmt::format("{}:{}", file, 1 + std::count(text.begin(), end, '\n'));
}

std::string PlatformInput::name() const { return std::filesystem::path(file).filename().string(); }

std::string PlatformInput::short_at(std::size_t offset) const {
  return name() + at(offset).substr(file.size());
}

std::string import_platform(const std::vector<std::string>& files, const PlatformChoices& choices) {
  PlatformDraft draft;
  for (const std::string& file : files) {
    const PlatformInput input{.file = file, .text = read_input_text(file, kInputBytesMax)};
    platform_format_of(input).import(input, choices, draft);
  }
  return complete_platform(std::move(draft), choices);
}

}  // namespace forescale
