// What the library around SimGrid gives the program, which finds it by its name in the library.
#pragma once

#include <memory>

#include "sim/engine/world.hpp"

namespace forescale {

inline constexpr const char* kSimGridLibrary = "forescale-simgrid.so";
inline constexpr const char* kSimGridSymbol = "forescale_simgrid";

struct SimGridModule {
  std::unique_ptr<World> (*make_world)(SharingSolver solver, int threads);
  std::unique_ptr<Semaphore> (*make_semaphore)();
};

}  // namespace forescale
