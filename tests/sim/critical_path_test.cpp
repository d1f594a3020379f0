// What the simulator says that things followed from: paths whose parts are known by adding up.
#include <gtest/gtest.h>

#include "sim/run/session.hpp"
#include "tests/sim/simulations.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr double kExact = 1e-9;
constexpr const char* kStarOfThree = "star:hosts=3,bandwidth=1GB/s,latency=5us";

using Body = std::function<void(Worker&)>;

// The path to the end of the rank that ends last, as "cause time ..." with microseconds, by cause.
std::map<std::string, double> path_of(const std::vector<Body>& ranks,
                                      const std::string& stack_name = "ideal") {
  const std::string text =
      run_isolated({[&] {
                     const Platform platform = load_platform(kStarOfThree);
                     const Stack stack = load_stack(stack_name);
                     CauseLog log;
                     SessionOptions options;
                     options.causes = &log;
                     Session session(platform, stack, static_cast<int>(ranks.size()), options);
                     for (size_t rank = 0; rank < ranks.size(); ++rank)
                       session.start_rank(static_cast<int>(rank), [&ranks, rank](Worker& worker) {
                         worker.wait(worker.next_batch());
                         ranks[rank](worker);
                         worker.end_iteration();
                       });
                     session.run();
                     size_t last = 0;
                     for (size_t rank = 0; rank < ranks.size(); ++rank)
                       if (session.iteration_ends()[rank][0] > session.iteration_ends()[last][0])
                         last = rank;
                     const CriticalPath path =
                         critical_path(log, session.iteration_moments()[last][0], 0);
                     std::string words = fmt::format("end\t{:.17g}\n", path.end_s);
                     for (const auto& [cause, time_s] : path.by_cause_s)
                       words += fmt::format("{}\t{:.17g}\n", cause, time_s);
                     return words;
                   }},
                   1, [](size_t) {})
          .front();
  std::map<std::string, double> by_cause;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    by_cause[line.substr(0, line.find('\t'))] = std::stod(line.substr(line.find('\t') + 1));
  return by_cause;
}

Kernel kernel(double duration_s, int stream = 0) {
  return {.stream = stream, .duration_s = duration_s, .label = "k"};
}
const CollectiveStep kAllReduce{.op = CollectiveOp::kAllReduce, .bytes = 3'000'000, .label = "r"};

void expect(const std::map<std::string, double>& path, const std::map<std::string, double>& parts) {
  EXPECT_EQ(path.size(), parts.size() + 1);
  double sum_s = 0;
  for (const auto& [cause, time_s] : parts) {
    ASSERT_TRUE(path.contains(cause)) << cause;
    EXPECT_NEAR(path.at(cause), time_s, kExact) << cause;
    sum_s += time_s;
  }
  EXPECT_NEAR(path.at("end"), sum_s, kExact);
}

double all_reduce_on_path_s() {
  const Body reduces = [](Worker& worker) { worker.run(kAllReduce); };
  return path_of({reduces, reduces, reduces}).at("all-reduce");
}

TEST(CriticalPathOf, KernelsBehindEachOther) {
  expect(path_of({[](Worker& worker) {
           worker.launch(kernel(0.5));
           worker.run(HostWork{.duration_s = 0.1, .label = "h"});
           worker.wait(worker.launch(kernel(0.25)));
           worker.run(HostWork{.duration_s = 0.2, .label = "h"});
         }}),
         {{"compute", 0.75}, {"host", 0.2}});
}

TEST(CriticalPathOf, ACollectiveBeginsWithTheLastRanksCall) {
  const Body early = [](Worker& worker) {
    worker.run(kernel(0.25));
    worker.run(kAllReduce);
  };
  const Body late = [](Worker& worker) {
    worker.run(kernel(1));
    worker.run(HostWork{.duration_s = 0.125, .label = "h"});
    worker.run(kAllReduce);
  };
  // Most ranks could begin at 0.25 s; what the late one does from then on keeps them waiting.
  expect(path_of({early, late, early}),
         {{"compute", 0.25}, {"straggler: rank 1", 0.875}, {"all-reduce", all_reduce_on_path_s()}});
}

TEST(CriticalPathOf, SignalsLeadToTheThreadThatSetsThem) {
  expect(path_of({[](Worker& worker) {
           const Request signal = worker.make_signal();
           const Request thread = worker.spawn([signal](Worker& helper) {
             helper.run(HostWork{.duration_s = 0.5, .label = "h"});
             helper.set(signal);
             helper.wait(helper.timer(0.125));
           });
           worker.wait(signal);
           worker.run(kernel(0.25));
           worker.wait(thread);
         }}),
         {{"host", 0.5}, {"compute", 0.25}});
}

TEST(CriticalPathOf, TheEndOfAThreadIsWhatItEndedWith) {
  expect(path_of({[](Worker& worker) {
           worker.wait(worker.spawn([](Worker& helper) {
             helper.run(HostWork{.duration_s = 0.5, .label = "h"});
             helper.wait(helper.timer(2));
           }));
         }}),
         {{"host", 0.5}, {"timer", 2}});
}

TEST(CriticalPathOf, AMessageFollowsFromItsLaterSide) {
  const MessageStep message{.peer = 1, .bytes = 1'000'000, .label = "m"};
  const auto sender = [=](double before_s) {
    return [=](Worker& worker) {
      worker.run(kernel(before_s));
      worker.wait(worker.send(message));
    };
  };
  const auto receiver = [=](double before_s) {
    return [=](Worker& worker) {
      worker.run(HostWork{.duration_s = before_s, .label = "h"});
      MessageStep from = message;
      from.peer = 0;
      worker.wait(worker.receive(from));
      worker.run(HostWork{.duration_s = 1, .label = "h"});
    };
  };
  const double message_s = path_of({sender(0.5), receiver(0.25)}).at("message");
  EXPECT_GT(message_s, 1e-3);
  expect(path_of({sender(0.5), receiver(0.25)}),
         {{"compute", 0.5}, {"message", message_s}, {"host", 1}});
  expect(path_of({sender(0.25), receiver(0.5)}), {{"message", message_s}, {"host", 1.5}});
}

// An eager message travels before anybody waits for it: 10 ms, of which its receiver misses five.
TEST(CriticalPathOf, AnEagerMessageFollowsFromItsSender) {
  const MessageStep message{.peer = 1, .bytes = 10'000'000, .label = "m"};
  const std::map<std::string, double> path =
      path_of({[=](Worker& worker) {
                 worker.run(kernel(0.5));
                 worker.wait(worker.send(message));
               },
               [=](Worker& worker) {
                 worker.run(HostWork{.duration_s = 0.505, .label = "h"});
                 MessageStep from = message;
                 from.peer = 0;
                 worker.wait(worker.receive(from));
                 worker.run(HostWork{.duration_s = 1, .label = "h"});
               }},
              "ideal:eager=16MiB");
  EXPECT_NEAR(path.at("compute"), 0.5, kExact);
  EXPECT_NEAR(path.at("host"), 1, kExact);
  EXPECT_NEAR(path.at("message"), path.at("end") - 1.5, kExact);
}

TEST(OverlapOf, CommunicationIsHiddenWhileTheRankComputes) {
  const std::vector<double> numbers = testing::numbers_in_child([] {
    const Platform platform = load_platform(kStarOfThree);
    const Stack stack = load_stack("ideal");
    Session session(platform, stack, 3, {});
    for (int rank = 0; rank < 3; ++rank)
      session.start_rank(rank, [](Worker& worker) {
        worker.wait(worker.next_batch());
        const Request reduced = worker.start(kAllReduce);
        worker.run(kernel(0.001));
        worker.wait(reduced);
        worker.run(kernel(0.5));
        worker.end_iteration();
      });
    session.run();
    const Attribution& first = session.attributions()[0][0];
    return std::vector<double>{first.communication_s, first.hidden_s};
  });
  EXPECT_NEAR(numbers[0], all_reduce_on_path_s(), kExact);
  EXPECT_NEAR(numbers[1], 0.001, kExact);
}

}  // namespace
}  // namespace forescale
