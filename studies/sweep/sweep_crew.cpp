#include "studies/sweep/sweep_crew.hpp"

#include <unistd.h>

#include <chrono>

namespace forescale {

using nlohmann::json;

SweepCrew::SweepCrew(std::string address_file, std::size_t expected, std::string study,
                     std::string version)
    : address_file_(std::move(address_file)),
      expected_(expected),
      study_(std::move(study)),
      version_(std::move(version)) {
  const MasterAddress address = listener_.address();
  secret_ = address.secret;
  write_address(address, address_file_);
}

SweepCrew::~SweepCrew() { unlink(address_file_.c_str()); }

bool SweepCrew::give(std::size_t point) {
  for (Worker& worker : workers_) {
    if (worker.in_hand.size() >= worker.slots) continue;
    if (!worker.socket.send({{"run", point}})) continue;
    worker.in_hand.insert(point);
    return true;
  }
  return false;
}

void SweepCrew::add_to(std::vector<pollfd>& polls) const {
  polls.push_back({.fd = listener_.descriptor(), .events = POLLIN, .revents = 0});
  for (const Worker& worker : workers_)
    polls.push_back({.fd = worker.socket.descriptor(), .events = POLLIN, .revents = 0});
}

// A stranger gets no answer, a worker of something else the reason.
void SweepCrew::greet(Worker& worker, const json& message) {
  if (message.value("secret", "") != secret_) return;
  for (const auto& [key, own] : {std::pair{"version", version_}, std::pair{"study", study_}})
    if (message.value(key, "") != own) {
      worker.socket.send({{"refused", std::string("the ") + key + " is " + message.value(key, "") +
                                          " here, that of the first rank " + own}});
      return;
    }
  worker.slots = message.at("slots");
  worker.socket.send({{"welcome", true}});
  ++greeted_;
}

// What is not in the words of sweep_wire.hpp ends the connection.
std::vector<PointOutcome> SweepCrew::hear(Worker& worker) {
  std::vector<PointOutcome> outcomes;
  try {
    while (const auto message = worker.socket.receive()) {
      if (worker.slots == 0) {
        greet(worker, *message);
        if (worker.slots == 0) worker.socket.close();
      } else {
        PointOutcome outcome = outcome_from(*message);
        if (worker.in_hand.erase(outcome.point) == 1) outcomes.push_back(std::move(outcome));
      }
    }
  } catch (const json::exception&) {
    worker.socket.close();
  }
  return outcomes;
}

std::vector<PointOutcome> SweepCrew::collect(std::vector<std::size_t>& lost) {
  while (auto connection = listener_.accept())
    workers_.push_back({.socket = std::move(*connection), .slots = 0, .in_hand = {}});
  std::vector<PointOutcome> outcomes;
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    for (PointOutcome& outcome : hear(*worker)) outcomes.push_back(std::move(outcome));
    if (worker->socket.is_open()) {
      ++worker;
    } else {
      lost.insert(lost.end(), worker->in_hand.begin(), worker->in_hand.end());
      worker = workers_.erase(worker);
    }
  }
  return outcomes;
}

void SweepCrew::dismiss() {
  constexpr auto kPatience = std::chrono::seconds(30);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::size_t> lost;
  while (!all_have_come() && std::chrono::steady_clock::now() - begin < kPatience) {
    std::vector<pollfd> polls;
    add_to(polls);
    poll(polls.data(), polls.size(), 100);
    collect(lost);
  }
  for (Worker& worker : workers_) worker.socket.send({{"end", true}});
}

}  // namespace forescale
