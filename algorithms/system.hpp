// A system: a named point of schedule x stack x options, with the paper that describes it.
//
// Files in algorithms/systems/, and users write their own:
//   {"format": "forescale-system-1", "name", "description", "paper", "section",
//    "schedule": a registered schedule, "options": {its options, as text}, "stack": what --stack
//    takes, "collectives": {"reduce": {"algorithm", its options}, ...},
//    "data": where training images come from, what --data takes (optional),
//    "framework": whose compute times count (optional), "note": for people}
// "collectives" overrides the stack's own choice for an operation; it and its options may be left
// out, and options that an algorithm does not read are errors.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "algorithms/plan_choice.hpp"
#include "models/compute/framework.hpp"

namespace forescale {

struct System {
  std::string name;
  std::string description;
  std::string paper;
  std::string section;
  std::string schedule;
  std::map<std::string, std::string> options;  // of the schedule; may be empty
  std::string stack;
  std::optional<Framework> framework;
  std::string data;  // what --data takes; empty: synthetic
  std::map<CollectiveOp, PlanChoice> collectives;
  std::string note;  // may be empty
};

// A name from algorithms/systems/ or a JSON file; `option` names where it was said. InputError
// naming file, JSON path and the nearest name: unknown keys, schedules, stacks, operations and
// algorithms, and options that cannot be.
System load_system(const std::string& name_or_path, const std::string& option);

}  // namespace forescale
