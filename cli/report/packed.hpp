// Numbers and bytes as a page carries them, small: what page/unpack.js takes apart again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace forescale {

// Appends a number, 7 bits a byte, the lowest first; a set top bit says that another byte follows.
// The sign is the lowest bit (zigzag): 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
void append_varint(std::string& bytes, std::int64_t number);

// Deflated (zlib's format, RFC 1950), in base64 (RFC 4648).
std::string packed_text(const std::string& bytes);

}  // namespace forescale
