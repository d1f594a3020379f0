// Files that an option names: whole or not at all.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace forescale {

// What was there stays until the new content is complete; a link stays a link; what is no plain
// file (/dev/stdout, a pipe) is written to. Where the name ends with .gz it is compressed.
// InputError naming `option`, `file` and the reason.
void write_file(const std::string& file, const std::string& content, const std::string& option);
// The same for what is too long to hold: `write` is called once.
void write_file(const std::string& file, const std::function<void(std::ostream&)>& write,
                const std::string& option);
void write_json(const std::string& file, const nlohmann::json& content, const std::string& option);

// Before long work: the same error when the file could not be made. No option given: no error.
void check_writable(const std::string& file, const std::string& option);

}  // namespace forescale
