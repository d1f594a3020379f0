// Writing a measurement: whole or not at all.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "calibrate/measure/measurement.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void refuse_output(const std::string& file, const std::string& why) {
  throw InputError(
      {.source = file, .path = "", .value = "", .constraint = "cannot be written: " + why});
}

}  // namespace

void write_measurement(const Measurement& measurement, const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    refuse_output(file, "it is there and is no plain file");
  // A link stays a link: what it points to is replaced.
  const fs::path target =
      fs::is_symlink(file, error) ? fs::weakly_canonical(file, error) : fs::path(file);
  const fs::path draft = fmt::format("{}.{}.part", target.string(), getpid());
  errno = 0;
  std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
  // Text of foreign logs need not be UTF-8.
  stream << to_json(measurement).dump(1, ' ', false, json::error_handler_t::replace) << "\n";
  stream.close();
  error.clear();
  if (stream) fs::rename(draft, target, error);
  if (!stream || error) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    fs::remove(draft, error);
    refuse_output(file, reason);
  }
}

}  // namespace forescale
