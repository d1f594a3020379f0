#include "sim/engine/simgrid/shared_flows.hpp"

#include <algorithm>
#include <limits>
#include <simgrid/kernel/resource/Model.hpp>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "sim/engine/simgrid/flow_zone.hpp"

namespace forescale {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::resource::Action;
using simgrid::kernel::resource::Model;

// SimGrid takes a flow with less than some 1e-5 of a unit left as ended: its units are these.
constexpr double kPartsOfAByte = 4096;

// What ends at once is told to it as these, as it ends flows of nothing with the next event only.
constexpr double kLeastParts = 1e-3;

// What is carried is off by less of it: uses that end so close together end at one time.
constexpr double kRounding = 1e-13;

// Of the zones' network model, which a new flow's action is the last of.
Model* network_model() {
  const std::vector<Model*>& models = sg::Engine::get_instance()->get_all_models();
  const auto found = std::find_if(models.begin(), models.end(), [](const Model* model) {
    return model->get_name().starts_with("Network");
  });
  FORESCALE_CHECK(found != models.end(), "SimGrid has a network model");
  return *found;
}

}  // namespace

SharedFlows::SharedFlows(FlowZone& zone, FlowZone& things, bool together)
    : zone_(zone),
      things_(things),
      together_(together),
      from_(zone.create_host("from", {1.0})->seal()),
      to_(zone.create_host("to", {1.0})->seal()),
      network_(network_model()) {}

// An error leaves flows under way, and SimGrid prints a backtrace for each that is let go of: they
// are not, as a process has one engine.
SharedFlows::~SharedFlows() {
  for (auto& [key, flow] : flows_) flow.comm.detach();
}

void SharedFlows::add(Use& use) {
  SharedFlow::Key key{.links = {}, .pace_per_s = use.pace_per_s, .number = 0};
  for (SharedCapacity* capacity : use.way)
    if (!together_ || is_crowded(*capacity))
      key.links.push_back(capacity);
    else
      note_unslowed(*capacity, use);
  if (!together_) key.number = added_ + 1;
  const auto [entry, is_new] = flows_.try_emplace(std::move(key));
  SharedFlow& flow = entry->second;
  flow.key = &entry->first;
  look_at(flow);
  use.flow = &flow;
  use.end = flow.carried + use.left;
  flow.parts.emplace(std::pair{use.end, ++added_}, &use);
  tell(flow);
}

void SharedFlows::remove(Use& use) {
  SharedFlow& flow = *use.flow;
  look_at(flow);
  use.left = std::max(0.0, use.end - flow.carried);
  if (use.left <= kRounding * use.end) use.left = 0;
  use.flow = nullptr;
  auto part = flow.parts.lower_bound({use.end, 0});
  while (part->second != &use) ++part;
  flow.parts.erase(part);
  tell(flow);
}

double SharedFlows::next_end_s() {
  const double now_s = sg::Engine::get_clock();
  // Those that end now are told after the timers of this time.
  if (!network_->get_finished_action_set()->empty() || !network_->get_failed_action_set()->empty())
    return now_s;
  const double left_s = network_->next_occurring_event(now_s);
  return left_s < 0 ? std::numeric_limits<double>::infinity() : now_s + left_s;
}

std::vector<Use*> SharedFlows::ended(SharedFlow& flow, bool ok) {
  flow.action = nullptr;
  parked_ = std::move(flow.comm);
  flow.carried = flow.goal;
  std::vector<Use*> over;
  while (!flow.parts.empty()) {
    const auto first = flow.parts.begin();
    if (ok && first->first.first > flow.carried * (1 + kRounding)) break;
    over.push_back(first->second);
    first->second->flow = nullptr;
    flow.parts.erase(first);
  }
  tell(flow);
  return over;
}

void SharedFlows::turn_off(SharedCapacity& link) { made_link(link)->turn_off(); }

// What it has carried until now.
void SharedFlows::look_at(SharedFlow& flow) {
  if (flow.action == nullptr) return;
  const double left = flow.action->get_remains();
  if (flow.action->get_state() != Action::State::STARTED) {
    flow.carried = flow.goal;  // ended() will be told
    return;
  }
  flow.carried += (flow.told - left) / kPartsOfAByte / static_cast<double>(flow.parts.size());
  flow.told = left;
}

// Tells SimGrid what it carries from now on.
void SharedFlows::tell(SharedFlow& flow) {
  if (flow.action != nullptr && flow.action->get_state() != Action::State::STARTED) return;
  if (flow.parts.empty()) return forget(flow);
  if (flow.action == nullptr) begin(flow);
  const auto count = static_cast<double>(flow.parts.size());
  flow.goal = flow.parts.begin()->first.first;
  flow.told = std::max(kLeastParts, count * (flow.goal - flow.carried) * kPartsOfAByte);
  flow.action->set_remains(flow.told);
  flow.action->set_sharing_penalty(1 / count);
  flow.action->set_bound(count * flow.key->pace_per_s * kPartsOfAByte);
}

void SharedFlows::begin(SharedFlow& flow) {
  zone_.current.clear();
  for (SharedCapacity* link : flow.key->links)
    zone_.current.push_back(made_link(*link)->get_impl());
  flow.comm = sg::Comm::sendto_init();
  flow.comm->set_data(&flow);
  flow.comm->set_payload_size(1);
  flow.comm->set_source(from_);
  flow.comm->set_destination(to_);  // starts it
  flow.action = &network_->get_started_action_set()->back();
}

void SharedFlows::forget(SharedFlow& flow) {
  if (flow.comm != nullptr) {
    flow.action->set_sharing_penalty(0);  // else it has its share until SimGrid comes to it
    flow.comm->set_data(nullptr);
    flow.action->finish(Action::State::FINISHED);
    keep_given_up(std::move(flow.comm));
  }
  flows_.erase(flows_.find(*flow.key));
}

// SimGrid comes to what was given up at one time at the next, at the latest, at which something
// happens.
void SharedFlows::keep_given_up(sg::CommPtr comm) {
  if (sg::Engine::get_clock() != given_up_at_s_) {
    given_up_before_ = std::exchange(given_up_, {});
    given_up_at_s_ = sg::Engine::get_clock();
  }
  given_up_.push_back(std::move(comm));
}

sg::Link* SharedFlows::made_link(SharedCapacity& capacity) {
  if (capacity.link == nullptr)
    capacity.link =
        things_.create_link("link" + std::to_string(++links_), {capacity.per_s * kPartsOfAByte})
            ->seal();
  return capacity.link;
}

}  // namespace forescale
