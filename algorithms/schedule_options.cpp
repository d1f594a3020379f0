#include "algorithms/schedule_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace forescale {
ScheduleOptions ScheduleOptions::parse(const std::vector<Option>& options,
                                       const std::map<std::string, std::string>& given,
                                       const std::string& where) {
  ScheduleOptions parsed;
  for (const Option& option : options) parsed.values_[option.name] = option.fallback;
  for (const auto& [name, text] : given) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const Option& o) { return o.name == name; });
    if (option == options.end()) {
      std::string names;
      for (const Option& o : options) {
        if (!names.empty()) names += ", ";
        names += o.name;
      }
      refuse(where, name,
             names.empty() ? "is no option: this schedule has none"
                           : "is no option of this schedule (its options: " + names + ")");
    }
    const std::string source = fmt::format("{}:{}", where, name);
    parsed.values_[name] = parse_option(*option, text, source);
  }
  return parsed;
}

double ScheduleOptions::number(const std::string& name) const {
  const auto value = values_.find(name);
  FORESCALE_CHECK(value != values_.end(),
                  "a schedule reads an option that it did not declare: " + name);
  return value->second;
}

std::vector<double> doublings(double first, double last) {
  std::vector<double> values;
  for (double value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

}  // namespace forescale
