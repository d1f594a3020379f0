#include "base/huge_pages.hpp"

#include <jemalloc/jemalloc.h>
#include <sys/mman.h>

#include <cstddef>

// Not there in programs without jemalloc.
extern "C" __attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*,
                                             std::size_t) noexcept;

namespace forescale {
namespace {

constexpr const char* kHooks = "arena.0.extent_hooks";  // of a program's first thread

extent_hooks_t* the_allocators = nullptr;

void* allocate_huge(extent_hooks_t* /*hooks*/, void* address, std::size_t size,
                    std::size_t alignment, bool* zero, bool* commit, unsigned arena) {
  void* const memory =
      the_allocators->alloc(the_allocators, address, size, alignment, zero, commit, arena);
  if (memory != nullptr) madvise(memory, size, MADV_HUGEPAGE);
  return memory;
}

extent_hooks_t hooks_of_huge_pages;

void use(extent_hooks_t* hooks) {
  mallctl(kHooks, nullptr, nullptr, static_cast<void*>(&hooks), sizeof(hooks));
}

}  // namespace

void use_huge_pages() {
  if (mallctl == nullptr) return;
  if (the_allocators == nullptr) {
    std::size_t size = sizeof(the_allocators);
    if (mallctl(kHooks, static_cast<void*>(&the_allocators), &size, nullptr, 0) != 0) return;
    hooks_of_huge_pages = *the_allocators;
    hooks_of_huge_pages.alloc = allocate_huge;
  }
  use(&hooks_of_huge_pages);
}

void use_small_pages() {
  if (the_allocators != nullptr) use(the_allocators);
}

}  // namespace forescale
