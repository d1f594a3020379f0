// Storage systems, data sources and their closed form.
#include "models/storage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/data_files.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

std::string source_refusal(const std::string& text) {
  return refusal([&] { load_data_source(text); });
}

TEST(Storage, CatalogueLoadsWithSources) {
  const std::vector<std::string> systems = catalogue("models/storage");
  ASSERT_FALSE(systems.empty());
  for (const std::string& name : systems) {
    Provenance provenance;
    const StorageSystem system = load_storage(name, "test", &provenance);
    EXPECT_EQ(system.name, name);
    EXPECT_EQ(provenance.numbers.size(), 4U);
    for (const NumberSource& number : provenance.numbers)
      EXPECT_THAT(number.source, ::testing::Not(::testing::StartsWith("given in")))
          << number.file << number.path;
  }
}

TEST(DataSources, CatalogueLoadsInEveryScenario) {
  EXPECT_THAT(catalogue("models/data_sources"),
              ::testing::ElementsAre("image-files", "lmdb", "nfs", "record-files", "single-reader",
                                     "synthetic"));
  for (const std::string& name : catalogue("models/data_sources"))
    for (Scenario scenario : {Scenario::kNominal, Scenario::kFast, Scenario::kSlow}) {
      const DataSource source = load_data_source(name, scenario);
      EXPECT_EQ(source.name, name);
      EXPECT_EQ(source.is_synthetic(), name == "synthetic");
    }
}

TEST(DataSources, CaffesDatabaseHoldsRawImages) {
  const DataSource lmdb = load_data_source("lmdb");
  EXPECT_EQ(lmdb.image.value, 3 * 256 * 256);
  EXPECT_EQ(lmdb.readers_max, 64);
  EXPECT_EQ(lmdb.prefetch, 3);
  // ILSVRC 2012, a tar header and half a block of padding each.
  EXPECT_NEAR(static_cast<double>(load_data_source("image-files").image.value),
              147897477120.0 / 1281167 - 512 - 256, 1);
}

TEST(DataSources, OptionsOverride) {
  const DataSource source = load_data_source(
      "image-files:decode_threads=4,prefetch=8,cached=25,image=100kB,decode=2ms,storage=efs");
  EXPECT_EQ(source.decode_threads, 4);
  EXPECT_EQ(source.prefetch, 8);
  EXPECT_DOUBLE_EQ(source.stored_bytes(), 0.75 * 100e3);
  EXPECT_DOUBLE_EQ(source.stored_opens(), 0.75);
  EXPECT_DOUBLE_EQ(source.decode.value, 2e-3);
  ASSERT_TRUE(source.storage.has_value());
  EXPECT_EQ(source.storage->name, "efs");
  EXPECT_EQ(load_data_source("lmdb:readers_max=8").readers_max, 8);
}

TEST(DataSources, MistakesAreNamed) {
  EXPECT_THAT(source_refusal("lmbd"), HasSubstr("--data = lmbd: unknown; did you mean \"lmdb\"?"));
  EXPECT_THAT(source_refusal("lmdb:prefetch=0"),
              HasSubstr("--data lmdb:prefetch = 0: must be >= 1"));
  EXPECT_THAT(source_refusal("lmdb:prefetc=2"), HasSubstr("did you mean \"prefetch\"?"));
  EXPECT_THAT(source_refusal("lmdb:cached=101"), HasSubstr("must be <= 100"));
  EXPECT_THAT(source_refusal("lmdb:storage=lustr"), HasSubstr("did you mean \"lustre\"?"));
  EXPECT_THAT(source_refusal("lmdb:image=0"), HasSubstr("must be > 0"));
  EXPECT_THAT(source_refusal("image-files:readers_max=8"), HasSubstr("has no reader limit"));
  EXPECT_THAT(source_refusal("synthetic:prefetch=2"), HasSubstr("takes no options"));
}

DataSource database() {
  DataSource source;
  source.name = "database";
  source.image = {200000};
  source.decode = {1e-3};
  source.reader_bandwidth = {100e6};
  source.readers_max = 64;
  source.degradation = 1;
  source.prefetch = 3;
  return source;
}

StorageSystem fast_storage() {
  return {.name = "fast",
          .description = "",
          .bandwidth = {1e12},
          .client_bandwidth = {1e12},
          .opens_per_s = 1e9,
          .open_latency = {0},
          .network = StorageNetwork::kOwn,
          .provenance = {}};
}

TEST(Database, ScalesToItsLimitAndFallsBeyond) {
  DataSource source = database();
  EXPECT_DOUBLE_EQ(database_bandwidth(source, 1), 100e6);
  EXPECT_DOUBLE_EQ(database_bandwidth(source, 64), 64 * 100e6);
  EXPECT_DOUBLE_EQ(database_bandwidth(source, 160), 64 * 100e6 * (64.0 / 160));
  source.degradation = 0;
  EXPECT_DOUBLE_EQ(database_bandwidth(source, 160), 64 * 100e6);
  source.readers_max = 0;
  EXPECT_TRUE(std::isinf(database_bandwidth(source, 160)));
}

// 100 MB/s a reader and 200 kB an image: 500 images/s a rank, while decoding does 1000.
TEST(Database, ManyReadersAreSlowerThanFew) {
  const auto rate = [](int ranks) {
    return steady_images_per_s(
        database(), fast_storage(),
        {.ranks = ranks, .ranks_per_node = 16, .cores_per_node = 24, .fabric_into_node = {}});
  };
  EXPECT_NEAR(rate(16), 16 * 500, 1e-9 * 8000);
  EXPECT_NEAR(rate(64), 64 * 500, 1e-9 * 32000);
  EXPECT_NEAR(rate(160), 64 * 500 * 0.4, 1e-9 * 12800);
  EXPECT_LT(rate(160), rate(64));
}

TEST(ClosedForm, StagesAddUpWithoutReadingAhead) {
  DataSource source = database();
  source.readers_max = 0;
  source.reads_ahead = false;
  source.opens_per_image = 2;
  source.decode_threads = 2;
  StorageSystem storage = fast_storage();
  storage.open_latency = {1e-3};
  const ReadingLoad load{
      .ranks = 1, .ranks_per_node = 1, .cores_per_node = 4, .fabric_into_node = {}};
  // Two threads: opens 2 * 1 ms, read 200 kB at 100 MB/s, decode 1 ms.
  EXPECT_NEAR(steady_images_per_s(source, storage, load), 2 / (2e-3 + 2e-3 + 1e-3), 1e-9 * 400);
  storage.opens_per_s = 100;  // now the metadata server limits: 20 ms an image
  EXPECT_NEAR(steady_images_per_s(source, storage, load), 1 / (20e-3 + 1e-3 + 0.5e-3), 1e-9 * 50);
}

TEST(ClosedForm, FabricAndCoresAreShared) {
  DataSource source = database();
  source.readers_max = 0;
  StorageSystem storage = fast_storage();
  const ReadingLoad load{
      .ranks = 8, .ranks_per_node = 4, .cores_per_node = 2, .fabric_into_node = {80e6}};
  // Four ranks on two cores, 1 ms each: 2000 a node; two nodes.
  EXPECT_NEAR(steady_images_per_s(source, storage, load), 2 * 2000, 1e-9 * 4000);
  storage.network = StorageNetwork::kFabric;  // 80 MB/s into each node: 400 images/s
  EXPECT_NEAR(steady_images_per_s(source, storage, load), 2 * 400, 1e-9 * 800);
}

}  // namespace
}  // namespace forescale
