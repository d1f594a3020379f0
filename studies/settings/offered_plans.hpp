// Which plans there are to choose from where not all are: those of a library, or of a family that
// was named.
#pragma once

#include <string>
#include <vector>

#include "studies/settings/settings.hpp"
#include "studies/tune/tune_collective.hpp"

namespace forescale {

// The library that settings are made for. `platform` has to live as long as what offered() gives.
struct TunedLibrary {
  const SettingsFormat* format = nullptr;  // null: none
  const Platform* platform = nullptr;

  explicit operator bool() const { return format != nullptr; }
  // Null for formats that take any plan: every plan is offered.
  OfferedPlans offered() const;
  TunedOf tuned_of() const;
  // The library's own name for a plan that it offers, or that the format takes as it is.
  LibraryAlgorithm algorithm(const TuneQuestion& question, const std::string& plan) const;

 private:
  std::vector<LibraryAlgorithm> algorithms(const TuneQuestion& question) const;
};

// The candidates of an operation that are among `texts`: "chain", "cb:chain_size=8",
// "reduce/cb". InputError
// naming --among for an algorithm or an option that there is not.
OfferedPlans plans_among(CollectiveOp op, const std::vector<std::string>& texts);

}  // namespace forescale
