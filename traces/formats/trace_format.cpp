#include "traces/formats/trace_format.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "traces/formats/trace_input.hpp"

namespace forescale {

void require_ranks(const ImportOptions& options, std::size_t ranks) {
  if (options.ranks == 0 || static_cast<std::size_t>(options.ranks) == ranks) return;
  throw InputError({.source = "--ranks",
                    .path = "",
                    .value = std::to_string(options.ranks),
                    .constraint = "must be " + std::to_string(ranks) +
                                  ", as many as the trace has: its ranks are not alike"});
}

const TraceFormat& trace_format_of(const std::string& file) {
  const std::string head = head_of_trace(file);
  std::string known;
  for (const auto& [name, format] : Registry<TraceFormat>::all()) {
    if (format.detects(file, head)) return format;
    known += (known.empty() ? "" : "; ") + name + ": " + format.description;
  }
  throw InputError(
      {.source = file,
       .path = "",
       .value = "",
       .constraint = head.empty() ? "is empty" : "is no trace known here (" + known + ")"});
}

ImportedTrace import_trace(const std::vector<std::string>& files, const ImportOptions& options) {
  const TraceFormat& format = trace_format_of(files.front());
  const std::vector<std::pair<const char*, bool>> given = {
      {"--ranks", options.ranks > 0},
      {"--flops-per-s", options.flops_per_s > 0},
      {"--cycle", options.cycle_s > 0},
      {"--batch", options.images > 0},
      {"--bucket", options.bucket_bytes > 0},
      {"--size", !options.sizes.empty()},
      {"--group", !options.groups.empty()},
      {"--split", !options.splits.empty()},
      {"--without-stragglers", options.without_stragglers}};
  for (const auto& [option, is_given] : given)
    if (is_given &&
        std::find(format.reads.begin(), format.reads.end(), option) == format.reads.end())
      throw InputError({.source = option,
                        .path = "",
                        .value = "",
                        .constraint = "means nothing to traces of the format " + format.name +
                                      ", which " + files.front() + " is"});
  return format.import(files, options);
}

}  // namespace forescale
