#include "cli/replay/trace_options.hpp"

#include <charconv>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

double positive(const std::string& text, const std::string& option) {
  size_t end = 0;
  double value = NAN;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
  }
  if (end != text.size() || !(value > 0) || !std::isfinite(value))
    throw InputError({.source = option,
                      .path = "",
                      .value = text,
                      .constraint = "must be a number above 0, such as 5e9"});
  return value;
}

// "data=16".
std::map<std::string, int> group_sizes(const std::vector<std::string>& texts, const char* option) {
  std::map<std::string, int> sizes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    int size = 0;
    const char* const end = text.data() + text.size();
    const char* const begin = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [next, error] = std::from_chars(begin, end, size);
    constexpr int kGroupRanksMax = 1 << 20;
    if (equals == 0 || error != std::errc() || next != end || size < 1 || size > kGroupRanksMax)
      refuse(option, text, "must be NAME=RANKS, such as data=16");
    sizes[text.substr(0, equals)] = size;
  }
  return sizes;
}

}  // namespace

void add_trace_options(Subcommand command, TraceText& text) {
  command
      .add_option("TRACE", text.files,
                  "Programs and traces (see forescale import --help): one file, or one a rank")
      .required();
  command.add_option("--ranks", text.ranks,
                     "Ranks that shall run, where fewer were traced and all do the same");
  command.add_option("--flops-per-s", text.flops_per_s,
                     "Operations a second of a rank, for traces that count operations");
  command.add_option("--cycle", text.cycle, "Time of a unit, for traces that count cycles: 1ns");
  command.add_option("--bucket", text.bucket,
                     "What if DDP's buckets were so large (bucket_cap_mb): 5MiB; needs the times "
                     "and sizes of gradients");
  command
      .add_option("--size", text.sizes,
                  "Bytes of communication whose size a trace lacks, by kernel or operation:\n"
                  "dispatch=112MiB; dispatch=keep: its measured time; may be repeated")
      .allow_extra_args(false);
  command
      .add_option("--group", text.groups,
                  "What if a process group had so many ranks (data parallelism): data=16; by its\n"
                  "name or description, where one rank's trace stands for all; may be repeated")
      .allow_extra_args(false);
  command
      .add_option("--split", text.splits,
                  "The same of a tensor-parallel group, which divides matrix kernels: tensor=4")
      .allow_extra_args(false);
  command.add_flag("--without-stragglers", text.without_stragglers,
                   "What if no rank computed for longer than the median rank, or a single traced\n"
                   "rank waited for none");
  command.add_option("--batch", text.batch, "Images of an iteration on each rank, for images/s");
}

ImportOptions parse_trace_options(const TraceText& text) {
  const auto refuse = [](const char* option, std::int64_t value) {
    throw InputError({.source = option,
                      .path = "",
                      .value = std::to_string(value),
                      .constraint = "must be between 1 and 1048576"});
  };
  constexpr int kRanksMax = 1 << 20;
  ImportOptions options{.ranks = text.ranks, .images = text.batch};
  if (text.ranks < 0 || text.ranks > kRanksMax) refuse("--ranks", text.ranks);
  if (text.batch < 0 || text.batch > kRanksMax) refuse("--batch", text.batch);
  if (!text.flops_per_s.empty()) options.flops_per_s = positive(text.flops_per_s, "--flops-per-s");
  if (!text.bucket.empty()) {
    options.bucket_bytes = parse_bytes(text.bucket, "--bucket").value;
    if (options.bucket_bytes == 0)
      throw InputError({.source = "--bucket",
                        .path = "",
                        .value = text.bucket,
                        .constraint = "must be at least one byte"});
  }
  for (const std::string& size : text.sizes) {
    const size_t equals = size.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError({.source = "--size",
                        .path = "",
                        .value = size,
                        .constraint = "must be NAME=BYTES or NAME=keep, such as dispatch=112MiB"});
    const std::string value = size.substr(equals + 1);
    std::optional<std::int64_t>& given = options.sizes[size.substr(0, equals)];
    if (value != "keep") given = parse_bytes(value, "--size").value;
  }
  options.groups = group_sizes(text.groups, "--group");
  options.splits = group_sizes(text.splits, "--split");
  options.without_stragglers = text.without_stragglers;
  if (!text.cycle.empty()) options.cycle_s = parse_seconds(text.cycle, "--cycle").value;
  return options;
}

}  // namespace forescale
