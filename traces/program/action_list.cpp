#include "traces/program/action_list.hpp"

#include <unordered_map>

namespace forescale {
namespace {

using Kind = Action::Kind;
using Place = std::uint32_t;

struct Entry {
  Kind kind;
  int id;
  // kWait, kTest, kSet: the request; else where the details are, among those of their type.
  Place detail;
};
struct PackedKernel {
  double duration_s;
  int stream;
  Place label;
  Place work;
  Phase phase;
};
struct PackedHostWork {
  double duration_s;
  double memory_bytes;
  Place label;
  Phase phase;
};

template <class T>
Place append(std::vector<T>& details, T detail) {
  details.push_back(std::move(detail));
  return static_cast<Place>(details.size() - 1);
}

}  // namespace

struct ActionList::Packed {
  std::vector<Entry> entries;
  std::vector<PackedKernel> kernels;
  std::vector<PackedHostWork> host_work;
  std::vector<Timer> timers;
  std::vector<ThreadStart> threads;
  std::vector<CollectiveStep> collectives;
  std::vector<MessageStep> messages;
  std::vector<HostCopy> copies;
  std::vector<std::vector<int>> choices;  // of kWaitAny
  std::vector<std::string> labels;        // of kernels and host work: few texts, often
  std::unordered_map<std::string, Place> label_places;
  std::vector<std::shared_ptr<const KernelWork>> works{nullptr};  // few, often
  std::unordered_map<const void*, Place> work_places;

  // What is equal is kept once, whoever made it.
  Place place_of(const std::shared_ptr<const KernelWork>& work) {
    if (work == nullptr) return 0;
    if (const auto known = work_places.find(work.get()); known != work_places.end())
      return known->second;
    for (std::size_t i = 1; i < works.size(); ++i)
      if (*works[i] == *work) return static_cast<Place>(i);
    works.push_back(work);
    return work_places[work.get()] = static_cast<Place>(works.size() - 1);
  }

  Place place_of(const std::string& label) {
    const auto [known, is_new] = label_places.try_emplace(label, static_cast<Place>(labels.size()));
    if (is_new) labels.push_back(label);
    return known->second;
  }

  Place pack(const std::monostate& /*nothing*/) { return 0; }
  Place pack(const Kernel& kernel) {
    return append(kernels, {kernel.duration_s, kernel.stream, place_of(kernel.label),
                            place_of(kernel.work), kernel.phase});
  }
  Place pack(const HostWork& work) {
    return append(host_work,
                  {work.duration_s, work.memory_bytes, place_of(work.label), work.phase});
  }
  Place pack(const Timer& timer) { return append(timers, timer); }
  Place pack(const ThreadStart& start) { return append(threads, start); }
  Place pack(const CollectiveStep& step) { return append(collectives, step); }
  Place pack(const MessageStep& step) { return append(messages, step); }
  Place pack(const HostCopy& copy) { return append(copies, copy); }

  Action unpack(const Entry& entry) const {
    Action action{.kind = entry.kind, .id = entry.id};
    const std::size_t at = entry.detail;
    switch (entry.kind) {
      case Kind::kKernel: {
        const PackedKernel& kernel = kernels[at];
        action.what = Kernel{.stream = kernel.stream,
                             .duration_s = kernel.duration_s,
                             .phase = kernel.phase,
                             .label = labels[kernel.label],
                             .work = works[kernel.work]};
        break;
      }
      case Kind::kHostWork: {
        const PackedHostWork& work = host_work[at];
        action.what = HostWork{.duration_s = work.duration_s,
                               .memory_bytes = work.memory_bytes,
                               .phase = work.phase,
                               .label = labels[work.label]};
        break;
      }
      case Kind::kCollective:
        action.what = collectives[at];
        break;
      case Kind::kSend:
      case Kind::kReceive:
      case Kind::kPut:
        action.what = messages[at];
        break;
      case Kind::kHostCopy:
        action.what = copies[at];
        break;
      case Kind::kTimer:
        action.what = timers[at];
        break;
      case Kind::kSpawn:
        action.what = threads[at];
        break;
      case Kind::kWaitAny:
        action.requests = choices[at];
        break;
      case Kind::kWait:
      case Kind::kTest:
      case Kind::kSet:
        action.requests = {static_cast<int>(entry.detail)};
        break;
      case Kind::kNextBatch:
      case Kind::kSignal:
      case Kind::kEndIteration:
        break;
    }
    return action;
  }
};

ActionList::Packed& ActionList::own() {
  if (packed_ == nullptr)
    packed_ = std::make_shared<Packed>();
  else if (packed_.use_count() > 1)
    packed_ = std::make_shared<Packed>(*packed_);
  return *packed_;
}

void ActionList::push_back(const Action& action) {
  Packed& packed = own();
  Place detail = 0;
  if (action.kind == Kind::kWaitAny)
    detail = append(packed.choices, action.requests);
  else if (!action.requests.empty())
    detail = static_cast<Place>(action.requests.front());
  else
    detail = std::visit([&](const auto& what) { return packed.pack(what); }, action.what);
  packed.entries.push_back({action.kind, action.id, detail});
}

void ActionList::scale_kernels(const std::function<double(const LabelledKernel&)>& scaled_s) {
  Packed& packed = own();
  for (PackedKernel& kernel : packed.kernels)
    kernel.duration_s = scaled_s({.label = packed.labels[kernel.label],
                                  .duration_s = kernel.duration_s,
                                  .work = packed.works[kernel.work].get()});
}

std::size_t ActionList::size() const { return packed_ == nullptr ? 0 : packed_->entries.size(); }

Action ActionList::operator[](std::size_t at) const {
  return packed_->unpack(packed_->entries.at(at));
}

}  // namespace forescale
