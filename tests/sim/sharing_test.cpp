// The World alone: bytes over shared links against an exact fluid reference, work on shared
// processors against arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "sim/engine/world.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

struct Flow {
  double begin_s = 0;
  double bytes = 0;
  std::vector<std::vector<int>> ways;  // of as many flows, each begun by the end of the one before
};

struct SharedLinks {
  std::vector<double> bandwidths;  // by link
  std::vector<Flow> flows;
};

// Max-min rates by progressive filling: all rates grow alike; where a link is full, its flows stop.
std::vector<double> max_min_rates(const SharedLinks& scene, const std::vector<size_t>& active,
                                  const std::vector<std::vector<int>>& ways) {
  std::vector<double> rates(scene.flows.size(), 0);
  std::vector<double> left = scene.bandwidths;
  std::vector<size_t> growing = active;
  while (!growing.empty()) {
    std::vector<int> users(left.size(), 0);
    for (const size_t flow : growing)
      for (const int link : ways[flow]) ++users[static_cast<size_t>(link)];
    double share = std::numeric_limits<double>::infinity();
    size_t full = 0;
    for (size_t link = 0; link < left.size(); ++link)
      if (users[link] > 0 && left[link] / users[link] < share) {
        share = left[link] / users[link];
        full = link;
      }
    for (const size_t flow : growing) rates[flow] += share;
    for (size_t link = 0; link < left.size(); ++link) left[link] -= users[link] * share;
    left[full] = 0;
    std::erase_if(growing, [&](size_t flow) {
      return std::any_of(ways[flow].begin(), ways[flow].end(), [&](int link) {
        return left[static_cast<size_t>(link)] <=
               1e-12 * scene.bandwidths[static_cast<size_t>(link)];
      });
    });
  }
  return rates;
}

// When each flow ends: rates hold until the next flow begins or ends.
std::vector<double> fluid_ends_s(const SharedLinks& scene) {
  const size_t count = scene.flows.size();
  std::vector<double> left;
  std::vector<std::vector<int>> ways;
  for (const Flow& flow : scene.flows) {
    left.push_back(flow.bytes);
    ways.push_back(flow.ways.front());
  }
  std::vector<size_t> over(count, 0);
  std::vector<double> ends_s(count, -1);
  double now_s = 0;
  for (size_t ended = 0; ended < count;) {
    std::vector<size_t> active;
    double next_s = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < count; ++i) {
      if (ends_s[i] >= 0) continue;
      if (scene.flows[i].begin_s <= now_s)
        active.push_back(i);
      else
        next_s = std::min(next_s, scene.flows[i].begin_s);
    }
    const std::vector<double> rates = max_min_rates(scene, active, ways);
    for (const size_t i : active) next_s = std::min(next_s, now_s + left[i] / rates[i]);
    for (const size_t i : active) {
      left[i] -= rates[i] * (next_s - now_s);
      if (left[i] > 1e-3) continue;  // of a byte: less time than a clock of seconds tells apart
      if (++over[i] < scene.flows[i].ways.size()) {
        left[i] = scene.flows[i].bytes;
        ways[i] = scene.flows[i].ways[over[i]];
        continue;
      }
      ends_s[i] = next_s;
      ++ended;
    }
    now_s = next_s;
  }
  return ends_s;
}

// Goes on with what comes next, notes when nothing does, and opens a gate with the last of them.
class Noted : public Completion {
 public:
  Noted(World& world, Gate& all_done, int& left, double& end_s)
      : world_(world), all_done_(all_done), left_(left), end_s_(end_s) {}
  void complete() override {
    if (goes_on && goes_on()) return;
    end_s_ = world_.now_s();
    if (--left_ == 0) all_done_.open();
  }

  std::function<bool()> goes_on;

 private:
  World& world_;
  Gate& all_done_;
  int& left_;
  double& end_s_;
};

std::vector<double> simulated_ends_s(const SharedLinks& scene, SharingSolver solver) {
  return numbers_in_child([&] {
    const auto made = make_world(solver);
    World& world = *made;
    std::vector<SimLink> links;
    for (const double bandwidth : scene.bandwidths) links.push_back(world.add_link(bandwidth));
    Gate all_done;
    int left = static_cast<int>(scene.flows.size());
    std::vector<double> ends_s(scene.flows.size());
    std::vector<std::vector<std::vector<SimLink>>> routes(scene.flows.size());
    std::vector<size_t> begun(scene.flows.size(), 0);
    std::vector<std::unique_ptr<Noted>> noted;
    for (size_t i = 0; i < scene.flows.size(); ++i) {
      for (const std::vector<int>& way : scene.flows[i].ways) {
        routes[i].emplace_back();
        for (const int link : way) routes[i].back().push_back(links[static_cast<size_t>(link)]);
      }
      const auto begin_next = [&, i] {
        if (begun[i] == routes[i].size()) return false;
        world.start_flow(routes[i][begun[i]++], scene.flows[i].bytes, noted[i].get());
        return true;
      };
      noted.push_back(std::make_unique<Noted>(world, all_done, left, ends_s[i]));
      noted.back()->goes_on = begin_next;
      world.after(scene.flows[i].begin_s, begin_next);
    }
    // Time goes on between the ends of flows.
    constexpr double kTick_s = 0.37e-3;
    int ticks = 200;
    const std::function<void()> tick = [&] {
      if (left > 0 && --ticks > 0) world.after(kTick_s, tick);
    };
    world.after(0, tick);
    world.spawn("waits", [&] { all_done.wait(); });
    world.run([] { return std::string("stuck"); });
    return ends_s;
  });
}

SharedLinks random_scene(unsigned seed, bool staggered) {
  std::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  SharedLinks scene;
  const int links = between(1, 12);
  for (int i = 0; i < links; ++i) scene.bandwidths.push_back(1e9 * between(1, 20));
  const int flows = between(2, 40);
  for (int i = 0; i < flows; ++i) {
    Flow flow{.begin_s = staggered ? 1e-3 * between(0, 40) : 0,
              .bytes = 1000.0 * between(1, 100000),
              .ways = std::vector<std::vector<int>>(static_cast<size_t>(between(1, 3)))};
    for (std::vector<int>& way : flow.ways) {
      for (int link = 0; link < links; ++link)
        if (between(0, 2) == 0) way.push_back(link);
      if (way.empty()) way.push_back(between(0, links - 1));
    }
    scene.flows.push_back(flow);
  }
  return scene;
}

void expect_same(const std::vector<double>& actual_s, const std::vector<double>& expected_s,
                 const std::string& what) {
  ASSERT_EQ(actual_s.size(), expected_s.size()) << what;
  for (size_t i = 0; i < actual_s.size(); ++i)
    EXPECT_NEAR(actual_s[i], expected_s[i], 1e-9 * expected_s[i]) << what << " flow " << i;
}

TEST(Fluid, ReferenceSharesByHand) {
  // Link 0 (1 GB/s) carries both, link 1 (4 GB/s) the second only: half of link 0 each, then all.
  const SharedLinks scene = {.bandwidths = {1e9, 4e9},
                             .flows = {{.begin_s = 0, .bytes = 1e9, .ways = {{0}}},
                                       {.begin_s = 0, .bytes = 0.5e9, .ways = {{0, 1}}}}};
  expect_same(fluid_ends_s(scene), {1.5, 1.0}, "");
}

// More of them than SimGrid counts: given to it in pieces.
TEST(Fluid, FlowsOfVeryManyBytesShareALink) {
  const SharedLinks scene = {.bandwidths = {1e9},
                             .flows = {{.begin_s = 0, .bytes = 1e16, .ways = {{0}}},
                                       {.begin_s = 0, .bytes = 2e16, .ways = {{0}}}}};
  expect_same(simulated_ends_s(scene, SharingSolver::kLazy), {2e7, 3e7}, "");
}

class Sharing : public ::testing::TestWithParam<bool> {};

TEST_P(Sharing, IsExactMaxMinWithBothSolvers) {
  for (unsigned seed = 1; seed <= 150; ++seed) {
    const SharedLinks scene = random_scene(seed, GetParam());
    const std::vector<double> lazy_s = simulated_ends_s(scene, SharingSolver::kLazy);
    expect_same(lazy_s, fluid_ends_s(scene), fmt::format("seed {}", seed));
    expect_same(simulated_ends_s(scene, SharingSolver::kFull), lazy_s,
                fmt::format("seed {}, full solver", seed));
  }
}

INSTANTIATE_TEST_SUITE_P(Flows, Sharing, ::testing::Bool(), [](const auto& tested) {
  return tested.param ? "Staggered" : "Simultaneous";
});

// ---- processors ----

struct Task {
  int processor = 0;
  double begin_s = 0;
  double work_s = 0;
};

std::vector<double> task_ends_s(const std::vector<Task>& tasks, int cores = 1,
                                SharingSolver solver = SharingSolver::kLazy) {
  return numbers_in_child([&] {
    const auto made = make_world(solver);
    World& world = *made;
    const int processors = 2;
    for (int i = 0; i < processors; ++i) world.add_processor(cores);
    Gate all_done;
    int left = static_cast<int>(tasks.size());
    std::vector<double> ends_s(tasks.size());
    std::vector<std::unique_ptr<Noted>> noted;
    for (size_t i = 0; i < tasks.size(); ++i) {
      noted.push_back(std::make_unique<Noted>(world, all_done, left, ends_s[i]));
      world.after(tasks[i].begin_s, [&world, &tasks, &noted, i] {
        world.start_task(tasks[i].processor, tasks[i].work_s, noted[i].get());
      });
    }
    world.spawn("waits", [&] { all_done.wait(); });
    world.run([] { return std::string("stuck"); });
    return ends_s;
  });
}

TEST(Processors, TwoTasksShareEvenly) {
  // Half speed for both until the shorter one is done, after 2 x 1 s; 1 s of the longer is left.
  expect_same(task_ends_s({{.processor = 0, .begin_s = 0, .work_s = 1},
                           {.processor = 0, .begin_s = 0, .work_s = 2}}),
              {2.0, 3.0}, "together");
  // 0.5 s alone, then half speed: the first has 0.5 s left, which takes 1 s.
  expect_same(task_ends_s({{.processor = 0, .begin_s = 0, .work_s = 1},
                           {.processor = 0, .begin_s = 0.5, .work_s = 1}}),
              {1.5, 2.0}, "staggered");
  expect_same(task_ends_s({{.processor = 0, .begin_s = 0, .work_s = 1},
                           {.processor = 1, .begin_s = 0, .work_s = 1}}),
              {1.0, 1.0}, "on two processors");
}

TEST(Processors, TasksShareWhenThereAreMoreThanCores) {
  // Two on two cores do not: 1 s and 2 s. With a third from 0.5 s on, 2 / 3 of a core each: 0.5 s
  // of the first takes 0.75 s; then two are left, alone again, with 1 s and 1.5 s of work.
  expect_same(task_ends_s({{.processor = 0, .begin_s = 0, .work_s = 1},
                           {.processor = 0, .begin_s = 0, .work_s = 2}},
                          2),
              {1.0, 2.0}, "as many");
  expect_same(task_ends_s({{.processor = 0, .begin_s = 0, .work_s = 1},
                           {.processor = 0, .begin_s = 0, .work_s = 2},
                           {.processor = 0, .begin_s = 0.5, .work_s = 2}},
                          2),
              {1.25, 2.25, 2.75}, "one more");
}

// As flows over a link of their own, and one of all cores.
std::vector<double> fluid_task_ends_s(const std::vector<Task>& tasks, int cores) {
  constexpr double kPerSecond = 1e9;
  SharedLinks scene{.bandwidths = {cores * kPerSecond}, .flows = {}};
  for (const Task& task : tasks) {
    scene.flows.push_back({.begin_s = task.begin_s,
                           .bytes = task.work_s * kPerSecond,
                           .ways = {{0, static_cast<int>(scene.bandwidths.size())}}});
    scene.bandwidths.push_back(kPerSecond);
  }
  return fluid_ends_s(scene);
}

TEST(Processors, ShareAsAFluidDoesWithBothSolvers) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto between = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const int cores = between(1, 4);
    std::vector<Task> tasks;
    for (int count = between(2, 30); count > 0; --count)
      tasks.push_back(
          {.processor = 0, .begin_s = 0.25 * between(0, 20), .work_s = 0.125 * between(1, 40)});
    const std::vector<double> fluid_s = fluid_task_ends_s(tasks, cores);
    expect_same(task_ends_s(tasks, cores), fluid_s, fmt::format("seed {}", seed));
    expect_same(task_ends_s(tasks, cores, SharingSolver::kFull), fluid_s,
                fmt::format("seed {}, full solver", seed));
  }
}

// Two of 1 GB over 1 GB/s go on at 0.5 GB/s each, now over a crowded link of 2 GB/s too: 0.5 GB of
// each are left after 1 s, when a task ends and 0.5 GB begin, which have the other 1 GB/s of that
// link.
TEST(Processors, ATaskThatEndsBeginsAFlowThatMakesALinkCrowded) {
  const std::vector<double> ends_s = numbers_in_child([] {
    const auto made = make_world();
    World& world = *made;
    const SimLink narrow = world.add_link(1e9);
    const SimLink wide = world.add_link(2e9);
    const int processor = world.add_processor(1);
    const std::vector<SimLink> both = {narrow, wide};
    const std::vector<SimLink> one = {wide};
    Gate all_done;
    int left = 5;
    std::vector<double> seen_s(5);
    std::vector<std::unique_ptr<Noted>> noted;
    for (double& end_s : seen_s)
      noted.push_back(std::make_unique<Noted>(world, all_done, left, end_s));
    noted[0]->goes_on = [&, begun = false]() mutable {
      if (!begun) world.start_flow(one, 0.5e9, noted[4].get());
      begun = true;
      return false;
    };
    world.after(0, [&] {
      world.start_task(processor, 0.5, noted[0].get());  // shared: 1 s
      world.start_task(processor, 5, noted[1].get());
      world.start_flow(both, 1e9, noted[2].get());
      world.start_flow(both, 1e9, noted[3].get());
    });
    world.spawn("waits", [&] { all_done.wait(); });
    world.run([] { return std::string("stuck"); });
    return seen_s;
  });
  expect_same(ends_s, {1.0, 5.5, 2.0, 2.0, 1.5}, "");
}

TEST(Processors, WorkOfNothingTakesNoTime) {
  EXPECT_EQ(task_ends_s({{.processor = 0, .begin_s = 0.25, .work_s = 0}}).front(), 0.25);
}

// ---- links that fail ----

// One that is alone on its way when the link fails, and one that begins later; a third is
// elsewhere.
TEST(FailedLink, EndsWhatCrossesItAndWhatWould) {
  const std::vector<double> seen = numbers_in_child([] {
    const auto made = make_world();
    World& world = *made;
    struct Told : Completion {
      double end_s = 0;
      World* world = nullptr;
      Gate* done = nullptr;
      void complete() override {
        end_s = world->now_s();
        done->open();
      }
      void failed() override {
        end_s = -world->now_s();
        done->open();
      }
    };
    const SimLink fails = world.add_link(1e9);
    const SimLink lasts = world.add_link(1e9);
    const std::vector<std::vector<SimLink>> routes = {{fails, lasts}, {fails}, {lasts}};
    std::array<Gate, 3> gates;
    std::array<Told, 3> told;
    for (size_t i = 0; i < told.size(); ++i) {
      told[i].world = &world;
      told[i].done = &gates[i];
    }
    world.after(0, [&] { world.start_flow(routes[0], 2e9, &told[0]); });
    world.after(1.5, [&] { world.start_flow(routes[1], 1e9, &told[1]); });
    world.after(1.5, [&] { world.start_flow(routes[2], 1e9, &told[2]); });
    world.fail_link(fails, 1);
    world.spawn("waits", [&] {
      for (Gate& gate : gates) gate.wait();
    });
    world.run([] { return std::string("stuck"); });
    return std::vector<double>{told[0].end_s, told[1].end_s, told[2].end_s};
  });
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_NEAR(seen[0], -1, 1e-9);
  EXPECT_NEAR(seen[1], -1.5, 1e-9);
  EXPECT_NEAR(seen[2], 2.5, 1e-9);
}

// ---- time ----

TEST(Time, EqualTimesKeepTheOrderOfTheCalls) {
  const std::vector<double> order = numbers_in_child([] {
    const auto made = make_world();
    World& world = *made;
    std::vector<double> seen;
    Gate done;
    for (int i = 0; i < 5; ++i) world.after(1e-3, [&seen, i] { seen.push_back(i); });
    world.after(0.5e-3, [&] { world.after(0.5e-3, [&] { seen.push_back(5); }); });
    world.after(2e-3, [&] { done.open(); });
    world.spawn("waits", [&] { done.wait(); });
    world.run([] { return std::string("stuck"); });
    return seen;
  });
  EXPECT_EQ(order, (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

// Of 40 instants, in turn and at random, more than are kept at hand; some are added at their
// instant.
TEST(Time, ManyActionsRunByTimeAndInTheOrderOfTheCalls) {
  const std::vector<double> seen = numbers_in_child([] {
    const auto made = make_world();
    World& world = *made;
    std::mt19937 random(7);
    std::vector<double> order;  // instant and number of the call, in turn
    const auto note = [&order](int instant, int call) {
      order.push_back(instant);
      order.push_back(call);
    };
    Gate done;
    int call = 0;
    for (; call < 2000; ++call) {
      const int instant =
          call % 2 == 0 ? call / 2 % 40 : std::uniform_int_distribution<int>(0, 39)(random);
      world.after(1e-3 * (1 + instant), [&, instant, call] {
        note(instant, call);
        if (call % 7 == 0) world.after(0, [&, instant, call] { note(instant, 10000 + call); });
      });
    }
    world.after(1, [&] { done.open(); });
    world.spawn("waits", [&] { done.wait(); });
    world.run([] { return std::string("stuck"); });
    return order;
  });
  std::vector<std::pair<double, double>> pairs;
  for (size_t i = 0; i + 1 < seen.size(); i += 2) pairs.emplace_back(seen[i], seen[i + 1]);
  EXPECT_EQ(pairs.size(), 2000u + 286);
  EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
}

// What no actor waits for goes on without SimGrid's clock, which is an instant off at times: an
// actor runs at the time that it was woken at all the same, before what comes the next instant.
TEST(Time, AnActorSeesTheTimeItIsWokenAt) {
  constexpr int kWakings = 2000;
  const std::vector<double> seen = numbers_in_child([] {
    const auto made = make_world();
    World& world = *made;
    std::mt19937 random(11);
    std::uniform_real_distribution<double> gap_s(1e-6, 1e-3);
    std::vector<Gate> gates(kWakings);
    std::vector<double> errors;
    std::vector<double> times_s;
    double time_s = 0;
    for (Gate& gate : gates) {
      const double length_s = gap_s(random);
      time_s += length_s;
      times_s.push_back(time_s);
      world.after(time_s, [&gate] { gate.open(); });
      double instant_s = time_s;
      for (int i = 0; i < 3; ++i) {
        instant_s = std::nextafter(instant_s, 2 * instant_s);
        world.after(instant_s, [] {});
      }
      world.after(time_s + 0.3e-6, [] {});
      world.after(time_s + 0.6e-6, [] {});
    }
    world.spawn("waits", [&] {
      for (size_t i = 0; i < gates.size(); ++i) {
        gates[i].wait();
        errors.push_back(std::abs(world.now_s() / times_s[i] - 1));
      }
    });
    world.run([] { return std::string("stuck"); });
    return errors;
  });
  ASSERT_EQ(seen.size(), static_cast<size_t>(kWakings));
  EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 1e-12);
}

TEST(Time, StopGivesItsFirstReason) {
  EXPECT_EQ(error_in_child<SimulationStuck>([] {
              const auto made = make_world();
              World& world = *made;
              Gate never;
              world.after(1, [&] { world.stop("first"); });
              world.after(1, [&] { world.stop("second"); });
              world.spawn("waits", [&] { never.wait(); });
              world.run([] { return std::string("stuck"); });
            }),
            "first");
}

TEST(Time, WaitForeverIsDescribed) {
  EXPECT_EQ(error_in_child<SimulationStuck>([] {
              const auto made = make_world();
              World& world = *made;
              Gate never;
              world.spawn("waits", [&] { never.wait(); });
              world.run([] { return std::string("the actor waits"); });
            }),
            "the actor waits");
}

}  // namespace
}  // namespace forescale::testing
