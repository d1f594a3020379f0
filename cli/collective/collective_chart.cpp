#include "cli/collective/collective_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "cli/svg.hpp"

namespace forescale {
namespace {

constexpr double kPanelWidth = 380;
constexpr double kPanelHeight = 270;
constexpr int kColumns = 3;
constexpr double kHead = 56;  // title and legend
// Inside a panel.
constexpr double kLeft = 62;
constexpr double kRight = 12;
constexpr double kTop = 26;
constexpr double kBottom = 34;

// Okabe and Ito's colours, told apart by most people.
constexpr std::array<const char*, 7> kColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                              "#e69f00", "#56b4e9", "#000000"};

struct Axis {
  double low = 0;  // of the logarithms to base 10
  double high = 1;

  void include(double value) {
    if (!(value > 0)) return;
    const double logarithm = std::log10(value);
    low = is_empty ? logarithm : std::min(low, logarithm);
    high = is_empty ? logarithm : std::max(high, logarithm);
    is_empty = false;
  }
  void widen() {
    const double margin = std::max(0.05 * (high - low), 0.02);
    low -= margin;
    high += margin;
  }
  double share(double value) const { return (std::log10(value) - low) / (high - low); }

  bool is_empty = true;
};

struct Panel {
  double x0 = 0;
  double y0 = 0;
  Axis bytes;
  Axis time_s;

  double x(double value) const {
    return x0 + kLeft + bytes.share(value) * (kPanelWidth - kLeft - kRight);
  }
  // What is beyond, such as the far ends of wide intervals, is drawn at the edge.
  double y(double value) const {
    return y0 + kPanelHeight - kBottom -
           std::clamp(time_s.share(value), 0.0, 1.0) * (kPanelHeight - kTop - kBottom);
  }
};

std::string label(double x, double y, const char* anchor, const std::string& text,
                  const char* more = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, more, escaped_for_svg(text));
}

std::string grid(const Panel& panel, const std::set<std::int64_t>& sizes, const std::string& name) {
  const double bottom = panel.y0 + kPanelHeight - kBottom;
  const double right = panel.x0 + kPanelWidth - kRight;
  std::string svg = label(panel.x0 + kLeft, panel.y0 + 16, "start", name, " font-weight=\"bold\"");
  const size_t every = (sizes.size() + 4) / 5;
  size_t number = 0;
  for (const std::int64_t bytes : sizes) {
    if (number++ % every != 0) continue;
    const double x = panel.x(static_cast<double>(bytes));
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"#ddd\"/>\n", x, panel.y0 + kTop,
                       bottom);
    svg += label(x, bottom + 16, "middle", to_text(Bytes{bytes}));
  }
  for (int decade = -7; decade <= 3; ++decade)
    for (const int step : {1, 2, 5}) {
      const double time_s = step * std::pow(10.0, decade);
      if (panel.time_s.share(time_s) < 0 || panel.time_s.share(time_s) > 1) continue;
      const double y = panel.y(time_s);
      svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#ddd\"/>\n", panel.x0 + kLeft,
                         y, right);
      svg += label(panel.x0 + kLeft - 5, y + 4, "end", to_text(Seconds{time_s}));
    }
  return svg;
}

// Rows of one plan and rank count, by growing size.
std::string curve(const Panel& panel, std::vector<const CollectiveRow*> rows, const char* colour) {
  std::sort(rows.begin(), rows.end(), [](const CollectiveRow* a, const CollectiveRow* b) {
    return a->question.bytes < b->question.bytes;
  });
  std::string line;
  std::string upper;
  std::string lower;
  std::string dots;
  for (const CollectiveRow* row : rows) {
    const double x = panel.x(static_cast<double>(row->question.bytes));
    if (const auto& predicted = row->predicted) {
      line += fmt::format("{:.1f},{:.1f} ", x, panel.y(predicted->time_s));
      upper += fmt::format("{:.1f},{:.1f} ", x, panel.y(predicted->high_s));
      lower.insert(0, fmt::format("{:.1f},{:.1f} ", x, panel.y(predicted->low_s)));
    }
    if (const auto& time = row->executed.time)
      dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x,
                          panel.y(time->median.time_s), colour);
  }
  std::string svg;
  if (!line.empty())
    svg = fmt::format(
        "<polygon points=\"{}{}\" fill=\"{}\" fill-opacity=\"0.15\"/>\n"
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
        upper, lower, colour, line, colour);
  return svg + dots;
}

}  // namespace

std::string collective_chart(const std::vector<CollectiveRow>& rows, const std::string& title) {
  std::map<std::string, std::map<int, std::vector<const CollectiveRow*>>> by_plan;
  std::map<int, const char*> colours;  // by rank count
  std::set<std::int64_t> sizes;
  for (const CollectiveRow& row : rows) {
    by_plan[plan_text(row.question.plan)][row.question.ranks].push_back(&row);
    colours[row.question.ranks] = nullptr;
    sizes.insert(row.question.bytes);
  }
  size_t number = 0;
  for (auto& [ranks, colour] : colours) colour = kColours[number++ % kColours.size()];

  const size_t columns = std::clamp<size_t>(by_plan.size(), 1, kColumns);
  const double width = static_cast<double>(columns) * kPanelWidth;
  const size_t panel_rows = (by_plan.size() + columns - 1) / columns;
  const double height = kHead + static_cast<double>(panel_rows) * kPanelHeight;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  svg += label(12, 20, "start", title, " font-size=\"14\" font-weight=\"bold\"");
  double x = 12;
  for (const auto& [ranks, colour] : colours) {
    svg += fmt::format("<circle cx=\"{}\" cy=\"38\" r=\"4\" fill=\"{}\"/>\n", x + 4, colour);
    svg += label(x + 12, 42, "start", fmt::format("{} ranks", ranks));
    x += 70;
  }
  svg += label(x + 8, 42, "start", "dots: measured; lines: predicted, with their interval");
  number = 0;
  for (const auto& [name, by_ranks] : by_plan) {
    const size_t panel_row = number / columns;
    Panel panel{.x0 = static_cast<double>(number % columns) * kPanelWidth,
                .y0 = kHead + static_cast<double>(panel_row) * kPanelHeight,
                .bytes = {},
                .time_s = {}};
    ++number;
    for (const std::int64_t bytes : sizes) panel.bytes.include(static_cast<double>(bytes));
    for (const auto& [ranks, of_plan] : by_ranks)
      for (const CollectiveRow* row : of_plan) {
        if (row->predicted) panel.time_s.include(row->predicted->time_s);
        if (row->executed.time) panel.time_s.include(row->executed.time->median.time_s);
      }
    panel.bytes.widen();
    panel.time_s.widen();
    svg += grid(panel, sizes, name);
    for (const auto& [ranks, of_plan] : by_ranks) svg += curve(panel, of_plan, colours.at(ranks));
  }
  return svg + "</svg>\n";
}

}  // namespace forescale
