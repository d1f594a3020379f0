// Exchanges between ranks that differ in one bit: recursive halving, doubling of blocks, doubling
// of the whole vector; for any rank count by folding the surplus into its neighbours first. Thakur,
// Rabenseifner & Gropp 2005, sections 4.4 and 4.5.
//
// P = 2^K + e ranks: the first 2e pair up; the odd one hands its vector to the even one, which
// takes part for both. The 2^K that take part are the core.
#pragma once

#include "algorithms/collective.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {

struct FoldedGroup {
  Group all;
  int surplus = 0;     // e
  int core_count = 1;  // 2^K

  int rank_of(int core) const { return all.rank_of(core < surplus ? 2 * core : core + surplus); }
  bool is_folded(int member) const { return member < 2 * surplus; }
  bool in_core(int member) const { return !is_folded(member) || member % 2 == 0; }
  int core_of(int member) const { return is_folded(member) ? member / 2 : member - surplus; }
};
FoldedGroup folded(Group all);
// One block a core member, of the whole vector.
Blocks core_blocks(const CollectiveCall& call, const FoldedGroup& group);

// `core_plan` of the core member that `member` is (empty if it is none), after its partner's vector
// has been added to its own.
OpStream after_fold_in(FoldedGroup group, int member, ByteRange whole, OpStream core_plan);
// `plan`, then the core hands the whole vector back to those folded in.
OpStream before_fold_out(FoldedGroup group, int member, ByteRange whole, OpStream plan);

// Core member c ends with the sum of block c; one block a core member.
OpStream halving_reduce_scatter(FoldedGroup group, int core, Blocks blocks);
// Core member c has block c and ends with all.
OpStream doubling_allgather(FoldedGroup group, int core, Blocks blocks);
// Every core member ends with the sum of the whole vector; one full message a round.
OpStream doubling_all_reduce(FoldedGroup group, int core, ByteRange whole);

// Seconds for blocks of equal size, b bytes in all:
//   halving  sum over k = 1..K of x(b/2^k) + r(b/2^k);  doubling  sum of x(b/2^k);  fold-in x(b) +
//   r(b)
double halving_reduce_scatter_s(Blocks blocks, const StepCost& cost);
double doubling_allgather_s(Blocks blocks, const StepCost& cost);

}  // namespace forescale
