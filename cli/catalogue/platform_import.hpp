// `forescale platform import`: a platform file from what others' tools print.
#pragma once

#include "cli/command_line.hpp"
#include "topologies/import/platform_draft.hpp"

namespace forescale {

void add_platform_import(Subcommand platform);

// Options that say what inputs do not; shared with `platform new`.
void add_platform_choices(Subcommand verb, PlatformChoices& choices);
// InputError for numbers that are none.
void check_platform_choices(const PlatformChoices& choices);

// Prints the platform file, or writes it to `out` and prints what it rests on. `name`: of the
// platform where the choices give none.
void put_platform(const std::string& text, const std::string& out);
// The platform's name where --name gives none: that of the file.
std::string name_of_platform(const PlatformChoices& choices, const std::string& out);

}  // namespace forescale
