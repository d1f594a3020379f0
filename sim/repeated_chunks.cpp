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

using nlohmann::json;

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

// About: up and down a tree.
double messages_of(const ResolvedCall& resolved) {
  return 2 * static_cast<double>(resolved.rank_count()) * static_cast<double>(resolved.call.bytes) /
         static_cast<double>(chunk_of(resolved));
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
        chunk_bytes_(chunk_of(resolved)) {
    const PlanChoice plan = plan_of(resolved);
    const RulesOf rules = rules_of(resolved);
    std::vector<std::function<std::string()>> tasks;
    for (const std::int64_t chunks : chunks_)
      tasks.emplace_back([&resolved, &plan, &rules, chunks] {
        const ResolvedCall call = with_bytes(resolved, plan, bytes_of_chunks(resolved, chunks));
        FoundAlike alike(call);
        return simulated_text(call, plan, rules, alike).dump();
      });
    for (const std::string& text : run_isolated(tasks, available_cores(), [](size_t) {})) {
      found_.push_back(parse_json(text));
      is_exact_ = is_exact_ && found_.back().at("error") == 0.0;
    }
  }

  double of_all(const std::function<double(const json&)>& value) const {
    return value(found_.back()) + static_cast<double>(all_ - chunks_.back()) * a_chunk(value);
  }
  double of_all(const char* name) const {
    return of_all([name](const json& each) { return each.at(name).get<double>(); });
  }

  // All that is counted.
  bool is_on_line() const {
    bool is = is_exact_ && adds_whole_chunks();
    for (const char* name : {"time_s", "busy_s"})
      is = is && grows_evenly([name](const json& each) { return each.at(name).get<double>(); });
    for (const auto& [name, root_s] : last().at("root_s").items())
      is = is && grows_evenly([&](const json& each) { return each.at("root_s").value(name, 0.0); });
    return is;
  }
  // The chunks that take as long as filling the pipeline did.
  double filling() const {
    const double chunk_s = more("time_s", 0, 2) / static_cast<double>(chunks_[2] - chunks_[0]);
    return at("time_s", 0) / chunk_s - static_cast<double>(chunks_[0]);
  }
  bool was_full() const { return kFull * filling() <= static_cast<double>(chunks_[0]); }

  const json& last() const { return found_.back(); }

 private:
  double at(const char* name, size_t call) const { return found_[call].at(name).get<double>(); }
  double more(const char* name, size_t from, size_t to) const {
    return at(name, to) - at(name, from);
  }
  double a_chunk(const std::function<double(const json&)>& value) const {
    return (value(found_.back()) - value(found_.front())) /
           static_cast<double>(chunks_[2] - chunks_[0]);
  }
  // As times do.
  bool grows_evenly(const std::function<double(const json&)>& value_s) const {
    const double more_s = value_s(found_[2]) - value_s(found_[0]);
    return std::abs(value_s(found_[1]) - value_s(found_[0]) - more_s / 2) <=
           kOnLine * more("time_s", 0, 2);
  }
  bool adds_whole_chunks() const {
    return more("bytes_sent", 0, 2) == more("messages", 0, 2) * static_cast<double>(chunk_bytes_) &&
           more("messages", 0, 2) == 2 * more("messages", 0, 1) &&
           found_.front().at("least_bytes") == found_.back().at("least_bytes") &&
           found_.front().at("most_bytes") == found_.back().at("most_bytes");
  }

  std::int64_t all_;
  std::array<std::int64_t, 3> chunks_;
  std::int64_t chunk_bytes_;
  std::vector<json> found_ = {};
  bool is_exact_ = true;
};

CollectiveOutcome outcome_of(const Pipeline& pipeline) {
  CollectiveOutcome outcome = collective_outcome(pipeline.last());
  outcome.time_s = pipeline.of_all("time_s");
  outcome.messages = static_cast<std::uint64_t>(std::llround(pipeline.of_all("messages")));
  outcome.bytes_sent = pipeline.of_all("bytes_sent");
  outcome.busiest.busy_s = pipeline.of_all("busy_s");
  for (auto& [name, root_s] : outcome.root_s)
    root_s = std::max(0.0, pipeline.of_all([&name](const json& each) {
      return each.at("root_s").value(name, 0.0);  // 0: rounding may leave less
    }));
  return outcome;
}

}  // namespace

std::string why_chunks_do_not_repeat(const ResolvedCall& resolved) {
  const std::string& name = resolved.collective->name;
  if (find_option(*resolved.collective, kChunkBytes.name) == nullptr)
    return name + " has no chunks";
  if (operation(resolved.collective->op).has_blocks()) return "its chunks are of blocks";
  if (chunk_of(resolved) == 0) return "it is one chunk";
  if (resolved.lanes->platform().has_bursts()) return "a link lets more pass at first";
  if (chunks_of(resolved) < kPays * kFewChunks) return "there are few chunks";
  if (messages_of(resolved) < kManyMessages) return "there are few messages";
  return "";
}

std::optional<CollectiveOutcome> simulate_few_chunks(const ResolvedCall& resolved) {
  load_simgrid();
  const std::int64_t all = chunks_of(resolved);
  for (std::int64_t few = kFewChunks, most = all / kPays; few <= most; most = all / kPays / 2) {
    const Pipeline pipeline(resolved, few);
    const bool is_on_line = pipeline.is_on_line();
    if (is_on_line && pipeline.was_full()) return outcome_of(pipeline);
    const double needed = is_on_line ? kFull * pipeline.filling() : 0;
    few = std::max(2 * few, static_cast<std::int64_t>(needed / kFewChunks + 1) * kFewChunks);
  }
  return std::nullopt;
}

}  // namespace forescale
