// Which plans there are to choose from where not all are: those of a library, or of a family that
// was named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/settings/settings.hpp"
#include "studies/tune/tune_collective.hpp"

namespace forescale {

// The library that settings are made for. `machine` has to live as long as what offered() gives.
struct TunedLibrary {
  const SettingsFormat* format = nullptr;  // null: none
  const QuestionMachine* machine = nullptr;

  explicit operator bool() const { return format != nullptr; }
  // InputError naming --emit where the format says which of a stack's alternatives to take and the
  // stack has none.
  void check() const;
  // Null for formats that take any plan, or alternatives: every plan is offered.
  OfferedPlans offered() const;
  TunedOf tuned_of() const;
  // The library's own name for what was tuned: a plan that it offers, or that the format takes as
  // it is, or an alternative. None: its own choice.
  std::optional<LibraryAlgorithm> algorithm(const TuneQuestion& question,
                                            const std::string& tuned) const;
  // That the file leaves nothing to the library, or nothing to a tuner that it takes the place of.
  bool says_own_choice() const;
  // With the library's own choice, or only its tuner's, said wherever nothing else is, for every
  // operation that the stack has alternatives for and the rank counts of `regions`. The regions are
  // all of one operation.
  std::vector<SettingsRegion> with_own_choice(const std::vector<SettingsRegion>& regions) const;

 private:
  std::vector<LibraryAlgorithm> algorithms(const TuneQuestion& question) const;
};

// The candidates of an operation that are among `texts`: "chain", "cb:chain_size=8",
// "reduce/cb". InputError
// naming --among for an algorithm or an option that there is not.
OfferedPlans plans_among(CollectiveOp op, const std::vector<std::string>& texts);

}  // namespace forescale
