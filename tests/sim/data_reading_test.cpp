// Reading training data: the steady rate against its closed form, finite prefetch, turns of a
// single reader, and NFS sharing the training network.
#include "sim/run/data_reading.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

struct Scene {
  std::string platform = "kesch";
  std::string source = "lmdb";
  int ranks = 1;
  std::int64_t images = 32;
  std::int64_t batches = 8;
  double compute_s = 0;  // of a rank, between getting a batch and asking for the next
};

// A rank that takes batch after batch; notes when it got each.
struct Taker {
  World& world;
  DataReading& data;
  const Scene& scene;
  int rank = 0;
  std::vector<double> got_s = {};

  void ask() {
    data.next_batch(rank, [this] {
      got_s.push_back(world.now_s());
      if (static_cast<std::int64_t>(got_s.size()) < scene.batches)
        world.after(scene.compute_s, [this] { ask(); });
    });
  }
};

// When rank 0 got each of its batches.
std::vector<double> times_s(const Scene& scene) {
  return numbers_in_child([&] {
    const Platform platform = load_platform(scene.platform);
    const Stack stack = load_stack("ideal");
    const DataSource source = load_data_source(scene.source);
    const auto made = make_world();
    World& world = *made;
    Machine machine(world, platform, stack, scene.ranks);
    DataReading data(world, machine, source,
                     std::vector<std::int64_t>(static_cast<size_t>(scene.ranks), scene.images),
                     scene.batches);
    std::deque<Taker> takers;
    for (int rank = 0; rank < scene.ranks; ++rank)
      takers.push_back({.world = world, .data = data, .scene = scene, .rank = rank});
    world.after(0, [&] {
      for (Taker& taker : takers) taker.ask();
    });
    world.run([] { return std::string("stuck"); });
    for (const Taker& taker : takers)
      EXPECT_EQ(static_cast<std::int64_t>(taker.got_s.size()), scene.batches);
    const double all_images = static_cast<double>(scene.ranks * scene.images * scene.batches);
    EXPECT_NEAR(data.bytes_read(), all_images * source.stored_bytes(), 1e-9 * all_images);
    return takers.front().got_s;
  });
}

// Images/s of all ranks over the second half of the batches.
double simulated_images_per_s(const Scene& scene) {
  const std::vector<double> got_s = times_s(scene);
  const size_t half = got_s.size() / 2;
  const auto images = static_cast<double>(scene.images * static_cast<std::int64_t>(scene.ranks));
  return images * static_cast<double>(got_s.size() - 1 - half) / (got_s.back() - got_s[half]);
}

// What the first slots ask for: exact when all nodes in use have equally many of them.
ReadingLoad reading_load(const Platform& platform, int rank_count) {
  ReadingLoad load{.ranks = rank_count,
                   .ranks_per_node = 1,
                   .cores_per_node = platform.cores_per_node,
                   .fabric_into_node = {}};
  std::map<int, int> ranks_of_node;
  for (int rank = 0; rank < rank_count; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    int& here = ranks_of_node[platform.devices[static_cast<size_t>(device)].node];
    load.ranks_per_node = std::max(load.ranks_per_node, ++here);
  }
  double narrowest = std::numeric_limits<double>::infinity();
  for (const Capacity capacity : platform.from_fabric(platform.host_of(platform.endpoints.front())))
    narrowest = std::min(narrowest, platform.bandwidth(capacity).value);
  if (std::isfinite(narrowest)) load.fabric_into_node = {narrowest};
  return load;
}

double closed_form(const Scene& scene) {
  const Platform platform = load_platform(scene.platform);
  const DataSource source = load_data_source(scene.source);
  return steady_images_per_s(source, storage_for(source, platform),
                             reading_load(platform, scene.ranks));
}

class SteadyRate : public ::testing::TestWithParam<Scene> {};

TEST_P(SteadyRate, IsTheClosedForm) {
  const double expected = closed_form(GetParam());
  EXPECT_NEAR(simulated_images_per_s(GetParam()), expected, 1e-9 * expected);
}

INSTANTIATE_TEST_SUITE_P(
    Sources, SteadyRate,
    ::testing::Values(
        Scene{.source = "lmdb", .ranks = 16}, Scene{.source = "lmdb", .ranks = 64},
        Scene{.source = "lmdb", .ranks = 160},
        Scene{.source = "lmdb:decode=4ms", .ranks = 16},  // decoding limits
        Scene{.source = "lmdb:prefetch=1", .ranks = 16}, Scene{.source = "image-files", .ranks = 1},
        Scene{.source = "image-files", .ranks = 160},
        Scene{.source = "image-files:decode_threads=4", .ranks = 160},     // cores limit
        Scene{.source = "image-files:decode=0s,image=1kB", .ranks = 192},  // opens limit
        Scene{.source = "record-files", .ranks = 32},
        Scene{.source = "record-files:decode=0s", .ranks = 192},
        Scene{.source = "single-reader", .ranks = 16},
        Scene{.source = "single-reader:readers_max=1", .ranks = 48},
        Scene{.platform = "susitna", .source = "nfs", .ranks = 8},
        Scene{.platform = "susitna-ethernet-1g", .source = "nfs:decode=0s", .ranks = 1},
        Scene{.platform = "aws-p2.8xlarge", .source = "record-files", .ranks = 64},
        Scene{.platform = "piz-daint", .source = "image-files", .ranks = 16}),
    [](const auto& test) {
      std::string name =
          test.param.platform + "_" + test.param.source + "_" + std::to_string(test.param.ranks);
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

TEST(DataReading, DatabaseDegradesBeyondItsLimit) {
  const double few = simulated_images_per_s({.source = "lmdb", .ranks = 64});
  const double many = simulated_images_per_s({.source = "lmdb", .ranks = 160});
  EXPECT_LT(many, few);
  EXPECT_GT(simulated_images_per_s({.source = "image-files", .ranks = 160}), many);
}

TEST(DataReading, SyntheticIsThereAtOnce) {
  EXPECT_THAT(times_s({.source = "synthetic", .ranks = 4, .batches = 3}),
              ::testing::ElementsAre(0, 0, 0));
}

// Compute longer than reading: only the first batch is waited for.
TEST(DataReading, PrefetchHidesReading) {
  const Scene scene{.source = "image-files", .ranks = 16, .images = 8, .compute_s = 1};
  ASSERT_LT(8 * 16 / closed_form(scene), 1);
  const std::vector<double> got_s = times_s(scene);
  EXPECT_GT(got_s[0], 0);
  for (size_t i = 0; i < got_s.size(); ++i)
    EXPECT_NEAR(got_s[i], got_s[0] + static_cast<double>(i), 1e-9);
}

// Nobody takes anything: reading stops at `prefetch` batches of each rank.
TEST(DataReading, PrefetchIsFinite) {
  EXPECT_EQ(in_child([] {
              const Platform platform = load_platform("kesch");
              const Stack stack = load_stack("ideal");
              const DataSource source = load_data_source("lmdb:prefetch=2");
              const auto made = make_world();
              World& world = *made;
              Machine machine(world, platform, stack, 3);
              DataReading data(world, machine, source, {10, 0, 20}, 100);
              world.run([] { return std::string("stuck"); });
              return data.bytes_read();
            }),
            2 * (10 + 20) * 196608.0);
}

// One reader a node serves in turn: when rank 1 stops taking, its queue fills and rank 0 starves
// after the batches of its own turns before that.
TEST(DataReading, SingleReaderIsHeldUpByAFullQueue) {
  const auto batches_of_rank_0 = [](const std::string& text) {
    return in_child([&] {
      const Platform platform = load_platform("kesch");
      const Stack stack = load_stack("ideal");
      const DataSource source = load_data_source(text);
      const auto made = make_world();
      World& world = *made;
      Machine machine(world, platform, stack, 2);
      DataReading data(world, machine, source, {10, 10}, 20);
      double taken = 0;
      std::function<void()> take = [&] {
        if (++taken < 20) data.next_batch(0, take);
      };
      world.after(0, [&] { data.next_batch(0, take); });
      world.run([] { return std::string("stuck"); });
      return taken;
    });
  };
  EXPECT_EQ(batches_of_rank_0("single-reader:prefetch=3"), 3 + 1);
  EXPECT_EQ(batches_of_rank_0("lmdb:prefetch=3"), 20);
}

// 1 Gbit/s into the node limits; an endless message into the same node takes half of it.
TEST(DataReading, NfsSharesTheTrainingNetwork) {
  const auto first_batch_s = [](bool with_message) {
    return in_child([&] {
      const Platform platform = load_platform("susitna-ethernet-1g");
      const Stack stack = load_stack("ideal");
      DataSource source = load_data_source("nfs:decode=0s,prefetch=1");
      source.reader_bandwidth = source.storage->client_bandwidth = {1e9};
      const auto made = make_world();
      World& world = *made;
      Machine machine(world, platform, stack, 2);
      DataReading data(world, machine, source, {100, 0}, 1);
      const Lane& lane = machine.lanes().lane(1, 0, BufferPlace::kGpu, 1 << 30);
      Continuation message;
      message.then = [] {};
      if (with_message)
        world.after(0, [&] { world.start_flow(machine.path(lane, 0).links, 1 << 30, &message); });
      double ready_s = 0;
      world.after(0, [&] { data.next_batch(0, [&] { ready_s = world.now_s(); }); });
      world.run([] { return std::string("stuck"); });
      return ready_s;
    });
  };
  const double bytes = 100 * 196608.0;
  const double link = load_link("ethernet-1g", "test", nullptr).bandwidth.value;
  EXPECT_NEAR(first_batch_s(false), bytes / link, 1e-9 * bytes / link);
  EXPECT_NEAR(first_batch_s(true), 2 * bytes / link, 1e-9 * bytes / link);
}

TEST(DataReading, NeedsAStorageSystem) {
  const Platform star = load_platform("star:hosts=2,bandwidth=1GB/s,latency=1us");
  EXPECT_THROW(storage_for(load_data_source("lmdb"), star), InputError);
  EXPECT_EQ(storage_for(load_data_source("lmdb:storage=efs"), star).name, "efs");
  EXPECT_THROW(storage_for(load_data_source("record-files:storage=efs"), star), InputError);
}

TEST(DataReading, NumbersOfTheStorageCountOnlyWhenItIsRead) {
  const Platform kesch = load_platform("kesch");
  EXPECT_TRUE(data_numbers(load_data_source("synthetic"), kesch).empty());
  const DataSource lmdb = load_data_source("lmdb");
  EXPECT_EQ(data_numbers(lmdb, kesch).size(),
            lmdb.provenance.numbers.size() + kesch.storage->provenance.numbers.size());
}

}  // namespace
}  // namespace forescale::testing
