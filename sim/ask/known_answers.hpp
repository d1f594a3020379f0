// What processes of one sweep have simulated, by question: one is not simulated for two points.
//
// The process that gathers answers forks one for each point. A point's process finds what was
// gathered before it began, and hands back what it has simulated itself.
#pragma once

#include <map>
#include <string>

namespace forescale {

class KnownAnswers {
 public:
  static KnownAnswers& of_this_process();

  // Until then nothing is kept: most processes share with none.
  void begin_sharing() { shares_ = true; }
  bool shares() const { return shares_; }

  // Null: not known.
  const std::string* find(const std::string& question) const;
  // A final one. Up to 64 MiB of all are kept.
  void add(const std::string& question, const std::string& answer);

  // What was added here, for the process that gathers.
  std::string told() const;
  // By one that has ended; nothing that is not whole is taken.
  void gather(const std::string& told);

 private:
  bool keep(const std::string& question, const std::string& answer);

  bool shares_ = false;
  std::size_t bytes_ = 0;
  std::map<std::string, std::string> known_;
  std::map<std::string, std::string> added_;
};

}  // namespace forescale
