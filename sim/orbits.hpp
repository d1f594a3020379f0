// Links and ranks that are turned into each other, as sets that are joined (union-find).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/lanes.hpp"

namespace forescale {

struct ResourceHash {
  std::size_t operator()(const Resource& resource) const {
    std::uint64_t hash = static_cast<std::uint64_t>(resource.kind);
    for (const std::int32_t each :
         {resource.index, resource.rule, resource.channel, resource.other})
      hash = (hash ^ static_cast<std::uint32_t>(each)) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 32);
  }
};

// Each has a number, in the order of being asked for.
class Orbits {
 public:
  int number_of(const Resource& resource) {
    const auto [entry, is_new] = numbers_.try_emplace(resource, static_cast<int>(first_.size()));
    if (is_new) {
      first_.push_back(entry->second);
      size_.push_back(1);
      resources_.push_back(&entry->first);
    }
    return entry->second;
  }
  int first_of(int number) {
    while (first_[static_cast<size_t>(number)] != number)
      number = first_[static_cast<size_t>(number)] =
          first_[static_cast<size_t>(first_[static_cast<size_t>(number)])];
    return number;
  }
  bool are_one(int one, int other) { return first_of(one) == first_of(other); }
  void join(int one, int other) {
    int low = first_of(one);
    int high = first_of(other);
    if (low == high) return;
    if (low > high) std::swap(low, high);
    first_[static_cast<size_t>(high)] = low;
    size_[static_cast<size_t>(low)] += size_[static_cast<size_t>(high)];
  }
  int size_of(int number) { return size_[static_cast<size_t>(first_of(number))]; }
  const Resource& resource(int number) const { return *resources_[static_cast<size_t>(number)]; }

 private:
  std::unordered_map<Resource, int, ResourceHash> numbers_;
  std::vector<int> first_;
  std::vector<int> size_;
  std::vector<const Resource*> resources_;
};

}  // namespace forescale
