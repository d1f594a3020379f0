#include "algorithms/pieces/near_halving_pieces.hpp"

namespace forescale {

Share near_share(const FoldedGroup& group, int core) {
  Share share = {.first = 0, .length = group.core_count};
  for (int distance = 1; distance < group.core_count; distance *= 2)
    share = share.half((core & distance) != 0);
  return share;
}

OpStream near_reduce_scatter(FoldedGroup group, int core, Blocks blocks) {
  Share share = {.first = 0, .length = group.core_count};
  int after = 0;
  for (int distance = 1; distance < group.core_count; distance *= 2) {
    const int partner = group.rank_of(core ^ distance);
    const bool upper = (core & distance) != 0;
    const ByteRange outgoing = share.half(!upper).range(blocks);
    share = share.half(upper);
    if (outgoing.bytes > 0) co_yield send(partner, outgoing, after);
    if (share.range(blocks).bytes == 0) continue;
    co_yield recv_reduce(partner, share.range(blocks));
    after = 1;
  }
}

}  // namespace forescale
