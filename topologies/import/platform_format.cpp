#include "topologies/import/platform_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::uintmax_t kInputBytesMax = 64 << 20;  // of 65,536 adapters ibnetdiscover writes 20

PlatformInput read_platform_input(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse(file, "", "is a folder");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "", "cannot be read");
  if (std::filesystem::is_regular_file(file, error) &&
      std::filesystem::file_size(file, error) > kInputBytesMax)
    refuse(file, "", fmt::format("must not be longer than {} MiB", kInputBytesMax >> 20));
  std::ostringstream text;
  text << in.rdbuf();
  PlatformInput input{.file = file, .text = text.str()};
  if (input.text.find_first_not_of(" \t\r\n") == std::string::npos) refuse(file, "", "is empty");
  return input;
}

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
    const PlatformInput input = read_platform_input(file);
    platform_format_of(input).import(input, choices, draft);
  }
  return complete_platform(std::move(draft), choices);
}

}  // namespace forescale
