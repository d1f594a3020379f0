#include "calibrate/measure/mpi_failure.hpp"

#include <fmt/format.h>

#include <regex>

namespace forescale {

std::string mpi_failure(const std::string& err_tail, int exit_code) {
  // Behind what another rank has begun to write, too.
  static const std::regex own("(?:^|\\s)" + std::string(kFailureLine) + "([^\n]*)");
  static const std::regex open_mpi(
      R"(process rank (\d+) with PID \d+ on node \S+\s+exited on\s+signal (\d+ \([^)]*\)))");
  static const std::regex mpich(R"(PID (\d+) RUNNING AT ([^\n]*)\n=\s+EXIT CODE: (\d+))");
  std::smatch match;
  if (std::regex_search(err_tail, match, own)) return match[1].str();
  if (std::regex_search(err_tail, match, open_mpi))
    return fmt::format("rank {} was ended by signal {}", match[1].str(), match[2].str());
  if (std::regex_search(err_tail, match, mpich))
    return fmt::format("process {} on {} ended with status {}", match[1].str(), match[2].str(),
                       match[3].str());
  const std::string last = err_tail.substr(err_tail.rfind('\n') + 1);
  return fmt::format("the launcher ended with exit code {}{}{}", exit_code,
                     last.empty() ? "" : ": ", last);
}

}  // namespace forescale
