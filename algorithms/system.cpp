#include "algorithms/system.hpp"

#include "algorithms/schedule.hpp"
#include "base/data_files.hpp"
#include "base/json_input.hpp"
#include "models/stack.hpp"
#include "models/storage.hpp"

namespace forescale {
namespace {

// Runs `find` and blames `in` when it finds nothing.
template <class Find>
auto blaming(const JsonInput& in, Find find) {
  try {
    return find();
  } catch (const InputError& error) {
    in.fail(error.parts().constraint);
  }
}

// The constraint of a key: JsonInput::fail() would blame the value.
CollectiveOp read_operation(const JsonInput& collectives, const std::string& name) {
  try {
    return parse_collective_op(name, collectives.file());
  } catch (const InputError& error) {
    throw InputError({.source = collectives.file(),
                      .path = collectives.path() + "/" + name,
                      .value = "",
                      .constraint = "key is " + error.parts().constraint});
  }
}

std::string read_stack_name(const JsonInput& in) {
  std::string text = in.string();
  if (text == kNccl) return text;
  blaming(in, [&] {
    return find_data_file("models/stacks", text.substr(0, text.find(':')), in.file());
  });
  return text;
}

std::string read_schedule_name(const JsonInput& in) {
  const std::string name = in.string();
  return blaming(in, [&] { return Registry<Schedule>::find(name, in.file()).name; });
}

}  // namespace

System load_system(const std::string& name_or_path, const std::string& option) {
  const JsonInput in =
      JsonInput::from_file(find_data_file("algorithms/systems", name_or_path, option));
  in.allow_only({"format", "name", "description", "paper", "section", "schedule", "options",
                 "stack", "framework", "data", "collectives"});
  in.at("format").one_of({"forescale-system-1"});
  System system;
  system.name = in.at("name").string();
  system.description = in.at("description").string();
  system.paper = in.at("paper").string();
  system.section = in.at("section").string();
  system.schedule = read_schedule_name(in.at("schedule"));
  if (const auto options = in.find("options")) {
    for (const std::string& key : options->keys()) system.options[key] = options->at(key).string();
    blaming(*options, [&] {
      return ScheduleOptions::parse(Registry<Schedule>::find(system.schedule, in.file()).options,
                                    system.options, "options");
    });
  }
  system.stack = read_stack_name(in.at("stack"));
  if (const auto collectives = in.find("collectives"))
    for (const std::string& op : collectives->keys())
      system.collectives[read_operation(*collectives, op)] =
          read_plan(collectives->at(op), read_operation(*collectives, op));
  if (const auto framework = in.find("framework"))
    system.framework =
        blaming(*framework, [&] { return read_framework(framework->string(), framework->file()); });
  if (const auto data = in.find("data")) {
    system.data = data->string();
    blaming(*data, [&] { return load_data_source(system.data); });
  }
  if (const auto note = in.find("note")) system.note = note->string();
  return system;
}

}  // namespace forescale
