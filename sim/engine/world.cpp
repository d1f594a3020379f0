#include "sim/engine/world.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/huge_pages.hpp"
#include "sim/engine/simgrid/simgrid_module.hpp"

namespace forescale {
namespace {

const SimGridModule& simgrid() {
  static const SimGridModule& module = [&]() -> const SimGridModule& {
    const std::string path = library_path(kSimGridLibrary);
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
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

void Gate::open() {
  if (open_) return;
  open_ = true;
  if (semaphore_) semaphore_->release();
  for (const std::weak_ptr<Gate>& follower : followers_)
    if (const auto other = follower.lock()) other->open();
  followers_.clear();
}

void Gate::also_open(const std::shared_ptr<Gate>& other) {
  std::erase_if(followers_, [](const std::weak_ptr<Gate>& follower) { return follower.expired(); });
  followers_.push_back(other);
}

void Gate::wait() {
  if (open_) return;
  if (!semaphore_) semaphore_ = simgrid().make_semaphore();
  semaphore_->acquire();
  semaphore_->release();  // for the next one waiting
}

std::unique_ptr<World> make_world(SharingSolver solver, int threads) {
  use_small_pages();
  return simgrid().make_world(solver, threads);
}

void load_simgrid() { simgrid(); }

}  // namespace forescale
