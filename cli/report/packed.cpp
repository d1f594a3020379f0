#include "cli/report/packed.hpp"

#include <zlib.h>

#include "base/error.hpp"

namespace forescale {
namespace {

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t triple = 0;
    for (size_t i = at; i < at + 3; ++i)
      triple = (triple << 8) | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U);
    for (size_t digit = 0; digit < 4; ++digit)
      text += at + digit <= bytes.size() ? kDigits[triple >> (18 - 6 * digit) & 63] : '=';
  }
  return text;
}

}  // namespace

void append_varint(std::string& bytes, std::int64_t number) {
  auto left = (static_cast<std::uint64_t>(number) << 1) ^ static_cast<std::uint64_t>(number >> 63);
  for (; left > 127; left >>= 7) bytes += static_cast<char>((left & 127) | 128);
  bytes += static_cast<char>(left);
}

std::string packed_text(const std::string& bytes) {
  uLongf length = compressBound(bytes.size());
  std::string packed(length, '\0');
  const int outcome =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &length,
                reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_BEST_COMPRESSION);
  FORESCALE_CHECK(outcome == Z_OK, "zlib cannot deflate");
  packed.resize(length);
  return base64(packed);
}

}  // namespace forescale
