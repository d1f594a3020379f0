// Memory in pages of 2 MiB, where the allocator is jemalloc and Linux gives them when asked
// (transparent_hugepage: madvise): a simulation touches tens of megabytes for the first time, and
// each page of 4 KiB of that is a fault.
#pragma once

namespace forescale {

// Of what the allocator asks the system for from now on; for small programs it is a waste of 5 MB.
void use_huge_pages();
// No longer: what is large and hardly touched, as thousands of stacks, would be there whole.
void use_small_pages();

}  // namespace forescale
