#include "traces/formats/kineto/kineto_event.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

namespace dom = simdjson::dom;

constexpr double kKinetoTime_us_max = 2e15;  // differences in ns still fit 64 bits
constexpr double kDuration_us_max = 1e15;    // as in a program

std::int64_t nanoseconds(const JsonScan& scan, dom::element value, const char* key,
                         double most_us) {
  double time_us = 0;
  if (value.get(time_us) != simdjson::SUCCESS) {
    std::string_view text;
    const bool is_text = value.get(text) == simdjson::SUCCESS;
    const char* const end = is_text ? text.data() + text.size() : nullptr;
    if (!is_text || std::from_chars(text.data(), end, time_us).ptr != end)
      scan.fail(key, "must be a time in microseconds");
  }
  if (!(std::abs(time_us) < most_us)) scan.fail(key, "is beyond all times");
  return std::llround(time_us * kNs_per_us);
}

std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace

std::optional<std::int64_t> KinetoEvent::integer(std::string_view key) const {
  std::int64_t value = 0;
  double real = 0;
  if (args[key].get(value) == simdjson::SUCCESS) return value;
  if (args[key].get(real) == simdjson::SUCCESS && std::abs(real) < 1e18) return std::llround(real);
  return std::nullopt;
}

std::string_view KinetoEvent::text(std::string_view key) const {
  std::string_view value;
  return args[key].get(value) == simdjson::SUCCESS ? value : std::string_view();
}

dom::element parse_value(const JsonScan& scan, dom::parser& parser) {
  dom::element element;
  const auto error = parser.parse(scan.text().data(), scan.text().size(), false).get(element);
  if (error != simdjson::SUCCESS)
    scan.fail(scan.text().substr(0, 40),
              std::string("is no JSON: ") + simdjson::error_message(error));
  return element;
}

std::optional<KinetoEvent> kineto_event(const JsonScan& scan, dom::parser& parser) {
  const dom::element element = parse_value(scan, parser);
  if (!element.is_object()) scan.fail(scan.text().substr(0, 40), "must be an event: an object");
  std::string_view phase;
  if (element["ph"].get(phase) != simdjson::SUCCESS) scan.fail("ph", "is missing in the event");
  if (phase != "X") return std::nullopt;
  KinetoEvent event;
  if (element["name"].get(event.name) != simdjson::SUCCESS)
    scan.fail("name", "is missing in the event");
  if (element["cat"].get(event.category) != simdjson::SUCCESS) event.category = {};
  dom::element time;
  if (element["ts"].get(time) != simdjson::SUCCESS) scan.fail("ts", "is missing in the event");
  event.span.begin_ns = nanoseconds(scan, time, "ts", kKinetoTime_us_max);
  event.span.end_ns = event.span.begin_ns;
  if (element["dur"].get(time) == simdjson::SUCCESS)
    event.span.end_ns += nanoseconds(scan, time, "dur", kDuration_us_max);
  if (event.span.length_ns() < 0) scan.fail("dur", "must be >= 0");
  std::string_view thread;
  std::int64_t number = 0;
  if (element["tid"].get(thread) == simdjson::SUCCESS)
    event.thread = thread;
  else if (element["tid"].get(number) == simdjson::SUCCESS)
    event.thread = std::to_string(number);
  if (element["args"].get(event.args) != simdjson::SUCCESS || !event.args.is_object())
    event.args = element;  // has none of the keys that are looked for
  return event;
}

std::optional<CollectiveOp> collective_of(std::string_view name) {
  const std::string letters = letters_of(name.substr(0, name.find('(')));
  static const auto kNames = [] {
    std::vector<std::pair<std::string, CollectiveOp>> names;
    for (const CollectiveOp op : all_collective_ops())
      if (const auto text = name_in(Tool::kNcclKernel, op)) names.emplace_back(*text, op);
    // Longer names before those that they contain.
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
      return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a < b;
    });
    return names;
  }();
  for (const auto& [text, op] : kNames)
    if (letters.find(text) != std::string::npos) return op;
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of_type(std::string_view dtype) {
  const std::string letters = letters_of(dtype.substr(dtype.rfind(':') + 1));
  constexpr std::array<std::pair<const char*, int>, 18> kTypes{{{"float", 4},
                                                                {"half", 2},
                                                                {"bfloat", 2},
                                                                {"double", 8},
                                                                {"long", 8},
                                                                {"longint", 8},
                                                                {"int", 4},
                                                                {"short", 2},
                                                                {"shortint", 2},
                                                                {"char", 1},
                                                                {"signedchar", 1},
                                                                {"byte", 1},
                                                                {"unsignedchar", 1},
                                                                {"bool", 1},
                                                                {"floateefn", 1},
                                                                {"floatem", 1},
                                                                {"floatemfn", 1},
                                                                {"complexfloat", 8}}};
  for (const auto& [text, bytes] : kTypes)
    if (letters == text) return bytes;
  return std::nullopt;
}

std::optional<std::vector<int>> ranks_in(std::string_view list) {
  if (list.size() < 2 || list.front() != '[' || list.back() != ']') return std::nullopt;
  std::vector<int> ranks;
  const char* at = list.data() + 1;
  const char* const end = list.data() + list.size() - 1;
  while (at < end) {
    int rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || rank < 0) return std::nullopt;
    ranks.push_back(rank);
    at = next;
    while (at < end && (*at == ',' || *at == ' ')) ++at;
  }
  return ranks;
}

}  // namespace forescale
