// "name:key=value,key=value": how generators and parameterised stacks are written on the command
// line. Errors name the option, the name and the key: "--platform star:hosts".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace forescale {

class OptionsText {
 public:
  // `option` is the command-line option that the text was given to. What has no "=" goes on with
  // the value before it, comma and all, where that is of one of the keys `lists`.
  static OptionsText parse(const std::string& text, const std::string& option,
                           const std::set<std::string>& lists = {});

  const std::string& name() const { return name_; }
  bool empty() const { return values_.empty(); }
  const std::map<std::string, std::string>& values() const { return values_; }
  std::optional<std::string> find(const std::string& key) const;
  std::string at(const std::string& key) const;  // InputError when missing
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t min,
                       std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  bool boolean(const std::string& key, bool fallback) const;
  void allow_only(std::initializer_list<const char*> keys) const;
  void allow_only(const std::vector<std::string>& keys) const;
  // "--platform star:hosts", the source of an InputError about that key.
  std::string where(const std::string& key) const;

 private:
  std::string option_;
  std::string name_;
  std::map<std::string, std::string> values_;
};

}  // namespace forescale
