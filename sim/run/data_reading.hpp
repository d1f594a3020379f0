// Reading training data in the simulated world: the stages and the closed form are those of
// models/storage.hpp; here the reads of all ranks contend, with each other and, where the server is
// on the training network, with the messages.
//
// Every reader starts at time 0 and keeps up to `prefetch` batches of each of its ranks ready or in
// the making; it never reads more than the batches that will be asked for, so a simulation ends.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "models/storage.hpp"
#include "sim/engine/machine.hpp"

namespace forescale {

// The storage that a source reads from on this platform: its own or the platform's. InputError when
// there is none, or when the number of decoding threads cannot be known. Not for synthetic data.
StorageSystem storage_for(const DataSource& source, const Platform& platform);

// All numbers that data reading rests on; none for synthetic data.
std::vector<NumberSource> data_numbers(const DataSource& source, const Platform& platform);

class DataReading {
 public:
  // Before the world runs. `images_per_rank`: of one batch, per rank of the machine, 0 for ranks
  // that read nothing; `batches`: how many each rank will take. The source must outlive this.
  // InputError as storage_for().
  DataReading(World& world, Machine& machine, const DataSource& source,
              std::vector<std::int64_t> images_per_rank, std::int64_t batches);
  ~DataReading();
  DataReading(const DataReading&) = delete;
  DataReading& operator=(const DataReading&) = delete;

  // Hands over the next batch of a rank, calling `on_ready` in kernel context as soon as there is
  // one: at once with synthetic data. Requests of a rank are served in order.
  void next_batch(int rank, std::function<void()> on_ready);

  // The rank takes no batches: nothing more is read for it, and nobody waits for its turn. What was
  // read ahead until now was read in vain: ranks that are known to take none have 0 images.
  void leave_out(int rank);

  double bytes_read() const { return bytes_read_; }  // from storage, started so far

 private:
  struct Node;
  struct Reader;
  struct Rank;

  void build(const StorageSystem& storage);
  Node& node_of(int rank, const StorageSystem& storage);
  void start_next(Reader& reader);
  void open(Reader& reader, Rank& rank);
  void read(Reader& reader, Rank& rank);
  void has_read(Reader& reader, Rank& rank);
  void decode(Rank& rank, std::function<void()> done);
  void decode_next(Rank& rank);
  void deliver(Rank& rank);

  World& world_;
  Machine& machine_;
  const DataSource& source_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::unique_ptr<Node>> nodes_;
  double bytes_read_ = 0;
};

}  // namespace forescale
