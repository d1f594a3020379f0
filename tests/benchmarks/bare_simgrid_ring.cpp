// The floor of the simulator: a ring all-reduce written straight on SimGrid. A counter a rank, a
// timer for the latency and a comm for the bytes of every message; no plan, no matching, no
// accounting. Same kernel settings as sim/engine/world.cpp. What forescale takes beyond is its own.
//   bare_simgrid_ring [RANKS [BYTES]]     prints: simulated seconds, messages, wall seconds
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

namespace {

namespace sg = simgrid::s4u;

constexpr double kAlpha_s = 1e-6;
constexpr double kBytesPerS = 12.5e9;

class Ring {
 public:
  Ring(int rank_count, double bytes)
      : ranks_(static_cast<size_t>(rank_count)), block_bytes_(bytes / rank_count) {
    auto* star = sg::create_star_zone("star");
    for (int rank = 0; rank < rank_count; ++rank) {
      const std::string name = std::to_string(rank);
      at(rank).host = star->create_host(name, 1.0)->seal();
      const auto* up = star->create_link(name + " up", kBytesPerS)->set_latency(0)->seal();
      const auto* down = star->create_link(name + " down", kBytesPerS)->set_latency(0)->seal();
      star->add_route(at(rank).host->get_netpoint(), nullptr, nullptr, nullptr,
                      {sg::LinkInRoute(up)}, false);
      star->add_route(nullptr, at(rank).host->get_netpoint(), nullptr, nullptr,
                      {sg::LinkInRoute(down)}, false);
    }
    star->seal();
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
      finished(*static_cast<const sg::Comm&>(activity).get_data<Rank>());
    });
  }

  void start() {
    for (Rank& rank : ranks_) send_next(rank);
  }
  long messages() const { return messages_; }

 private:
  struct Rank {
    sg::Host* host = nullptr;
    sg::CommPtr comm;
    int started = 0;
    int sent = 0;
    int received = 0;
  };
  Rank& at(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  Rank& successor(const Rank& rank) {
    const auto next = static_cast<size_t>(&rank - ranks_.data()) + 1;
    return ranks_[next == ranks_.size() ? 0 : next];
  }

  // The next block leaves once the one before has left and the one to pass on has come.
  void send_next(Rank& rank) {
    const int steps = 2 * (static_cast<int>(ranks_.size()) - 1);
    if (rank.started == steps || rank.sent < rank.started || rank.received < rank.started) return;
    ++rank.started;
    simgrid::kernel::timer::Timer::set(sg::Engine::get_clock() + kAlpha_s, [this, &rank] {
      rank.comm = sg::Comm::sendto_init();
      rank.comm->set_data(&rank);
      rank.comm->set_payload_size(static_cast<uint64_t>(block_bytes_));
      rank.comm->set_source(rank.host);
      rank.comm->set_destination(successor(rank).host);  // starts it
    });
  }

  void finished(Rank& rank) {
    parked_ = std::move(rank.comm);  // never release the last pointer inside its own callback
    ++messages_;
    ++rank.sent;
    ++successor(rank).received;
    send_next(rank);
    send_next(successor(rank));
  }

  std::vector<Rank> ranks_;
  double block_bytes_;
  sg::CommPtr parked_;
  long messages_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const int rank_count = count > 1 ? std::atoi(words[1]) : 256;
  const double bytes = count > 2 ? std::atof(words[2]) : 100 * 1048576.0;
  std::vector<std::string> settings{"bare",
                                    "--cfg=contexts/factory:raw",
                                    "--cfg=network/model:CM02",
                                    "--cfg=network/crosstraffic:0",
                                    "--cfg=network/TCP-gamma:1e15",
                                    "--cfg=surf/precision:1e-12",
                                    "--cfg=network/optim:Lazy",
                                    "--log=root.threshold:critical"};
  std::vector<char*> arguments;
  for (std::string& setting : settings) arguments.push_back(setting.data());
  int argument_count = static_cast<int>(arguments.size());
  sg::Engine engine(&argument_count, arguments.data());
  Ring ring(rank_count, bytes);
  const auto begin = std::chrono::steady_clock::now();
  ring.start();
  engine.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  std::printf("%.9f %ld %.6f\n", sg::Engine::get_clock(), ring.messages(), wall.count());
  std::fflush(stdout);
  std::_Exit(0);
}
