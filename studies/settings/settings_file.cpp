#include "studies/settings/settings_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

using Words = std::vector<std::string>;

std::string text_of_settings(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().empty())
    throw InputError({.source = file,
                      .path = "",
                      .value = "",
                      .constraint = "cannot be read, or is empty: libraries ignore such a file"});
  return text.str();
}

Words before_program(Words command, const Words& more) {
  command.insert(command.end() - 1, more.begin(), more.end());
  return command;
}

SettingsFile::Rule openmpi_rule(CollectiveOp op, const OpenMpiRule& acting) {
  SettingsFile::Rule rule{.text = std::to_string(acting.algorithm),
                          .is_own_choice = acting.algorithm == 0,
                          .algorithm = openmpi_algorithm(op, acting)};
  if (rule.is_own_choice) rule.text += ": the library's own choice";
  if (rule.algorithm) rule.text += fmt::format(" ({})", rule.algorithm->title);
  if (acting.segment_bytes > 0)
    rule.text += fmt::format(", segments of {}", to_text(Bytes{acting.segment_bytes}));
  return rule;
}

// The name after "MPIR_Allreduce_intra_".
std::string name_in_library(const std::string& name) {
  constexpr std::string_view kBefore = "intra_";
  const std::size_t begin = name.find(kBefore);
  return begin == std::string::npos ? name : name.substr(begin + kBefore.size());
}

// "5.0.7" is at least "5.0.7" and not "5.0.10".
bool is_at_least(const std::string& version, const std::array<int, 3>& least) {
  std::array<int, 3> parts{};
  std::istringstream text(version);
  for (int& part : parts) {
    text >> part;
    text.ignore(1, '.');
  }
  return parts >= least;
}

}  // namespace

SettingsFile::SettingsFile(const std::string& file)
    : source_(file), file_(std::filesystem::absolute(file)) {
  const std::string text = text_of_settings(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  library_ = first != std::string::npos && text[first] == '{' ? "mpich" : "openmpi";
  if (library_ == "mpich")
    tree_ = read_mpich_tree(text, file);
  else
    rules_ = read_openmpi_rules(text, file);
}

std::vector<CollectiveOp> SettingsFile::tuned_ops() const {
  std::vector<CollectiveOp> ops;
  for (const CollectiveOp op : all_collective_ops()) {
    const auto id = openmpi_id(op);
    const auto name = mpich_name(op);
    if (library_ == "openmpi" ? id && rules_.by_id.contains(*id)
                              : name && !is_default_in_mpich(tree_, op))
      ops.push_back(op);
  }
  return ops;
}

void SettingsFile::check_library(const std::string& version) const {
  const std::string title = mpi_library_title(library_);
  const SettingsFormat& format = Registry<SettingsFormat>::find(
      library_ == "openmpi" ? "openmpi-rules" : "mpich-json", "--emit");
  const auto& known = format.versions;
  if (std::none_of(known.begin(), known.end(), [&](const std::string& one) {
        return version == title + " " + one || version.starts_with(title + " " + one + ".");
      }))
    throw InputError({.source = source_,
                      .path = "",
                      .value = "",
                      .constraint = fmt::format("is no file for {}, which is here (one of: {} {})",
                                                version, title, fmt::join(known, ", "))});
  if (rules_.version > 1 && !is_at_least(version.substr(title.size()), {5, 0, 7}))
    throw InputError(
        {.source = source_,
         .path = "line 1",
         .value = "rule-file-version-2",
         .constraint = fmt::format("makes {} ignore the file: it is read from 5.0.7 on", version)});
}

SettingsFile::Rule SettingsFile::rule_for(CollectiveOp op, int ranks, std::int64_t bytes) const {
  if (library_ == "openmpi") return openmpi_rule(op, rules_.rule_for(op, ranks, bytes));
  const std::string name = mpich_selected(tree_, source_, op, ranks, bytes);
  return {.text = name_in_library(name),
          .is_own_choice = name == mpich_selected(mpich_default_tree(), source_, op, ranks, bytes),
          .algorithm = mpich_algorithm(op, name)};
}

Words SettingsFile::loaded(const Words& command) const {
  Words more = unhindered();
  if (library_ == "openmpi")
    more.insert(more.end(), {"--mca", "coll_tuned_use_dynamic_rules", "1", "--mca",
                             "coll_tuned_dynamic_rules_filename", file_});
  else
    more.insert(more.end(), {"-env", "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", file_});
  return before_program(command, more);
}

Words SettingsFile::counting(const Words& command, bool is_loaded) const {
  Words whole = is_loaded ? loaded(command) : before_program(command, unhindered());
  if (library_ == "mpich") return whole;
  return before_program(whole, {"--mca", "pml_monitoring_enable", "1"});
}

Words SettingsFile::unhindered() const {
  if (library_ == "openmpi") return {"--mca", "coll", "^han"};
  Words words;
  for (const CollectiveOp op : tuned_ops())
    words.insert(words.end(), {"-env", mpich_device_variable(op), "0"});
  return words;
}

}  // namespace forescale
