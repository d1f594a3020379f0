// An emitted file in the real library: does each rule act, and what does it bring?
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/execute/executed_collectives.hpp"
#include "studies/settings/settings_file.hpp"
#include "studies/settings/settings_proof.hpp"

namespace forescale {

struct VerifyRequest {
  std::vector<CollectiveOp> ops;
  int ranks = 0;
  std::vector<std::int64_t> sizes;
  double budget_s = 60;  // of measuring; 0: nothing is timed
  int rounds = 3;        // of the library as it is and with the file, in turns
  double nap_s = 20e-6;
  std::uint64_t seed = 1;
};

enum class RuleProof {
  kActed,           // the traffic is that of the plan, and without the file it is another
  kActedUnplanned,  // forescale has no plan to compare with; without the file it is another
  kAsWithout,       // as it should be, but so it is without the file
  kDidNotAct,
  kNotSeen  // nothing could be counted
};
const char* name_of(RuleProof proof);  // "acted", "as without the file", ...

struct VerifiedSize {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  SettingsFile::Rule rule;
  RuleProof proof = RuleProof::kNotSeen;
  std::string evidence = {};  // "24 messages, ... as planned; without the file 16 messages, ..."
  // The median of the rounds' medians and the ends of their intervals; none: not measured.
  std::optional<TimeRange> plain = {};
  std::optional<TimeRange> tuned = {};

  // How many times as fast with the file.
  std::optional<double> speedup() const;
};

struct Verification {
  std::string library;     // "Open MPI 4.1.4"
  std::string counted_by;  // empty: nothing could be counted
  std::vector<VerifiedSize> rows;

  // No rule was seen not to act, and at least one to act: a file that the library ignores, or
  // that says what the library does anyway, is not proven.
  bool is_proven() const;
  // Of the rows that were measured; nothing where none was.
  std::optional<double> geometric_mean() const;
  std::optional<double> least_speedup() const;
};
nlohmann::json to_json(const Verification& verification);

// Runs the library as it is and with the file under `command` (a launcher with its arguments and
// the MPI program). Where MPI cuts vectors into equal blocks, sizes are rounded down to them.
// InputError naming --bytes when no size is left, and that of SettingsFile::check_library();
// SimulationStuck when the library did not come to an end as it is; CheckFailed when it did not
// with the file.
Verification verify_settings(const SettingsFile& settings, const VerifyRequest& request,
                             const std::vector<std::string>& command,
                             const std::function<void(const std::string&)>& on_progress);

}  // namespace forescale
