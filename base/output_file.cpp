#include "base/output_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_to_write(const std::string& file, const std::string& option,
                                  const std::string& reason) {
  throw InputError(
      {.source = option, .path = "", .value = file, .constraint = "cannot be written: " + reason});
}

bool written(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  write(stream);
  stream.close();
  return stream.good();
}

}  // namespace

void write_file(const std::string& file, const std::string& content, const std::string& option) {
  write_file(
      file, [&](std::ostream& out) { out << content; }, option);
}

void write_file(const std::string& file, const std::function<void(std::ostream&)>& write,
                const std::string& option) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (!written(file, write)) refuse_to_write(file, option, std::strerror(errno));
    return;
  }
  const fs::path target =
      fs::is_symlink(file, error) ? fs::weakly_canonical(file, error) : fs::path(file);
  const fs::path draft = fmt::format("{}.{}.part", target.string(), getpid());
  error.clear();
  const bool is_written = written(draft, write);
  const int problem = errno;
  if (is_written) fs::rename(draft, target, error);
  if (is_written && !error) return;
  const std::string reason = error ? error.message() : std::strerror(problem);
  fs::remove(draft, error);
  refuse_to_write(file, option, reason);
}

void write_json(const std::string& file, const nlohmann::json& content, const std::string& option) {
  write_file(file, content.dump(2) + "\n", option);
}

void check_writable(const std::string& file, const std::string& option) {
  if (file.empty()) return;
  std::error_code error;
  if (fs::is_directory(file, error)) refuse_to_write(file, option, std::strerror(EISDIR));
  fs::path folder = fs::absolute(file).parent_path();
  const bool is_there = fs::exists(file, error);
  if (is_there && !fs::is_regular_file(file, error)) folder = file;  // a device, a pipe
  if (access(folder.c_str(), W_OK) != 0) refuse_to_write(file, option, std::strerror(errno));
}

}  // namespace forescale
