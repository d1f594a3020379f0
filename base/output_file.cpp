#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <streambuf>

#include "base/error.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_to_write(const std::string& file, const std::string& option,
                                  const std::string& reason) {
  throw InputError(
      {.source = option, .path = "", .value = file, .constraint = "cannot be written: " + reason});
}

// What is written, compressed into a file.
class GzipBuffer : public std::streambuf {
 public:
  explicit GzipBuffer(const fs::path& file) : file_(gzopen(file.c_str(), "wb1")) { empty(); }
  ~GzipBuffer() override { close(); }
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  // Whether all was written.
  bool close() {
    if (file_ == nullptr) return false;
    const bool is_whole = sync() == 0;
    const bool is_closed = gzclose(file_) == Z_OK;
    file_ = nullptr;
    return is_whole && is_closed;
  }

 protected:
  int overflow(int next) override {
    if (sync() != 0) return traits_type::eof();
    if (next == traits_type::eof()) return 0;
    return sputc(traits_type::to_char_type(next));
  }
  int sync() override {
    const auto bytes = static_cast<unsigned>(pptr() - pbase());
    const bool is_written = file_ != nullptr && (bytes == 0 || gzwrite(file_, pbase(), bytes) > 0);
    empty();
    return is_written ? 0 : -1;
  }

 private:
  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  gzFile file_;
  std::array<char, 65536> bytes_{};
};

// `place`, in which what becomes `file` is written.
bool written(const fs::path& place, const fs::path& file,
             const std::function<void(std::ostream&)>& write) {
  errno = 0;
  if (file.extension() == ".gz") {
    GzipBuffer buffer(place);
    std::ostream stream(&buffer);
    write(stream);
    return stream.good() && buffer.close();
  }
  std::ofstream stream(place, std::ios::binary | std::ios::trunc);
  write(stream);
  stream.close();
  return stream.good();
}

// No signal is taken meanwhile.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

// What becomes a file once it is whole. Until then it has no name, so that nothing is left of a
// program that is killed; where the file system knows no such files, it has one beside its place.
class Draft {
 public:
  explicit Draft(const fs::path& target)
      : target_(target), beside_(fmt::format("{}.{}.part", target.string(), getpid())) {
    const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
    constexpr mode_t kAsUmaskSays = 0666;
    unnamed_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kAsUmaskSays);
    if (unnamed_ < 0) return;
    open_ = fmt::format("/proc/self/fd/{}", unnamed_);
    if (access(open_.c_str(), W_OK) != 0) forget();
  }
  ~Draft() {
    forget();
    std::error_code error;
    fs::remove(beside_, error);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const fs::path& place() const { return unnamed_ >= 0 ? open_ : beside_; }
  // In the place of what was there; the reason where that is not possible.
  std::error_code keep() {
    std::error_code error;
    const SignalsWait wait;
    if (unnamed_ >= 0) {
      fs::remove(beside_, error);  // of a process with the same number, long ago
      if (linkat(AT_FDCWD, open_.c_str(), AT_FDCWD, beside_.c_str(), AT_SYMLINK_FOLLOW) != 0)
        return {errno, std::generic_category()};
    }
    fs::rename(beside_, target_, error);
    return error;
  }

 private:
  void forget() {
    if (unnamed_ >= 0) close(unnamed_);
    unnamed_ = -1;
  }

  fs::path target_;
  fs::path beside_;
  fs::path open_;
  int unnamed_ = -1;
};

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
    if (!written(file, file, write)) refuse_to_write(file, option, std::strerror(errno));
    return;
  }
  const fs::path target =
      fs::is_symlink(file, error) ? fs::weakly_canonical(file, error) : fs::path(file);
  Draft draft(target);
  if (!written(draft.place(), target, write)) refuse_to_write(file, option, std::strerror(errno));
  if (const std::error_code problem = draft.keep())
    refuse_to_write(file, option, problem.message());
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
