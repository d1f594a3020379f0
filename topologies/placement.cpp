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

int nodes_of(const Platform& platform, int slots, int first) {
  std::set<int> nodes;
  for (int slot = first; slot < first + slots; ++slot) nodes.insert(node_of_slot(platform, slot));
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

namespace {

class ServerPlacement {
 public:
  ServerPlacement(Platform& platform, const ServerPlaces& places, const std::string& option)
      : platform_(platform),
        places_(places),
        option_(option),
        slots_(platform.endpoints),
        nodes_(nodes_in_order(platform)) {
    platform_.endpoints.clear();
  }

  void place_job() {
    const auto first = static_cast<int>(platform_.endpoints.size());
    place_workers();
    std::vector<int> nodes = places_.own_nodes ? free_nodes() : workers_nodes(first);
    if (places_.own_nodes) of_servers_.insert(nodes.begin(), nodes.end());
    const auto count = static_cast<std::int64_t>(nodes.size());
    // More servers than nodes share them evenly; fewer are spread over the workers' nodes.
    for (std::int64_t server = 0; server < places_.servers; ++server)
      add_host_endpoint(platform_, nodes[static_cast<size_t>(server * count / places_.servers)]);
  }

 private:
  int node(int device) const { return platform_.devices[static_cast<size_t>(device)].node; }

  void place_workers() {
    for (int worker = 0; worker < places_.workers; ++worker) {
      while (next_ < slots_.size() && of_servers_.contains(node(slots_[next_]))) ++next_;
      if (next_ == slots_.size() && !of_servers_.empty())
        refuse(places_.workers,
               fmt::format("must leave a node for each server: {} slots, {} of them "
                           "with workers",
                           slots_.size(), places_.workers));
      if (next_ == slots_.size())
        refuse(places_.workers, fmt::format("must be <= {}, the slots of platform {}",
                                            slots_.size(), platform_.name));
      of_workers_.insert(node(slots_[next_]));
      platform_.endpoints.push_back(slots_[next_++]);
    }
  }

  // For each server one.
  std::vector<int> free_nodes() const {
    std::vector<int> found;
    for (const int each : nodes_)
      if (static_cast<int>(found.size()) < places_.servers && !of_workers_.contains(each) &&
          !of_servers_.contains(each))
        found.push_back(each);
    if (static_cast<int>(found.size()) < places_.servers)
      refuse(places_.servers, fmt::format("must leave a node for each server: {} nodes, {} of them "
                                          "with workers",
                                          nodes_.size(), of_workers_.size()));
    return found;
  }

  // Of the workers from slot `first` on.
  std::vector<int> workers_nodes(int first) const {
    std::vector<int> found;
    for (int slot = first; slot < platform_.slot_count(); ++slot)
      if (const int each = node_of_slot(platform_, slot); found.empty() || found.back() != each)
        found.push_back(each);
    return found;
  }

  [[noreturn]] void refuse(int value, std::string why) const {
    if (places_.jobs > 1) why += fmt::format(", for {} jobs", places_.jobs);
    throw InputError(
        {.source = option_, .path = "", .value = std::to_string(value), .constraint = why});
  }

  Platform& platform_;
  const ServerPlaces& places_;
  const std::string& option_;
  const std::vector<int> slots_;
  const std::vector<int> nodes_;  // in the slots' order
  size_t next_ = 0;               // of the slots
  std::set<int> of_workers_;      // nodes
  std::set<int> of_servers_;      // nodes of their own
};

}  // namespace

void place_servers(Platform& platform, const ServerPlaces& places, const std::string& option) {
  ServerPlacement placement(platform, places, option);
  for (int job = 0; job < places.jobs; ++job) placement.place_job();
}

}  // namespace forescale
