// Errors of the world and of the program.
//
// InputError: the world is wrong (a file, an option, a value). It names where, what and which
// constraint; main() prints it and exits 2. Thrown only before a simulation engine exists.
// FORESCALE_CHECK: the program is wrong. Always on; prints the condition and aborts.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace forescale {

struct InputErrorParts {
  std::string source;      // file name, or the option: "dgx.json", "--batch"
  std::string path;        // JSON pointer inside the file, may be empty: "/links/3/latency_s"
  std::string value;       // the offending value as the user wrote it, may be empty
  std::string constraint;  // what it must be: "must be >= 0"
};

class InputError : public std::runtime_error {
 public:
  explicit InputError(InputErrorParts parts);
  const InputErrorParts& parts() const { return parts_; }

 private:
  InputErrorParts parts_;
};

// Throws the InputError of a value, or of a whole file where `value` is empty.
[[noreturn]] void refuse(const std::string& source, const std::string& value,
                         const std::string& constraint);

// A check of a result failed (an answer under its physical bound): main() exits 4.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The simulation could not finish (deadlock, mismatch, link failure): main() exits 3.
class SimulationStuck : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The candidate closest to `word` by edit distance, empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// "unknown; did you mean \"latency_s\"? (one of: a, b)".
std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates);

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const std::string& message);

}  // namespace forescale

#define FORESCALE_CHECK(condition, message)                                 \
  do {                                                                      \
    if (!(condition)) [[unlikely]]                                          \
      ::forescale::check_failed(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
