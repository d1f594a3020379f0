// A peer: SimGrid's own MPI library running its ring all-reduce (smpi/allreduce:lr), actors and
// mailboxes and all, against our ring's plan on the same star.
//
// Fair means: the same latency and bandwidth. SimGrid's default network factors (13.01 x latency,
// 0.97 x bandwidth) and SMPI's per-message overheads are set to none, the TCP window does not cap,
// links in both directions do not disturb each other, and its computation (the additions) takes no
// simulated time, as with our stack `ideal`. What is left between them is that SMPI starts the
// delay when the sender sends and shares links while latencies run.
#include <gtest/gtest.h>
#include <smpi/smpi.h>
#include <simgrid/s4u.hpp>

#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

namespace sg = simgrid::s4u;

// All ranks call MPI_Allreduce once, behind a barrier; the longest time of any.
double smpi_ring_s(int rank_count, int floats) {
  std::vector<std::string> words = {"smpi_ring",
                                    "--cfg=contexts/factory:raw",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=network/TCP-gamma:1e15",
                                    "--cfg=network/bandwidth-factor:1",
                                    "--cfg=network/latency-factor:1",
                                    "--cfg=surf/precision:1e-12",
                                    "--cfg=network/optim:Full",
                                    "--cfg=smpi/allreduce:lr",
                                    "--cfg=smpi/simulate-computation:no",
                                    "--cfg=smpi/os:0:0:0",
                                    "--cfg=smpi/ois:0:0:0",
                                    "--cfg=smpi/or:0:0:0",
                                    "--cfg=smpi/bw-factor:0:1",
                                    "--cfg=smpi/lat-factor:0:1",
                                    "--cfg=smpi/send-is-detached-thresh:0",
                                    "--cfg=smpi/async-small-thresh:0",
                                    "--log=root.threshold:critical"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  smpi_init_options();
  sg::Engine engine(&count, arguments.data());
  sg::NetZone* zone = sg::create_star_zone("star");
  std::vector<sg::Host*> hosts;
  for (int rank = 0; rank < rank_count; ++rank) {
    sg::Host* host = zone->create_host(fmt::format("host{}", rank), 1e9)->seal();
    sg::Link* up = zone->create_link(fmt::format("up{}", rank), kStarBytesPerS);
    sg::Link* down = zone->create_link(fmt::format("down{}", rank), kStarBytesPerS);
    up->set_latency(kAlpha_s / 2)->seal();
    down->set_latency(kAlpha_s / 2)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {sg::LinkInRoute(up)}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr, {sg::LinkInRoute(down)},
                    false);
    hosts.push_back(host);
  }
  zone->seal();
  SMPI_init();
  double longest_s = 0;
  SMPI_app_instance_register("ring", nullptr, rank_count);
  for (int rank = 0; rank < rank_count; ++rank) {
    sg::ActorPtr actor =
        sg::Actor::init(fmt::format("ring#{}", rank), hosts[static_cast<size_t>(rank)]);
    actor->set_property("instance_id", "ring");
    actor->set_property("rank", std::to_string(rank));
    actor->start([floats, &longest_s] {
      MPI_Init(nullptr, nullptr);
      std::vector<float> mine(static_cast<size_t>(floats), 1.0F);
      std::vector<float> sum(static_cast<size_t>(floats));
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin_s = MPI_Wtime();
      MPI_Allreduce(mine.data(), sum.data(), floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      longest_s = std::max(longest_s, MPI_Wtime() - begin_s);
      int ranks = 0;
      MPI_Comm_size(MPI_COMM_WORLD, &ranks);
      FORESCALE_CHECK(sum.front() == static_cast<float>(ranks), "SMPI's sum");
      MPI_Finalize();
    });
  }
  engine.run();
  SMPI_finalize();
  return longest_s;
}

class SmpiRing : public ::testing::TestWithParam<int> {};

TEST_P(SmpiRing, AgreesWithOursWithinOnePercent) {
  const int ranks = GetParam();
  constexpr int kFloatsPerBlock = 64 * 1024;
  const int floats = kFloatsPerBlock * ranks;
  const Collective& ring = find_collective(CollectiveOp::kAllReduce, "ring", "test");
  const Platform platform = load_platform(star_of(ranks));
  const Stack stack = load_stack("ideal");
  const CollectiveCall call{.rank_count = ranks, .bytes = 4LL * floats};
  const double ours_s = in_child([&] { return collective_s(platform, stack, ring, call); });
  const double theirs_s = in_child([&] { return smpi_ring_s(ranks, floats); });
  RecordProperty("ours_s", fmt::format("{}", ours_s));
  RecordProperty("theirs_s", fmt::format("{}", theirs_s));
  EXPECT_NEAR(ours_s, theirs_s, 0.01 * theirs_s);
  const double expected_s = 2 * (ranks - 1) * (kAlpha_s + 4 * kFloatsPerBlock / kStarBytesPerS);
  EXPECT_NEAR(ours_s, expected_s, 1e-9 * expected_s);
}

INSTANTIATE_TEST_SUITE_P(RankCounts, SmpiRing, ::testing::Values(16, 64));

}  // namespace
}  // namespace forescale::testing
