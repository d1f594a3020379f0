#include "base/input_text.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/error.hpp"

namespace forescale {

std::string read_input_text(const std::string& file, std::uintmax_t bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) refuse(file, "", "is a folder");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "", "cannot be read");
  if (std::filesystem::is_regular_file(file, error) &&
      std::filesystem::file_size(file, error) > bytes_max)
    refuse(file, "", fmt::format("must not be longer than {} MiB", bytes_max >> 20));
  std::ostringstream stream;
  stream << in.rdbuf();
  std::string text = stream.str();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) refuse(file, "", "is empty");
  return text;
}

}  // namespace forescale
