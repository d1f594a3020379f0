// What the tests of importers share: fixtures, and how a log is refused.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "calibrate/import/import_log.hpp"
#include "tests/base/refusal.hpp"

namespace forescale::testing {

inline std::string fixture(const std::string& name) {
  return std::string(FORESCALE_SOURCE_DIR) + "/tests/calibrate/data/" + name;
}

inline std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// `text` with the first `from` replaced; it has to be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) return "\"" + from + "\" is not in the text";
  return text.replace(at, from.size(), to);
}

// What an importer says of a log, "accepted" if nothing.
inline std::string log_refusal(const std::string& text, const std::string& format,
                               const LogImportOptions& options = {}) {
  return refusal([&] { import_log_text(text, "log.txt", format, options); });
}

}  // namespace forescale::testing
