#include "sim/run/data_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"

namespace forescale {
namespace {

// Opens and core-seconds are flows too. What is shared has a smallest part, so theirs are many.
constexpr double kUnitsPerOpen = 1e6;
constexpr double kUnitsPerCoreSecond = 1e9;

}  // namespace

struct DataReading::Node {
  int number = 0;
  SimLink client = nullptr;
  SimLink cores = nullptr;    // null: not known how many
  Machine::Path from_fabric;  // empty unless the server is on the training network
};

struct DataReading::Reader {
  std::vector<Rank*> ranks;
  size_t turn = 0;  // of `ranks`: whose batch is next
  bool is_busy = false;
  std::vector<SimLink> open_route;
  std::vector<SimLink> read_route;
  const Machine::Path* fabric = nullptr;  // what `read_route` crosses of the machine
  Continuation step;
};

struct DataReading::Rank {
  std::int64_t images = 0;
  std::int64_t to_start = 0;   // batches
  std::int64_t in_flight = 0;  // batches being made or ready
  std::int64_t read = 0;       // batches waiting to be decoded
  std::int64_t ready = 0;      // batches
  bool is_decoding = false;
  Reader* reader = nullptr;
  std::vector<SimLink> decode_route;
  std::deque<std::function<void()>> waiting;
  Continuation decoded;
};

StorageSystem storage_for(const DataSource& source, const Platform& platform) {
  if (!source.storage && !platform.storage)
    throw InputError(
        {.source = "--data",
         .path = "",
         .value = source.name,
         .constraint = fmt::format("needs a storage system, and platform {} says none: "
                                   "add storage=NAME",
                                   platform.name)});
  if (source.decode_threads == 0 && platform.cores_per_node == 0)
    throw InputError(
        {.source = "--data",
         .path = "",
         .value = source.name,
         .constraint = fmt::format("decodes on all cores, and platform {} does not say "
                                   "how many: add decode_threads=N",
                                   platform.name)});
  return source.storage ? *source.storage : *platform.storage;
}

std::vector<NumberSource> data_numbers(const DataSource& source, const Platform& platform) {
  if (source.is_synthetic()) return {};
  std::vector<NumberSource> numbers = source.provenance.numbers;
  if (!source.storage && platform.storage)
    numbers.insert(numbers.end(), platform.storage->provenance.numbers.begin(),
                   platform.storage->provenance.numbers.end());
  return numbers;
}

DataReading::DataReading(World& world, Machine& machine, const DataSource& source,
                         std::vector<std::int64_t> images_per_rank, std::int64_t batches)
    : world_(world), machine_(machine), source_(source) {
  FORESCALE_CHECK(static_cast<int>(images_per_rank.size()) == machine.rank_count(),
                  "every rank of the machine has a batch size");
  for (const std::int64_t images : images_per_rank) {
    ranks_.push_back(std::make_unique<Rank>());
    ranks_.back()->images = images;
    ranks_.back()->to_start = source.is_synthetic() || images == 0 ? 0 : batches;
  }
  if (source.is_synthetic()) return;
  build(storage_for(source, machine.lanes().platform()));
  world_.after(0, [this] {
    for (const auto& reader : readers_) start_next(*reader);
  });
}

DataReading::~DataReading() = default;

DataReading::Node& DataReading::node_of(int rank, const StorageSystem& storage) {
  const Platform& platform = machine_.lanes().platform();
  const int device = platform.endpoints[static_cast<size_t>(rank)];
  const int number = platform.devices[static_cast<size_t>(device)].node;
  const auto known = std::find_if(nodes_.begin(), nodes_.end(),
                                  [&](const auto& node) { return node->number == number; });
  if (known != nodes_.end()) return **known;
  nodes_.push_back(std::make_unique<Node>());
  Node& node = *nodes_.back();
  node.number = number;
  node.client = world_.add_link(storage.client_bandwidth.value);
  if (platform.cores_per_node > 0)
    node.cores = world_.add_link(platform.cores_per_node * kUnitsPerCoreSecond);
  if (storage.network == StorageNetwork::kFabric) {
    std::vector<Resource> resources;
    for (const Capacity capacity : platform.from_fabric(platform.host_of(device)))
      resources.push_back({ResourceKind::kLink, capacity, -1});
    node.from_fabric = machine_.path_of(resources);
  }
  return node;
}

void DataReading::build(const StorageSystem& storage) {
  const int cores = machine_.lanes().platform().cores_per_node;
  const int threads = source_.threads(cores);
  const int reading_threads = source_.reading_threads(cores);
  const SimLink files = world_.add_link(storage.bandwidth.value);
  const SimLink opens = world_.add_link(storage.opens_per_s * kUnitsPerOpen);
  std::map<const Node*, Reader*> of_node;
  for (int number = 0; number < machine_.rank_count(); ++number) {
    Rank& rank = *ranks_[static_cast<size_t>(number)];
    if (rank.to_start == 0) continue;
    Node& node = node_of(number, storage);
    rank.decode_route = {world_.add_link(threads * kUnitsPerCoreSecond)};
    if (node.cores != nullptr) rank.decode_route.push_back(node.cores);
    Reader*& shared = of_node[&node];
    if (source_.reader == ReaderPlace::kRank || shared == nullptr) {
      readers_.push_back(std::make_unique<Reader>());
      Reader& reader = *readers_.back();
      shared = &reader;
      reader.fabric = &node.from_fabric;
      reader.open_route = {opens};
      if (storage.open_latency.value > 0)
        reader.open_route.push_back(
            world_.add_link(reading_threads / storage.open_latency.value * kUnitsPerOpen));
      reader.read_route = {world_.add_link(reading_threads * source_.reader_bandwidth.value),
                           node.client, files};
      reader.read_route.insert(reader.read_route.end(), node.from_fabric.links.begin(),
                               node.from_fabric.links.end());
    }
    shared->ranks.push_back(&rank);
    rank.reader = shared;
  }
  const double database = database_bandwidth(source_, static_cast<int>(readers_.size()));
  if (!std::isfinite(database) || readers_.empty()) return;
  const SimLink link = world_.add_link(database);
  for (const auto& reader : readers_) reader->read_route.push_back(link);
}

// A reader serves its ranks strictly in turn: a full queue holds it up.
void DataReading::start_next(Reader& reader) {
  if (reader.is_busy) return;
  for (size_t i = 0; i < reader.ranks.size(); ++i) {
    Rank& rank = *reader.ranks[reader.turn];
    if (rank.to_start == 0) {  // has all it needs
      reader.turn = (reader.turn + 1) % reader.ranks.size();
      continue;
    }
    if (rank.in_flight == source_.prefetch) return;
    reader.turn = (reader.turn + 1) % reader.ranks.size();
    reader.is_busy = true;
    --rank.to_start;
    ++rank.in_flight;
    open(reader, rank);
    return;
  }
}

void DataReading::open(Reader& reader, Rank& rank) {
  reader.step.then = [this, &reader, &rank] { read(reader, rank); };
  const double opens = source_.stored_opens() * static_cast<double>(rank.images);
  world_.start_flow(reader.open_route, opens * kUnitsPerOpen, &reader.step);
}

void DataReading::read(Reader& reader, Rank& rank) {
  reader.step.then = [this, &reader, &rank] { has_read(reader, rank); };
  const double bytes = source_.stored_bytes() * static_cast<double>(rank.images);
  bytes_read_ += bytes;
  reader.fabric->account(bytes);
  world_.start_flow(reader.read_route, bytes, &reader.step);
}

void DataReading::has_read(Reader& reader, Rank& rank) {
  if (source_.reads_ahead) {
    reader.is_busy = false;
    ++rank.read;
    decode_next(rank);
    start_next(reader);
    return;
  }
  decode(rank, [this, &reader, &rank] {
    reader.is_busy = false;
    deliver(rank);
    start_next(reader);
  });
}

void DataReading::decode(Rank& rank, std::function<void()> done) {
  rank.decoded.then = std::move(done);
  const double work_s = source_.decode.value * static_cast<double>(rank.images);
  world_.start_flow(rank.decode_route, work_s * kUnitsPerCoreSecond, &rank.decoded);
}

void DataReading::decode_next(Rank& rank) {
  if (rank.is_decoding || rank.read == 0) return;
  --rank.read;
  rank.is_decoding = true;
  decode(rank, [this, &rank] {
    rank.is_decoding = false;
    deliver(rank);
    decode_next(rank);
  });
}

void DataReading::deliver(Rank& rank) {
  if (rank.waiting.empty()) {
    ++rank.ready;
    return;
  }
  const auto on_ready = std::move(rank.waiting.front());
  rank.waiting.pop_front();
  --rank.in_flight;
  start_next(*rank.reader);
  on_ready();
}

void DataReading::next_batch(int number, std::function<void()> on_ready) {
  world_.in_kernel(
      [this, &rank = *ranks_[static_cast<size_t>(number)], on_ready = std::move(on_ready)] {
        if (rank.reader == nullptr) {
          on_ready();
          return;
        }
        if (rank.ready == 0) {
          FORESCALE_CHECK(
              rank.to_start + rank.in_flight > static_cast<std::int64_t>(rank.waiting.size()),
              "a rank takes no more batches than it said");
          rank.waiting.push_back(on_ready);
          return;
        }
        --rank.ready;
        --rank.in_flight;
        start_next(*rank.reader);
        on_ready();
      });
}

void DataReading::leave_out(int number) {
  Rank& rank = *ranks_[static_cast<size_t>(number)];
  if (rank.to_start == 0) return;
  rank.to_start = 0;
  world_.in_kernel([this, &rank] { start_next(*rank.reader); });
}

}  // namespace forescale
