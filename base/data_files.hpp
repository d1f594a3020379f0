// The catalogue: data files of the project, found by folder and name.
//
// The root is the folder named by the environment variable FORESCALE_DATA, else share/forescale of
// the nearest folder above the program that has one: PREFIX/share/forescale once installed, and in
// a build folder a link to the source tree. InputError where there is none.
#pragma once

#include <string>
#include <vector>

namespace forescale {

// Names (without ".json") of the catalogue's files in `folder`, sorted: catalogue("models/stacks").
std::vector<std::string> catalogue(const std::string& folder);

// Whether that has NAME, without looking at the others.
bool is_in_catalogue(const std::string& folder, const std::string& name);

// The file that `name` means: a path if it ends in ".json" or has a '/', else NAME.json in
// `folder`. InputError naming `option` and the nearest known name when there is none.
std::string find_data_file(const std::string& folder, const std::string& name,
                           const std::string& option);

// Of a name that is none of a catalogue's: that a file here has it, and how it is said; else empty.
std::string file_hint(const std::string& name);

// "models/my.json" -> "my"; a catalogue name stays what it is.
std::string short_name(const std::string& name);

// Where the project's file `path` ("cli/report/page/style.css") lies; whether it does is not looked
// at.
std::string data_path(const std::string& path);

// The other way: from the project's root, of a file that lies there; other paths stay as they are.
std::string project_path(const std::string& file);

// The library NAME of the program, which it loads when it needs it: lib/forescale/NAME of the
// nearest folder above the program that has it. InputError where there is none.
std::string library_path(const std::string& name);

}  // namespace forescale
