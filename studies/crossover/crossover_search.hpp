// Where one algorithm starts, or stops, to beat another as the message grows, in whole chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace forescale {

struct ChunkRange {
  std::int64_t first = 1;
  std::int64_t last = 1;
};

enum class Verdict { kStarts, kStops, kAlways, kNever };
const char* name_of(Verdict verdict);
Verdict verdict_of(const std::string& name);  // that name_of() wrote

struct Crossing {
  Verdict verdict = Verdict::kNever;
  std::int64_t chunks = 0;  // the first count on the far side; always, never: the range's last
  auto operator<=>(const Crossing&) const = default;
};

using Beats = std::function<bool(std::int64_t chunks)>;

// The lowest crossing, found among doublings of the range's first count and then exactly; a pair
// of crossings between two doublings stays unseen.
Crossing find_crossing(ChunkRange range, const Beats& beats);

// The crossing next to a guess, for answers that are dear: asks the guess and the count before it,
// and walks away from there by 1, 2, 4, ... Only where the guess is no crossing, both ends.
Crossing find_crossing_near(ChunkRange range, const Crossing& guess, const Beats& beats);

}  // namespace forescale
