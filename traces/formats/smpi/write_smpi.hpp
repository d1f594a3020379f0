// Time-independent traces of SimGrid's SMPI, as its replay reads them, of programs whose ranks do
// one thing after the other.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "traces/program/program.hpp"

namespace forescale {

struct SmpiExport {
  std::uint64_t actions = 0;
  std::vector<std::string> notes = {};
};

// All ranks. Work becomes operations at `flops_per_s`; collectives are SMPI's own. InputError for
// collectives of some ranks only, which the format cannot say.
SmpiExport write_smpi(const Program& program, double flops_per_s, std::ostream& out);

}  // namespace forescale
