// Options of training schedules: declared by the schedule, given as text
// ("--schedule horovod:fusion_threshold=64MiB", --option, a system's file), read as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/option.hpp"

namespace forescale {

// first, 2 first, ... up to last.
std::vector<double> doublings(double first, double last);

// Values by name; every option of the schedule is there.
class ScheduleOptions {
 public:
  ScheduleOptions() = default;
  // All options of a schedule, in SI units; nothing is checked.
  explicit ScheduleOptions(std::map<std::string, double> values) : values_(std::move(values)) {}

  // Fills in the defaults, then `given`. InputError naming `where` and the option: unknown names,
  // wrong units, values out of range.
  static ScheduleOptions parse(const std::vector<Option>& options,
                               const std::map<std::string, std::string>& given,
                               const std::string& where);

  double number(const std::string& name) const;
  std::int64_t integer(const std::string& name) const {
    return static_cast<std::int64_t>(number(name));
  }
  bool flag(const std::string& name) const { return number(name) != 0; }
  // Index of the choice in its declaration.
  int choice(const std::string& name) const { return static_cast<int>(number(name)); }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  std::map<std::string, double> values_;
};

}  // namespace forescale
