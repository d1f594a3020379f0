#include "studies/sweep/sweep_worker.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "studies/sweep/sweep_wire.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kPatience{120};

// Nothing when nobody who knows the secret answers.
std::optional<LineSocket> greeted_by(const MasterAddress& master, const SweepWorker& worker) {
  constexpr double kAnswer_s = 10;
  for (const std::string& address : addresses_from_here(master)) {
    auto socket = connect_to(address, master.port);
    if (!socket) continue;
    socket->send({{"secret", master.secret},
                  {"study", worker.study.id},
                  {"version", worker.version},
                  {"slots", worker.slots}});
    const auto answer = socket->wait(kAnswer_s);
    if (!answer) continue;
    if (answer->contains("refused"))
      throw InputError({.source = worker.study.name,
                        .path = "",
                        .value = "",
                        .constraint = answer->at("refused")});
    if (answer->contains("welcome")) return socket;
  }
  return std::nullopt;
}

// The file may be one that a killed master has left: then nobody answers, and a new one comes.
LineSocket find_master(const SweepWorker& worker) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < kPatience) {
    if (const auto master = read_address(worker.address_file))
      if (auto socket = greeted_by(*master, worker)) return std::move(*socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw SimulationStuck(
      fmt::format("rank 0 of this study has not been found by {}", worker.address_file));
}

}  // namespace

void run_sweep_worker(const SweepWorker& worker) {
  SweepProcesses processes(worker.program, worker.slots);
  LineSocket master = find_master(worker);
  while (true) {
    while (const auto message = master.receive()) {
      if (message->contains("end")) return;
      const std::size_t point = message->at("run");
      processes.start(point, worker.study.points.at(point).arguments);
    }
    for (const PointOutcome& outcome : processes.collect()) master.send(to_json(outcome));
    if (!master.is_open()) throw SimulationStuck("rank 0 of this study has gone away");
    std::vector<pollfd> polls{{.fd = master.descriptor(), .events = POLLIN, .revents = 0}};
    processes.add_to(polls);
    poll(polls.data(), polls.size(), -1);
  }
}

}  // namespace forescale
