// The fastest layouts of a transformer on so many GPUs, of those that their memory holds.
//
// Method. What the question's layout names stays as it is. All combinations of the other searched
// fields that go together are candidates, each with the least recomputation with which it fits (by
// its memory's nominal value, and by its upper end, where that is another). They are predicted in
// the order of what their kernels alone take, until no other can be among the best: nothing is
// drawn, and what is left out is slower by the model. Limits: fields that are not searched stay at
// their defaults; what tp, cp and ep are tried with is in searched_layout_fields().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "studies/layout/layout_prediction.hpp"

namespace forescale {

struct LayoutTuneSettings {
  Question question;  // its layout names what stays: the global batch at least
  std::int64_t gpus = 0;
  std::vector<std::string> only = {};  // fields to search; empty: all
  std::size_t best = 1;                // how many to give
  bool has_interval = false;           // of their iteration times
};

struct LayoutTuning {
  std::int64_t gpus = 0;
  std::map<std::string, std::vector<std::string>> tried = {};  // values, by searched field
  std::size_t combinations = 0;
  std::size_t refused = 0;    // of them: what does not go together, or no library does
  std::size_t too_large = 0;  // do not fit in memory, whatever is computed again
  std::size_t too_slow = 0;   // not predicted: their kernels alone take longer than the best
  std::size_t predicted = 0;
  std::vector<LayoutPrediction> best = {};  // fastest first; nominally they fit
  // The fastest whose memory fits at its interval's upper end, where `best` does not begin with it.
  std::optional<LayoutPrediction> surely_fitting = {};
};

// What an iteration takes at least: its kernels, and the way of the first micro-batch to the
// pipeline rank that computes longest and of the last one back.
double least_iteration_s(const IterationWork& work);

// A resolved layout without what follows from the others: as one would ask for it.
Layout as_asked(Layout layout);

// Names of layout fields, and which values are tried.
const std::map<std::string, std::string>& searched_layout_fields();

// InputError for a question with a layout that cannot be predicted, --only naming what is not
// searched or stays, and where no layout fits: then with the one that needs least.
LayoutTuning tune_layout(const LayoutTuneSettings& settings, Asker& asker);

}  // namespace forescale
