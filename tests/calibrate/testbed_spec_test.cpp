// The options of a testbed in numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "calibrate/testbed/testbed.hpp"
#include "tests/calibrate/testbed_traffic.hpp"

namespace forescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kMbit;

TEST(TestbedSpec, StarGivesEveryHostTheRate) {
  const TestbedNetwork network = testbed_network({.hosts = 3, .rate = {500 * kMbit}});
  EXPECT_THAT(network.host_rate,
              ElementsAre(BytesPerSecond{62.5e6}, BytesPerSecond{62.5e6}, BytesPerSecond{62.5e6}));
  EXPECT_THAT(network.host_switch, ElementsAre(0, 0, 0));
  EXPECT_EQ(network.trunk_rate.value, 0);
}

TEST(TestbedSpec, TheFirstHalfRoundedUpIsOnTheFirstSwitch) {
  const TestbedNetwork network =
      testbed_network({.hosts = 5, .topology = "two-switches:trunk=300mbit"});
  EXPECT_THAT(network.host_switch, ElementsAre(0, 0, 0, 1, 1));
  EXPECT_EQ(network.trunk_rate.value, 300 * kMbit);
}

TEST(TestbedSpec, SlowHostsHaveTheirOwnRate) {
  const TestbedNetwork network = testbed_network(
      {.hosts = 4, .rate = {500 * kMbit}, .topology = "slow-host=3:12.5MB/s, 1:50mbit"});
  EXPECT_THAT(network.host_rate,
              ElementsAre(BytesPerSecond{500 * kMbit}, BytesPerSecond{50 * kMbit},
                          BytesPerSecond{500 * kMbit}, BytesPerSecond{12.5e6}));
}

TEST(TestbedSpec, RatesAreReadAsTcAndAsElsewhere) {
  EXPECT_EQ(parse_rate("2000kbit", "--rate").value, 2000e3 / 8);
  EXPECT_EQ(parse_rate("1.5mbit", "--rate").value, 1.5e6 / 8);
  EXPECT_EQ(parse_rate("1gbit", "--rate").value, 1e9 / 8);
  EXPECT_EQ(parse_rate("100Mbit/s", "--rate").value, 100e6 / 8);
  EXPECT_EQ(parse_rate("12.5MB/s", "--rate").value, 12.5e6);
}

void expect_bad_spec(const TestbedSpec& spec, const std::string& option,
                     const std::string& constraint) {
  try {
    testbed_network(spec);
    ADD_FAILURE() << "taken, but should say: " << constraint;
  } catch (const InputError& error) {
    EXPECT_THAT(error.parts().source, HasSubstr(option));
    EXPECT_THAT(error.what(), HasSubstr(constraint));
  }
}

TEST(TestbedSpec, RefusesWhatIsNoTestbed) {
  for (const char* name : {"", "Big", "a-b", "../x", "toolong99"})
    expect_bad_spec({.name = name}, "--name", "must be 1 to 8 small letters and digits");
  for (const int hosts : {0, -1, 65})
    expect_bad_spec({.hosts = hosts}, "--hosts", "must be 1 to 64");
  for (const double rate : {0.9 * kMbit, 10001 * kMbit})
    expect_bad_spec({.rate = {rate}}, "--rate", "must be from 1mbit to 10gbit");
  for (const char* rate : {"", "fast", "500", "-3mbit", "3 mbps", "0mbit"})
    EXPECT_THROW(parse_rate(rate, "--rate"), InputError) << rate;
}

TEST(TestbedSpec, RefusesWhatIsNoTopology) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "unknown"},
      {"sta", "did you mean \"star\"?"},
      {"star:8", "star takes no arguments"},
      {"ring", "one of: star, two-switches, slow-host"},
      {"two-switches", "needs the trunk's rate"},
      {"two-switches:300mbit", "must begin with trunk="},
      {"two-switches:trunk=20gbit", "must be from 1mbit to 10gbit"},
      {"two-switches:trunk=much", "must be a number with a unit"},
      {"slow-host", "needs a host and its rate"},
      {"slow-host=3", "must be a host and its rate"},
      {"slow-host=8:10mbit", "host 8 must be one of 0 to 7"},
      {"slow-host=-1:10mbit", "host -1 must be one of 0 to 7"},
      {"slow-host=a:10mbit", "must be a whole number"},
      {"slow-host=3:600mbit", "must be slower than --rate"},
      {"slow-host=3:10mbit,3:20mbit", "host 3 is given twice"},
      {"slow-host=3:10mbit,", "must be a host and its rate"},
  };
  for (const auto& [topology, constraint] : cases)
    expect_bad_spec({.topology = topology}, "--topology", constraint);
  expect_bad_spec({.hosts = 1, .topology = "two-switches:trunk=1mbit"}, "--topology",
                  "two switches need at least 2 hosts");
}

}  // namespace
}  // namespace forescale
