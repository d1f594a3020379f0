#include "calibrate/bench/answer.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "calibrate/bench/patience.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {

void AnswerFile::keep(const nlohmann::json& answer) {
  if (clock_s() - written_s_ >= 0.1) write(answer);
}

void AnswerFile::write(const nlohmann::json& answer) {
  const std::string unfinished = file_ + ".part";
  std::ofstream stream(unfinished, std::ios::binary | std::ios::trunc);
  stream << answer.dump(1) << '\n';
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(unfinished, file_, error);
  if (!stream || error) throw std::runtime_error(file_ + " cannot be written");
  written_s_ = clock_s();
}

void ProgressLines::say(const std::string& line) {
  constexpr double kEvery_s = 2;
  if (said_s_ > 0 && clock_s() - said_s_ < kEvery_s) return;
  said_s_ = clock_s();
  fmt::print(stderr, "{}{}\n", kProgressLine, line);
  std::fflush(stderr);
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  static const std::regex pattern(R"((Open MPI|MPICH)[^0-9]*([0-9][0-9a-z.]*))");
  std::smatch match;
  if (!std::regex_search(version, match, pattern)) return version.substr(0, version.find('\n'));
  return match[1].str() + " " + match[2].str();
}

}  // namespace forescale
