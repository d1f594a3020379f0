// A topology generator that registers itself here: it is listed, read from text, its routes are
// sound, a collective runs on it, and no other file knows of it.
#include <gtest/gtest.h>

#include "tests/cli/in_process.hpp"
#include "tests/topologies/route_checks.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace forescale {
namespace {

using testing::answer_here;

// Two switches with a trunk; hosts take turns.
PortRoute build(FabricSite& site) {
  const int link_class = site.link_class({.prefix = "", .fallback = -1, .latency_share = 1});
  const int hubs[] = {site.add_switch("left0"), site.add_switch("right0")};
  const LinkRun up = site.start_run(link_class);
  for (size_t port = 0; port < site.ports.size(); ++port)
    site.add_link(site.ports[port], hubs[port % 2], link_class);
  const LinkRun trunk = site.start_run(link_class);
  site.add_link(hubs[0], hubs[1], link_class);
  site.platform.fabric_summary = "toy: two switches";
  return [up, trunk](int from, int to) {
    Route route;
    up.forward(route, from);
    if (from % 2 < to % 2) trunk.forward(route, 0);
    if (from % 2 > to % 2) trunk.backward(route, 0);
    up.backward(route, to);
    return route;
  };
}

const bool kToyFabricRegistered = add_fabric(
    {.name = "toy",
     .usage = "toy:hosts=N,bandwidth=B,latency=T",
     .summary = "two switches and a trunk",
     .keys = {},
     .generator_keys = {"hosts"},
     .link_prefixes = {""},
     .host_count = [](const JsonInput& in) { return in.at("hosts").integer(1, kHostsMax); },
     .build = build});

constexpr const char* kPlatform = "toy:hosts=6,bandwidth=1GB/s,latency=2us";

TEST(ToyGenerator, IsListedAndShown) {
  EXPECT_TRUE(kToyFabricRegistered);
  answer_here("platform list", {"toy:hosts=N,bandwidth=B,latency=T", "two switches and a trunk"});
  answer_here(std::string("platform show ") + kPlatform, {"toy: two switches"});
}

TEST(ToyGenerator, HasSoundRoutes) {
  const Platform platform = load_platform(kPlatform);
  ASSERT_EQ(platform.endpoints.size(), 6U);
  for (const int from : platform.endpoints)
    for (const int to : platform.endpoints)
      if (from != to) expect_sound(platform, from, to);
  EXPECT_DOUBLE_EQ(platform.route(platform.endpoints[0], platform.endpoints[2]).latency.value,
                   2 * 2e-6);
  EXPECT_DOUBLE_EQ(platform.route(platform.endpoints[0], platform.endpoints[1]).latency.value,
                   3 * 2e-6);
}

TEST(ToyGenerator, CarriesACollective) {
  answer_here(std::string("collective --platform ") + kPlatform +
                  " --op broadcast --algorithm binomial --ranks 6 --bytes 1MiB",
              {"broadcast"});
}

}  // namespace
}  // namespace forescale
