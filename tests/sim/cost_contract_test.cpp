// The cost contract of models/stack.hpp, message by message: overheads, latency, ports, caps,
// staging, sharing and reductions, each against its arithmetic.
#include <gtest/gtest.h>

#include "tests/sim/patterns.hpp"

namespace forescale::testing {
namespace {

// Nodes of four GPUs behind one PCIe switch and a NIC on the CPU, on a star:
//   gpu -lane- switch -uplink- cpu -lane- nic -wire- hub
constexpr double kLane = 8e9;
constexpr double kLaneLatency_s = 1e-7;
constexpr double kWire = 5e9;
constexpr double kWireLatency_s = 1e-6;

Platform cluster(int gpus, double uplink = kLane, int sockets = 1) {
  return read_platform(fmt::format(R"({{
        "format": "forescale-platform-1", "name": "cluster",
        "link_classes": {{
          "lane": {{"bandwidth_bytes_per_s": {0}, "latency_s": {1}}},
          "uplink": {{"bandwidth_bytes_per_s": {2}, "latency_s": {1}}},
          "wire": {{"bandwidth_bytes_per_s": {3}, "latency_s": {4}}}}},
        "node": {{"count": 2, "layout": "pcie-tree", "sockets": {5}, "switches_per_socket": 1,
                 "cards_per_switch": {6}, "gpus_per_card": 1, "gpu": "k80",
                 "cpu": "xeon-e5-2690v3", {7} "switch_link": "uplink", "card_link": "lane",
                 "nics": [{{"socket": 0, "class": "lane"}}]}},
        "fabric": {{"layout": "star", "link": "wire"}}}})",
                                   kLane, kLaneLatency_s, uplink, kWire, kWireLatency_s, sockets,
                                   gpus, sockets > 1 ? R"("socket_link": "qpi",)" : ""),
                       "cluster.json");
}

// gpu, switch, cpu, nic, hub and the same back.
constexpr double kInterNode_s = 3 * kLaneLatency_s + 2 * kWireLatency_s + 3 * kLaneLatency_s;

PathRule& gpu_path(Stack& stack) {
  for (PathRule& path : stack.paths)
    if (path.buffers == BufferPlace::kGpu) return path;
  FORESCALE_CHECK(false, "a stack without GPU buffers");
}

// Papers' alpha off: overheads hold ports, latency delays the delivery.
Stack logp() {
  Stack stack = load_stack("ideal");
  stack.latency_holds_ports = false;
  for (PathRule& path : stack.paths) {
    path.o_send = {2e-6};
    path.o_recv = {3e-6};
    path.latency = {5e-6};
  }
  return stack;
}

// `messages` from rank `from` to rank `to`, one after the other.
Pattern stream_of(int ranks, int from, int to, int messages, std::int64_t bytes) {
  Pattern pattern(static_cast<size_t>(ranks));
  for (int i = 0; i < messages; ++i) {
    pattern[static_cast<size_t>(from)].push_back(send_bytes(to, bytes));
    pattern[static_cast<size_t>(to)].push_back(recv_bytes(from, bytes));
  }
  return pattern;
}

// ---- one message ----

TEST(Message, OverheadsHoldPortsAndLatencyDelaysDelivery) {
  const Platform platform = cluster(1);
  const auto ends = ends_s(platform, logp(), stream_of(2, 0, 1, 1, kMiB));
  const double sent_s = 2e-6 + kMiB / kWire;
  expect_near(ends[0], sent_s);
  expect_near(ends[1], sent_s + 3e-6 + 5e-6 + kInterNode_s);
}

TEST(Message, PapersAlphaHoldsPorts) {
  const Platform platform = cluster(1);
  Stack stack = logp();
  stack.latency_holds_ports = true;
  const auto ends = ends_s(platform, stack, stream_of(2, 0, 1, 1, kMiB));
  const double sent_s = 2e-6 + 5e-6 + kInterNode_s + kMiB / kWire;
  expect_near(ends[0], sent_s);
  expect_near(ends[1], sent_s + 3e-6);
}

TEST(Message, OfNoBytesCostsItsOverheads) {
  const auto ends = ends_s(cluster(1), logp(), stream_of(2, 0, 1, 1, 0));
  expect_near(ends[0], 2e-6);
  expect_near(ends[1], 2e-6 + 3e-6 + 5e-6 + kInterNode_s);
}

TEST(Message, EagerSenderPaysACopyAndTheReceiverAnother) {
  const Platform platform = cluster(1);
  Stack stack = logp();
  stack.eager_limit = {8192};
  const double copy_s = 8192 / platform.cpu_models.front().copy_per_core.value;
  const auto ends = ends_s(platform, stack, stream_of(2, 0, 1, 1, 8192));
  expect_near(ends[0], 2e-6 + copy_s);
  expect_near(ends[1], 2e-6 + copy_s + 8192 / kWire + 5e-6 + kInterNode_s + 3e-6 + copy_s);
}

// Rank 1 receives only after the kernel of 1 s; the eager bytes have long been there.
TEST(Message, EagerSenderDoesNotWaitForTheReceiver) {
  const Platform platform = cluster(1);
  Stack stack = logp();
  const auto run = [&](std::int64_t eager_limit) {
    stack.eager_limit = {eager_limit};
    return numbers_in_child([&] {
      const CollectiveStep step = install(stream_of(2, 0, 1, 1, 4096));
      return program_ends_s(platform, stack, 2, pattern_options(), [&](Worker& worker) {
        if (worker.rank() == 1)
          worker.run(
              Kernel{.stream = 0, .duration_s = 1, .phase = Phase::kForward, .label = "late"});
        worker.run(step);
      });
    });
  };
  const double copy_s = 4096 / platform.cpu_models.front().copy_per_core.value;
  const auto eager = run(4096);
  expect_near(eager[0], 2e-6 + copy_s);
  expect_near(eager[1], 1 + 3e-6 + copy_s);
  const auto rendezvous = run(4095);
  expect_near(rendezvous[0], 1 + 2e-6 + 4096 / kWire);
  expect_near(rendezvous[1], 1 + 2e-6 + 4096 / kWire + 3e-6 + 5e-6 + kInterNode_s);
}

// ---- ports ----

TEST(Ports, BackToBackMessagesPipelineTheLatency) {
  const Platform platform = cluster(1);
  const double period_s = 2e-6 + kMiB / kWire + 3e-6;
  const auto ends = ends_s(platform, logp(), stream_of(2, 0, 1, 10, kMiB));
  expect_near(ends[1], 10 * period_s + 5e-6 + kInterNode_s);
  expect_near(ends[0], 10 * period_s - 3e-6);
}

TEST(Ports, BackToBackMessagesRepeatALatencyThatHoldsPorts) {
  Stack stack = logp();
  stack.latency_holds_ports = true;
  const double period_s = 2e-6 + 5e-6 + kInterNode_s + kMiB / kWire + 3e-6;
  expect_near(last_end_s(cluster(1), stack, stream_of(2, 0, 1, 10, kMiB)), 10 * period_s);
}

// Rank 0 to ranks 1 and 2 over its one link.
TEST(Ports, TwoSendsSerialiseOnOneChannelAndOverlapOnTwo) {
  const Platform star = load_platform(star_of(3));
  Pattern pattern(3);
  pattern[0] = {send_bytes(1, kMiB), send_bytes(2, kMiB)};
  pattern[1] = {recv_bytes(0, kMiB)};
  pattern[2] = {recv_bytes(0, kMiB)};
  const double bytes_s = kMiB / kStarBytesPerS;
  const auto one = ends_s(star, load_stack("ideal"), pattern);
  expect_near(one[1], kAlpha_s + bytes_s);
  expect_near(one[2], 2 * (kAlpha_s + bytes_s));
  const auto two = ends_s(star, load_stack("ideal:channels=2"), pattern);
  expect_near(two[1], kAlpha_s + 2 * bytes_s);
  expect_near(two[2], kAlpha_s + 2 * bytes_s);
}

TEST(Ports, TwoReceivesSerialiseOnOneChannelAndOverlapOnTwo) {
  const Platform star = load_platform(star_of(3));
  Pattern pattern(3);
  pattern[0] = {recv_bytes(1, kMiB), recv_bytes(2, kMiB)};
  pattern[1] = {send_bytes(0, kMiB)};
  pattern[2] = {send_bytes(0, kMiB)};
  const double bytes_s = kMiB / kStarBytesPerS;
  const auto one = ends_s(star, load_stack("ideal"), pattern);
  expect_near(one[1], kAlpha_s + bytes_s);
  expect_near(one[2], 2 * (kAlpha_s + bytes_s));
  const auto two = ends_s(star, load_stack("ideal:channels=2"), pattern);
  expect_near(two[0], kAlpha_s + 2 * bytes_s);
}

// Two broadcasts at once: of the rank, the second waits for the first; of each, they share the
// wire.
TEST(Ports, ChannelsOfTheRankSerialiseCollectivesAndChannelsOfEachDoNot) {
  const auto ends_s = [](ChannelsOf owner) {
    return numbers_in_child([&] {
      Stack stack = load_stack("ideal");
      stack.channels_of = owner;
      const CollectiveStep broadcast{.op = CollectiveOp::kBroadcast,
                                     .bytes = kMiB,
                                     .root = 0,
                                     .communicator = 0,
                                     .phase = Phase::kPropagation,
                                     .label = "weights"};
      std::vector<double> first_and_second_s(2);
      program_ends_s(load_platform(star_of(2)), stack, 2, {}, [&](Worker& worker) {
        const Request first = worker.start(broadcast);
        const Request second = worker.start(broadcast);
        worker.wait(first);
        if (worker.rank() == 1) first_and_second_s[0] = worker.now_s();
        worker.wait(second);
        if (worker.rank() == 1) first_and_second_s[1] = worker.now_s();
      });
      return first_and_second_s;
    });
  };
  const double bytes_s = kMiB / kStarBytesPerS;
  const auto of_the_rank = ends_s(ChannelsOf::kRank);
  expect_near(of_the_rank[0], kAlpha_s + bytes_s);
  expect_near(of_the_rank[1], 2 * (kAlpha_s + bytes_s));
  const auto of_each = ends_s(ChannelsOf::kCollective);
  expect_near(of_each[0], kAlpha_s + 2 * bytes_s);
  expect_near(of_each[1], kAlpha_s + 2 * bytes_s);
}

// ---- the proxy thread ----

constexpr double kProxy_s = 1e-5;

Stack with_proxies() {
  Stack stack = logp();
  stack.channels = 8;
  for (PathRule& path : stack.paths) path.o_proxy = {kProxy_s};
  return stack;
}

constexpr double kRest_s = 2e-6 + 3e-6 + 5e-6 + kAlpha_s + 1 / kStarBytesPerS;  // of a byte

TEST(Proxy, TakesItsTimeAtEitherEnd) {
  const Platform star = load_platform(star_of(2));
  const auto ends = ends_s(star, with_proxies(), stream_of(2, 0, 1, 1, 1));
  expect_near(ends[0], kProxy_s + 2e-6 + 1 / kStarBytesPerS);
  expect_near(ends[1], 2 * kProxy_s + kRest_s);
}

// Ports are free, and so are links: what is sent waits for its turn at the sender's thread.
TEST(Proxy, PostsOneMessageAfterTheOther) {
  const Platform star = load_platform(star_of(4));
  Pattern pattern(4);
  for (int rank = 1; rank < 4; ++rank) {
    pattern[0].push_back(send_bytes(rank, 1));
    pattern[static_cast<size_t>(rank)] = {recv_bytes(0, 1)};
  }
  const auto ends = ends_s(star, with_proxies(), pattern);
  for (int rank = 1; rank < 4; ++rank)
    expect_near(ends[static_cast<size_t>(rank)], (rank + 1) * kProxy_s + kRest_s);
}

// All three cross the receiver's link together.
TEST(Proxy, SeesOneMessageAfterTheOther) {
  const Platform star = load_platform(star_of(4));
  Pattern pattern(4);
  for (int rank = 1; rank < 4; ++rank) {
    pattern[0].push_back(recv_bytes(rank, 1));
    pattern[static_cast<size_t>(rank)] = {send_bytes(0, 1)};
  }
  expect_near(ends_s(star, with_proxies(), pattern)[0],
              4 * kProxy_s + kRest_s + 2 / kStarBytesPerS);
}

// One thread for what a rank sends and what it receives: a message arrives 21 us after all began
// and waits for the third send to be posted. What is eager is copied when it has been seen.
TEST(Proxy, IsOneForBothWays) {
  const Platform star = load_platform(star_of(4));
  const auto end_s = [&](std::int64_t bytes) {
    Pattern pattern(4);
    for (int rank = 1; rank < 4; ++rank) {
      pattern[0].push_back(send_bytes(rank, bytes));
      pattern[static_cast<size_t>(rank)] = {recv_bytes(0, bytes)};
    }
    pattern[0].push_back(recv_bytes(3, bytes));
    pattern[3].push_back(send_bytes(0, bytes));
    return ends_s(star, with_proxies(), pattern)[0];
  };
  ASSERT_LT(kRest_s, 2 * kProxy_s);
  expect_near(end_s(1), 4 * kProxy_s);
  expect_near(end_s(0), 4 * kProxy_s + 3e-6);
}

// A send and a receive do not hinder each other: links are full duplex, ports are apart.
TEST(Ports, ExchangeTakesAsLongAsOneMessage) {
  const Platform star = load_platform(star_of(2));
  Pattern pattern(2);
  pattern[0] = {send_bytes(1, kMiB), recv_bytes(1, kMiB)};
  pattern[1] = {send_bytes(0, kMiB), recv_bytes(0, kMiB)};
  expect_near(last_end_s(star, load_stack("ideal"), pattern), kAlpha_s + kMiB / kStarBytesPerS);
}

TEST(Ports, ExchangeOnHalfDuplexLinksTakesTwice) {
  const Platform star = load_platform("star:hosts=2,bandwidth=12.5GB/s,latency=1us,duplex=half");
  Pattern pattern(2);
  pattern[0] = {send_bytes(1, kMiB), recv_bytes(1, kMiB)};
  pattern[1] = {send_bytes(0, kMiB), recv_bytes(0, kMiB)};
  expect_near(last_end_s(star, load_stack("ideal"), pattern), kAlpha_s + 2 * kMiB / kStarBytesPerS);
}

// Rank 1 comes late: rank 0 has what rank 2 sends in the second round before what rank 1 sends in
// the first. Its sum may not be written to yet, and must not keep rank 1's waiting.
TEST(Reductions, AnEarlyMessageOfALaterRoundWaitsAndHoldsNobodyUp) {
  constexpr double kLate_s = 1;
  for (const char* overlap : {"false", "true"}) {
    const auto ends_s = numbers_in_child([&] {
      const Stack stack =
          load_stack(std::string("ideal:reduce_bandwidth=1GB/s,eager=8KiB,overlap=") + overlap);
      SessionOptions options;
      options.choices[CollectiveOp::kAllReduce] =
          parse_plan("all-reduce/recursive-doubling", "test");
      return program_ends_s(load_platform(star_of(4)), stack, 4, options, [&](Worker& worker) {
        if (worker.rank() == 1)
          worker.run(Kernel{
              .stream = 0, .duration_s = kLate_s, .phase = Phase::kForward, .label = "late"});
        worker.run(CollectiveStep{.op = CollectiveOp::kAllReduce,
                                  .bytes = 4096,
                                  .root = 0,
                                  .communicator = 0,
                                  .phase = Phase::kAggregation,
                                  .label = "sum"});
      });
    });
    for (const double end_s : ends_s) {
      EXPECT_GT(end_s, kLate_s) << overlap;
      EXPECT_LT(end_s, kLate_s + 1e-3) << overlap;
    }
  }
}

// ---- caps ----

TEST(Caps, ConnectionCapLimitsEachMessage) {
  Stack stack = logp();
  gpu_path(stack).connection_cap = {1e9};
  const double rest_s = 2e-6 + 3e-6 + 5e-6 + kInterNode_s;
  expect_near(last_end_s(cluster(1), stack, stream_of(2, 0, 1, 1, kMiB)), rest_s + kMiB / 1e9);
  // Two ranks of a node: each has its own connection, together they stay below the wire.
  Pattern pattern(4);
  pattern[0] = {send_bytes(2, kMiB)};
  pattern[1] = {send_bytes(3, kMiB)};
  pattern[2] = {recv_bytes(0, kMiB)};
  pattern[3] = {recv_bytes(1, kMiB)};
  expect_near(last_end_s(cluster(2), stack, pattern), rest_s + kMiB / 1e9);
}

TEST(Caps, ConnectionCapIsOfOneMessageWhateverTheChannels) {
  Stack stack = logp();
  gpu_path(stack).connection_cap = {1e9};
  stack.channels = 2;
  const double rest_s = 2e-6 + 3e-6 + 5e-6 + kInterNode_s;
  expect_near(last_end_s(cluster(1), stack, stream_of(2, 0, 1, 1, kMiB)), rest_s + kMiB / 1e9);
}

// GPU 0 to two GPUs of the other node, GPU 1 to one of them, two channels each.
TEST(Caps, ReadCapIsSharedByWhatLeavesADevice) {
  Stack stack = logp();
  stack.channels = 2;
  gpu_path(stack).read_cap = {1e9};
  Pattern pattern(6);
  pattern[0] = {send_bytes(3, kMiB), send_bytes(4, kMiB)};
  pattern[1] = {send_bytes(5, kMiB)};
  pattern[3] = {recv_bytes(0, kMiB)};
  pattern[4] = {recv_bytes(0, kMiB)};
  pattern[5] = {recv_bytes(1, kMiB)};
  const auto ends = ends_s(cluster(3), stack, pattern);
  expect_near(ends[0], 2e-6 + 2 * kMiB / 1e9);
  expect_near(ends[1], 2e-6 + kMiB / 1e9);
}

TEST(Caps, WriteCapIsSharedByWhatEntersADevice) {
  Stack stack = logp();
  stack.channels = 2;
  gpu_path(stack).write_cap = {1e9};
  Pattern pattern(6);
  pattern[3] = {recv_bytes(0, kMiB), recv_bytes(1, kMiB)};
  pattern[4] = {recv_bytes(2, kMiB)};
  pattern[0] = {send_bytes(3, kMiB)};
  pattern[1] = {send_bytes(3, kMiB)};
  pattern[2] = {send_bytes(4, kMiB)};
  const auto ends = ends_s(cluster(3), stack, pattern);
  expect_near(ends[0], 2e-6 + 2 * kMiB / 1e9);
  expect_near(ends[2], 2e-6 + kMiB / 1e9);
}

// ---- staging ----

Stack staged() {
  Stack stack = logp();
  gpu_path(stack).staged = true;
  gpu_path(stack).segment = {256 * 1024};
  gpu_path(stack).segment_overhead = {8e-6};
  return stack;
}

// Stages of an inter-node message: copy out, network, copy in. The wire is the slowest.
double staged_s(const Platform& platform, int segments) {
  const double copy = std::min(kLane, platform.gpu_models.front().host_copy.value);
  const double segment = 256 * 1024;
  const double before_s = 2e-6 + segments * 8e-6;
  const double fill_s = 2 * (8e-6 + segment / copy);
  return before_s + segments * segment / kWire + 3e-6 + fill_s + 5e-6;
}

TEST(Staged, MessageIsOverheadsPlusTheSlowestStagePlusTheFill) {
  const Platform platform = cluster(1);
  // To the CPU, through the fabric, from the CPU: each hop's latency once.
  for (const int segments : {1, 4, 64})
    expect_near(last_end_s(platform, staged(), stream_of(2, 0, 1, 1, segments * 256 * 1024)),
                staged_s(platform, segments) + kInterNode_s, fmt::format("{} segments", segments));
}

TEST(Staged, SenderIsFreeBeforeTheFillDrains) {
  const auto ends = ends_s(cluster(1), staged(), stream_of(2, 0, 1, 1, 4 * 256 * 1024));
  expect_near(ends[0], 2e-6 + 4 * 8e-6 + 4.0 * 256 * 1024 / kWire);
}

TEST(Staged, SmallMessageIsOneSegmentOfItsOwnSize) {
  const Platform platform = cluster(1);
  const double copy = std::min(kLane, platform.gpu_models.front().host_copy.value);
  expect_near(last_end_s(platform, staged(), stream_of(2, 0, 1, 1, 1000)),
              2e-6 + 8e-6 + 1000 / kWire + 3e-6 + 2 * (8e-6 + 1000 / copy) + 5e-6 + kInterNode_s);
}

// The formula is the pipeline's own time where nothing contends and segments are equal; o_recv
// apart, which explicit segments pay while the fill drains.
TEST(Staged, ExplicitSegmentsTakeAsLongAsTheFormula) {
  const Platform platform = cluster(1);
  Stack stack = staged();
  gpu_path(stack).o_recv = {0};
  SessionOptions options = pattern_options();
  options.explicit_staging = true;
  for (const int segments : {1, 4, 64}) {
    const Pattern pattern = stream_of(2, 0, 1, 1, segments * 256 * 1024);
    expect_near(ends_s(platform, stack, pattern, options)[1], ends_s(platform, stack, pattern)[1],
                fmt::format("{} segments", segments));
  }
}

// ---- contention ----

// k ranks of a node to k ranks of the other.
Pattern pairs_between_nodes(int pairs, std::int64_t bytes, int gpus_a_node) {
  Pattern pattern(static_cast<size_t>(gpus_a_node + pairs));
  for (int i = 0; i < pairs; ++i) {
    pattern[static_cast<size_t>(i)] = {send_bytes(gpus_a_node + i, bytes)};
    pattern[static_cast<size_t>(gpus_a_node + i)] = {recv_bytes(i, bytes)};
  }
  return pattern;
}

TEST(Contention, RanksOfANodeShareItsNic) {
  const Platform platform = cluster(4);
  for (int pairs = 1; pairs <= 4; ++pairs)
    expect_near(last_end_s(platform, logp(), pairs_between_nodes(pairs, kMiB, 4)),
                2e-6 + pairs * kMiB / kWire + 3e-6 + 5e-6 + kInterNode_s,
                fmt::format("{} pairs", pairs));
}

// On kesch the switches' uplinks and the NIC have 12 GB/s: 16 ranks take 16 times as long.
TEST(Contention, SixteenGpusOfKeschShareTheirNic) {
  const Platform kesch = load_platform("kesch");
  Stack stack = logp();
  gpu_path(stack).latency = {0};
  const auto sent_s = [&](int pairs) {
    return ends_s(kesch, stack, pairs_between_nodes(pairs, 16 * kMiB, 16)).front();
  };
  const double nic = kesch
                         .bandwidth(kesch
                                        .fabric_route(kesch.nic_of(kesch.endpoints[0]),
                                                      kesch.nic_of(kesch.endpoints[16]))
                                        .capacities.front())
                         .value;
  for (const int pairs : {1, 2, 4, 16})
    expect_near(sent_s(pairs), 2e-6 + pairs * 16.0 * kMiB / nic, fmt::format("{}", pairs));
}

// Two sockets of four GPUs: what crosses sockets shares the switch's uplink, peers do not use it.
TEST(Contention, PcieSwitchUplinkIsSharedAndPeersAvoidIt) {
  constexpr double kUplink = 4e9;
  const Platform platform = cluster(4, kUplink, 2);
  Pattern crossing(8);
  Pattern peers(8);
  for (int i = 0; i < 4; ++i) {
    crossing[static_cast<size_t>(i)] = {send_bytes(4 + i, kMiB)};
    crossing[static_cast<size_t>(4 + i)] = {recv_bytes(i, kMiB)};
  }
  for (int i = 0; i < 8; i += 2) {
    peers[static_cast<size_t>(i)] = {send_bytes(i + 1, kMiB)};
    peers[static_cast<size_t>(i + 1)] = {recv_bytes(i, kMiB)};
  }
  expect_near(ends_s(platform, logp(), crossing).front(), 2e-6 + 4 * kMiB / kUplink);
  expect_near(ends_s(platform, logp(), peers).front(), 2e-6 + kMiB / kLane);
}

// ---- reductions and copies ----

Stack reducing(ReductionPlace place) {
  Stack stack = load_stack("ideal");
  stack.reduction.place = place;
  return stack;
}

double peer_s(std::int64_t bytes) {
  return 2 * kLaneLatency_s + static_cast<double>(bytes) / kLane;
}

TEST(GpuReduction, SharesTheGpuWithARunningKernel) {
  const Platform platform = cluster(2);
  const Stack stack = reducing(ReductionPlace::kGpu);
  const GpuModel& gpu = platform.gpu_models.front();
  const std::vector<double> times = numbers_in_child([&] {
    Pattern pattern(2);
    pattern[0] = {reduce_bytes(1, 64 * kMiB)};
    pattern[1] = {send_bytes(0, 64 * kMiB)};
    const CollectiveStep step = install(pattern);
    std::vector<double> seen(2);
    Session session(platform, stack, 2, pattern_options());
    session.start_rank(0, [&](Worker& worker) {
      const Request kernel = worker.launch(
          {.stream = 0, .duration_s = 1, .phase = Phase::kBackward, .label = "layer"});
      worker.run(step);
      seen[0] = worker.now_s();
      worker.wait(kernel);
      seen[1] = worker.now_s();
    });
    session.start_rank(1, [&](Worker& worker) { worker.run(step); });
    session.run();
    return seen;
  });
  const double work_s = 3 * 64.0 * kMiB / gpu.memory_bandwidth.value;
  expect_near(times[0],
              peer_s(64 * kMiB) + gpu.kernel_launch.value + 2 * work_s + gpu.synchronize.value,
              "the reduction at half speed");
  expect_near(times[1], 1 + work_s, "the kernel gives up what the reduction takes");
}

TEST(GpuReduction, AloneHasTheGpuToItself) {
  const Platform platform = cluster(2);
  const GpuModel& gpu = platform.gpu_models.front();
  Pattern pattern(2);
  pattern[0] = {reduce_bytes(1, 64 * kMiB)};
  pattern[1] = {send_bytes(0, 64 * kMiB)};
  expect_near(ends_s(platform, reducing(ReductionPlace::kGpu), pattern)[0],
              peer_s(64 * kMiB) + gpu.kernel_launch.value +
                  3 * 64.0 * kMiB / gpu.memory_bandwidth.value + gpu.synchronize.value);
}

// k reductions at once: each adds at its core's rate until the host's reads are used up.
TEST(CpuReduction, RanksOfANodeShareItsMemory) {
  const Platform platform = cluster(16);
  const CpuModel& cpu = platform.cpu_models.front();
  for (const int pairs : {1, 2, 8}) {
    Pattern pattern(16);
    for (int i = 0; i < 2 * pairs; i += 2) {
      pattern[static_cast<size_t>(i)] = {reduce_bytes(i + 1, 16 * kMiB)};
      pattern[static_cast<size_t>(i + 1)] = {send_bytes(i, 16 * kMiB)};
    }
    const double bytes = 16.0 * kMiB;
    const double core_s = bytes / cpu.reduce_per_core.value;
    const double memory_s = pairs * 2 * bytes / (cpu.memory_bandwidth.value / 2);
    expect_near(last_end_s(platform, reducing(ReductionPlace::kCpu), pattern),
                peer_s(16 * kMiB) + std::max(core_s, memory_s),
                fmt::format("{} reductions", pairs));
  }
}

// Two chunks into one rank: the second transfer waits for the first reduction, or runs under it.
TEST(FixedReduction, HoldsTheReceiverOrOverlaps) {
  const Platform star = load_platform(star_of(2));
  Pattern pattern(2);
  pattern[0] = {reduce_bytes(1, kMiB), reduce_bytes(1, kMiB)};
  pattern[1] = {send_bytes(0, kMiB), send_bytes(0, kMiB)};
  const double x_s = kAlpha_s + kMiB / kStarBytesPerS;
  const double r_s = 3e-6 + kMiB / 20e9;
  const std::string fixed = "ideal:reduce_bandwidth=20GB/s,reduce_overhead=3us";
  expect_near(last_end_s(star, load_stack(fixed), pattern), 2 * (x_s + r_s));
  expect_near(last_end_s(star, load_stack(fixed + ",overlap=true"), pattern),
              x_s + r_s + std::max(x_s, r_s));
}

// Whole buffers to the host and back, nothing in between: all cross the switch's uplink.
TEST(ThroughHost, CopiesShareTheUplinkAndKeepToTheStacksRate) {
  const Platform platform = cluster(4);
  const double copy = std::min(kLane, platform.gpu_models.front().host_copy.value);
  const auto copied_s = [&](int ranks, double rate) {
    Stack stack = load_stack("ideal");
    SelectionRule rule;
    rule.algorithm = "linear";  // what is run in its place costs as the rule says
    rule.through_host = true;
    rule.through_host_bandwidth = {rate};
    stack.selection["all-to-all"] = {rule};
    return numbers_in_child([&] {
             const CollectiveStep step = install(Pattern(static_cast<size_t>(ranks)), 16 * kMiB);
             return program_ends_s(platform, stack, ranks, pattern_options(),
                                   [&](Worker& worker) { worker.run(step); });
           })
        .front();
  };
  const double bytes = 16.0 * kMiB;
  expect_near(copied_s(1, 0), 2 * bytes / copy, "alone");
  expect_near(copied_s(4, 0), 2 * 4 * bytes / kLane, "four");
  expect_near(copied_s(1, 1e9), 2 * bytes / 1e9, "at the stack's rate");
  expect_near(copied_s(4, 1e9), 2 * std::max(4 * bytes / kLane, bytes / 1e9), "the slower one");
}

}  // namespace
}  // namespace forescale::testing
