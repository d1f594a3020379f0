// Sends and receives that NCCL launches together: which kernel carries which, and what becomes of
// pipelines and exchanges that are built of them.
#include "traces/measured/message_batches.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<PostedMessage> posted_at(const std::vector<std::int64_t>& begins_ns) {
  std::vector<PostedMessage> posted;
  for (const std::int64_t begin_ns : begins_ns)
    posted.push_back({.span = {begin_ns, begin_ns + 5}, .message = {}});
  return posted;
}

TEST(MessageBatches, GoToTheNextLaunch) {
  EXPECT_THAT(batches_of({{30, 31}, {60, 61}}, posted_at({10, 20, 40})),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  // Within the post itself, and with nothing before it.
  EXPECT_THAT(batches_of({{5, 6}, {12, 13}}, posted_at({10})),
              ElementsAre(IsEmpty(), ElementsAre(0)));
  EXPECT_THAT(batches_of({}, posted_at({10})), IsEmpty());
}

// One message as PyTorch's host side has it.
struct Post {
  bool sends;
  int peer;
  int elements;
};

// A rank that posts messages, and the kernel behind them that carries them all.
class BatchTrace {
 public:
  BatchTrace(int rank, int world) : rank_(rank), world_(world) {}

  // `kernels`: so many of them, as NCCL cuts large batches.
  void add(const std::vector<Post>& batch, int kernels = 1) {
    for (const Post& post : batch) {
      events_ += fmt::format(
          R"({{"ph":"X","cat":"cpu_op","name":"record_param_comms","tid":1,"ts":{},"dur":2,)"
          R"("args":{{"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},)"
          R"("dtype":"Float","Group size":{},"Process Group Name":"pp",)"
          R"("{} Rank":{}}}}},)",
          now_us_, post.sends ? "send" : "recv", post.elements, post.elements, world_,
          post.sends ? "Dst" : "Src", post.peer);
      now_us_ += 5;
    }
    events_ += fmt::format(
        R"({{"ph":"X","cat":"user_annotation","name":"nccl:coalesced","tid":1,"ts":{},"dur":50}},)",
        now_us_);
    for (; kernels > 0; --kernels) add_kernel();
    now_us_ += 60;
  }

  std::string text() const {
    return fmt::format(
        R"({{"distributedInfo":{{"rank":{},"world_size":{}}},"traceEvents":[{}{{"ph":"M"}}]}})",
        rank_, world_, events_);
  }

 private:
  void add_kernel() {
    events_ += fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernelExC","tid":1,"ts":{},"dur":3,)"
        R"("args":{{"correlation":{}}}}},)"
        R"({{"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv",)"
        R"("tid":9,"ts":{},"dur":40,"args":{{"stream":9,"correlation":{}}}}},)",
        now_us_ + 1, kernels_, now_us_ + 10, kernels_);
    ++kernels_;
    now_us_ += 45;
  }

  int rank_;
  int world_;
  int kernels_ = 0;
  int now_us_ = 100;
  std::string events_;
};

ImportedTrace import_ranks(const std::vector<BatchTrace>& ranks) {
  const TraceFolder folder;
  std::vector<std::string> files;
  for (const BatchTrace& rank : ranks)
    files.push_back(folder.write(fmt::format("r{}.json", files.size()), rank.text()));
  return Registry<TraceFormat>::find("kineto", "test").import(files, {});
}

// A middle stage of a pipeline sends forward and receives from behind in one kernel.
TEST(MessageBatches, OfAPipelineBecomeMessages) {
  std::vector<BatchTrace> ranks{{0, 3}, {1, 3}, {2, 3}};
  ranks[0].add({{true, 1, 1000}});
  ranks[1].add({{false, 0, 1000}});
  ranks[2].add({{true, 1, 500}});
  ranks[0].add({{true, 1, 1000}, {false, 1, 500}});
  ranks[1].add({{true, 0, 500}, {false, 0, 1000}, {false, 2, 500}});
  const ImportedTrace imported = import_ranks(ranks);
  EXPECT_EQ(imported.found.messages.count, 4U);
  EXPECT_EQ(imported.found.messages.bytes, 4 * (1000 + 500 + 1000 + 500));
  EXPECT_THAT(imported.found.collectives, IsEmpty());
  for (const std::string& note : imported.notes)
    EXPECT_THAT(note, ::testing::Not(HasSubstr("keep their measured time")));
  // One kernel is over when all that it carries is.
  std::size_t started = 0;
  for (const ProgramThread& thread : imported.program.ranks[1].threads)
    for (const Action& action : thread.actions)
      if (action.kind == Action::Kind::kCollective) ++started;
  EXPECT_EQ(started, 4U);
}

// A stage between two others swaps with everybody of three ranks: no all-to-all all the same.
TEST(MessageBatches, BetweenNeighboursAreNoAllToAll) {
  std::vector<BatchTrace> ranks{{0, 3}, {1, 3}, {2, 3}};
  ranks[0].add({{true, 1, 10}, {false, 1, 10}});
  ranks[1].add({{true, 0, 10}, {false, 0, 10}, {true, 2, 10}, {false, 2, 10}});
  ranks[2].add({{true, 1, 10}, {false, 1, 10}});
  EXPECT_EQ(import_ranks(ranks).found.messages.count, 4U);
  EXPECT_THROW(import_ranks({ranks[1]}), InputError);  // its neighbours are needed
}

// One rank launches together what the other launches one by one; NCCL cuts a batch in two.
TEST(MessageBatches, MayBeCutOrLaunchedOneByOne) {
  std::vector<BatchTrace> ranks{{0, 2}, {1, 2}};
  for (int i = 0; i < 3; ++i) {
    ranks[0].add({{true, 1, 10}, {false, 1, 20}}, i == 1 ? 2 : 1);
    ranks[1].add({{false, 0, 10}});
    ranks[1].add({{true, 0, 20}});
  }
  const ImportedTrace imported = import_ranks(ranks);
  EXPECT_EQ(imported.found.messages.count, 6U);
  EXPECT_EQ(imported.found.messages.bytes, 3 * 4 * (10 + 20));
  for (const std::string& note : imported.notes) {
    EXPECT_THAT(note, ::testing::Not(HasSubstr("keep")));
    EXPECT_THAT(note, ::testing::Not(HasSubstr("clocks")));  // messages say nothing of them
  }
}

TEST(MessageBatches, ThatReachEverybodyAlikeAreAnAllToAll) {
  std::vector<BatchTrace> alike{{0, 4}, {1, 4}, {2, 4}, {3, 4}};
  std::vector<BatchTrace> uneven = alike;
  for (int rank = 0; rank < 4; ++rank) {
    std::vector<Post> same;
    std::vector<Post> other;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank) continue;
      same.push_back({true, peer, 250});
      same.push_back({false, peer, 250});
      other.push_back({true, peer, 100 * (rank + 1)});
      other.push_back({false, peer, 100 * (peer + 1)});
    }
    alike[static_cast<std::size_t>(rank)].add(same);
    uneven[static_cast<std::size_t>(rank)].add(other);
  }
  // With all ranks in view messages say it exactly, however one of them looks.
  const ImportedTrace all = import_ranks(alike);
  EXPECT_EQ(all.found.messages.count, 12U);
  EXPECT_EQ(all.found.messages.bytes, 12 * 250 * 4);
  const ImportedTrace messages = import_ranks(uneven);
  EXPECT_THAT(messages.found.collectives, IsEmpty());
  EXPECT_EQ(messages.found.messages.count, 12U);
  EXPECT_EQ(messages.found.messages.bytes, 3 * 4 * 100 * (1 + 2 + 3 + 4));
  // One rank's all-to-all stands for all.
  EXPECT_EQ(import_ranks({alike[2]}).program.ranks.size(), 4U);
  EXPECT_EQ(import_ranks({alike[2]}).found.collectives.at("all-to-all").bytes, 4 * 250 * 4);
}

}  // namespace
}  // namespace forescale::testing
