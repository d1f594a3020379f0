// What would be if one number of the input files were another: for the sensitivity of an answer.
#pragma once

#include <string>

namespace forescale {

// From now on, in this process, the number at `path` (a JSON pointer) of `file` is read as `factor`
// times what is written; both as NumberSource names them. For use in a process of its own
// (sim/isolate.hpp): there is no way back.
void scale_number(const std::string& file, const std::string& path, double factor);

// 1 where nothing else was said.
double number_factor(const std::string& file, const std::string& path);

}  // namespace forescale
