// Node: CPUs on top, what hangs on them below, NVSwitches at the bottom; every GPU and adapter has
// a column, and what is above stands over the middle of what is below it. Fabric: nodes at the
// bottom, switches above by the number of switches between.
#include "cli/catalogue/platform_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/units.hpp"
#include "cli/svg.hpp"

namespace forescale {
namespace {

constexpr double kBoxWidth = 58;
constexpr double kBoxHeight = 26;
constexpr double kColumn = 66;
constexpr double kRow = 78;
constexpr double kMargin = 24;
constexpr size_t kColumnsMax = 24;    // of GPUs and adapters; a node with more is drawn in part
constexpr size_t kSwitchesMax = 12;   // of a level
constexpr size_t kSwitchesShown = 4;  // of a level with more

// Okabe and Ito's colours, told apart by most people.
constexpr std::array<const char*, 7> kLineColours{"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#444444"};

const char* colour_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "#d7efc2";
    case DeviceKind::kCpu:
    case DeviceKind::kHost:
      return "#cfe2f5";
    case DeviceKind::kNvSwitch:
      return "#b7dfa0";
    case DeviceKind::kNic:
      return "#fbe3b5";
    case DeviceKind::kPcieSwitch:
    case DeviceKind::kFabricSwitch:
      return "#e4e4e4";
  }
  return "white";
}

struct Place {
  double x = 0;  // of the middle
  double y = 0;
};

// How far a line between two of one row hangs down.
double sag_of(const Place& from, const Place& to) { return 8 + std::abs(to.x - from.x) / 9; }

class Picture {
 public:
  explicit Picture(const Platform& platform) : platform_(platform) {}
  std::string svg();

 private:
  void draw_node();
  void find_parents();
  size_t place_below(int device, size_t depth, size_t column);
  void draw_links_of_node();
  void draw_fabric();
  std::vector<std::vector<int>> fabric_levels() const;
  // The devices of a level that are drawn, left to right; -1 stands for those that are not.
  static std::vector<int> shown_of(const std::vector<int>& level);
  void draw_level(const std::vector<int>& shown, size_t count, const std::string& what);
  void box(const Place& at, DeviceKind kind, const std::string& text, double width = kBoxWidth);
  void line(const Place& from, const Place& to, int link_class, bool bends);
  void text(double x, double y, const std::string& words, const std::string& style = "");
  void legend();

  const Device& device(int number) const { return platform_.devices[static_cast<size_t>(number)]; }
  std::string short_name(int number) const {
    const std::string& name = device(number).name;
    return name.substr(name.find('/') + 1);
  }
  const char* line_colour(int link_class) {
    const auto [known, is_new] = colours_.emplace(link_class, colours_.size());
    return kLineColours[known->second % kLineColours.size()];
  }

  const Platform& platform_;
  std::vector<std::vector<int>> children_;  // in the node's tree
  std::map<int, Place> places_;
  std::map<int, size_t> colours_;  // of link classes
  std::string lines_;              // under the boxes
  std::string boxes_;
  double width_ = 640;
  double bottom_ = 64;
  size_t depth_ = 0;
};

void Picture::text(double x, double y, const std::string& words, const std::string& style) {
  boxes_ += fmt::format("<text x=\"{:g}\" y=\"{:g}\" {}>{}</text>\n", x, y, style,
                        escaped_for_svg(words));
}

void Picture::box(const Place& at, DeviceKind kind, const std::string& words, double width) {
  boxes_ += fmt::format(
      "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" rx=\"4\" fill=\"{}\" "
      "stroke=\"#555\"/>\n",
      at.x - width / 2, at.y - kBoxHeight / 2, width, kBoxHeight, colour_of(kind));
  // Long names are narrowed to the box.
  const bool is_long = 7.0 * static_cast<double>(words.size()) > width;
  text(at.x, at.y + 4, words,
       is_long ? fmt::format("text-anchor=\"middle\" textLength=\"{:g}\" "
                             "lengthAdjust=\"spacingAndGlyphs\"",
                             width - 6)
               : "text-anchor=\"middle\"");
  width_ = std::max(width_, at.x + width / 2 + kMargin);
}

void Picture::line(const Place& from, const Place& to, int link_class, bool bends) {
  const double sag = sag_of(from, to);
  const double under = from.y + kBoxHeight / 2;
  lines_ += bends ? fmt::format("<path d=\"M{:g} {:g} Q{:g} {:g} {:g} {:g}\"", from.x, under,
                                (from.x + to.x) / 2, under + 2 * sag, to.x, under)
                  : fmt::format("<path d=\"M{:g} {:g} L{:g} {:g}\"", from.x, from.y, to.x, to.y);
  lines_ +=
      fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"/>\n", line_colour(link_class));
}

// Breadth first from the CPUs, over what is no NVSwitch, no other CPU and no other GPU.
void Picture::find_parents() {
  const auto count = static_cast<size_t>(platform_.node_device_count);
  children_.assign(count, {});
  std::vector<bool> is_reached(count, false);
  std::vector<int> reached;
  for (int i = 0; i < platform_.node_device_count; ++i)
    if (device(i).kind == DeviceKind::kCpu || device(i).kind == DeviceKind::kHost) {
      reached.push_back(i);
      is_reached[static_cast<size_t>(i)] = true;
    }
  for (size_t next = 0; next < reached.size(); ++next) {
    const int here = reached[next];
    if (device(here).kind == DeviceKind::kGpu || device(here).kind == DeviceKind::kNic) continue;
    for (int i = 0; i < platform_.node_link_count; ++i) {
      const Link& link = platform_.links[static_cast<size_t>(i)];
      if (link.from != here && link.to != here) continue;
      const int other = link.from == here ? link.to : link.from;
      if (is_reached[static_cast<size_t>(other)] || device(other).kind == DeviceKind::kNvSwitch)
        continue;
      is_reached[static_cast<size_t>(other)] = true;
      children_[static_cast<size_t>(here)].push_back(other);
      reached.push_back(other);
    }
  }
}

// The next free column. A device that has something below stands over its middle.
size_t Picture::place_below(int number, size_t depth, size_t column) {
  depth_ = std::max(depth_, depth);
  const std::vector<int>& below = children_[static_cast<size_t>(number)];
  size_t next = column;
  for (const int child : below) next = place_below(child, depth + 1, next);
  if (below.empty()) ++next;
  const double middle = (static_cast<double>(column) + static_cast<double>(next) - 1) / 2;
  places_[number] = {.x = kMargin + kBoxWidth / 2 + kColumn * middle,
                     .y = bottom_ + kRow * static_cast<double>(depth)};
  return next;
}

void Picture::draw_links_of_node() {
  for (int i = 0; i < platform_.node_link_count; ++i) {
    const Link& link = platform_.links[static_cast<size_t>(i)];
    const auto from = places_.find(link.from);
    const auto to = places_.find(link.to);
    if (from == places_.end() || to == places_.end()) continue;
    const bool is_level = from->second.y == to->second.y;
    const bool bends = is_level && device(link.from).kind == DeviceKind::kGpu;
    line(from->second, to->second, link.link_class, bends);
    if (bends)
      bottom_ =
          std::max(bottom_, from->second.y + kBoxHeight / 2 + sag_of(from->second, to->second));
  }
}

void Picture::draw_node() {
  find_parents();
  text(kMargin, bottom_, fmt::format("one of {} nodes", platform_.node_count),
       "font-weight=\"bold\"");
  bottom_ += 34;
  std::vector<int> switches;
  size_t column = 0;
  int left_out = 0;
  for (int i = 0; i < platform_.node_device_count; ++i) {
    const DeviceKind kind = device(i).kind;
    if (kind == DeviceKind::kNvSwitch) switches.push_back(i);
    if (kind != DeviceKind::kCpu && kind != DeviceKind::kHost) continue;
    if (column >= kColumnsMax)
      ++left_out;
    else
      column = place_below(i, 0, column);
  }
  // Ends at one height, however deep they hang.
  const double lowest = bottom_ + kRow * static_cast<double>(depth_);
  for (auto& [number, place] : places_)
    if (device(number).kind == DeviceKind::kGpu || device(number).kind == DeviceKind::kNic)
      place.y = lowest;
  const double middle = kMargin + kBoxWidth / 2 + kColumn * (static_cast<double>(column) - 1) / 2;
  double y = lowest;
  for (size_t i = 0; i < switches.size(); ++i) {
    y = lowest + 1.25 * kRow;
    const double offset = static_cast<double>(i) - (static_cast<double>(switches.size()) - 1) / 2;
    places_[switches[i]] = {.x = middle + 3 * kColumn * offset, .y = y};
  }
  draw_links_of_node();
  for (const auto& [number, place] : places_)
    box(place, device(number).kind, short_name(number),
        device(number).kind == DeviceKind::kNvSwitch ? 2 * kColumn : kBoxWidth);
  bottom_ = std::max(bottom_, y) + kRow * 0.75;
  if (left_out > 0) {
    text(kMargin, bottom_,
         fmt::format("and {} more CPUs with what hangs on them; the node has {} devices", left_out,
                     platform_.node_device_count));
    bottom_ += 24;
  }
}

// Level 0: the devices that hang on the fabric; l: switches with l - 1 switches between.
std::vector<std::vector<int>> Picture::fabric_levels() const {
  std::vector<int> level(platform_.devices.size(), -1);
  const auto first_switch =
      static_cast<size_t>(platform_.node_count) * static_cast<size_t>(platform_.node_device_count);
  const auto first_link =
      static_cast<size_t>(platform_.node_count) * static_cast<size_t>(platform_.node_link_count);
  for (size_t i = first_link; i < platform_.links.size(); ++i)
    for (const int end : {platform_.links[i].from, platform_.links[i].to})
      if (static_cast<size_t>(end) < first_switch) level[static_cast<size_t>(end)] = 0;
  for (int reached = 0, found = 1; found > 0; ++reached) {
    found = 0;
    for (size_t i = first_link; i < platform_.links.size(); ++i) {
      const Link& link = platform_.links[i];
      for (const auto& [from, to] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
        if (level[static_cast<size_t>(from)] == reached && level[static_cast<size_t>(to)] < 0) {
          level[static_cast<size_t>(to)] = reached + 1;
          ++found;
        }
    }
  }
  std::vector<std::vector<int>> levels;
  for (size_t i = 0; i < level.size(); ++i) {
    if (level[i] < 0) continue;
    levels.resize(std::max(levels.size(), static_cast<size_t>(level[i]) + 1));
    levels[static_cast<size_t>(level[i])].push_back(static_cast<int>(i));
  }
  return levels;
}

std::vector<int> Picture::shown_of(const std::vector<int>& level) {
  if (level.size() <= kSwitchesMax) return level;
  std::vector<int> shown(level.begin(), level.begin() + kSwitchesShown);
  shown.push_back(-1);
  shown.push_back(level.back());
  return shown;
}

void Picture::draw_level(const std::vector<int>& shown, size_t count, const std::string& what) {
  const double step = 1.3 * kColumn;
  const double left = kMargin + 150;
  text(kMargin, bottom_ + 4, fmt::format("{} {}", count, what));
  // All levels share a middle.
  const double widest = step * static_cast<double>(kSwitchesMax - 1);
  const double begin = left + (widest - step * (static_cast<double>(shown.size()) - 1)) / 2;
  for (size_t i = 0; i < shown.size(); ++i) {
    const Place at{.x = begin + step * static_cast<double>(i), .y = bottom_};
    if (shown[i] < 0) {
      text(at.x, at.y + 4, ". . .", "text-anchor=\"middle\"");
      continue;
    }
    places_[shown[i]] = at;
    const Device& here = device(shown[i]);
    box(at, here.kind, here.node >= 0 ? fmt::format("node{}", here.node) : here.name,
        1.15 * kBoxWidth);
  }
}

void Picture::draw_fabric() {
  const std::vector<std::vector<int>> levels = fabric_levels();
  if (levels.size() < 2) return;
  text(kMargin, bottom_, "fabric: " + platform_.fabric_summary, "font-weight=\"bold\"");
  bottom_ += 40;
  places_.clear();
  for (size_t l = levels.size(); l-- > 1;) {
    draw_level(shown_of(levels[l]), levels[l].size(),
               levels[l].size() == 1 ? "switch" : "switches");
    bottom_ += kRow;
  }
  // A node stands for all its adapters.
  std::map<int, int> first_of_node;
  for (const int end : levels[0]) first_of_node.emplace(device(end).node, end);
  std::vector<int> nodes;
  for (const auto& [node, end] : first_of_node) nodes.push_back(end);
  const auto adapters = levels[0].size() / nodes.size();
  draw_level(shown_of(nodes), nodes.size(),
             adapters > 1 ? fmt::format("nodes of {} adapters", adapters) : "nodes");
  bottom_ += kRow * 0.75;
  const auto first_link =
      static_cast<size_t>(platform_.node_count) * static_cast<size_t>(platform_.node_link_count);
  std::set<std::pair<int, int>> drawn;
  for (size_t i = first_link; i < platform_.links.size(); ++i) {
    const Link& link = platform_.links[i];
    const auto shown_end = [&](int end) {
      const int node = device(end).node;
      return node >= 0 ? first_of_node.at(node) : end;
    };
    const std::pair ends(shown_end(link.from), shown_end(link.to));
    const auto from = places_.find(ends.first);
    const auto to = places_.find(ends.second);
    if (from == places_.end() || to == places_.end() || !drawn.insert(ends).second) continue;
    line(from->second, to->second, link.link_class, from->second.y == to->second.y);
  }
}

void Picture::legend() {
  for (const auto& [link_class, colour] : colours_) {
    const LinkClass& each = platform_.link_classes[static_cast<size_t>(link_class)];
    lines_ += fmt::format("<path d=\"M{0:g} {1:g} h34\" stroke=\"{2}\" stroke-width=\"3\"/>\n",
                          kMargin, bottom_ - 4, kLineColours[colour % kLineColours.size()]);
    text(kMargin + 44, bottom_,
         fmt::format("{}: {} each way, {}{}", each.name, to_text(each.bandwidth),
                     to_text(each.latency), each.full_duplex ? "" : ", both ways together"));
    bottom_ += 20;
  }
}

std::string Picture::svg() {
  text(kMargin, 26, platform_.name, "font-size=\"16\" font-weight=\"bold\"");
  text(kMargin, 44, platform_.description, "fill=\"#555\"");
  bottom_ = 74;
  draw_node();
  draw_fabric();
  legend();
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
      "height=\"{1:g}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}{3}</svg>\n",
      width_, bottom_ + 4, lines_, boxes_);
}

}  // namespace

std::string platform_picture(const Platform& platform) { return Picture(platform).svg(); }

}  // namespace forescale
