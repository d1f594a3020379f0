#include "models/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"

namespace forescale {
namespace {

constexpr const char* kStorage = "models/storage";
constexpr const char* kSources = "models/data_sources";
constexpr const char* kOption = "--data";
constexpr int kThreadsMax = 4096;
constexpr int kPrefetchMax = 1 << 16;
constexpr int kReadersMax = 1 << 20;
constexpr double kOpensPerSecondMax = 1e9;
constexpr double kDegradationMax = 8;

StorageSystem read_system(const JsonInput& in, const std::string& name) {
  in.allow_only({"description", "bandwidth_bytes_per_s", "client_bandwidth_bytes_per_s",
                 "opens_per_s", "open_latency_s", "network"});
  return {.name = name,
          .description = in.at("description").string(),
          .bandwidth = in.at("bandwidth_bytes_per_s").bandwidth(),
          .client_bandwidth = in.at("client_bandwidth_bytes_per_s").bandwidth(),
          .opens_per_s = in.at("opens_per_s").factor(1, kOpensPerSecondMax),
          .open_latency = in.at("open_latency_s").seconds(),
          .network = in.at("network").one_of({"own", "fabric"}) == "own" ? StorageNetwork::kOwn
                                                                         : StorageNetwork::kFabric,
          .provenance = {}};
}

void read_database(DataSource& source, const JsonInput& in) {
  in.allow_only({"readers_max", "degradation"});
  source.readers_max = static_cast<int>(in.at("readers_max").integer(1, kReadersMax));
  source.degradation = in.at("degradation").factor(0, kDegradationMax);
}

// `in` is a file of models/data_sources/.
void read_source(DataSource& source, const JsonInput& in) {
  in.allow_only({"description", "image_bytes", "opens_per_image", "decode_s", "decode_threads",
                 "reads_ahead", "reader", "reader_bandwidth_bytes_per_s", "database", "prefetch",
                 "storage"});
  source.description = in.at("description").string();
  source.image = in.at("image_bytes").bytes();
  if (source.is_synthetic()) return;
  source.opens_per_image = in.at("opens_per_image").factor(0, 1e3);
  source.decode = in.at("decode_s").seconds();
  source.decode_threads = static_cast<int>(in.at("decode_threads").integer(0, kThreadsMax));
  source.reads_ahead = in.at("reads_ahead").boolean();
  source.reader =
      in.at("reader").one_of({"rank", "node"}) == "rank" ? ReaderPlace::kRank : ReaderPlace::kNode;
  if (source.reader == ReaderPlace::kNode && !source.reads_ahead)
    in.at("reads_ahead").fail("must be true with one reader a node, which does not decode");
  source.reader_bandwidth = in.at("reader_bandwidth_bytes_per_s").bandwidth();
  if (const auto database = in.find("database")) read_database(source, *database);
  source.prefetch = static_cast<int>(in.at("prefetch").integer(1, kPrefetchMax));
  if (const auto storage = in.find("storage")) source.storage = read_storage(*storage);
}

void apply_options(DataSource& source, const OptionsText& options) {
  if (source.is_synthetic()) {
    options.allow_only({});
    return;
  }
  options.allow_only(
      {"decode_threads", "prefetch", "cached", "image", "decode", "readers_max", "storage"});
  source.decode_threads =
      static_cast<int>(options.integer("decode_threads", source.decode_threads, 0, kThreadsMax));
  source.prefetch = static_cast<int>(options.integer("prefetch", source.prefetch, 1, kPrefetchMax));
  constexpr int kPercent = 100;
  source.cached = static_cast<double>(options.integer("cached", 0, 0, kPercent)) / kPercent;
  if (const auto image = options.find("image")) {
    source.image = parse_bytes(*image, options.where("image"));
    if (source.image.value == 0)
      throw InputError({.source = options.where("image"),
                        .path = "",
                        .value = *image,
                        .constraint = "must be > 0; data without cost is \"synthetic\""});
  }
  if (const auto decode = options.find("decode"))
    source.decode = parse_seconds(*decode, options.where("decode"));
  if (options.find("readers_max")) {
    if (source.readers_max == 0)
      throw InputError({.source = options.where("readers_max"),
                        .path = "",
                        .value = *options.find("readers_max"),
                        .constraint = "is for databases: " + source.name + " has no reader limit"});
    source.readers_max = static_cast<int>(options.integer("readers_max", 1, 1, kReadersMax));
  }
  if (const auto storage = options.find("storage"))
    source.storage = load_storage(*storage, options.where("storage"), &source.provenance);
}

}  // namespace

StorageSystem load_storage(const std::string& name, const std::string& option,
                           Provenance* provenance) {
  return read_system(JsonInput::from_file(find_data_file(kStorage, name, option), provenance),
                     short_name(name));
}

StorageSystem read_storage(const JsonInput& in) {
  if (in.is_object()) return read_system(in, "storage");
  return load_storage(in.string(), in.file() + ":" + in.path(), in.provenance());
}

DataSource load_data_source(const std::string& text, Scenario scenario) {
  const OptionsText options = OptionsText::parse(text, kOption);
  const std::string file = find_data_file(kSources, options.name(), kOption);
  DataSource source;
  source.name = short_name(options.name());
  source.provenance.scenario = scenario;
  read_source(source, JsonInput::from_file(file, &source.provenance));
  apply_options(source, options);
  return source;
}

double database_bandwidth(const DataSource& source, int readers) {
  if (source.readers_max == 0) return std::numeric_limits<double>::infinity();
  const double scaled = std::min(readers, source.readers_max);
  const double excess = std::max(1.0, static_cast<double>(readers) / source.readers_max);
  return source.reader_bandwidth.value * scaled * std::pow(excess, -source.degradation);
}

double steady_images_per_s(const DataSource& source, const StorageSystem& storage,
                           const ReadingLoad& load) {
  if (source.is_synthetic()) return std::numeric_limits<double>::infinity();
  const double ranks = load.ranks;
  const double ranks_per_node = load.ranks_per_node;
  const double ranks_per_reader = source.reader == ReaderPlace::kRank ? 1 : ranks_per_node;
  const double cores =
      load.cores_per_node > 0 ? load.cores_per_node : std::numeric_limits<double>::infinity();
  const int threads = source.threads(load.cores_per_node);
  const int reading_threads = source.reading_threads(load.cores_per_node);
  const auto readers = static_cast<int>(std::ceil(ranks / ranks_per_reader));
  // Seconds that one rank spends on one image at each stage.
  const double open_s = source.stored_opens() *
                        std::max(storage.open_latency.value / reading_threads * ranks_per_reader,
                                 ranks / storage.opens_per_s);
  double rate =
      std::min({source.reader_bandwidth.value * reading_threads / ranks_per_reader,
                storage.client_bandwidth.value / ranks_per_node,
                database_bandwidth(source, readers) / ranks, storage.bandwidth.value / ranks});
  if (storage.network == StorageNetwork::kFabric && load.fabric_into_node.value > 0)
    rate = std::min(rate, load.fabric_into_node.value / ranks_per_node);
  const double read_s = source.stored_bytes() / rate;
  const double decode_s =
      source.decode.value / std::min(static_cast<double>(threads), cores / ranks_per_node);
  const bool overlaps = source.reads_ahead && source.prefetch > 1;
  const double image_s =
      overlaps ? std::max(open_s + read_s, decode_s) : open_s + read_s + decode_s;
  return ranks / image_s;
}

}  // namespace forescale
