#include "calibrate/bench/patterns/pattern_rank.hpp"

#include <algorithm>

#include "calibrate/bench/polled.hpp"

namespace forescale {
namespace {

// Starts that were agreed upon too late are tried again, with a longer delay each time.
constexpr int kStartsMax = 12;

void grow(std::vector<std::byte>& buffer, std::int64_t bytes) {
  if (static_cast<std::int64_t>(buffer.size()) < bytes)
    buffer.resize(static_cast<std::size_t>(bytes));
}

// Numbers that stay normal when they are added and multiplied often.
void fill_floats(std::vector<std::byte>& buffer, std::int64_t bytes) {
  auto* values = reinterpret_cast<float*>(buffer.data());
  std::fill(values, values + bytes / static_cast<std::int64_t>(sizeof(float)), 1.0F);
}

}  // namespace

StartTogether& PatternRank::together(const std::vector<int>& members) {
  std::unique_ptr<StartTogether>& together = together_[members];
  if (together == nullptr) {
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &communicator);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    together = std::make_unique<StartTogether>(communicator, patience_);
  }
  return *together;
}

double PatternRank::once(const PatternCode& code, PatternCall& call, StartTogether& together) {
  if (!code.starts_together) {
    call.start_s = clock_s();
    return code.run(call);
  }
  for (int i = 0; i < kStartsMax; ++i) {
    call.start_s = together.agree_start();
    const double time_s = code.run(call);
    if (const auto slowest_s = together.elapsed(call.start_s + time_s)) return *slowest_s;
  }
  FORESCALE_CHECK(false, "ranks could not agree on a moment to start");
  return 0;
}

VisitResult PatternRank::visit(const VisitCommand& command) {
  const PatternSeries& series = (*series_)[static_cast<std::size_t>(command.series)];
  const PatternCode& code = Registry<PatternCode>::find(series.pattern, "pattern");
  StartTogether& start = together(series.members);
  PatternCall call{.members = start.communicator(),
                   .index = rank_in(start.communicator()),
                   .count = static_cast<int>(series.members.size()),
                   .bytes = series.bytes[static_cast<std::size_t>(command.size)],
                   .patience = &patience_,
                   .op = series.op};
  call.in_a_row = call.bytes <= kLargeBytes ? code.in_a_row_small : code.in_a_row_large;
  const int blocks = code.blocks == nullptr ? 0 : code.blocks(call.count, call.index);
  grow(sent_, call.bytes);
  grow(received_, blocks * call.bytes);
  call.sent = sent_.data();
  call.received = received_.data();
  if (code.sender == nullptr && blocks > 0) {
    fill_floats(sent_, call.bytes);
    fill_floats(received_, call.bytes);
  }
  const bool is_checked = command.is_checked != 0 && code.sender != nullptr;
  if (is_checked) {
    fill_block(call.sent, call.bytes, call.index);
    std::fill(call.received, call.received + blocks * call.bytes, std::byte{0});
  }
  wait_for_all(call.members, patience_);

  VisitResult result;
  for (int i = 0; i < command.warm_up + command.repetitions; ++i) {
    const double time_s = once(code, call, start);
    if (i >= command.warm_up) result.samples_s.push_back(time_s);
    if (i > 0 || !is_checked) continue;
    bool is_correct = true;
    for (int block = 0; block < blocks; ++block)
      is_correct = is_correct && is_block_of(call.received + block * call.bytes, call.bytes,
                                             code.sender(call, block));
    result.is_correct = maximum(is_correct ? 0 : 1, call.members, patience_) == 0;
  }
  return result;
}

}  // namespace forescale
