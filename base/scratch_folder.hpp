#pragma once

#include <string>

namespace forescale {

// A folder for files that nobody keeps, gone with this object; that of a process that was killed
// goes when the next one of the same purpose is made.
class ScratchFolder {
 public:
  // In the system's folder for temporary files; std::system_error where it cannot be made.
  explicit ScratchFolder(const std::string& purpose);  // part of its name: "mpi"
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  int lock_ = -1;
};

}  // namespace forescale
