#include "traces/formats/smpi/smpi_notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {

void SmpiNotes::add_collective(const MatchedCollective& all) {
  if (all.action() == SmpiAction::kBarrier)
    ++barriers_;
  else if (!all.is_exact())
    ++scans_;
  if (all.is_messages()) ++as_messages_;
  if (all.imbalance() > 1) ++evened_;
  imbalance_max_ = std::max(imbalance_max_, all.imbalance());
}

std::vector<std::string> SmpiNotes::texts() const {
  std::vector<std::string> list;
  const auto note = [&](std::uint64_t count, const std::string& text) {
    if (count > 0) list.push_back(fmt::format("{} {}", count, text));
  };
  note(barriers_,
       fmt::format("barriers of all ranks are taken as all-reduces of {} bytes", kBarrierBytes));
  note(scans_, "scans of all ranks are taken as all-reduces of the same bytes");
  note(as_messages_,
       "collectives with parts of different sizes are taken as a message for each pair of ranks, "
       "of its bytes");
  note(evened_, fmt::format("allgathers or reduce-scatters with different shares are taken with "
                            "equal ones of the same sum: the largest was {:.3g} times the mean",
                            imbalance_max_));
  note(communicators_,
       "calls make communicators, but these traces do not say which one a collective is on: all "
       "are taken to be on all ranks, as SMPI does");
  note(to_itself_, "messages of a rank to itself are taken to cost nothing");
  note(detached_, "blocking sends of less than 64 KiB do not block, as SMPI has it by default");
  note(sleeps_, "sleeps are kept at their seconds");
  return list;
}

}  // namespace forescale
