// Sends and receives that NCCL launches together (ncclGroupStart to ncclGroupEnd), as PyTorch's
// batch_isend_irecv and pipelines do: the host posts each, a kernel behind them carries them all,
// and nothing in the trace joins the two but their order.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

struct PostedMessage {
  ClockSpan span;
  MeasuredCollective message;
  std::string group = {};         // its process group's name
  std::vector<int> members = {};  // that group's ranks; empty: not in the trace
};

// Of each launch, in order, the messages that its kernel carries: those posted since the launch
// before. Both by begin.
std::vector<std::vector<std::size_t>> batches_of(const std::vector<ClockSpan>& launches,
                                                 const std::vector<PostedMessage>& posted);

// The all-to-all that a batch is, where `rank` sends every other member of the group one part, all
// of them equal, and receives as much from each. Nothing where it is none, and in groups of three,
// where a stage between two others does so too. `world`: members of a group that the trace does not
// list.
std::optional<MeasuredCollective> as_all_to_all(const std::vector<const PostedMessage*>& batch,
                                                int rank, int world);

}  // namespace forescale
