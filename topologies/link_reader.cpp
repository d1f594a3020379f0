#include "topologies/link_reader.hpp"

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"

namespace forescale {

JsonInput required(const JsonInput& in, const std::string& key) {
  if (in.is_object() && !in.has(key))
    for (const std::string& other : in.keys())
      if (nearest(other, {key}) == key) in.at(other).fail("key is " + unknown_name(other, {key}));
  return in.at(key);
}

int LinkReader::add(LinkClass link_class) {
  platform_.link_classes.push_back(std::move(link_class));
  return static_cast<int>(platform_.link_classes.size()) - 1;
}

void LinkReader::define(const JsonInput& own_classes) {
  for (const std::string& name : own_classes.keys())
    by_name_[name] = add(read_link(own_classes.at(name), name));
}

int LinkReader::read(const JsonInput& reference) {
  if (reference.is_object()) return add(read_link(reference, reference.path()));
  if (!reference.is_string()) reference.fail("must name a link class or be one");
  return read_name(reference.string(), reference);
}

int LinkReader::read_name(const std::string& name, const JsonInput& where) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  std::vector<std::string> names = catalogue("models/hardware/links");
  const bool in_catalogue = std::find(names.begin(), names.end(), name) != names.end();
  if (!in_catalogue && !name.ends_with(".json")) {
    for (const auto& [own, index] : by_name_) names.push_back(own);
    where.fail("is " + unknown_name(name, names));
  }
  const std::string option = where.file() + ":" + where.path();
  return by_name_[name] = add(load_link(name, option, where.provenance()));
}

}  // namespace forescale
