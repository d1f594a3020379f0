// Open MPI: a file of dynamic rules (openmpi_rules.hpp). Rank counts and sizes that were not
// tuned are left to the library: algorithm 0.
#include <fmt/format.h>

#include "studies/settings/settings_openmpi.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

std::string rank_count_text(const RankSpan& span, bool has_requests) {
  std::string text =
      fmt::format("{}  # ranks, and more\n{}  # sizes\n", span.from_ranks, span.sizes.size());
  for (const SizeSpan& size : span.sizes) {
    const LibraryAlgorithm* algorithm = size.algorithm;
    text += algorithm == nullptr ? fmt::format("{} 0 0 0", size.from_bytes)
                                 : fmt::format("{} {} 0 {}", size.from_bytes, algorithm->id,
                                               algorithm->segment_bytes);
    if (has_requests) text += " 0";
    text += fmt::format("  # {}\n",
                        algorithm == nullptr ? "the library's own choice" : algorithm->title);
  }
  return text;
}

std::string emit_openmpi(const TunedSettings& settings, const std::string& version) {
  const bool is_second = version == "5.0.7";
  std::string rules;
  int operations = 0;
  for (const CollectiveOp op : tuned_ops(settings)) {
    const std::optional<int> id = openmpi_id(op);
    if (!id) continue;
    ++operations;
    const std::vector<RankSpan> spans = rank_spans(settings, op);
    rules += fmt::format("{}  # {}\n{}  # rank counts\n", *id, name_of(op), spans.size());
    for (const RankSpan& span : spans) rules += rank_count_text(span, is_second);
  }
  if (operations == 0) return "";
  return (is_second ? "rule-file-version-2\n" : "") +
         fmt::format("# Dynamic rules for coll/tuned of Open MPI {}.\n", version) +
         comment_lines(settings) +
         "# Lines of rules: bytes (from here on), algorithm, fan-out, segment bytes" +
         (is_second ? ", requests at once" : "") + ".\n" +
         "# Ring and Rabenseifner add in another order: not for operations that do not commute.\n" +
         fmt::format("{}  # operations\n", operations) + rules;
}

std::string how_to_load_openmpi(const std::string& file) {
  return fmt::format(
      "# Without ^han Open MPI 5 asks its component coll/han before these rules.\n"
      "mpirun --mca coll ^han --mca coll_tuned_use_dynamic_rules 1 \\\n"
      "  --mca coll_tuned_dynamic_rules_filename {} ...\n",
      file);
}

const bool kOpenmpiRegistered =
    Registry<SettingsFormat>::add({.name = "openmpi-rules",
                                   .summary = "dynamic rules of coll/tuned",
                                   .library = "Open MPI",
                                   .versions = {"4.1", "5.0", "5.0.7"},
                                   .file_name = "openmpi-rules.conf",
                                   .algorithms = openmpi_algorithms,
                                   .emit = emit_openmpi,
                                   .how_to_load = how_to_load_openmpi});

}  // namespace
}  // namespace forescale
