// Fat tree: levels of switches, every level-l switch with down[l] children and up[l] parents.
//
// Extended generalised fat tree XGFT(h; m_1..m_h; 1, w_2..w_h), Oehring et al. 1995: level l has
// w_1...w_l * m_(l+1)...m_h switches. Said by `radix` (k ports a switch: two levels hold k^2/2
// hosts, three k^3/4, no oversubscription) or by `down` = m_1 x .. x m_h and `up` = w_2 x .. x w_h,
// where oversubscription at level l is m_l / w_(l+1).
// Routing is deterministic d-mod-k (Zahavi 2009): at level l towards destination d go up through
// port floor(d / (w_1...w_l)) mod w_(l+1); downwards there is one way.
// Bisection without oversubscription: N/2 * bandwidth. `latency` of the generator is per link.
//
// `rails` = R (NVIDIA DGX SuperPOD reference architecture RA-11333): of any R adapters in a row
// each goes to a leaf of its own, and with it the same ones of as many others as a leaf has ports.
// So messages along a rail cross one switch within such a scalable unit.
// `routing` = adaptive: what goes up spreads evenly over all uplinks of the switches that could
// carry it, as packets do where switches choose: they are one link of their bandwidth together.
// The top has as many children as the nodes need.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

struct Level {
  std::int64_t down = 1;    // m_l
  std::int64_t up = 0;      // w_(l+1); 0 at the top
  std::int64_t width = 1;   // w_1...w_l: switches that share the same ports below
  std::int64_t ports = 1;   // m_1...m_l: ports below one switch
  std::int64_t groups = 1;  // m_(l+1)...m_h
  std::int64_t pooled = 1;  // uplinks that are one
  LinkRun uplinks;          // switch * up + port
  std::int64_t first_switch = 0;
};

constexpr int kLevelsMax = 4;
constexpr std::int64_t kRadixMax = 4096;

void from_radix(const JsonInput& in, std::vector<std::int64_t>& down,
                std::vector<std::int64_t>& up) {
  const std::int64_t radix = in.at("radix").integer(2, kRadixMax);
  if (radix % 2 != 0) in.at("radix").fail("must be even: half the ports lead up");
  const auto levels_key = in.find("levels");
  const std::int64_t levels = levels_key ? levels_key->integer(2, 3) : 2;
  for (const char* key : {"down", "up"})
    if (const auto other = in.find(key)) other->fail("must not be given beside \"radix\"");
  down.assign(static_cast<size_t>(levels - 1), radix / 2);
  down.push_back(radix);
  up.assign(static_cast<size_t>(levels - 1), radix / 2);
}

std::vector<Level> read_levels(const JsonInput& in) {
  std::vector<std::int64_t> down;
  std::vector<std::int64_t> up;
  if (in.has("radix")) {
    from_radix(in, down, up);
  } else {
    down = integer_list(in.at("down"), 1, kRadixMax);
    if (down.size() > kLevelsMax)
      in.at("down").fail(fmt::format("must have <= {} levels", kLevelsMax));
    if (down.size() > 1) up = integer_list(in.at("up"), 1, kRadixMax);
    if (up.size() + 1 != down.size())
      in.at("up").fail(
          fmt::format("must have one number for each level but the top: {}", down.size() - 1));
    if (const auto levels = in.find("levels"))
      levels->integer(static_cast<std::int64_t>(down.size()),
                      static_cast<std::int64_t>(down.size()));
  }
  std::vector<Level> levels(down.size());
  std::int64_t ports = 1;
  std::int64_t width = 1;
  for (size_t l = 0; l < levels.size(); ++l) {
    ports *= down[l];
    if (l > 0) width *= up[l - 1];
    levels[l].down = down[l];
    levels[l].up = l < up.size() ? up[l] : 0;
    levels[l].ports = ports;
    levels[l].width = width;
    if (ports > kHostsMax || width > kHostsMax)
      in.fail(fmt::format("must not have more than {} ports", kHostsMax));
  }
  std::int64_t links = 0;
  for (Level& level : levels) {
    level.groups = ports / level.ports;
    links += level.groups * level.width * std::max<std::int64_t>(level.up, 1);
    if (links > kFabricLinksMax)
      in.fail(fmt::format("must not have more than {} links", kFabricLinksMax));
  }
  return levels;
}

// No more children of the top than have ports.
void fit_top(std::vector<Level>& levels, std::int64_t ports) {
  if (levels.size() < 2) return;
  const std::int64_t each = levels[levels.size() - 2].ports;
  const std::int64_t children = std::max<std::int64_t>(1, (ports + each - 1) / each);
  Level& top = levels.back();
  top.down = std::min(top.down, children);
  top.ports = top.down * each;
  for (Level& level : levels) level.groups = top.ports / level.ports;
}

// As many uplinks as the switches of a group have are one, and so are the switches.
void pool_uplinks(std::vector<Level>& levels) {
  for (Level& level : levels) {
    level.pooled = level.width * std::max<std::int64_t>(level.up, 1);
    level.width = 1;
    level.up = std::min<std::int64_t>(level.up, 1);
  }
}

std::string switch_name(size_t level, size_t level_count, std::int64_t number) {
  if (level == 0) return fmt::format("leaf{}", number);
  if (level + 1 == level_count) return fmt::format("spine{}", number);
  return fmt::format("middle{}.{}", level, number);
}

// Where a port, counted node by node, is among those of the leaf switches.
struct Places {
  std::int64_t rails = 1;
  std::int64_t leaf_ports = 1;

  std::int64_t of(std::int64_t port) const {
    const std::int64_t row = port / rails;
    return (row / leaf_ports * rails + port % rails) * leaf_ports + row % leaf_ports;
  }
  // Of the leaf switches that so many ports need, all.
  std::int64_t needed(std::int64_t ports) const {
    const std::int64_t unit = rails * leaf_ports;
    return (ports + unit - 1) / unit * unit;
  }
};

Places read_places(const FabricSite& site, const std::vector<Level>& levels) {
  const auto rails = site.in.find("rails");
  if (rails && site.is_generated) rails->fail("is for platform files: a host has one port");
  Places places{.rails = rails ? rails->integer(1, kRadixMax) : 1, .leaf_ports = levels[0].down};
  const std::int64_t adapters = site.port_count() / site.platform.node_count;
  if (adapters % places.rails != 0)
    rails->fail(fmt::format("must divide the adapters of a node: {}", adapters));
  const std::int64_t unit = places.needed(1);
  if (unit > levels.back().ports)
    rails->fail(
        fmt::format("must not need more than all ports: {} of {}", unit, levels.back().ports));
  return places;
}

Route d_mod_k(const std::vector<Level>& levels, const LinkRun& host_links, std::int64_t from_port,
              std::int64_t to_port, const Places& places) {
  Route route;
  host_links.forward(route, from_port);
  const std::int64_t from = places.of(from_port);
  const std::int64_t to = places.of(to_port);
  std::int64_t column = 0;  // which of the `width` switches of the level
  size_t level = 0;
  for (; from / levels[level].ports != to / levels[level].ports; ++level) {
    const Level& here = levels[level];
    const std::int64_t port = to / here.width % here.up;
    const std::int64_t number = from / here.ports * here.width + column;
    here.uplinks.forward(route, number * here.up + port);
    column += port * here.width;
  }
  for (; level > 0; --level) {
    const Level& below = levels[level - 1];
    const std::int64_t port = column / below.width;
    column %= below.width;
    const std::int64_t number = to / below.ports * below.width + column;
    below.uplinks.backward(route, number * below.up + port);
  }
  host_links.backward(route, to_port);
  return route;
}

PortRoute build_fat_tree(FabricSite& site) {
  std::vector<Level> levels = read_levels(site.in);
  const auto routing = site.in.find("routing");
  const bool is_adaptive = routing && routing->one_of({"d-mod-k", "adaptive"}) == "adaptive";
  if (is_adaptive) pool_uplinks(levels);
  const Places places = read_places(site, levels);
  const std::int64_t unit = places.needed(1);
  site.check_room(levels.back().ports / unit * unit);
  fit_top(levels, places.needed(site.port_count()));
  const int host_class = site.link_class({.prefix = "", .fallback = -1, .latency_share = 1});
  const int up_class =
      site.link_class({.prefix = "up_", .fallback = host_class, .latency_share = 1});
  for (size_t l = 0; l < levels.size(); ++l)
    for (std::int64_t i = 0; i < levels[l].groups * levels[l].width; ++i) {
      const int number = site.add_switch(switch_name(l, levels.size(), i));
      if (i == 0) levels[l].first_switch = number;
    }
  const LinkRun host_links = site.start_run(host_class);
  for (std::int64_t port = 0; port < site.port_count(); ++port)
    site.add_link(site.ports[static_cast<size_t>(port)],
                  static_cast<int>(levels[0].first_switch + places.of(port) / levels[0].ports),
                  host_class);
  for (size_t l = 0; l + 1 < levels.size(); ++l) {
    Level& here = levels[l];
    const Level& above = levels[l + 1];
    const int uplink_class = site.together(up_class, here.pooled);
    here.uplinks = site.start_run(uplink_class);
    for (std::int64_t i = 0; i < here.groups * here.width; ++i)
      for (std::int64_t port = 0; port < here.up; ++port) {
        const std::int64_t group = i / here.width / above.down;
        const std::int64_t column = i % here.width + port * here.width;
        site.add_link(static_cast<int>(here.first_switch + i),
                      static_cast<int>(above.first_switch + group * above.width + column),
                      uplink_class);
      }
  }
  site.platform.fabric_summary =
      fmt::format("fat tree: {} levels, {} leaf switches of {} ports, {} top switches, {}{}",
                  levels.size(), levels[0].groups, levels[0].down,
                  levels.back().width * levels.back().pooled, is_adaptive ? "adaptive" : "d-mod-k",
                  places.rails > 1 ? fmt::format(", {} rails", places.rails) : "");
  return [levels, host_links, places](int from, int to) {
    return d_mod_k(levels, host_links, from, to, places);
  };
}

const bool kFatTreeRegistered = add_fabric(
    {.name = "fat-tree",
     .usage = "fat-tree:radix=K[,levels=2|3][,hosts=N],bandwidth=B,latency=T[,up_bandwidth=B]"
              "[,routing=adaptive] or fat-tree:down=4x8,up=2,...",
     .summary = "levels of switches, d-mod-k routing unless adaptive; latency is per link",
     .keys = {"radix", "levels", "down", "up", "rails", "routing"},
     .generator_keys = {"hosts"},
     .link_prefixes = {"", "up_"},
     .host_count = [](const JsonInput& in) { return hosts_or(in, read_levels(in).back().ports); },
     .build = build_fat_tree});

}  // namespace
}  // namespace forescale
