// Horovod's timelines, made by hand so that the program can be added up by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/traces/horovod_files.hpp"
#include "tests/traces/programs.hpp"

namespace forescale::testing::horovod {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a thread does, in words: "forward a 30us", "timer 10us", "all-reduce a 400 bytes", "set 3".
std::vector<std::string> deeds(const Program& program, size_t rank, size_t thread) {
  std::vector<std::string> list;
  for (const Action& action : program.ranks[rank].threads[thread].actions) {
    if (const auto* kernel = std::get_if<Kernel>(&action.what))
      list.push_back(fmt::format("{} {} {:.3g}us", name_of(kernel->phase), kernel->label,
                                 kernel->duration_s * 1e6));
    else if (const auto* timer = std::get_if<Timer>(&action.what))
      list.push_back(fmt::format("timer {:.3g}us", timer->delay_s * 1e6));
    else if (const auto* step = std::get_if<CollectiveStep>(&action.what))
      list.push_back(fmt::format("{} {} {} bytes", name_of(step->op), step->label, step->bytes));
    else if (action.kind == Action::Kind::kEndIteration)
      list.emplace_back("end");
  }
  return list;
}

void expect_round_trip(const Program& program) {
  std::istringstream text(program_text(program));
  EXPECT_EQ(program_text(read_program(text, "again")), program_text(program));
}

TEST(Horovod, RanksComputeUntilTheirTicksAndWaitAtTheEndOfAnIteration) {
  const ImportedTrace imported = import(two_ranks(), {.images = 32});
  const Program& program = imported.program;
  EXPECT_EQ(program.workers, 2);
  EXPECT_EQ(program.iterations, 2);
  EXPECT_THAT(program.images, ElementsAre(32, 32));
  // Rank 0: a at 0, b at 100; all over at 150, a again at 180, b at 260.
  EXPECT_THAT(deeds(program, 0, 0),
              ElementsAre("backward b 100us", "end", "forward a 30us", "backward b 80us", "end"));
  EXPECT_THAT(deeds(program, 1, 0), ElementsAre("forward a 10us", "backward b 100us", "end",
                                                "forward a 40us", "backward b 80us", "end"));
  // From the last tick to the begin: 20 - 10, 115 - 110, 190 - 190, 270 - 270.
  for (size_t rank = 0; rank < 2; ++rank)
    EXPECT_THAT(
        deeds(program, rank, 1),
        ElementsAre("timer 10us", "all-reduce a 400 bytes", "timer 5us", "all-reduce b 200 bytes",
                    "all-reduce a 400 bytes", "all-reduce b 200 bytes"));
  EXPECT_EQ(imported.found.kernels, 3u + 4u);
  EXPECT_NEAR(imported.found.compute_s, (100 + 30 + 80 + 10 + 100 + 40 + 80) * 1e-6, 1e-12);
  expect_round_trip(program);
}

TEST(Horovod, AThreadWaitsOnlyForRequestsThatAreThere) {
  const Program program = import(two_ranks()).program;
  for (const ProgramRank& rank : program.ranks) {
    // A collective of thread 1 is waited for in thread 0 behind the signal that it was started.
    std::set<int> made;
    for (const Action& action : rank.threads[0].actions) {
      if (action.kind == Action::Kind::kSignal || action.kind == Action::Kind::kKernel ||
          action.kind == Action::Kind::kSpawn || action.kind == Action::Kind::kNextBatch)
        made.insert(action.id);
      if (action.kind != Action::Kind::kWait) continue;
      const int id = action.requests.front();
      EXPECT_TRUE(made.contains(id)) << id;
      int last = -1;
      for (const Action& other : rank.threads[1].actions) {
        if (std::holds_alternative<CollectiveStep>(other.what)) last = other.id;
        if (other.kind == Action::Kind::kSet && other.requests.front() == id) made.insert(last);
      }
    }
  }
}

TEST(Horovod, CollectivesOfAnIterationOverlapComputeUntilItsEnd) {
  // b is ready while a is reduced, and begins behind it: no delay; c begins beside it.
  const ImportedTrace imported = import(timeline(
      named(1, "a") + named(2, "b") + named(3, "c") + negotiation(1, {0, 0}) +
      begin(1, "ALLREDUCE", 0) + begin(1, "QUEUE", 0) + negotiation(2, {40, 40}) + end(1, 100) +
      end(1, 100, "100") + begin(2, "ALLREDUCE", 100) + begin(2, "QUEUE", 100) +
      negotiation(3, {120, 130}) + begin(3, "ALLREDUCE", 150) + begin(3, "QUEUE", 150) +
      end(2, 200) + end(2, 200, "100") + end(3, 220) + end(3, 220, "100")));
  EXPECT_THAT(deeds(imported.program, 0, 0),
              ElementsAre("backward b 40us", "backward c 80us", "end"));
  EXPECT_THAT(deeds(imported.program, 1, 0),
              ElementsAre("backward b 40us", "backward c 90us", "end"));
  EXPECT_THAT(deeds(imported.program, 0, 1),
              ElementsAre("all-reduce a 400 bytes", "all-reduce b 400 bytes", "timer 20us",
                          "all-reduce c 400 bytes"));
  // Before b the coordinator waits for a; before c for nothing.
  std::vector<int> ids;
  std::vector<std::pair<size_t, size_t>> waits;  // (collectives started, which is waited for)
  for (const Action& action : imported.program.ranks[0].threads[1].actions) {
    if (std::holds_alternative<CollectiveStep>(action.what)) ids.push_back(action.id);
    if (action.kind != Action::Kind::kWait) continue;
    const auto found = std::find(ids.begin(), ids.end(), action.requests.front());
    if (found != ids.end()) waits.emplace_back(ids.size(), found - ids.begin());
  }
  EXPECT_THAT(waits, ElementsAre(std::pair<size_t, size_t>(1, 0)));
}

// Tensors 1 and 2 fused, tensor 3 begins behind them; three ranks, of which rank 2 straggles.
std::string fused() {
  std::string text = named(1, "a") + named(2, "b") + named(3, "c");
  for (const int tensor : {1, 2, 3})
    text += begin(tensor, "NEGOTIATE_ALLREDUCE", tensor) + tick(tensor, 0, tensor);
  for (const int tensor : {1, 2, 3}) text += tick(tensor, 1, 10 + tensor);
  for (const int tensor : {1, 2, 3}) text += tick(tensor, 2, 500) + end(tensor, 500);
  text += begin(1, "ALLREDUCE", 600) + begin(2, "ALLREDUCE", 601);
  text += begin(1, "MEMCPY_IN_FUSION_BUFFER", 602) + begin(2, "MEMCPY_IN_FUSION_BUFFER", 602);
  text += end(1, 610) + end(2, 610);
  text += begin(3, "ALLREDUCE", 620) + begin(3, "QUEUE", 620);
  text += end(1, 700, "7", "float16") + end(2, 701, "3, 3") + end(3, 800) + end(3, 800, "");
  return timeline(text);
}

TEST(Horovod, FusedTensorsAreOneCollective) {
  const ImportedTrace imported = import(fused());
  for (size_t rank = 0; rank < 3; ++rank)
    EXPECT_THAT(
        deeds(imported.program, rank, 1),
        ElementsAre("timer 100us", fmt::format("all-reduce a and 1 more {} bytes", 7 * 2 + 9 * 4),
                    "timer 20us", "all-reduce c 4 bytes"));
  EXPECT_THAT(deeds(imported.program, 0, 0),
              ElementsAre("backward b 1us", "backward c 1us", "end"));
  EXPECT_THAT(deeds(imported.program, 1, 0),
              ElementsAre("forward a 10us", "backward b 1us", "backward c 1us", "end"));
  EXPECT_THAT(deeds(imported.program, 2, 0), ElementsAre("forward a 499us", "end"));
  std::vector<std::string> order;  // the fused collective starts when b is ready, too
  for (const Action& action : imported.program.ranks[0].threads[0].actions) {
    if (const auto* kernel = std::get_if<Kernel>(&action.what)) order.push_back(kernel->label);
    if (action.kind == Action::Kind::kSet) order.emplace_back("set");
  }
  EXPECT_THAT(order, ElementsAre("b", "set", "c", "set"));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("2 operations of 2 tensors were fused")));
  expect_round_trip(imported.program);
}

TEST(Horovod, OperationsThatEndApartAreNotFused) {
  // A thread of their own writes activities on GPUs: both begin before either's.
  const ImportedTrace imported =
      import(timeline(named(1, "a") + named(2, "b") + negotiation(1, {0, 0}) +
                      negotiation(2, {0, 0}) + begin(1, "ALLREDUCE", 1) + begin(2, "ALLREDUCE", 2) +
                      begin(1, "NCCL_ALLREDUCE", 3) + end(1, 50) + end(1, 50, "1") +
                      begin(2, "NCCL_ALLREDUCE", 50) + end(2, 90) + end(2, 90, "1")));
  EXPECT_THAT(deeds(imported.program, 0, 1), ElementsAre("timer 1us", "all-reduce a 4 bytes",
                                                         "timer 1us", "all-reduce b 4 bytes"));
}

TEST(Horovod, OperationsThatBeginApartAreNotFused) {
  const std::string ready =
      named(1, "a") + named(2, "b") + negotiation(1, {0, 0}) + negotiation(2, {0, 0});
  // One after the other, without activities; and b in the midst of a.
  for (const std::string& events :
       {begin(1, "ALLREDUCE", 0) + end(1, 5, "1") + begin(2, "ALLREDUCE", 5) + end(2, 9, "1"),
        begin(1, "ALLREDUCE", 0) + begin(1, "QUEUE", 0) + begin(2, "ALLREDUCE", 0) + end(1, 9) +
            end(1, 9, "1") + end(2, 9, "1")})
    EXPECT_THAT(deeds(import(timeline(ready + events)).program, 0, 1),
                ElementsAre("all-reduce a 4 bytes", "all-reduce b 4 bytes"));
}

TEST(Horovod, FindsWhatADirectCountOfTheFileFinds) {
  for (const std::string& text : {two_ranks(), fused()}) {
    // All sizes of the file, whatever was fused; one group of begins without events between.
    const std::regex sized(R"re("dtype": "float(\d+)", "shape": "\[([^"]*)\]")re");
    double bytes = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), sized), none; at != none; ++at) {
      double product = std::stod((*at)[1]) / 8;
      std::istringstream lengths((*at)[2]);
      for (std::string length; std::getline(lengths, length, ',');) product *= std::stod(length);
      bytes += product;
    }
    const std::regex began(R"re((\{"ph": "B", "name": "ALLREDUCE"[^\n]*\n)+)re");
    const auto count = std::distance(std::sregex_iterator(text.begin(), text.end(), began), {});
    const ImportedTrace imported = import(text);
    const auto ranks = static_cast<double>(imported.program.workers);
    ASSERT_EQ(imported.found.collectives.size(), 1u);
    EXPECT_EQ(imported.found.collectives.at("all-reduce").count, ranks * count);
    EXPECT_EQ(imported.found.collectives.at("all-reduce").bytes, ranks * bytes);
  }
}

TEST(Horovod, OtherOperations) {
  const ImportedTrace imported = import(
      timeline(named(1, "a") + named(2, "b") + named(3, "c") + named(4, "d") + named(5, "e") +
               negotiation(1, {0, 0}, "BROADCAST") + operation(1, 0, 1, "2", "BROADCAST") +
               negotiation(2, {1, 1}, "ALLGATHER") + operation(2, 1, 2, "6", "ALLGATHER") +
               negotiation(3, {2, 2}, "ALLTOALL") + operation(3, 2, 3, "8", "ALLTOALL") +
               negotiation(4, {3, 3}, "REDUCESCATTER") + operation(4, 3, 4, "5", "REDUCESCATTER") +
               negotiation(5, {4, 4}, "ADASUM") + operation(5, 4, 5, "7", "ADASUM")));
  EXPECT_THAT(
      deeds(imported.program, 0, 1),
      ElementsAre("broadcast a 8 bytes", "allgather b 24 bytes", "all-to-all c 32 bytes",
                  fmt::format("reduce-scatter d {} bytes", 2 * 5 * 4), "all-reduce e 28 bytes"));
  for (const char* note :
       {"1 broadcasts are taken from rank 0", "1 reduce-scatters", "1 all-to-alls", "1 Adasum"})
    EXPECT_THAT(imported.notes, Contains(HasSubstr(note)));
}

TEST(Horovod, OperationsWithoutTicksBeginWhenAllAreReady) {
  const ImportedTrace imported =
      import(timeline(named(1, "a") + negotiation(1, {0, 10}) + operation(1, 10, 20, "1") +
                      begin(1, "NEGOTIATE_ALLREDUCE", 30) + end(1, 50) + operation(1, 55, 60, "1") +
                      operation(1, 100, 120, "1") + begin(1, "NEGOTIATE_ALLREDUCE", 140) +
                      tick(1, 1, 145) + end(1, 150) + operation(1, 150, 160, "1")));
  EXPECT_THAT(deeds(imported.program, 0, 0),
              ElementsAre("end", "forward a 30us", "end", "forward a 40us", "end", "forward a 30us",
                          "end"));
  EXPECT_THAT(deeds(imported.program, 1, 0),
              ElementsAre("forward a 10us", "end", "forward a 30us", "end", "forward a 40us", "end",
                          "forward a 25us", "end"));
  EXPECT_THAT(deeds(imported.program, 0, 1),
              ElementsAre("all-reduce a 4 bytes", "timer 5us", "all-reduce a 4 bytes",
                          "all-reduce a 4 bytes", "all-reduce a 4 bytes"));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("2 operations have no ticks")));
  EXPECT_THAT(imported.notes, Contains(HasSubstr("1 times a rank has no tick")));
}

TEST(Horovod, ATimelineMayLackItsEnd) {
  const std::string open = two_ranks();
  const std::string closed = open.substr(0, open.size() - 2) + "]";
  const std::string whole = program_text(import(closed).program);
  EXPECT_EQ(program_text(import(open).program), whole);
  EXPECT_EQ(program_text(import(closed.substr(0, closed.size() - 1)).program), whole);
  const ImportedTrace cut = import(open + begin(1, "NEGOTIATE_ALLREDUCE", 400) + tick(1, 0, 400));
  EXPECT_EQ(program_text(cut.program), whole);
  EXPECT_THAT(cut.notes,
              Contains(HasSubstr("1 negotiations or operations that the file does not")));
  EXPECT_THAT(refusal(closed + "{}"), HasSubstr("must be the end"));
}

TEST(Horovod, LeavesOutWhatWasNotCarriedOut) {
  const ImportedTrace imported = import(
      two_ranks() + begin(1, "ERROR", 400) + end(1, 400) + negotiation(2, {410, 410}, "BARRIER") +
      negotiation(2, {420, 420}, "BROADCAST") + begin(2, "BROADCAST", 420) + end(2, 420));
  EXPECT_EQ(imported.program.iterations, 2);
  for (const char* note : {"1 operations failed", "1 negotiations or operations that the file",
                           "1 broadcasts are left out"})
    EXPECT_THAT(imported.notes, Contains(HasSubstr(note)));
}

}  // namespace
}  // namespace forescale::testing::horovod
