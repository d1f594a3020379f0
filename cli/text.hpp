// What people see: tables, charts, colour, progress.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace forescale {

// Colour only on a terminal, and never with NO_COLOR set.
enum class Colour { kBold, kDim, kRed, kGreen, kYellow, kCyan };
std::string coloured(const std::string& text, Colour colour);
bool stdout_has_colour();

// Columns are aligned right, but for those whose heading begins with '<'. Headings are bold.
class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  void add(std::vector<std::string> cells);
  std::string text() const;

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

std::string ms(double seconds);  // "12.34", under a heading that says ms

std::string csv_line(const std::vector<std::string>& cells);

// One line that the next one replaces; nothing where stderr is no terminal.
void show_progress(const std::string& line);

// Curves over a common, logarithmic x axis, drawn with one letter each; a diagonal of dots is
// ideal.
struct Curve {
  char letter = '*';
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
};
std::string line_chart(const std::vector<Curve>& curves, const std::string& x_name,
                       const std::string& y_name);

// A word as a shell reads it back: quoted where it has to be.
std::string shell_word(const std::string& word);

}  // namespace forescale
