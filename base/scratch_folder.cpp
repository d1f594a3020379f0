#include "base/scratch_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace forescale {

ScratchFolder::ScratchFolder(const std::string& purpose)
    : path_(std::filesystem::temp_directory_path() / ("forescale-" + purpose + "-XXXXXX")) {
  if (mkdtemp(path_.data()) == nullptr)
    throw std::system_error(errno, std::generic_category(), path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace forescale
