// Predicted and executed training schedules, for people.
#pragma once

#include <string>

#include "studies/execute/executed_schedules.hpp"

namespace forescale {

std::string schedule_table(const ScheduleComparison& comparison);

}  // namespace forescale
