#include "sim/repeated_chunks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "algorithms/common_options.hpp"
#include "algorithms/operation.hpp"
#include "base/json_text.hpp"
#include "sim/engine/world.hpp"
#include "sim/isolate.hpp"
#include "sim/simulated_call.hpp"

namespace forescale {
namespace {

// Chunks of every part that are simulated first, at least; a multiple of what patterns of several
// chunks are likely to be long, and so are the numbers between.
constexpr std::int64_t kFewChunks = 16;
// Trees cut a part into halves: less of it is less by whole chunks of both.
constexpr std::int64_t kHalves = 2;
// A first try begins with one in so many of all chunks at most, those that follow with half of
// that: the three calls of a try are 4.5 times as many.
constexpr std::int64_t kPays = 9;
// What takes a moment is simulated whole.
constexpr double kManyMessages = 200'000;
constexpr double kManyPricedMessages = 20'000;
constexpr double kOnLine = 1e-9;
// The smallest call, in times of what filling the pipeline takes.
constexpr double kFull = 2;

std::int64_t chunk_of(const ResolvedCall& resolved) {
  const std::int64_t element = resolved.call.element_bytes;
  return resolved.call.options.number(kChunkBytes) / element * element;
}

std::int64_t bytes_a_chunk(const ResolvedCall& resolved) {
  return chunk_of(resolved) * static_cast<std::int64_t>(resolved.parts().size());
}

// Of every part.
std::int64_t chunks_of(const ResolvedCall& resolved) {
  return resolved.call.bytes / bytes_a_chunk(resolved);
}

std::int64_t bytes_of_chunks(const ResolvedCall& resolved, std::int64_t chunks) {
  return resolved.call.bytes - (chunks_of(resolved) - chunks) * bytes_a_chunk(resolved);
}

// All and these differ by whole chunks of both halves.
std::array<std::int64_t, 3> numbers_from(std::int64_t few, std::int64_t all) {
  few += (all - few) % kHalves;
  const std::int64_t more = few / 2 / kHalves * kHalves;
  return {few, few + more, few + 2 * more};
}

// Three calls of ever more chunks, and the line through them.
class Pipeline {
 public:
  Pipeline(const ResolvedCall& resolved, std::int64_t few)
      : all_(chunks_of(resolved)),
        chunks_(numbers_from(few, all_)),
        chunk_bytes_(chunk_of(resolved)),
        vector_bytes_(resolved.call.bytes) {
    const PlanChoice plan = plan_of(resolved);
    for (const std::int64_t chunks : chunks_)
      calls_.push_back(with_bytes(resolved, plan, bytes_of_chunks(resolved, chunks)));
    const Stack& stack = resolved.lanes->stack();
    const std::int64_t least = calls_.front().call.bytes;
    const auto tells_apart = [&](std::int64_t up_to) {
      return least <= up_to && up_to < vector_bytes_;
    };
    vectors_are_alike_ =
        !tells_apart(stack.eager_limit.value) &&
        std::none_of(stack.paths.begin(), stack.paths.end(),
                     [&](const PathRule& rule) { return tells_apart(rule.up_to_bytes); });
  }

  const std::vector<ResolvedCall>& calls() const { return calls_; }
  // Of one call after the other. `is_exact`: nothing is off by what is known of it.
  void add(CollectiveOutcome outcome, bool is_exact) {
    found_.push_back(std::move(outcome));
    is_exact_ = is_exact_ && is_exact;
  }

  using Value = std::function<double(const CollectiveOutcome&)>;
  double of_all(const Value& value) const {
    return value(found_.back()) + static_cast<double>(all_ - chunks_.back()) * a_chunk(value);
  }

  // Of chunks; or also of whole vectors, where a level is not cut, if those of all chunks are as
  // these to the stack.
  bool adds_whole_chunks() const {
    return more(messages, 0, 2) == 2 * more(messages, 0, 1) &&
           more(bytes_sent, 0, 2) == 2 * more(bytes_sent, 0, 1) &&
           found_.front().sizes.least == found_.back().sizes.least &&
           (adds_chunks_only() || (has_whole_vectors() && vectors_are_alike_));
  }
  // All that is counted.
  bool is_on_line() const {
    bool is = is_exact_ && grows_evenly(time_s) && grows_evenly(busy_s);
    for (const auto& [name, root_s] : last().root_s) is = is && grows_evenly(at_root(name));
    return is;
  }
  // The chunks that take as long as filling the pipeline did.
  double filling() const {
    return found_.front().time_s / a_chunk(time_s) - static_cast<double>(chunks_[0]);
  }
  bool was_full() const { return kFull * filling() <= static_cast<double>(chunks_[0]); }

  const CollectiveOutcome& last() const { return found_.back(); }
  MessageSizes sizes() const {
    MessageSizes sizes = last().sizes;
    if (!adds_chunks_only()) sizes.most = vector_bytes_;
    return sizes;
  }

  static double time_s(const CollectiveOutcome& each) { return each.time_s; }
  static double busy_s(const CollectiveOutcome& each) { return each.busiest.busy_s; }
  static double bytes_sent(const CollectiveOutcome& each) { return each.bytes_sent; }
  static double messages(const CollectiveOutcome& each) {
    return static_cast<double>(each.messages);
  }
  static Value at_root(const std::string& name) {
    return [name](const CollectiveOutcome& each) {
      const auto found = each.root_s.find(name);
      return found == each.root_s.end() ? 0 : found->second;
    };
  }

 private:
  double more(const Value& value, size_t from, size_t to) const {
    return value(found_[to]) - value(found_[from]);
  }
  double a_chunk(const Value& value) const {
    return more(value, 0, 2) / static_cast<double>(chunks_[2] - chunks_[0]);
  }
  // As times do.
  bool grows_evenly(const Value& value_s) const {
    return std::abs(more(value_s, 0, 1) - more(value_s, 0, 2) / 2) <= kOnLine * more(time_s, 0, 2);
  }
  bool adds_chunks_only() const {
    return found_.front().sizes.most == found_.back().sizes.most &&
           more(bytes_sent, 0, 2) == more(messages, 0, 2) * static_cast<double>(chunk_bytes_);
  }
  bool has_whole_vectors() const {
    return std::equal(found_.begin(), found_.end(), calls_.begin(),
                      [](const CollectiveOutcome& found, const ResolvedCall& call) {
                        return found.sizes.most == call.call.bytes;
                      });
  }
  std::int64_t all_;
  std::array<std::int64_t, 3> chunks_;
  std::int64_t chunk_bytes_;
  std::int64_t vector_bytes_;
  bool vectors_are_alike_ = false;  // of all these calls, and of all chunks
  std::vector<ResolvedCall> calls_ = {};
  std::vector<CollectiveOutcome> found_ = {};
  bool is_exact_ = true;
};

void simulate(Pipeline& pipeline, const ResolvedCall& resolved) {
  std::vector<std::function<std::string()>> tasks;
  for (const ResolvedCall& call : pipeline.calls())
    tasks.emplace_back([&resolved, &call] {
      FoundAlike alike(call);
      return simulated_text(call, plan_of(resolved), rules_of(resolved), alike).dump();
    });
  for (const std::string& text : run_isolated(tasks, available_cores(), [](size_t) {})) {
    const nlohmann::json found = parse_json(text);
    pipeline.add(collective_outcome(found), found.at("error") == 0.0);
  }
}

void price(Pipeline& pipeline) {
  for (const ResolvedCall& call : pipeline.calls()) {
    const CostResult cost = evaluate_cost(call);
    CollectiveOutcome outcome;
    outcome.time_s = cost.time_s;
    outcome.messages = cost.messages;
    outcome.bytes_sent = cost.bytes_sent;
    outcome.sizes = cost.sizes;
    pipeline.add(std::move(outcome), true);
  }
}

// Tried with ever more of all chunks, until few say what all would.
std::optional<Pipeline> few_as_all(const ResolvedCall& resolved,
                                   const std::function<void(Pipeline&)>& run) {
  const std::int64_t all = chunks_of(resolved);
  for (std::int64_t few = kFewChunks, most = all / kPays; few <= most; most = all / kPays / 2) {
    Pipeline pipeline(resolved, few);
    run(pipeline);
    // Of blocks, say, or so few that another plan is taken for them.
    const bool adds_whole_chunks = pipeline.adds_whole_chunks();
    if (!adds_whole_chunks && few > kFewChunks) return std::nullopt;
    const bool is_on_line = adds_whole_chunks && pipeline.is_on_line();
    if (is_on_line && pipeline.was_full()) return pipeline;
    const double needed = is_on_line ? kFull * pipeline.filling() : 0;
    few = std::max(2 * few, static_cast<std::int64_t>(needed / kFewChunks + 1) * kFewChunks);
  }
  return std::nullopt;
}

std::uint64_t messages_of_all(const Pipeline& pipeline) {
  return static_cast<std::uint64_t>(std::llround(pipeline.of_all(Pipeline::messages)));
}

// Whatever runs them.
std::string why_chunks_never_repeat(const ResolvedCall& resolved) {
  const std::string& name = resolved.collective->name;
  if (find_option(*resolved.collective, kChunkBytes.name) == nullptr)
    return name + " has no chunks";
  if (operation(resolved.collective->op).has_blocks()) return "its chunks are of blocks";
  if (chunk_of(resolved) == 0) return "it is one chunk";
  if (resolved.lanes->platform().has_bursts()) return "a link lets more pass at first";
  if (chunks_of(resolved) < kPays * kFewChunks) return "there are few chunks";
  return "";
}

}  // namespace

double chunked_messages(const ResolvedCall& resolved) {
  const std::int64_t chunk = chunk_of(resolved);
  const double chunks = chunk == 0
                            ? static_cast<double>(resolved.parts().size())
                            : static_cast<double>(resolved.call.bytes) / static_cast<double>(chunk);
  return 2 * static_cast<double>(resolved.rank_count()) * chunks;
}

std::string why_chunks_do_not_repeat(const ResolvedCall& resolved) {
  if (std::string reason = why_chunks_never_repeat(resolved); !reason.empty()) return reason;
  return chunked_messages(resolved) < kManyMessages ? "there are few messages" : "";
}

std::optional<CollectiveOutcome> simulate_few_chunks(const ResolvedCall& resolved) {
  load_simgrid();
  const auto pipeline =
      few_as_all(resolved, [&resolved](Pipeline& few) { simulate(few, resolved); });
  if (!pipeline) return std::nullopt;
  CollectiveOutcome outcome = pipeline->last();
  outcome.time_s = pipeline->of_all(Pipeline::time_s);
  outcome.messages = messages_of_all(*pipeline);
  outcome.bytes_sent = pipeline->of_all(Pipeline::bytes_sent);
  outcome.sizes = pipeline->sizes();
  outcome.busiest.busy_s = pipeline->of_all(Pipeline::busy_s);
  for (auto& [name, root_s] : outcome.root_s)  // rounding may leave less than nothing
    root_s = std::max(0.0, pipeline->of_all(Pipeline::at_root(name)));
  return outcome;
}

std::optional<CostResult> cost_of_few_chunks(const ResolvedCall& resolved) {
  if (!why_chunks_never_repeat(resolved).empty() ||
      chunked_messages(resolved) < kManyPricedMessages)
    return std::nullopt;
  const auto pipeline = few_as_all(resolved, price);
  if (!pipeline) return std::nullopt;
  const std::uint64_t messages = messages_of_all(*pipeline);
  return CostResult{.time_s = pipeline->of_all(Pipeline::time_s),
                    .operations = 2 * messages,
                    .messages = messages,
                    .bytes_sent = pipeline->of_all(Pipeline::bytes_sent),
                    .sizes = pipeline->sizes()};
}

}  // namespace forescale
