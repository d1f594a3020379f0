// What rank 0 writes: the answer so far, whole, by rename, so that a reader never sees half of it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

namespace forescale {

class AnswerFile {
 public:
  explicit AnswerFile(std::string file) : file_(std::move(file)) {}
  // Skipped when the last one was written less than a tenth of a second ago.
  void keep(const nlohmann::json& answer);
  // std::runtime_error when it cannot be written.
  void write(const nlohmann::json& answer);

 private:
  std::string file_;
  double written_s_ = 0;  // on the monotonic clock
};

// Lines on stderr, the first and then at most one in two seconds.
class ProgressLines {
 public:
  void say(const std::string& line);

 private:
  double said_s_ = 0;
};

// "Open MPI 4.1.4", "MPICH 4.0.2".
std::string mpi_library();

}  // namespace forescale
