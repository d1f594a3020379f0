#include "cli/report/sha256.hpp"

#include <fmt/format.h>

#include <bit>

namespace forescale {
namespace {

using State = std::array<std::uint32_t, 8>;

// FIPS 180-4, section 4.2.2: fractions of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Section 6.2.2: one block of 64 bytes.
void mix(State& state, std::string_view block) {
  std::array<std::uint32_t, 64> words{};
  for (size_t t = 0; t < 64; ++t)
    words[t / 4] = words[t / 4] << 8 | static_cast<std::uint8_t>(block[t]);
  for (size_t t = 16; t < 64; ++t) {
    const std::uint32_t early = words[t - 15];
    const std::uint32_t late = words[t - 2];
    words[t] = words[t - 16] + words[t - 7] +
               (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) +
               (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                ((e & f) ^ (~e & g)) + kRound[t] + words[t];
    const std::uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + first;
    d = c;
    c = b;
    b = a;
    a = first + second;
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

}  // namespace

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  constexpr size_t kBlock = 64;
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t done = 0;
  for (; done + kBlock <= bytes.size(); done += kBlock) mix(state, bytes.substr(done, kBlock));
  // A one bit, zeros, and the length in bits end the last block.
  std::string tail(bytes.substr(done));
  tail += '\x80';
  while (tail.size() % kBlock != kBlock - 8) tail += '\0';
  const std::uint64_t bit_count = static_cast<std::uint64_t>(bytes.size()) * 8;
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bit_count >> shift & 0xff);
  for (size_t at = 0; at < tail.size(); at += kBlock)
    mix(state, std::string_view(tail).substr(at, kBlock));
  std::array<std::uint8_t, 32> digest{};
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

std::string sha256_hex(std::string_view bytes) {
  std::string text;
  for (const std::uint8_t byte : sha256(bytes)) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto digest = sha256(bytes);
  std::string text;
  // 32 bytes are ten triples and a pair: 43 digits and one sign of padding.
  for (size_t digit = 0; digit < 43; ++digit) {
    const size_t bit = digit * 6;
    const std::uint32_t low = bit / 8 + 1 < digest.size() ? digest[bit / 8 + 1] : 0;
    const std::uint32_t pair = static_cast<std::uint32_t>(digest[bit / 8]) << 8 | low;
    text += kDigits[pair >> (10 - bit % 8) & 63];
  }
  return text + "=";
}

}  // namespace forescale
