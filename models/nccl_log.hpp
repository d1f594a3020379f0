// What NCCL says of itself: a log of NCCL_DEBUG=INFO (RCCL's is alike), of all ranks or of some.
// Of several communicators in one log it is the one of most ranks. Formats: NVIDIA NCCL v2.10 to
// v2.27, src/init.cc, src/graph/connect.cc, src/transport/{net,net_ib,p2p,shm}.cc.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace forescale {

// Numbers of adapters in the list that the host's process printed.
struct AdaptersInUse {
  std::set<int> sending;
  std::set<int> receiving;
};

struct NcclLog {
  std::string version;  // "2.20.5"; empty where the log does not say
  std::string network;  // "IB", "Socket", "AWS Libfabric"
  int ranks = 0;
  std::map<std::string, std::set<int>> ranks_of_host;
  std::vector<std::string> adapters;      // "mlx5_0:1/IB", of the longest list of a process
  int channels = 0;                       // of collectives
  std::map<int, std::vector<int>> rings;  // by channel; its ranks, as many as a line holds
  std::map<std::string, AdaptersInUse> adapters_of_host;  // by collectives' channels
  int with_gpudirect = 0;  // connections over adapters that read the GPU's memory
  int without_gpudirect = 0;
  std::map<std::string, int> inside;             // connections in a node: "P2P/IPC", "SHM/direct"
  std::map<std::string, std::string> variables;  // "NCCL_ALGO": as it was set
};

// InputError naming `source` where no line is NCCL's, or none tells of a communicator.
NcclLog read_nccl_log(std::string_view text, const std::string& source);

// Of each host's adapters, those that do as much as all in use can: the lesser of senders and
// receivers, of the host that has fewest. 0 where nothing goes over adapters.
int adapters_in_use(const NcclLog& log);

// What is worth mending, or is not as it is elsewhere; a sentence each.
std::vector<std::string> remarks(const NcclLog& log);

}  // namespace forescale
