#include "base/data_files.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataFolder = "share/forescale";

// The program, or the library that this is part of.
fs::path own_file() {
  std::error_code error;
  Dl_info loaded{};
  if (dladdr(kDataFolder, &loaded) != 0 &&
      fs::path(loaded.dli_fname).filename().string().starts_with("libforescale."))
    return fs::canonical(loaded.dli_fname, error);
  return fs::canonical("/proc/self/exe", error);
}

// PATH in the nearest folder above the program that has it; empty where none does.
fs::path above_program(const std::string& path) {
  std::error_code error;
  for (fs::path folder = own_file().parent_path();; folder = folder.parent_path()) {
    if (fs::exists(folder / path, error)) return fs::canonical(folder / path);
    if (folder == folder.parent_path()) return {};
  }
}

std::string no_folder_has(const std::string& path) {
  return fmt::format("no folder above {} has {}", own_file().string(), path);
}

fs::path data_root() {
  const char* chosen = std::getenv("FORESCALE_DATA");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  static const fs::path root = above_program(kDataFolder);
  if (root.empty())
    refuse("FORESCALE_DATA", "",
           "must name the folder of the data files: " + no_folder_has(kDataFolder));
  return root;
}

std::string why_no_file(const std::string& path) {
  std::error_code error;  // of a name that no file system takes
  if (fs::is_directory(path, error)) return "is a folder: name a file in it";
  if (fs::exists(path, error)) return "is no plain file, which is read several times";
  return "no such file";
}

}  // namespace

std::vector<std::string> catalogue(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data_root() / folder, error))
    if (entry.path().extension() == ".json" && entry.path().stem().extension() != ".schema")
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_in_catalogue(const std::string& folder, const std::string& name) {
  std::error_code error;
  return fs::is_regular_file(data_root() / folder / (name + ".json"), error);
}

std::string find_data_file(const std::string& folder, const std::string& name,
                           const std::string& option) {
  std::error_code error;
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".json");
  if (is_path) {
    if (fs::is_regular_file(name, error)) return name;
    throw InputError(
        {.source = option, .path = "", .value = name, .constraint = why_no_file(name)});
  }
  if (is_in_catalogue(folder, name)) return (data_root() / folder / (name + ".json")).string();
  throw InputError({.source = option,
                    .path = "",
                    .value = name,
                    .constraint = unknown_name(name, catalogue(folder)) + file_hint(name)});
}

std::string file_hint(const std::string& name) {
  std::error_code error;
  if (!fs::is_regular_file(name, error)) return "";
  return fmt::format("; the file of that name here is ./{}", name);
}

std::string short_name(const std::string& name) {
  return name.ends_with(".json") ? std::filesystem::path(name).stem().string() : name;
}

std::string library_path(const std::string& name) {
  const std::string path = "lib/forescale/" + name;
  const fs::path found = above_program(path);
  if (found.empty()) refuse(name, "", "is part of forescale, but " + no_folder_has(path));
  return found.string();
}

std::string data_path(const std::string& path) { return (data_root() / path).string(); }

std::string project_path(const std::string& file) {
  const std::string root = data_path("");
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

}  // namespace forescale
