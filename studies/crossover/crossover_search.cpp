#include "studies/crossover/crossover_search.hpp"

#include <algorithm>
#include <map>

namespace forescale {
namespace {

// beats(low) and beats(high) differ.
Crossing bisected(std::int64_t low, std::int64_t high, bool beats_low, const Beats& beats) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (beats(middle) == beats_low ? low : high) = middle;
  }
  return {.verdict = beats_low ? Verdict::kStops : Verdict::kStarts, .chunks = high};
}

Crossing none(ChunkRange range, bool beats) {
  return {.verdict = beats ? Verdict::kAlways : Verdict::kNever, .chunks = range.last};
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStarts:
      return "starts";
    case Verdict::kStops:
      return "stops";
    case Verdict::kAlways:
      return "always";
    case Verdict::kNever:
      return "never";
  }
  return "";
}

Verdict verdict_of(const std::string& name) {
  for (const Verdict verdict : {Verdict::kStarts, Verdict::kStops, Verdict::kAlways})
    if (name == name_of(verdict)) return verdict;
  return Verdict::kNever;
}

Crossing find_crossing(ChunkRange range, const Beats& beats) {
  const bool at_first = beats(range.first);
  for (std::int64_t low = range.first; low < range.last;) {
    const std::int64_t high = std::min(2 * low, range.last);
    if (beats(high) != at_first) return bisected(low, high, at_first, beats);
    low = high;
  }
  return none(range, at_first);
}

Crossing find_crossing_near(ChunkRange range, const Crossing& guess, const Beats& beats) {
  std::map<std::int64_t, bool> answers;
  const Beats asked_once = [&](std::int64_t chunks) {
    const auto known = answers.find(chunks);
    return known != answers.end() ? known->second
                                  : answers.emplace(chunks, beats(chunks)).first->second;
  };
  if (guess.verdict == Verdict::kAlways || guess.verdict == Verdict::kNever) {
    const bool at_first = asked_once(range.first);
    if (asked_once(range.last) == at_first) return none(range, at_first);
    return bisected(range.first, range.last, at_first, asked_once);
  }
  const bool beats_low = guess.verdict == Verdict::kStops;
  std::int64_t low = std::clamp(guess.chunks - 1, range.first, range.last);
  std::int64_t high = std::clamp(guess.chunks, range.first, range.last);
  for (std::int64_t stride = 1; asked_once(low) != beats_low; stride *= 2) {
    if (low == range.first) return none(range, !beats_low);
    high = low;
    low = std::max(low - stride, range.first);
  }
  for (std::int64_t stride = 1; asked_once(high) == beats_low; stride *= 2) {
    if (high == range.last) return none(range, beats_low);
    low = high;
    high = std::min(high + stride, range.last);
  }
  return bisected(low, high, beats_low, asked_once);
}

}  // namespace forescale
