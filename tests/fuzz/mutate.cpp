// Changes of whole lines, words and messages. Bytes that change at random make traces that are
// refused at their first line; these ones reach what comes after.
//
// A unit is a line of a text, or a message behind its length of a binary file (Chakra's).
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>

#include "tests/fuzz/fuzz_input.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace forescale {
namespace {

using Units = std::vector<std::string>;

constexpr std::size_t kUnitBytes_more = 64;  // by which a unit may grow at once
constexpr std::array kNumbers = {"0",
                                 "1",
                                 "-1",
                                 "2",
                                 "3",
                                 "65536",
                                 "1048576",
                                 "2147483647",
                                 "4294967296",
                                 "1125899906842624",
                                 "9223372036854775807",
                                 "18446744073709551615",
                                 "-9223372036854775808",
                                 "0.5",
                                 "1e-300",
                                 "9e15",
                                 "1e308",
                                 "nan"};

bool is_binary(std::string_view file) {
  return std::any_of(file.begin(), file.end(), [](unsigned char c) {
    return c < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
}

Units lines_of(std::string_view file) {
  Units lines;
  while (!file.empty()) {
    const std::size_t length = std::min(file.find('\n'), file.size() - 1) + 1;
    lines.emplace_back(file.substr(0, length));
    file.remove_prefix(length);
  }
  return lines;
}

// Nothing where the lengths do not end where the file does: it is of another kind.
Units messages_of(std::string_view file) {
  Units messages;
  while (!file.empty()) {
    std::size_t length = 0;
    for (int shift = 0; shift < 28 && !file.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(file.front());
      file.remove_prefix(1);
      length |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
    if (length > file.size()) return {};
    messages.emplace_back(file.substr(0, length));
    file.remove_prefix(length);
  }
  return messages;
}

std::string joined(const Units& units, bool are_messages) {
  std::string file;
  for (const std::string& unit : units) {
    std::size_t length = unit.size();
    for (; are_messages && length >= 0x80; length >>= 7)
      file += static_cast<char>((length & 0x7f) | 0x80);
    if (are_messages) file += static_cast<char>(length);
    file += unit;
  }
  return file;
}

class Mutation {
 public:
  Mutation(std::string_view input, unsigned seed) : random_(seed), files_(files_of(input)) {}

  std::string run() {
    if (below(16) == 0) {
      change_files();
    } else {
      std::string& file = files_[below(files_.size())];
      Units units = is_binary(file) ? messages_of(file) : Units();
      const bool are_messages = !units.empty();
      if (!are_messages) units = lines_of(file);
      for (std::size_t changes = 1 + below(3); changes > 0 && !units.empty(); --changes)
        change(units, are_messages);
      file = joined(units, are_messages);
    }
    std::string input = files_.front();
    for (std::size_t i = 1; i < files_.size(); ++i) input.append(kNextFile).append(files_[i]);
    return input;
  }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  void change_files() {
    const std::string file = files_[below(files_.size())];
    if (files_.size() > 1 && below(2) == 0)
      files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(below(files_.size())));
    else if (files_.size() < kFilesMax)
      files_.push_back(file);
    std::swap(files_.front(), files_[below(files_.size())]);
  }

  void change(Units& units, bool are_messages) {
    const std::size_t at = below(units.size());
    const std::size_t other = below(units.size());
    switch (below(are_messages ? 6 : 8)) {
      case 0:
        units.erase(units.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      case 1: {
        const std::string copy = units[at];
        units.insert(units.begin() + static_cast<std::ptrdiff_t>(other), copy);
        break;
      }
      case 2:
        std::swap(units[at], units[other]);
        break;
      case 3:
      case 4:
        change_bytes(units[at]);
        break;
      default:
        if (are_messages)
          change_bytes(units[at]);
        else
          change_word(units[at], units[other]);
    }
  }

  static void change_bytes(std::string& unit) {
    const std::size_t size = unit.size();
    unit.resize(size + kUnitBytes_more);
    unit.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(unit.data()), size, unit.size()));
  }

  struct Word {
    std::size_t begin;
    std::size_t length;
  };

  static std::vector<Word> words_of(const std::string& unit) {
    std::vector<Word> words;
    bool is_within = false;
    for (std::size_t i = 0; i < unit.size(); ++i) {
      const bool is_of_word = std::isalnum(static_cast<unsigned char>(unit[i])) != 0 ||
                              (unit[i] != '\0' && std::strchr("_.+-", unit[i]) != nullptr);
      if (is_of_word && !is_within) words.push_back({i, 0});
      if (is_of_word) ++words.back().length;
      is_within = is_of_word;
    }
    return words;
  }

  // A word becomes one of another unit, or a number at a limit of what numbers are.
  void change_word(std::string& unit, const std::string& other) {
    const std::vector<Word> words = words_of(unit);
    const std::vector<Word> others = words_of(other);
    if (words.empty() || others.empty()) return;
    const Word from = others[below(others.size())];
    const std::string word = below(2) == 0 ? std::string(kNumbers[below(kNumbers.size())])
                                           : other.substr(from.begin, from.length);
    const Word to = words[below(words.size())];
    unit.replace(to.begin, to.length, word);
  }

  std::minstd_rand random_;
  std::vector<std::string> files_;
};

}  // namespace
}  // namespace forescale

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  if (seed % 4 == 0 || size == 0) return LLVMFuzzerMutate(data, size, size_max);
  const std::string input =
      forescale::Mutation({reinterpret_cast<const char*>(data), size}, seed).run();
  if (input.empty() || input.size() > size_max) return LLVMFuzzerMutate(data, size, size_max);
  std::memcpy(data, input.data(), input.size());
  return input.size();
}
