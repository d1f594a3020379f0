// Memory in pages of 2 MiB, where the allocator is jemalloc and Linux gives them when asked
// (transparent_hugepage: madvise). What a question reads is tens of megabytes, and in pages of
// 4 KiB each of them is a fault, in the program and again in every process that it starts.
#pragma once

namespace forescale {

// Of what the allocator asks the system for from now on.
void use_huge_pages();
// No longer: stacks of threads would be there whole, of which a tenth is used.
void use_small_pages();

}  // namespace forescale
