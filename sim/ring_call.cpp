#include "sim/ring_call.hpp"

#include <cmath>

namespace forescale {

bool is_ring(const Collective& collective) {
  return collective.algorithm == "ring" &&
         (collective.op == CollectiveOp::kAllReduce || collective.op == CollectiveOp::kAllGather ||
          collective.op == CollectiveOp::kReduceScatter);
}

int ring_passes(CollectiveOp op) { return op == CollectiveOp::kAllReduce ? 2 : 1; }

double ring_steps(CollectiveOp op, double ranks) { return ring_passes(op) * (ranks - 1); }

double ring_messages(const ResolvedCall& resolved) {
  const auto ranks = static_cast<double>(resolved.group->slots.size());
  return ranks * ring_steps(resolved.collective->op, ranks) *
         static_cast<double>(resolved.parts().size()) *
         static_cast<double>(1 + resolved.at_once.size());
}

std::int64_t bytes_of_even_blocks(const ResolvedCall& resolved, std::int64_t ranks) {
  const auto parts = static_cast<double>(resolved.parts().size());
  const auto all = static_cast<double>(resolved.group->slots.size());
  const auto element = static_cast<double>(resolved.call.element_bytes);
  const double block =
      std::ceil(static_cast<double>(resolved.call.bytes) / parts / all / element) * element;
  return static_cast<std::int64_t>(block * parts * static_cast<double>(ranks));
}

double blocks_rounded(const ResolvedCall& resolved) {
  const auto ranks = static_cast<std::int64_t>(resolved.group->slots.size());
  return static_cast<double>(bytes_of_even_blocks(resolved, ranks)) /
             static_cast<double>(resolved.call.bytes) -
         1;
}

}  // namespace forescale
