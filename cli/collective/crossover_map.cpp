#include "cli/collective/crossover_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/units.hpp"
#include "cli/svg.hpp"

namespace forescale {
namespace {

constexpr double kCellWidth = 92;
constexpr double kCellHeight = 40;
constexpr double kMapLeft = 70;
constexpr double kMapTop = 96;  // title, legend and sizes
constexpr double kLegendEntry = 150;

// Okabe and Ito's colours, told apart by most people, lightened so that text is legible on them.
constexpr std::array<const char*, 8> kMapColours{"#9ecae8", "#f2b48f", "#8fd3bd", "#e3b8d2",
                                                 "#f3d08a", "#c9e6f5", "#c8c8c8", "#f6f0a0"};

// "reduce/cb:chain_size=8,chunk_bytes=1MiB": "cb", and "chain_size=8,chunk_bytes=1MiB". What is no
// plan of the operation, as "tree/ll128", keeps its name.
struct PlanWords {
  std::string algorithm;
  std::string options;
};
PlanWords words_of(const TunedPoint& point) {
  const std::string& plan = point.known.best.plan;
  const std::string op = std::string(name_of(point.question.op)) + "/";
  const size_t begin = plan.starts_with(op) ? op.size() : 0;
  const size_t colon = plan.find(':');
  if (colon == std::string::npos) return {.algorithm = plan.substr(begin), .options = ""};
  return {.algorithm = plan.substr(begin, colon - begin), .options = plan.substr(colon + 1)};
}

// What fits into a cell: "k 8, 1MiB".
std::string shortened(std::string options) {
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"chain_size=", "k "},
                                 {"chunk_bytes=", ""},
                                 {"levels=", ""},
                                 {"binomial", "bin"},
                                 {"chain", "ch"}})
    for (size_t at = options.find(from); at != std::string::npos; at = options.find(from, at))
      options.replace(at, from.size(), to);
  return options;
}

std::string tooltip(const TunedPoint& point) {
  std::string text = fmt::format("{} ranks, {}: {} {} ({} to {})", point.question.ranks,
                                 to_text(Bytes{point.question.bytes}), point.known.best.plan,
                                 to_text(Seconds{point.known.best.time.time_s}),
                                 to_text(Seconds{point.known.best.time.low_s}),
                                 to_text(Seconds{point.known.best.time.high_s}));
  if (point.known.next)
    text += fmt::format("; next {} {} (+{:.1f} %{})", point.known.next->plan,
                        to_text(Seconds{point.known.next->time.time_s}),
                        100 * point.known.margin(*point.known.next),
                        point.known.is_tie(*point.known.next) ? ", tie" : "");
  if (point.stack_default)
    text += fmt::format("; the stack's default {} (+{:.1f} %)",
                        to_text(Seconds{point.stack_default->time.time_s}),
                        100 * point.known.margin(*point.stack_default));
  return text;
}

}  // namespace

std::string crossover_map(const std::vector<TunedPoint>& points, const std::string& title) {
  std::map<std::int64_t, size_t> columns;
  std::map<int, size_t> rows;
  std::map<std::string, size_t> colours;
  for (const TunedPoint& point : points) {
    columns.emplace(point.question.bytes, 0);
    rows.emplace(point.question.ranks, 0);
    colours.emplace(words_of(point).algorithm, 0);
  }
  for (size_t next = 0; auto& [bytes, column] : columns) column = next++;
  for (size_t next = 0; auto& [ranks, row] : rows) row = next++;
  for (size_t next = 0; auto& [algorithm, colour] : colours) colour = next++ % kMapColours.size();
  const double width = std::max(kMapLeft + kCellWidth * static_cast<double>(columns.size()),
                                kMapLeft + kLegendEntry * static_cast<double>(colours.size())) +
                       12;
  const double height = kMapTop + kCellHeight * static_cast<double>(rows.size()) + 12;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"12\" y=\"20\" font-size=\"15\" font-weight=\"bold\">{2}</text>\n",
      width, height, escaped_for_svg(title));
  double x = kMapLeft;
  for (const auto& [algorithm, colour] : colours) {
    svg += fmt::format(
        "<rect x=\"{0:g}\" y=\"32\" width=\"14\" height=\"14\" fill=\"{1}\"/>"
        "<text x=\"{2:g}\" y=\"43\">{3}</text>\n",
        x, kMapColours[colour], x + 20, escaped_for_svg(algorithm));
    x += kLegendEntry;
  }
  svg += fmt::format(
      "<text x=\"12\" y=\"66\" fill=\"#555\">gain over the best of another algorithm; dashed: a "
      "tie "
      "within the uncertainty of the inputs</text>\n<text x=\"12\" y=\"{:g}\">ranks</text>\n",
      kMapTop - 8);
  for (const auto& [bytes, column] : columns)
    svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"middle\">{}</text>\n",
                       kMapLeft + kCellWidth * (static_cast<double>(column) + 0.5), kMapTop - 8,
                       to_text(Bytes{bytes}));
  for (const auto& [ranks, row] : rows)
    svg += fmt::format("<text x=\"{:g}\" y=\"{:g}\" text-anchor=\"end\">{}</text>\n", kMapLeft - 8,
                       kMapTop + kCellHeight * (static_cast<double>(row) + 0.5) + 4, ranks);
  for (const TunedPoint& point : points) {
    const PlanWords words = words_of(point);
    const double left = kMapLeft + kCellWidth * static_cast<double>(columns[point.question.bytes]);
    const double top = kMapTop + kCellHeight * static_cast<double>(rows[point.question.ranks]);
    const bool is_tie = point.known.next && point.known.is_tie(*point.known.next);
    svg += fmt::format(
        "<g><title>{}</title><rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" "
        "fill=\"{}\" "
        "stroke=\"{}\"{}/>",
        escaped_for_svg(tooltip(point)), left + 1.5, top + 1.5, kCellWidth - 3, kCellHeight - 3,
        kMapColours[colours[words.algorithm]], is_tie ? "#333" : "none",
        is_tie ? " stroke-dasharray=\"4 3\"" : "");
    svg += fmt::format(
        "<text x=\"{0:g}\" y=\"{1:g}\" text-anchor=\"middle\" font-size=\"10\">{2}</text>"
        "<text x=\"{0:g}\" y=\"{3:g}\" text-anchor=\"middle\" font-size=\"10\">{4}</text></g>\n",
        left + kCellWidth / 2, top + 16, escaped_for_svg(shortened(words.options)), top + 31,
        point.known.next ? fmt::format("+{:.1f} %", 100 * point.known.margin(*point.known.next))
                         : "");
  }
  return svg + "</svg>\n";
}

}  // namespace forescale
