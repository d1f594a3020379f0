// SHA-256 (FIPS 180-4), as a page's Content-Security-Policy and a person comparing files want it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace forescale {

std::array<std::uint8_t, 32> sha256(std::string_view bytes);

std::string sha256_hex(std::string_view bytes);     // 64 digits, as sha256sum prints them
std::string sha256_base64(std::string_view bytes);  // 44 characters, as 'sha256-...' of a policy

}  // namespace forescale
