// An input of a fuzz target: one trace file, or several with a line between them: those of several
// ranks, a timeline and its execution trace, or a list and the files that it names "1", "2", "3".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forescale {

inline constexpr std::string_view kNextFile = "\n%%%%\n";
inline constexpr std::size_t kFilesMax = 4;

// What is behind the last kNextFile that may be one belongs to the last file.
inline std::vector<std::string> files_of(std::string_view input) {
  std::vector<std::string> files;
  while (files.size() + 1 < kFilesMax) {
    const std::size_t end = input.find(kNextFile);
    if (end == std::string_view::npos) break;
    files.emplace_back(input.substr(0, end));
    input.remove_prefix(end + kNextFile.size());
  }
  files.emplace_back(input);
  return files;
}

// The first word of a target's arguments is the target's, the others are libFuzzer's.
inline void leave_to_libfuzzer(int& count, char**& arguments) {
  arguments[1] = arguments[0];
  ++arguments;
  --count;
}

}  // namespace forescale
