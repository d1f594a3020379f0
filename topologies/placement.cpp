#include "topologies/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "topologies/node_routes.hpp"

namespace forescale {
namespace {

// Uniform in [0, count). std::uniform_int_distribution differs between standard libraries.
std::uint64_t draw(std::mt19937_64& engine, std::uint64_t count) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t limit = kMax - kMax % count;
  std::uint64_t number = engine();
  while (number >= limit) number = engine();
  return number % count;
}

void shuffle(std::vector<int>& list, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (size_t last = list.size(); last-- > 1;)
    std::swap(list[last], list[static_cast<size_t>(draw(engine, last + 1))]);
}

// The nodes of the present order, each once.
std::vector<int> nodes_in_order(const Platform& platform) {
  std::vector<int> nodes;
  std::vector<char> is_known(static_cast<size_t>(platform.node_count), 0);
  for (int slot = 0; slot < platform.slot_count(); ++slot) {
    const int node = node_of_slot(platform, slot);
    if (is_known[static_cast<size_t>(node)] == 0) nodes.push_back(node);
    is_known[static_cast<size_t>(node)] = 1;
  }
  return nodes;
}

}  // namespace

void place_ranks(Platform& platform, const std::string& text, const std::string& option) {
  const OptionsText options = OptionsText::parse(text, option);
  const std::vector<int>& local = platform.node_routes->endpoints;
  const auto all = static_cast<std::int64_t>(local.size());
  std::vector<int> nodes(static_cast<size_t>(platform.node_count));
  std::iota(nodes.begin(), nodes.end(), 0);
  if (options.name() == "linear") {
    options.allow_only({"per_node"});
  } else if (options.name() == "random") {
    options.allow_only({"seed", "per_node"});
    options.at("seed");  // required
    shuffle(nodes, static_cast<std::uint64_t>(options.integer("seed", 0, 0)));
  } else {
    throw InputError({.source = option,
                      .path = "",
                      .value = options.name(),
                      .constraint = unknown_name(options.name(), {"linear", "random"})});
  }
  const std::int64_t per_node = options.integer("per_node", all, 1, all);
  platform.placement = text;
  platform.endpoints.clear();
  for (const int node : nodes)
    for (std::int64_t i = 0; i < per_node; ++i)
      platform.endpoints.push_back(node * platform.node_device_count +
                                   local[static_cast<size_t>(i)]);
}

int node_of_slot(const Platform& platform, int slot) {
  return platform.devices[static_cast<size_t>(platform.endpoints[static_cast<size_t>(slot)])].node;
}

int nodes_of(const Platform& platform, int slots) {
  std::set<int> nodes;
  for (int slot = 0; slot < slots; ++slot) nodes.insert(node_of_slot(platform, slot));
  return static_cast<int>(nodes.size());
}

int add_host_endpoint(Platform& platform, int node) {
  FORESCALE_CHECK(node >= 0 && node < platform.node_count, "the node of a host slot exists");
  const std::vector<int>& slots = platform.endpoints;
  int best = -1;
  std::ptrdiff_t best_slots = 0;
  for (int i = 0; i < platform.node_device_count; ++i) {
    const int device = node * platform.node_device_count + i;
    if (platform.host_of(device) != device) continue;
    const auto here = std::count(slots.begin(), slots.end(), device);
    if (best < 0 || here < best_slots) {
      best = device;
      best_slots = here;
    }
  }
  FORESCALE_CHECK(best >= 0, "every node has a CPU or is a host");
  // A host beside GPUs, or two slots on one host: not all pairs are alike any more.
  if (platform.has_gpus() || best_slots > 0) platform.uniform_pairs = false;
  platform.endpoints.push_back(best);
  return platform.slot_count() - 1;
}

void place_servers(Platform& platform, const ServerPlaces& places, const std::string& option) {
  if (places.workers > platform.slot_count())
    throw InputError({.source = option,
                      .path = "",
                      .value = std::to_string(places.workers),
                      .constraint = fmt::format("must be <= {}, the slots of platform {}",
                                                platform.slot_count(), platform.name)});
  const std::vector<int> order = nodes_in_order(platform);
  const auto all_nodes = static_cast<int>(order.size());
  platform.endpoints.resize(static_cast<size_t>(places.workers));
  const auto used = static_cast<int>(nodes_in_order(platform).size());
  if (places.own_nodes && used + places.servers > all_nodes)
    throw InputError(
        {.source = option,
         .path = "",
         .value = std::to_string(places.servers),
         .constraint = fmt::format("must leave a node for each server: {} nodes, {} of them with "
                                   "workers",
                                   all_nodes, used)});
  for (int server = 0; server < places.servers; ++server) {
    const std::int64_t place =
        places.own_nodes ? used + server : std::int64_t{server} * used / places.servers;
    // More servers than nodes share them evenly; fewer are spread over the workers' nodes.
    add_host_endpoint(platform, order[static_cast<size_t>(place)]);
  }
}

}  // namespace forescale
