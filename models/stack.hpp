// A stack: how the communication software behaves on the hardware. Files in models/stacks/.
//
// One message of b bytes from rank to rank costs, after send and receive have met (rendez-vous):
//   o_send                  holds the send and the receive port
//   b at the max-min share  of every link crossed, up to the caps; holds both ports
//   o_recv                  holds the receive port
//   o_proxy                 before the bytes and, at the other end, when they are there: a rank has
//                           one thread that posts and polls for it, which does one after the other
//   latency                 route + stack, delays delivery and holds nothing; with
//                           latency_holds_ports it comes before the bytes and holds both ports
//                           (the papers' alpha)
// An eager message (b <= eager_limit) leaves without a match: its sender is done after o_send and a
// copy of b bytes, its receiver pays o_recv and a copy after arrival.
// Staged paths move through host memory in segments: with stage k the slowest of m segments,
// m * segment_overhead holds the ports before the bytes, and one segment's time on each other stage
// delays delivery (the pipeline's fill).
// Protocols: a selection rule may name one for its calls, and path rules may be of one. The first
// path rule that fits counts, of that protocol or of none. A byte of a message takes `wire_factor`
// bytes of every link and cap: more than 1 for flags beside the data, less where switches add and
// copy what plans let ranks add and copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "base/option.hpp"
#include "base/units.hpp"
#include "models/group_shape.hpp"
#include "models/hardware.hpp"
#include "models/nccl_release.hpp"

namespace forescale {

enum class BufferPlace { kGpu, kHost };
const char* name_of(BufferPlace place);

// What the choice of a path depends on, beside the pair and the size.
struct MessageKind {
  BufferPlace place = BufferPlace::kHost;
  int protocol = 0;  // index into Stack::protocols
  // Those of calls without a protocol.
  MessageKind(BufferPlace buffers, int protocol_of_call = 0)  // NOLINT(google-explicit-constructor)
      : place(buffers), protocol(protocol_of_call) {}
};

// One way of moving a message; the first rule of a stack that fits is taken.
struct PathRule {
  std::string where = "any";  // locality: any, peer, cross-socket, inter-node
  int protocol = 0;           // only for messages of that one; 0: for all
  BufferPlace buffers = BufferPlace::kHost;
  std::int64_t up_to_bytes = std::numeric_limits<std::int64_t>::max();
  bool staged = false;       // through host memory at both ends (GPU buffers only)
  bool through_nic = false;  // inside a node too (host buffers): its adapter moves the bytes
  // Between nodes GPU buffers leave through the adapter that has the receiver's number (its rail),
  // that of another GPU of the node where need be: the way there takes its latency and loads
  // nothing.
  bool by_rail = false;
  Seconds o_send;
  Seconds o_recv;
  Seconds o_proxy;
  Seconds latency;                // on top of the route's
  BytesPerSecond connection_cap;  // one message; 0: none
  // All that a rank sends on one channel of a part's plan, to whomever, up and down a tree together
  // (ChannelsOf::kQueue only); the same for all paths of a protocol that have one; 0: none.
  BytesPerSecond channel_cap;
  // Leaving, and entering, one GPU (buffers on hosts: one host), all messages together; 0: none.
  BytesPerSecond read_cap;
  BytesPerSecond write_cap;
  BytesPerSecond duplex_cap;  // leaving and entering it, both together; 0: none
  BytesPerSecond pair_cap;    // between it and one other, both directions together; 0: none
  BytesPerSecond fabric_cap;  // all messages of all devices together; 0: none
  Bytes segment;              // staged only
  Seconds segment_overhead;   // staged only: alpha of one segment on one stage
  double wire_factor = 1;     // bytes on the links per byte of a message; direct only

  bool is_for(const std::string& locality, const MessageKind& kind) const {
    return buffers == kind.place && (protocol == 0 || protocol == kind.protocol) &&
           (where == "any" || where == locality);
  }
};

// Where received bytes are added to the local ones.
enum class ReductionPlace {
  kFree,  // costs nothing
  kGpu,   // launch + synchronise, then 3 b / memory bandwidth on the GPU that kernels share
  kCpu,   // b / rate of one core, sharing the host's memory bandwidth
  kFixed  // overhead + b / rate, whatever the platform
};

struct ReductionRule {
  ReductionPlace place = ReductionPlace::kFree;
  bool overlaps_transfer = false;  // with the next receive of the same plan
  Seconds overhead;                // kFixed
  BytesPerSecond rate;             // kFixed
};

// Who advances a collective's plan while no thread of the rank is inside a communication call.
enum class Progress {
  kHardware,    // the network card or a helper thread: always
  kInsideCalls  // only calls do: forwarding and matching wait for the next one
};

// Groups and sizes that something is for.
struct CallRange {
  int up_to_ranks = std::numeric_limits<int>::max();
  int from_nodes = 0;
  int up_to_nodes = std::numeric_limits<int>::max();
  int ranks_per_node = 0;  // exactly so many on each; 0: any, also uneven ones
  std::int64_t up_to_bytes = std::numeric_limits<std::int64_t>::max();

  bool fits(const GroupShape& group, std::int64_t bytes) const {
    return group.ranks <= up_to_ranks && group.nodes >= from_nodes && group.nodes <= up_to_nodes &&
           bytes <= up_to_bytes && (ranks_per_node == 0 || ranks_per_node == group.ranks_per_node);
  }
};

using RankOrders = std::vector<std::vector<int>>;  // permutations of 0 .. n-1, all of one n

// What a call costs and the algorithm it takes when nobody names one, by operation, shape of the
// group and size; the first rule that fits is taken.
struct SelectionRule : CallRange {
  std::string algorithm;
  OptionValues options;  // of the algorithm
  // The whole buffer is copied to host memory first, worked on there, and the result copied back.
  bool through_host = false;
  BytesPerSecond through_host_bandwidth;  // of those copies; 0: as fast as the hardware
  // Copies of GPU buffers go through CUDA's default stream, which waits for all kernels that were
  // launched before in other streams: a rank's part begins when its GPU has finished these.
  // Kernels launched later wait for the copy in turn, which is left out.
  bool default_stream = false;
  // Of every rank before its part begins: driver queries, kernel launch. With through_host, of
  // calls with GPU buffers only.
  Seconds call_overhead;
  int protocol = 0;  // of the call's messages; index into Stack::protocols
  // The vector is cut into as many equal parts, which run side by side as collectives of their own:
  // NCCL's rings and trees. In part i the ranks of every group of as many as an order is long take
  // each other's roles: role p is played by the group's rank orders[i][p]. None: one part, as is.
  RankOrders orders;
};

using SelectionRules = std::map<std::string, std::vector<SelectionRule>>;  // by operation's name
// The first that fits; null when there is none. What it says of a call, its copies through the host
// and its overhead, holds for every algorithm: a library told to use another one works in the same
// place.
const SelectionRule* find_rule(const SelectionRules& rules, const std::string& op,
                               const GroupShape& group, std::int64_t bytes);
// The first that fits and has that algorithm; null when there is none.
const SelectionRule* find_rule_with(const SelectionRules& rules, const std::string& algorithm,
                                    const std::string& op, const GroupShape& group,
                                    std::int64_t bytes);

// What a library can be told to take in place of what its own rules choose, as NCCL_ALGO and
// NCCL_PROTO do.
struct Alternative {
  SelectionRules rules;     // of the operations that it is for; where none fits it is not there
  double chunk_factor = 0;  // bytes of a plan's chunk for one of the library's; 0: takes no size
  std::string needs = {};   // variable of its environment that switches it on; empty: none
};

// What a library prefers of its alternatives, best first.
struct Preference : CallRange {
  std::vector<std::string> order;
};

// A tuner plug-in that the library loads by itself: what it takes, by operation, the first that
// fits. A choice without names, or of what the library does not have for a group, is left to the
// library.
struct Tuner {
  std::string name;  // of what brings it: "aws-ofi-nccl"
  std::map<std::string, std::vector<Preference>> choices = {};
};

// "tree/ll128", or with a chunk, in the library's bytes: "tree/ll128:chunk_bytes=72000".
struct AlternativeChoice {
  std::string name;
  std::int64_t chunk_bytes = 0;  // 0: the library's own

  std::string text() const;
  // `where` said it. InputError for anything wrong in it.
  static AlternativeChoice parse(const std::string& text, const std::string& where);
};

// Remote procedure calls and parameter servers on this stack; zero costs nothing.
struct ServiceCosts {
  Bytes request;          // bytes that ask for a tensor
  Seconds request_time;   // CPU time of one call, at either end
  BytesPerSecond encode;  // serialising and copying a tensor
  BytesPerSecond decode;
  bool stages_through_host = true;  // a worker copies every tensor between GPU and host itself
  int threads = 1;                  // that serve messages at a rank
  int compute_threads = 0;          // that add and update on a server; 0: as many as serve
};

// Sizes of messages, bytes; none where `least` is above `most`.
struct MessageSizes {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;

  bool none() const { return least > most; }
  void add(std::int64_t bytes) {
    least = std::min(least, bytes);
    most = std::max(most, bytes);
  }
  void add(const MessageSizes& others) {
    least = std::min(least, others.least);
    most = std::max(most, others.most);
  }
};

// What has a stack's channels. But for kRank, messages outside of collectives wait for none, as in
// MPI.
enum class ChannelsOf {
  kRank,        // all messages of a rank share them
  kCollective,  // each collective of a rank, or each of its parts
  // As kCollective, but queues of its plan (algorithms/plan.hpp) are posted by themselves, and each
  // has connections of its own to its peers: one send at a time, and as many receives as channels.
  kQueue
};
const char* name_of(ChannelsOf owner);  // "rank", "collective", "queue"

struct Stack {
  std::string name;
  std::string description;
  std::optional<NcclReleases> releases = {};  // of NCCL, that it stands for
  std::optional<MessageSizes> measured = {};  // what its paths were fitted to
  int channels = 1;                           // sends, and receives, in progress at once
  ChannelsOf channels_of = ChannelsOf::kRank;
  Bytes eager_limit;
  // Eager messages up to here take their time but load no link: for systems that send very many
  // small ones beside few large ones, which would be simulated ten times as long otherwise.
  Bytes packet_limit;
  bool latency_holds_ports = false;
  // A rank's part in a collective begins when its part in the one before on the same communicator
  // has ended, as kernels of one stream do; else they go on side by side.
  bool collectives_in_order = false;
  // Of a GPU's memory for each byte that a collective of GPU buffers brings it: kernels beside it
  // have what is left of the memory's bandwidth. 0: none.
  double memory_accesses = 0;
  // How much longer kernels take for so many bytes that are brought beside them.
  double slows_kernels_s(double brought_bytes, const GpuModel& gpu) const {
    return memory_accesses * brought_bytes / gpu.memory_bandwidth.value;
  }
  // All hosts are on one machine (a testbed) and what o_send stands for runs on that many cores of
  // it, shared evenly; 0: every rank has a core of its own.
  int shared_cores = 0;
  Progress progress = Progress::kHardware;
  ReductionRule reduction;       // of buffers that live on GPUs
  ReductionRule host_reduction;  // of buffers in host memory
  std::vector<PathRule> paths;
  std::vector<std::string> protocols = {""};  // by index; the first stands for none
  int message_protocol = 0;                   // of messages between GPUs outside of collectives
  std::map<std::string, RankOrders> orders;   // by the name that selection rules call them
  SelectionRules selection;
  std::map<std::string, Alternative> alternatives;  // by the library's own name: "tree/ll128"
  std::map<std::string, std::vector<Preference>> preferences;  // by operation
  Tuner tuner;                                                 // without choices: none
  // By operation: the alternatives that its environment leaves it; none: all.
  std::map<std::string, std::set<std::string>> allowed;
  // Alternatives that its environment switches on: taken where it prefers them, though its own
  // rules know nothing of them.
  std::set<std::string> switched_on;
  ServiceCosts service;
  Provenance provenance;

  // InputError when no rule fits.
  const PathRule& path(const std::string& locality, BufferPlace buffers, std::int64_t bytes) const;
  // With an alternative in place of its own choice, for the operations that it is for; nothing else
  // can be told then, and what its environment leaves counts no more. InputError naming `where` for
  // one that it has not, and a chunk where it takes none.
  void take(const AlternativeChoice& choice, const std::string& where);
  // What it takes: its tuner's choice, else the rule of its selection or, where that has none or it
  // is not allowed or one that was switched on is preferred, of the alternative that it prefers of
  // those that are allowed. Null when there is none.
  const SelectionRule* rule_for(const std::string& op, const GroupShape& group,
                                std::int64_t bytes) const;
  // By that algorithm: the first of its selection, else of the alternative that it prefers of those
  // that have it. Null when there is none.
  const SelectionRule* rule_with(const std::string& algorithm, const std::string& op,
                                 const GroupShape& group, std::int64_t bytes) const;
  bool is_allowed(const std::string& op, const std::string& alternative) const;
  // The alternative that its tuner takes; empty: that has none, or leaves it to the library.
  std::string tuner_choice(const std::string& op, const GroupShape& group,
                           std::int64_t bytes) const;
  // The last sizes up to which what it takes for an operation can be the same, the largest of all
  // at the end.
  std::set<std::int64_t> choice_ends(const std::string& op) const;
  // The alternative that its own choice is; empty: none.
  std::string own_choice(const std::string& op, const GroupShape& group, std::int64_t bytes) const;
  // A warning that these go beyond what was measured, by a factor of two at least; empty: they do
  // not, or nothing says what was.
  std::string beyond_measured(const MessageSizes& sent) const;

 private:
  // The rule of the first name that can be taken in the band that fits, of an algorithm where one
  // is named; null: none.
  const SelectionRule* preferred(const std::map<std::string, std::vector<Preference>>& of_ops,
                                 const std::string& op, const GroupShape& group, std::int64_t bytes,
                                 const std::string& algorithm = "") const;
};

inline constexpr const char* kStacks = "models/stacks";  // folder of the catalogue's

// In place of a name: the NCCL of the platform at hand (sim/ask/inputs.hpp).
inline constexpr const char* kNccl = "nccl";

// What --stack takes: a name from models/stacks/, a JSON file, or one of these with options:
// "ideal:reduce_bandwidth=20GB/s,reduce_overhead=10us,overlap=true,eager=8KiB", and of stacks with
// alternatives "nccl-2.23-h100:take=tree/ll128,chunk_bytes=72000" or variables of NCCL's
// environment, "nccl-2.23-h100:NCCL_ALGO=Ring,Tree,NCCL_PROTO=^LL" (models/nccl_environment.hpp).
Stack load_stack(const std::string& text, Scenario scenario = Scenario::kNominal);

}  // namespace forescale
