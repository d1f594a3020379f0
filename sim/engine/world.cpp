#include "sim/engine/world.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "sim/engine/simgrid/simgrid_module.hpp"

namespace forescale {
namespace {

const SimGridModule& simgrid() {
  static const SimGridModule& module = [&]() -> const SimGridModule& {
    const std::string path = library_path(kSimGridLibrary);
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) refuse(path, "", dlerror());
    const void* const symbol = dlsym(library, kSimGridSymbol);
    FORESCALE_CHECK(symbol != nullptr, path + " is of this program");
    return *static_cast<const SimGridModule*>(symbol);
  }();
  return module;
}

}  // namespace

Gate::Gate() = default;
Gate::~Gate() = default;

// Of an actor, which stands still for a moment each time that it lets another one go: that one may
// let go of this gate then.
void Gate::open() {
  if (open_) return;
  open_ = true;
  const std::shared_ptr<Semaphore> semaphore = semaphore_;
  const std::vector<std::weak_ptr<Gate>> followers = std::exchange(followers_, {});
  for (int waiting = std::exchange(waiting_, 0); waiting > 0; --waiting) semaphore->release();
  for (const std::weak_ptr<Gate>& follower : followers)
    if (const auto other = follower.lock()) other->open();
}

void Gate::also_open(const std::shared_ptr<Gate>& other) {
  std::erase_if(followers_, [](const std::weak_ptr<Gate>& follower) { return follower.expired(); });
  followers_.push_back(other);
}

void Gate::wait() {
  if (open_) return;
  if (!semaphore_) semaphore_ = simgrid().make_semaphore();
  ++waiting_;
  const std::shared_ptr<Semaphore> semaphore = semaphore_;
  semaphore->acquire();
}

std::unique_ptr<World> make_world(SharingSolver solver, int threads) {
  return simgrid().make_world(solver, threads);
}

void load_simgrid() { simgrid(); }

}  // namespace forescale
