// Platforms that nobody has thought of: generators with random keys, files of random nodes on
// random fabrics, and presets. The same random numbers make the same platform.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace forescale::testing {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : bits_(seed) {}

  std::int64_t whole(std::int64_t min, std::int64_t max);  // both included
  double ratio();                                          // [0, 1)
  double logarithmic(double min, double max);              // every decade as likely
  bool in_ten(int times) { return whole(1, 10) <= times; }
  template <class Value>
  const Value& of(const std::vector<Value>& values) {
    return values[static_cast<size_t>(whole(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

 private:
  std::mt19937_64 bits_;
};

// "star:hosts=12,...", "fat-tree:down=4x8,..." and others, without GPUs.
std::string random_generator(Dice& dice);

// A platform file as text: 1 to 8 nodes, a tree of sockets, switches and cards with up to 16 GPUs
// and an adapter or more, on a star, fat tree, torus or dragonfly; links of random bandwidths,
// latencies and duplex.
std::string random_platform_file(Dice& dice);

}  // namespace forescale::testing
