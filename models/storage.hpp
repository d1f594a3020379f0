// Where training data comes from, and how fast.
//
// A storage system is shared by all nodes; a data source is how a framework reads from one. A batch
// of b images at one rank passes three stages:
//   open    b * opens_per_image, at most threads / open latency each second for one reader, the
//           metadata server's rate for all
//   read    b * image bytes, at the max-min share of the reader, the node's client, the database,
//           the file system and, where the server is on the training network, the links into the
//           node
//   decode  b * decode seconds of one core, on at most `decode_threads` cores of the node's
// With reads_ahead the next batch is opened and read while one is decoded; without, the same
// threads do all three in turn. At most `prefetch` batches of a rank are ready or in the making.
//
// A database (LMDB) serves R readers at c * min(R, R0) * (R0 / max(R, R0))^g bytes/s together: c
// one reader's rate, R0 `readers_max`, g `degradation`. Awan et al., S-Caffe, PPoPP 2017,
// sections 4.1 and 6.3, say that it does not scale beyond 64 readers and degrades severely; the
// form of the law is assumed, g = 0 (flat) and 2 are its ends.
//
// Not modelled: the copy of a batch to the GPU, memory traffic of decoding, cores shared with
// communication, the first epoch of a cache.
#pragma once

#include <optional>
#include <string>

#include "base/json_input.hpp"
#include "base/units.hpp"

namespace forescale {

enum class StorageNetwork {
  kOwn,    // the nodes' client bandwidth is all that limits a node
  kFabric  // the server hangs on a switch of the training network beside the nodes
};

struct StorageSystem {
  std::string name;
  std::string description;
  BytesPerSecond bandwidth;         // to all nodes together
  BytesPerSecond client_bandwidth;  // to one node
  double opens_per_s = 0;           // all nodes together
  Seconds open_latency;             // of one open, unloaded
  StorageNetwork network = StorageNetwork::kOwn;
  Provenance provenance;  // filled where a platform has it
};

enum class ReaderPlace {
  kRank,  // every rank reads for itself
  kNode   // one reader a node fills the queues of its ranks in turn
};

struct DataSource {
  std::string name;
  std::string description;
  Bytes image;                 // read for one image; 0: synthetic data, which costs nothing
  double opens_per_image = 0;  // metadata operations
  Seconds decode;              // of one core, for one image: decoding, cropping, mirroring
  int decode_threads = 1;      // of one rank; 0: as many as the node has cores
  bool reads_ahead = true;     // reading overlaps decoding
  ReaderPlace reader = ReaderPlace::kRank;
  BytesPerSecond reader_bandwidth;  // one reading thread, alone
  int readers_max = 0;              // of a database: scales up to here; 0: no such limit
  double degradation = 0;           // of a database: the exponent g
  double cached = 0;                // share of the reads that the node's page cache serves at once
  int prefetch = 1;                 // batches of a rank that are ready or in the making
  std::optional<StorageSystem> storage;  // in place of the platform's
  Provenance provenance;

  bool is_synthetic() const { return image.value == 0; }
  // What storage sees of one image.
  double stored_bytes() const { return (1 - cached) * static_cast<double>(image.value); }
  double stored_opens() const { return (1 - cached) * opens_per_image; }
  // Of one rank, on a node with so many cores.
  int threads(int cores_per_node) const {
    return decode_threads > 0 ? decode_threads : cores_per_node;
  }
  // Of one reader.
  int reading_threads(int cores_per_node) const {
    return reads_ahead ? 1 : threads(cores_per_node);
  }
};

// models/storage/NAME.json or a path; `option` names where it was said.
StorageSystem load_storage(const std::string& name, const std::string& option,
                           Provenance* provenance);
// The same object written inside another file, or a name.
StorageSystem read_storage(const JsonInput& in);

// What --data takes: "NAME" of models/data_sources/ or a JSON file, with options:
// "image-files:decode_threads=4,prefetch=8,cached=50,image=110kB,decode=4ms,readers_max=64,
// storage=lustre" (cached in percent). InputError for anything wrong.
DataSource load_data_source(const std::string& text, Scenario scenario = Scenario::kNominal);

// Who reads at once, for the closed form.
struct ReadingLoad {
  int ranks = 1;
  int ranks_per_node = 1;
  int cores_per_node = 0;           // 0: not known, so no limit
  BytesPerSecond fabric_into_node;  // 0: not crossed
};

// Bytes/s of a database under so many readers; infinite where the source has no limit.
double database_bandwidth(const DataSource& source, int readers);

// Images/s of all ranks together in the steady state, when nobody waits for anything but data.
// Exact for ranks that are all alike: the three stages in turn without reads_ahead (or with
// prefetch = 1), else the slower of open + read and decode; infinite for synthetic data.
double steady_images_per_s(const DataSource& source, const StorageSystem& storage,
                           const ReadingLoad& load);

}  // namespace forescale
