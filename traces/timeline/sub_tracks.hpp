// Overlapping spans of one track on sub-tracks in which they follow each other.
#pragma once

#include <vector>

#include "traces/timeline/timeline.hpp"

namespace forescale {

inline constexpr int kSubTracksMax = 64;  // what overlaps further shares the last one

// By span: the first sub-track of its track that is free when it begins.
std::vector<int> sub_tracks(const std::vector<Span>& spans);

}  // namespace forescale
