#include "traces/formats/trace_input.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"

namespace forescale {

// Over zlib, which hands out the bytes of plain files as they are.
class TraceInput::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::string& file) : name_(file) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) refuse("is a folder");
    file_ = gzopen(file.c_str(), "rb");
    if (file_ == nullptr) refuse(std::string("cannot be opened for reading: ") + strerror(errno));
    gzbuffer(file_, kBytes);
  }
  ~Buffer() override { gzclose(file_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::int64_t position() const { return read_ - (egptr() - gptr()); }

 protected:
  int_type underflow() override {
    const int count = gzread(file_, bytes_.data(), static_cast<unsigned>(bytes_.size()));
    int error = Z_OK;
    const char* const reason = gzerror(file_, &error);
    // A file that ends within compressed data gives what there is, and then this.
    if (count < 0 || error == Z_BUF_ERROR)
      refuse(fmt::format("is damaged: {} after {} bytes of text",
                         error == Z_BUF_ERROR ? "it ends within compressed data" : reason,
                         read_ + std::max(count, 0)));
    if (count == 0) return traits_type::eof();
    read_ += count;
    setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
    return traits_type::to_int_type(*gptr());
  }

 private:
  static constexpr unsigned kBytes = 1 << 17;

  [[noreturn]] void refuse(const std::string& constraint) const {
    throw InputError({.source = name_, .path = "", .value = "", .constraint = constraint});
  }

  std::string name_;
  gzFile file_ = nullptr;
  std::int64_t read_ = 0;
  std::array<char, kBytes> bytes_{};
};

TraceInput::TraceInput(const std::string& file)
    : file_(file), buffer_(std::make_unique<Buffer>(file)), stream_(buffer_.get()) {
  stream_.exceptions(std::ios::badbit);  // so that the buffer's own come through
}

TraceInput::~TraceInput() = default;

std::int64_t TraceInput::position() const { return buffer_->position(); }

std::string head_of_trace(const std::string& file, std::size_t bytes_max) {
  TraceInput input(file);
  std::string head(bytes_max, '\0');
  input.stream().read(head.data(), static_cast<std::streamsize>(bytes_max));
  head.resize(static_cast<std::size_t>(input.stream().gcount()));
  return head;
}

}  // namespace forescale
