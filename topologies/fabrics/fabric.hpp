// Fabrics: what connects the nodes. A fabric is one file that registers itself; it serves both the
// "fabric" of a JSON platform and the generator of its name, which makes a platform of bare hosts.
//
// Ports are what hangs on a fabric: the NICs node by node, or the hosts. A fabric adds its switches
// and links to the platform and gives back a rule for routes between ports; the rule is arithmetic
// on port numbers, never a table, so that 65,536 hosts cost nothing but their links.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "topologies/link_reader.hpp"
#include "topologies/platform.hpp"

namespace forescale {

using PortRoute = std::function<Route(int from, int to)>;

// Consecutive links of one class: what a routing rule says its steps with.
struct LinkRun {
  int first = 0;  // link number
  bool full_duplex = true;
  Seconds latency;

  void forward(Route& route, std::int64_t i) const { step(route, i, 0); }
  void backward(Route& route, std::int64_t i) const { step(route, i, full_duplex ? 1 : 0); }

 private:
  void step(Route& route, std::int64_t i, int direction) const {
    route.capacities.push_back(2 * (first + static_cast<int>(i)) + direction);
    route.latency += latency;
  }
};

// How a generator or a file says one class of links: key `prefix`link, or, in a generator,
// `prefix`bandwidth with `prefix`latency and `prefix`duplex.
struct LinkKeys {
  std::string prefix;
  int fallback = -1;         // the class when no key is given; -1: they are required
  double latency_share = 1;  // the link's part of the latency that was given
};

// What a fabric gets to build itself into.
class FabricSite {
 public:
  FabricSite(Platform& platform_, LinkReader& classes, const JsonInput& keys, bool generated)
      : platform(platform_), in(keys), is_generated(generated), classes_(classes) {}

  Platform& platform;
  JsonInput in;            // its keys
  bool is_generated;       // from "name:key=value,..."; else the "fabric" of a JSON file
  std::vector<int> ports;  // their devices

  std::int64_t port_count() const { return static_cast<std::int64_t>(ports.size()); }
  // Fails when there are more ports than the fabric has room for.
  void check_room(std::int64_t port_count_max) const;
  int link_class(const LinkKeys& keys);
  // So many links of a class as one.
  int together(int link_class_, std::int64_t count);
  int link_class_named(const JsonInput& reference) { return classes_.read(reference); }
  int add_switch(const std::string& name);
  // Starts a run of links of one class; add_link() then appends to it.
  LinkRun start_run(int link_class_) const;
  void add_link(int from, int to, int link_class_);

 private:
  LinkReader& classes_;
};

struct Fabric {
  std::string name;
  std::string usage;                        // "star:hosts=N,bandwidth=B,latency=T"
  std::string summary;                      // one line
  std::vector<std::string> keys;            // beside those of links, in both forms
  std::vector<std::string> generator_keys;  // only in a generator's text
  std::vector<std::string> link_prefixes;   // see LinkKeys
  // As a generator: how many hosts its keys ask for. Null: no generator.
  std::function<std::int64_t(const JsonInput& in)> host_count;
  std::function<PortRoute(FabricSite& site)> build;
};

// A generator: "name:key=value,..." has become a flat JSON object.
struct Generator {
  std::string name;
  std::string usage;
  std::string summary;
  std::function<void(Platform& platform, const JsonInput& in)> generate;
};

// Registers the fabric, and its generator if it has one.
bool add_fabric(Fabric fabric);

// InputError, naming the nearest key, for a key that the fabric does not have in this form.
void allow_only_keys(const Fabric& fabric, const JsonInput& in, bool is_generated);

// Builds the fabric into a platform whose nodes are in place and sets its fabric_route.
void build_fabric(const Fabric& fabric, FabricSite& site);

constexpr std::int64_t kHostsMax = 1 << 20;
constexpr std::int64_t kFabricLinksMax = 1 << 23;  // and switches

// The "hosts" key, at most `room`; `room` itself when the key is absent.
std::int64_t hosts_or(const JsonInput& in, std::int64_t room);
// "dims": [4,4] or a single whole number; each within [min, max].
std::vector<std::int64_t> integer_list(const JsonInput& in, std::int64_t min, std::int64_t max);

}  // namespace forescale
