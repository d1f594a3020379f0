#include "base/input_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/error.hpp"

namespace forescale {

std::string rest_of(std::istream& in) {
  std::string text;
  constexpr std::size_t kAtOnce = 1 << 14;
  for (std::size_t read = 0;; read = text.size()) {
    text.resize(read + kAtOnce);
    in.read(text.data() + read, kAtOnce);
    text.resize(read + static_cast<std::size_t>(in.gcount()));
    if (!in) return text;
  }
}

std::string read_input_text(const std::string& file, std::uintmax_t bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse(file, "", "is a folder");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "", "cannot be read");
  if (std::filesystem::is_regular_file(file, error) &&
      std::filesystem::file_size(file, error) > bytes_max)
    refuse(file, "", fmt::format("must not be longer than {} MiB", bytes_max >> 20));
  std::string text = rest_of(in);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) refuse(file, "", "is empty");
  return text;
}

}  // namespace forescale
