#include "base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace forescale {
namespace {

// A list of a thousand numbers would hide what is wrong with it. Cut between characters (UTF-8).
std::string shortened(const std::string& value) {
  constexpr size_t kMost = 200;
  constexpr size_t kKept = 160;
  if (value.size() <= kMost) return value;
  size_t kept = kKept;
  while (kept > 0 && (static_cast<unsigned char>(value[kept]) & 0xC0U) == 0x80U) --kept;
  return fmt::format("{}... ({} bytes)", value.substr(0, kept), value.size());
}

std::string describe(const InputErrorParts& parts) {
  std::string text = parts.source;
  if (!parts.path.empty()) text += ":" + parts.path;
  if (!parts.value.empty()) text += " = " + shortened(parts.value);
  return text + ": " + parts.constraint;
}

// Twice the edits between `a` and `b`; or, where that is less, one more than between `a` and some
// beginning of `b`.
size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return std::min(2 * row[b.size()], 1 + 2 * *std::min_element(row.begin(), row.end()));
}

}  // namespace

InputError::InputError(InputErrorParts parts)
    : std::runtime_error(describe(parts)), parts_(std::move(parts)) {}

void refuse(const std::string& source, const std::string& value, const std::string& constraint) {
  throw InputError({.source = source, .path = "", .value = value, .constraint = constraint});
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = 2 * (std::max<size_t>(2, word.size() / 3) + 1);
  for (const std::string& candidate : candidates) {
    const size_t distance = distance_of(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string text = "unknown";
  if (const std::string near = nearest(word, candidates); !near.empty())
    text += fmt::format("; did you mean \"{}\"?", near);
  return text + fmt::format(" (one of: {})", fmt::join(candidates, ", "));
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  fmt::print(stderr, "forescale: internal check failed: {} [{}:{}] {}\n", condition, file, line,
             message);
  std::fflush(stderr);
  std::abort();
}

}  // namespace forescale
