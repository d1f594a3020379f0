// Where a platform file names a class of links: its own "link_classes", the catalogue, or inline.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topologies/platform.hpp"

namespace forescale {

class LinkReader {
 public:
  // Classes are added to `platform`, which must outlive the reader.
  explicit LinkReader(Platform& platform) : platform_(platform) {}

  // The file's own classes: an object of name -> class.
  void define(const JsonInput& own_classes);
  // A name or an inline class -> its index in Platform::link_classes. InputError naming the
  // nearest name when there is none.
  int read(const JsonInput& reference);
  // The same for a name that has no JSON value of its own (a default); `where` is blamed.
  int read_name(const std::string& name, const JsonInput& where);
  int add(LinkClass link_class);

 private:
  Platform& platform_;
  std::map<std::string, int> by_name_;
};

// A key that is read before it is known which other keys are allowed. InputError when it is
// missing, naming the key that looks like a misspelling of it if there is one.
JsonInput required(const JsonInput& in, const std::string& key);

}  // namespace forescale
