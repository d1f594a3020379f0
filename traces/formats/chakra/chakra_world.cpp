#include "traces/formats/chakra/chakra_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "traces/program/action.hpp"

namespace forescale {
namespace {

using ChakraKind = ChakraNode::Kind;

constexpr std::size_t kReplicatedNodesMax = std::size_t{1} << 21;

[[noreturn]] void fail(const std::string& source, const std::string& path, const std::string& value,
                       const std::string& constraint) {
  throw InputError({.source = source, .path = path, .value = value, .constraint = constraint});
}

bool communicates(const ChakraNode& node) {
  return node.kind == ChakraKind::kCollective || node.kind == ChakraKind::kSend ||
         node.kind == ChakraKind::kReceive;
}

// Chakra gives what one rank has; of an allgather and a gather forescale names the whole result.
std::int64_t bytes_of(const ChakraFile& file, const ChakraNode& node, std::size_t members) {
  const bool is_share = node.op == CollectiveOp::kAllGather || node.op == CollectiveOp::kGather;
  const std::int64_t count = is_share ? static_cast<std::int64_t>(members) : 1;
  if (node.bytes > kProgramBytesMax / count)
    fail(file.rank.file, fmt::format("node {}", node.id), fmt::format("{} bytes", node.bytes),
         fmt::format("of each of {} ranks must be at most {} together", members, kProgramBytesMax));
  return node.bytes * count;
}

}  // namespace

ChakraWorld::ChakraWorld(const std::vector<ChakraFile>& files, const ImportOptions& options)
    : files_(files) {
  count_ranks(options);
  find_groups();
  check_replication();
  check_collectives();
  check_messages();
}

bool ChakraWorld::has(ChakraKind kind) const {
  return std::any_of(files_.begin(), files_.end(), [&](const ChakraFile& file) {
    return std::any_of(file.rank.nodes.begin(), file.rank.nodes.end(),
                       [&](const ChakraNode& node) { return node.kind == kind; });
  });
}

void ChakraWorld::count_ranks(const ImportOptions& options) {
  const auto traced = static_cast<int>(files_.size());
  int said = 0;
  for (const ChakraFile& file : files_) said = std::max(said, file.rank.world_size);
  if (traced > 1 && said > traced)
    fail(files_.front().rank.file, "", "",
         fmt::format("and the others are {} files of {} ranks: a file of each rank is needed, or "
                     "one that stands for all",
                     traced, said));
  if (traced == 1 && said == 0 && options.ranks == 0 &&
      std::any_of(files_.front().rank.nodes.begin(), files_.front().rank.nodes.end(), communicates))
    fail("--ranks", "", "",
         fmt::format("is required: {} communicates, and does not say how many ranks there are",
                     files_.front().rank.file));
  traced_count_ = traced > 1 ? traced : std::max(1, said > 0 ? said : options.ranks);
  rank_count_ = options.ranks > 0 ? options.ranks : traced_count_;
  if (rank_count_ != traced)
    notes_.push_back(
        traced == 1 ? fmt::format("the trace of one rank stands for all {}", rank_count_)
                    : fmt::format("{} ranks were traced: rank r of {} does what rank r modulo {} "
                                  "did, with the same work",
                                  traced, rank_count_, traced));
}

// Communicators are numbered by name, equal on all ranks.
void ChakraWorld::find_groups() {
  for (const ChakraFile& file : files_)
    for (const std::string& name : file.rank.groups) groups_.try_emplace(name);
  int communicator = 0;
  for (auto& [name, group] : groups_) {
    group.communicator = communicator++;
    group.ranks = members_of(name);
    if (static_cast<int>(group.ranks.size()) == traced_count_ &&
        std::is_sorted(group.ranks.begin(), group.ranks.end()))
      group.ranks.clear();
    if (!group.ranks.empty()) group.shared = std::make_shared<const std::vector<int>>(group.ranks);
  }
  if (files_.size() == 1) return;
  for (std::size_t rank = 0; rank < files_.size(); ++rank)
    for (const std::string& name : files_[rank].rank.groups)
      check_members(files_[rank], static_cast<int>(rank), name);
}

// Empty: all.
std::vector<int> ChakraWorld::members_of(const std::string& name) {
  const std::vector<int>* found = nullptr;
  for (const ChakraFile& file : files_) {
    const auto known = file.rank.members.find(name);
    if (known == file.rank.members.end()) continue;
    if (found != nullptr && *found != known->second)
      fail(file.rank.file, "", fmt::format("process group \"{}\"", name),
           "has other ranks than in the files before");
    found = &known->second;
  }
  if (found != nullptr) return *found;
  // The names that simulators of such traces take for all ranks.
  if (name.empty() || name == "0") return {};
  if (files_.size() == 1) {
    notes_.push_back(fmt::format(
        "the trace does not say which ranks are in process group \"{}\": taken to be all", name));
    return {};
  }
  notes_.push_back(
      fmt::format("no file says which ranks are in process group \"{}\": taken to be "
                  "those that call its collectives",
                  name));
  return users_of(name);
}

std::vector<int> ChakraWorld::users_of(const std::string& name) const {
  std::vector<int> users;
  for (std::size_t rank = 0; rank < files_.size(); ++rank) {
    const std::vector<std::string>& names = files_[rank].rank.groups;
    if (std::find(names.begin(), names.end(), name) != names.end())
      users.push_back(static_cast<int>(rank));
  }
  return users;
}

void ChakraWorld::check_members(const ChakraFile& file, int rank, const std::string& name) const {
  const std::vector<int>& ranks = groups_.at(name).ranks;
  if (ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) return;
  fail(file.rank.file, "", fmt::format("process group \"{}\"", name),
       fmt::format("is used by rank {}, which is not in it", rank));
}

void ChakraWorld::check_replication() const {
  const auto traced = static_cast<int>(files_.size());
  if (rank_count_ == traced && traced_count_ == traced) return;
  const std::size_t nodes = files_.front().rank.nodes.size() + 1;
  if (nodes > kReplicatedNodesMax / static_cast<std::size_t>(rank_count_))
    fail("--ranks", "", fmt::format("{} ranks", rank_count_),
         fmt::format("of {} nodes each must have at most {} nodes together", nodes,
                     kReplicatedNodesMax));
  for (const auto& [name, group] : groups_)
    if (!group.ranks.empty())
      fail(files_.front().rank.file, "", fmt::format("process group \"{}\"", name),
           fmt::format("has {} ranks of {}: where there are such groups, every rank's trace is "
                       "needed",
                       group.ranks.size(), traced_count_));
  if (has(ChakraKind::kSend) || has(ChakraKind::kReceive))
    fail(files_.front().rank.file, "", "messages",
         "name ranks: where there are any, every rank's trace is needed");
}

// The n-th of a group is the same on all its ranks.
void ChakraWorld::check_collectives() const {
  struct Call {
    CollectiveOp op;
    std::int64_t bytes;
    std::uint64_t id;
  };
  struct Sequence {
    std::size_t rank;
    std::vector<Call> calls;
  };
  std::map<std::string, Sequence> first;
  for (std::size_t rank = 0; rank < files_.size(); ++rank) {
    const ChakraFile& file = files_[rank];
    std::vector<std::vector<Call>> mine(file.rank.groups.size());
    for (const std::int32_t index : file.graph.order) {
      const ChakraNode& node = file.rank.nodes[static_cast<std::size_t>(index)];
      if (node.kind == ChakraKind::kCollective)
        mine[static_cast<std::size_t>(node.group)].push_back({node.op, node.bytes, node.id});
    }
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const std::string& name = file.rank.groups[i];
      const auto [known, is_new] = first.try_emplace(name, Sequence{rank, mine[i]});
      if (is_new) continue;
      const std::vector<Call>& others = known->second.calls;
      const std::string group =
          name.empty() ? "all ranks" : fmt::format("process group \"{}\"", name);
      for (std::size_t n = 0; n < std::min(mine[i].size(), others.size()); ++n)
        if (mine[i][n].op != others[n].op || mine[i][n].bytes != others[n].bytes)
          fail(
              file.rank.file, fmt::format("node {}", mine[i][n].id),
              fmt::format("{} of {} bytes", name_of(mine[i][n].op), mine[i][n].bytes),
              fmt::format("is collective {} of {} on rank {}; on rank {} it is {} of {} bytes", n,
                          group, rank, known->second.rank, name_of(others[n].op), others[n].bytes));
      if (mine[i].size() != others.size())
        fail(file.rank.file, "", fmt::format("{} collectives", mine[i].size()),
             fmt::format("of {} are on rank {}; rank {} has {}", group, rank, known->second.rank,
                         others.size()));
    }
  }
}

void ChakraWorld::check_messages() {
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (const ChakraNode& node : files_[i].rank.nodes) {
      if (node.kind != ChakraKind::kSend && node.kind != ChakraKind::kReceive) continue;
      const auto rank = static_cast<int>(i);
      if (node.peer == rank || node.peer >= rank_count_)
        fail(files_[i].rank.file, fmt::format("node {}", node.id),
             fmt::format("a message with rank {}", node.peer),
             fmt::format("must be with another rank than {}, below {}", rank, rank_count_));
      const bool sends = node.kind == ChakraKind::kSend;
      const auto pair = sends ? std::pair(rank, node.peer) : std::pair(node.peer, rank);
      messages_[pair][{node.tag, node.bytes}] += sends ? 1 : -1;
    }
  for (const auto& [pair, by_tag] : messages_)
    for (const auto& [tag, excess] : by_tag)
      if (excess != 0)
        fail(files_[static_cast<std::size_t>(excess > 0 ? pair.first : pair.second)].rank.file, "",
             fmt::format("{} messages of {} bytes with tag {} from rank {} to rank {}",
                         std::abs(excess), tag.second, tag.first, pair.first, pair.second),
             excess > 0 ? "are sent and not received" : "are received and not sent");
}

const ChakraWorld::Group& ChakraWorld::group_of(const ChakraFile& file,
                                                const ChakraNode& node) const {
  return groups_.at(file.rank.groups[static_cast<std::size_t>(node.group)]);
}

std::int64_t ChakraWorld::traced_bytes(const ChakraFile& file, const ChakraNode& node) const {
  const Group& group = group_of(file, node);
  return bytes_of(
      file, node,
      group.ranks.empty() ? static_cast<std::size_t>(traced_count_) : group.ranks.size());
}

CollectiveStep ChakraWorld::step(const ChakraFile& file, const ChakraNode& node) const {
  const Group& group = group_of(file, node);
  const bool propagates = operation(node.op).propagates();
  return {.op = node.op,
          .bytes = bytes_of(
              file, node,
              group.ranks.empty() ? static_cast<std::size_t>(rank_count_) : group.ranks.size()),
          .communicator = group.communicator,
          .phase = propagates ? Phase::kPropagation : Phase::kAggregation,
          .label = file.rank.labels[static_cast<std::size_t>(node.label)],
          .group = group.shared,
          .on_host = node.on_host};
}

int ChakraWorld::tag(int source, int destination, const ChakraNode& node) const {
  const auto& tags = messages_.at({source, destination});
  return static_cast<int>(std::distance(tags.begin(), tags.find({node.tag, node.bytes})));
}

}  // namespace forescale
