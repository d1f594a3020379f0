#include "base/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace forescale {
namespace {

namespace fs = std::filesystem;

// The system lets go of a folder's lock when the process that holds it ends, however it does.
int open_folder(const fs::path& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Of a folder just made; negative where another process took it for an orphan and removed it.
int lock_folder(const fs::path& folder) {
  const int lock = open_folder(folder);
  if (lock < 0 && errno == ENOENT) return -1;
  if (lock < 0) throw std::system_error(errno, std::generic_category(), folder);
  flock(lock, LOCK_EX);
  struct stat status {};
  if (fstat(lock, &status) == 0 && status.st_nlink > 0) return lock;
  close(lock);
  return -1;
}

// What killed processes have left; nothing of other users, whose folders cannot be opened.
void remove_orphans(const fs::path& parent, const std::string& begin) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(begin)) continue;
    const int folder = open_folder(entry.path());
    if (folder < 0) continue;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    close(folder);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& purpose) {
  const fs::path parent = fs::temp_directory_path();
  const std::string begin = "forescale-" + purpose + "-";
  remove_orphans(parent, begin);
  while (lock_ < 0) {
    path_ = parent / (begin + "XXXXXX");
    if (mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), path_);
    lock_ = lock_folder(path_);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  close(lock_);
}

}  // namespace forescale
