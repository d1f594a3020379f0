// A settings file as a library would load it: dynamic rules of Open MPI, or a decision tree of
// MPICH.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "studies/settings/settings_mpich.hpp"
#include "studies/settings/settings_openmpi.hpp"

namespace forescale {

class SettingsFile {
 public:
  // Told apart by their content. InputError as read_openmpi_rules() and read_mpich_tree(), and for
  // a file that cannot be read or is empty.
  explicit SettingsFile(const std::string& file);

  const std::string& library() const { return library_; }  // "openmpi" or "mpich"
  // With rules of their own.
  std::vector<CollectiveOp> tuned_ops() const;
  // InputError when `version` ("Open MPI 4.1.4", "MPICH 4.0.2") would ignore or misread the file.
  void check_library(const std::string& version) const;

  struct Rule {
    std::string text;                                // "4 (ring)", "0: the library's own choice"
    bool is_own_choice = false;                      // what the library would do without the file
    std::optional<LibraryAlgorithm> algorithm = {};  // none: forescale has no plan for it
  };
  // What should act on a call.
  Rule rule_for(CollectiveOp op, int ranks, std::int64_t bytes) const;

  // A launcher's command, whose last word is the program, with the file loaded.
  std::vector<std::string> loaded(const std::vector<std::string>& command) const;
  // The command with or without the file, so that the program can count messages
  // (calibrate/bench/collectives/message_counter.hpp) and nothing but the file makes a difference.
  std::vector<std::string> counting(const std::vector<std::string>& command, bool is_loaded) const;

 private:
  // Lets the component that reads the file choose, where another one would go before it.
  std::vector<std::string> unhindered() const;

  std::string source_;  // as errors name it
  std::string file_;    // absolute: ranks may run elsewhere
  std::string library_;
  OpenMpiRules rules_;
  SelectionTree tree_;
};

}  // namespace forescale
