// A trace file, plain or compressed with gzip, read once from front to back in bounded memory.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace forescale {

class TraceInput {
 public:
  // InputError when the file cannot be opened.
  explicit TraceInput(const std::string& file);
  ~TraceInput();
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  // Reading it throws InputError, with the position, where a compressed file is damaged or ends too
  // early.
  std::istream& stream() { return stream_; }
  const std::string& file() const { return file_; }
  // Bytes read so far, decompressed.
  std::int64_t position() const;

 private:
  class Buffer;
  std::string file_;
  std::unique_ptr<Buffer> buffer_;
  std::istream stream_;
};

// The beginning of a file, decompressed; shorter where the file is.
std::string head_of_trace(const std::string& file, std::size_t bytes_max = 65536);

}  // namespace forescale
