// What a study may ask: commands whose answer is JSON and depends on their options alone, as their
// own parsers know them.
#pragma once

#include "studies/sweep/sweep_study.hpp"

namespace forescale {

CommandLines sweep_commands();

}  // namespace forescale
