#include "studies/settings/settings_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {
namespace {

bool serves_alike(const SizeSpan& a, const SizeSpan& b) {
  if (a.algorithm == nullptr || b.algorithm == nullptr) return a.algorithm == b.algorithm;
  return a.algorithm->id == b.algorithm->id &&
         a.algorithm->segment_bytes == b.algorithm->segment_bytes;
}

void append(std::vector<SizeSpan>& spans, const SizeSpan& span) {
  if (span.from_bytes > span.to_bytes) return;
  if (!spans.empty() && serves_alike(spans.back(), span))
    spans.back().to_bytes = span.to_bytes;
  else
    spans.push_back(span);
}

std::vector<SizeSpan> of_any_rank_count(const std::vector<SizeSpan>& exact) {
  std::vector<SizeSpan> spans;
  for (SizeSpan span : exact) {
    if (span.algorithm != nullptr && !span.algorithm->serves_any_rank_count())
      span.algorithm = nullptr;
    append(spans, span);
  }
  return spans;
}

bool is_alike(const std::vector<SizeSpan>& a, const std::vector<SizeSpan>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const SizeSpan& one, const SizeSpan& other) {
                      return one.from_bytes == other.from_bytes && serves_alike(one, other);
                    });
}

}  // namespace

std::string comment_lines(const TunedSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings.provenance) {
    std::string line = value;
    std::replace(line.begin(), line.end(), '\n', ' ');
    text += fmt::format("# {}: {}\n", key, line);
  }
  return text;
}

std::vector<CollectiveOp> tuned_ops(const TunedSettings& settings) {
  std::vector<CollectiveOp> ops;
  for (const CollectiveOp op : all_collective_ops())
    if (std::any_of(settings.regions.begin(), settings.regions.end(),
                    [&](const SettingsRegion& region) { return region.op == op; }))
      ops.push_back(op);
  return ops;
}

std::vector<int> tuned_rank_counts(const TunedSettings& settings, CollectiveOp op) {
  std::vector<int> counts;
  for (const SettingsRegion& region : settings.regions)
    if (region.op == op) counts.push_back(region.ranks);
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<SizeSpan> size_spans(const TunedSettings& settings, CollectiveOp op, int ranks) {
  std::vector<const SettingsRegion*> regions;
  for (const SettingsRegion& region : settings.regions)
    if (region.op == op && region.ranks == ranks && region.chosen) regions.push_back(&region);
  std::sort(regions.begin(), regions.end(), [](const SettingsRegion* a, const SettingsRegion* b) {
    return a->from_bytes < b->from_bytes;
  });
  std::vector<SizeSpan> spans;
  std::int64_t next = 0;
  bool is_done = false;
  for (const SettingsRegion* region : regions) {
    const std::int64_t from = std::max(region->from_bytes, region->chosen->bytes_min(ranks));
    if (from > region->to_bytes) continue;
    append(spans, {.from_bytes = next, .to_bytes = from - 1});
    append(spans,
           {.from_bytes = from, .to_bytes = region->to_bytes, .algorithm = &*region->chosen});
    is_done = region->to_bytes == kLargest;
    if (!is_done) next = region->to_bytes + 1;
  }
  if (!is_done) append(spans, {.from_bytes = next, .to_bytes = kLargest});
  return spans;
}

std::vector<RankSpan> rank_spans(const TunedSettings& settings, CollectiveOp op) {
  const std::vector<int> counts = tuned_rank_counts(settings, op);
  const std::vector<SizeSpan> own_choice = {{.from_bytes = 0, .to_bytes = kLargest}};
  std::vector<RankSpan> spans;
  if (counts.empty()) return spans;
  spans.push_back({.from_ranks = 0, .to_ranks = counts.front() - 1, .sizes = own_choice});
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int ranks = counts[i];
    const int last = i + 1 < counts.size() ? counts[i + 1] - 1 : ranks;
    const std::vector<SizeSpan> exact = size_spans(settings, op, ranks);
    const std::vector<SizeSpan> others = of_any_rank_count(exact);
    const bool is_one = is_alike(exact, others);
    spans.push_back({.from_ranks = ranks, .to_ranks = is_one ? last : ranks, .sizes = exact});
    if (!is_one && last > ranks)
      spans.push_back({.from_ranks = ranks + 1, .to_ranks = last, .sizes = others});
  }
  spans.push_back({.from_ranks = counts.back() + 1,
                   .to_ranks = std::numeric_limits<int>::max(),
                   .sizes = own_choice});
  return spans;
}

std::vector<SizeSpan> without_gaps(std::vector<SizeSpan> spans) {
  const LibraryAlgorithm* next = nullptr;
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (span->algorithm == nullptr) span->algorithm = next;
    next = span->algorithm;
  }
  const LibraryAlgorithm* before = nullptr;
  std::vector<SizeSpan> filled;
  for (SizeSpan& span : spans) {
    if (span.algorithm == nullptr) span.algorithm = before;
    before = span.algorithm;
    if (before != nullptr) append(filled, span);
  }
  return filled;
}

}  // namespace forescale
