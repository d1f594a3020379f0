#include "cli/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace forescale {
namespace {

std::string padded(const std::string& text, size_t width, bool left) {
  return left ? fmt::format("{:<{}}", text, width) : fmt::format("{:>{}}", text, width);
}

}  // namespace

bool stdout_has_colour() {
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

std::string coloured(const std::string& text, Colour colour) {
  if (!stdout_has_colour()) return text;
  const char* code = colour == Colour::kBold     ? "1"
                     : colour == Colour::kDim    ? "2"
                     : colour == Colour::kRed    ? "31"
                     : colour == Colour::kGreen  ? "32"
                     : colour == Colour::kYellow ? "33"
                                                 : "36";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> names;
  std::vector<bool> left;
  std::vector<size_t> widths;
  for (const std::string& heading : headings_) {
    left.push_back(heading.starts_with('<'));
    names.push_back(left.back() ? heading.substr(1) : heading);
    widths.push_back(names.back().size());
  }
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i)
      text += (i == 0 ? "" : "  ") + padded(cells[i], widths[i], left[i]);
    while (text.ends_with(' ')) text.pop_back();
    return text;
  };
  std::string text = coloured(line(names), Colour::kBold) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

std::string ms(double seconds) { return fmt::format("{:.4g}", seconds * 1e3); }

void show_progress(const std::string& line) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ",";
    if (cell.find_first_of(",\"\n") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::string line_chart(const std::vector<Curve>& curves, const std::string& x_name,
                       const std::string& y_name) {
  constexpr int kChartColumns = 64;
  constexpr int kRows = 16;
  std::set<double> xs;
  double y_max = 0;
  for (const Curve& curve : curves) {
    xs.insert(curve.x.begin(), curve.x.end());
    for (double y : curve.y) y_max = std::max(y_max, y);
  }
  if (xs.size() < 2 || y_max <= 0) return "";
  const double x_low = std::log2(*xs.begin());
  const double x_high = std::log2(*xs.rbegin());
  const double y_low = 0;
  const double y_high = std::max(1.0, std::log2(y_max));
  std::vector<std::string> canvas(kRows + 1, std::string(kChartColumns + 1, ' '));
  const auto plot = [&](double x, double y, char letter) {
    const int column =
        static_cast<int>(std::lround((std::log2(x) - x_low) / (x_high - x_low) * kChartColumns));
    const double height = (std::log2(std::max(y, 1e-9)) - y_low) / (y_high - y_low);
    const int row = kRows - static_cast<int>(std::lround(std::clamp(height, 0.0, 1.0) * kRows));
    char& cell = canvas[static_cast<size_t>(row)][static_cast<size_t>(column)];
    cell = cell == ' ' || cell == '.' || cell == letter ? letter : '*';
  };
  for (int column = 0; column <= kChartColumns; ++column) {
    const double x = std::exp2(x_low + (x_high - x_low) * column / kChartColumns);
    if (x / *xs.begin() <= y_max * 1.01) plot(x, x / *xs.begin(), '.');
  }
  for (const Curve& curve : curves)
    for (size_t i = 0; i < curve.x.size(); ++i) plot(curve.x[i], curve.y[i], curve.letter);
  std::string text = fmt::format("{} (logarithmic; dots: ideal)\n", y_name);
  for (int row = 0; row <= kRows; ++row) {
    const double y = std::exp2(y_high * (kRows - row) / kRows);
    const bool labelled = row % 4 == 0;
    text += (labelled ? fmt::format("{:>7.4g}", y) : std::string(7, ' ')) + " |" +
            canvas[static_cast<size_t>(row)] + "\n";
  }
  text += fmt::format("{:8}+{:-<{}}\n", "", "", kChartColumns + 1);
  std::string axis(kChartColumns + 12, ' ');
  for (double x : xs) {
    const auto column = static_cast<size_t>(
        9 + std::lround((std::log2(x) - x_low) / (x_high - x_low) * kChartColumns));
    const std::string label = fmt::format("{:g}", x);
    const size_t begin = column + 1 >= label.size() ? column + 1 - label.size() : 0;
    if (axis.substr(begin > 0 ? begin - 1 : 0, label.size() + 1).find_first_not_of(' ') ==
        std::string::npos)
      axis.replace(begin, label.size(), label);
  }
  text += axis + " " + x_name + "\n";
  for (const Curve& curve : curves)
    text += fmt::format("        {} {}\n", curve.letter, curve.name);
  if (curves.size() > 1) text += "        * more than one\n";
  return text;
}

std::string shell_word(const std::string& word) {
  const bool is_plain = !word.empty() && word.find_first_not_of(
                                             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-+=:,./@%") == std::string::npos;
  if (is_plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace forescale
