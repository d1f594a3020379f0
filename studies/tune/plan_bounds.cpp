#include "studies/tune/plan_bounds.hpp"

#include <algorithm>
#include <functional>

#include "algorithms/common_options.hpp"
#include "sim/bounds.hpp"
#include "sim/folded.hpp"

namespace forescale {
namespace {

double moved_s(const ResolvedCall& call) {
  std::map<std::pair<int, int>, double> bytes;
  const std::vector<int>& slots = call.group->slots;
  for (int rank = 0; rank < call.call.rank_count; ++rank) {
    OpStream stream = call.collective->plan(call.call, rank);
    int last_peer = -1;
    double* sum = nullptr;
    while (stream.next()) {
      const Op& op = stream.op();
      if (op.kind != OpKind::kSend) continue;
      if (op.peer != last_peer)
        sum = &bytes[{slots[static_cast<size_t>(rank)], slots[static_cast<size_t>(op.peer)]}];
      last_peer = op.peer;
      *sum += static_cast<double>(op.bytes);
    }
  }
  return message_bound(bytes, *call.lanes).time_s;
}

// The same with all bytes in one chunk; a plan without chunks may be another one.
PlanChoice in_one_chunk(PlanChoice plan, std::int64_t bytes) {
  if (plan.options.number(kChunkBytes) > 0) plan.options.set(kChunkBytes.name, bytes);
  return plan;
}

// FNV-1a, a number at a time.
class Fingerprint {
 public:
  template <class Value>
  void add(Value value) {
    constexpr std::uint64_t kPrime = 0x100000001B3ULL;
    hash_ = (hash_ ^ std::hash<Value>{}(value)) * kPrime;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ULL;
};

}  // namespace

PlanBounds::PlanBounds(const TuneQuestion& question, const QuestionMachine& machine)
    : question_(question),
      lanes_(machine.platform, machine.stack),
      group_(shared_first_slots(machine.platform, question.ranks)) {}

ResolvedCall PlanBounds::resolved(const PlanChoice& plan) const {
  return resolve(lanes_, group_,
                 {.op = question_.op, .bytes = question_.bytes, .root = 0, .plan = &plan});
}

double PlanBounds::of_bytes(const PlanChoice& plan) {
  const ResolvedCall call = resolved(plan);
  const auto [least, is_new] =
      least_s_.try_emplace({call.place, plan.options.number(kChunkBytes)}, 0.0);
  if (is_new) least->second = collective_bound(call).time_s;
  if (call.through_host || call.orders_of != nullptr) return least->second;
  const PlanChoice whole = in_one_chunk(plan, question_.bytes);
  const auto [moved, is_first] = moved_s_.try_emplace(plan_text(whole), 0.0);
  if (is_first) moved->second = moved_s(resolved(whole));
  return std::max(least->second, moved->second);
}

double PlanBounds::of_messages(const PlanChoice& plan, double limit_s) const {
  const ResolvedCall call = resolved(plan);
  return call.why_not_priced().empty() ? price_call(call, limit_s).time_s : 0;
}

std::uint64_t PlanBounds::fingerprint(const PlanChoice& plan) const {
  const ResolvedCall call = resolved(plan);
  Fingerprint all;
  all.add(static_cast<int>(call.place));
  all.add(call.protocol);
  all.add(call.call_s);
  all.add(call.through_host);
  all.add(call.default_stream);
  all.add(call.orders_of);
  for (int rank = 0; rank < call.call.rank_count; ++rank) {
    OpStream stream = call.collective->plan(call.call, rank);
    while (stream.next()) {
      const Op& op = stream.op();
      all.add(static_cast<int>(op.kind));
      all.add(op.peer);
      all.add(op.offset);
      all.add(op.bytes);
      all.add(op.copy_from);
      all.add(op.after);
      all.add(op.write_after);
      all.add(op.queue);
      all.add(op.awaits);
      all.add(op.joins_next);
    }
    all.add(rank);
  }
  return all.value();
}

}  // namespace forescale
