// Tables that plug-ins fill before main().
//
// A plug-in is one .cpp file without a header; at namespace scope it says
//   const bool kRegistered = Registry<Collective>::add({...});
// T has a member `name`. Entries are listed in the order of their names.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace forescale {

template <class T>
class Registry {
 public:
  static bool add(T entry) {
    std::string name = entry.name;
    const bool fresh = table().emplace(name, std::move(entry)).second;
    FORESCALE_CHECK(fresh, "registered twice: " + name);
    return true;
  }

  // The entry of that name; InputError naming `source` and the nearest name if there is none.
  static const T& find(const std::string& name, const std::string& source) {
    const auto entry = table().find(name);
    if (entry != table().end()) return entry->second;
    throw InputError(
        {.source = source, .path = "", .value = name, .constraint = unknown_name(name, names())});
  }

  static const std::map<std::string, T>& all() { return table(); }

  static std::vector<std::string> names() {
    std::vector<std::string> list;
    for (const auto& [name, entry] : table()) list.push_back(name);
    return list;
  }

 private:
  static std::map<std::string, T>& table() {
    static std::map<std::string, T> entries;
    return entries;
  }
};

}  // namespace forescale
