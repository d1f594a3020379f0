#include "tests/reliability/random_machine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace forescale::testing {

using nlohmann::json;

namespace {

constexpr double kSlowestLink = 1e8;  // bytes/s
constexpr double kFastestLink = 1e11;
constexpr double kShortest_s = 1e-7;
constexpr double kLongest_s = 1e-4;

double random_bandwidth(Dice& dice) { return dice.logarithmic(kSlowestLink, kFastestLink); }
double random_latency_s(Dice& dice) { return dice.logarithmic(kShortest_s, kLongest_s); }

json random_link(Dice& dice) {
  json link = {{"bandwidth_bytes_per_s", random_bandwidth(dice)},
               {"latency_s", random_latency_s(dice)}};
  if (dice.in_ten(2)) link["duplex"] = "half";
  return link;
}

// With room for so many ports at least.
json random_fabric(Dice& dice, std::int64_t ports) {
  switch (dice.whole(0, 3)) {
    case 0:
      return {{"layout", "star"}, {"link", random_link(dice)}};
    case 1: {
      const std::int64_t leaf = dice.whole(1, 4);
      json tree = {{"layout", "fat-tree"},
                   {"down", {leaf, (ports + leaf - 1) / leaf}},
                   {"up", {dice.whole(1, leaf)}},
                   {"link", random_link(dice)}};
      if (dice.in_ten(3)) tree["routing"] = "adaptive";
      if (dice.in_ten(3)) tree["up_link"] = random_link(dice);
      return tree;
    }
    case 2: {
      const std::int64_t side = dice.whole(2, 4);
      return {{"layout", "torus"},
              {"dims", {side, (ports + side - 1) / side}},
              {"link", random_link(dice)}};
    }
    default: {
      const std::int64_t routers = dice.whole(1, 3);
      const std::int64_t hosts = dice.whole(1, 3);
      const std::int64_t groups =
          std::max<std::int64_t>(2, (ports + routers * hosts - 1) / (routers * hosts));
      return {{"layout", "dragonfly"},
              {"groups", groups},
              {"routers", routers},
              {"hosts", hosts},
              {"globals", std::max<std::int64_t>(8, groups)},
              {"link", random_link(dice)}};
    }
  }
}

}  // namespace

std::int64_t Dice::whole(std::int64_t min, std::int64_t max) {
  // Not std::uniform_int_distribution: libraries differ in what they make of the same bits.
  return min + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(max - min + 1));
}

double Dice::ratio() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

double Dice::logarithmic(double min, double max) {
  return std::exp(std::log(min) + ratio() * (std::log(max) - std::log(min)));
}

std::string random_generator(Dice& dice) {
  const std::string link = fmt::format("bandwidth={:.0f}B/s,latency={:.3f}us",
                                       random_bandwidth(dice), 1e6 * random_latency_s(dice));
  switch (dice.whole(0, 4)) {
    case 0:
      return fmt::format("star:hosts={},{}{}", dice.whole(2, 40), link,
                         dice.in_ten(2) ? ",duplex=half" : "");
    case 1:
      return fmt::format("fat-tree:down={}x{},up={},{}{}", dice.whole(1, 6), dice.whole(2, 6),
                         dice.whole(1, 4), link, dice.in_ten(3) ? ",routing=adaptive" : "");
    case 2:
      return fmt::format("torus:dims={}x{},hosts={},{}", dice.whole(2, 4), dice.whole(2, 4),
                         dice.whole(1, 2), link);
    case 3:
      return fmt::format("dragonfly:groups={},routers={},hosts={},globals=4,{}", dice.whole(2, 4),
                         dice.whole(1, 4), dice.whole(1, 3), link);
    default:
      return fmt::format("dragonfly+:groups={},leaves={},spines={},hosts={},globals=4,{}",
                         dice.whole(2, 4), dice.whole(1, 3), dice.whole(1, 3), dice.whole(1, 3),
                         link);
  }
}

std::string random_platform_file(Dice& dice) {
  static const std::vector<std::string> kGpus = {"k80", "p100", "v100", "a100", "h100"};
  const std::int64_t nodes = dice.whole(1, 8);
  const std::int64_t sockets = dice.whole(1, 2);
  const std::int64_t switches = dice.whole(0, 2);
  json node = {{"count", nodes},
               {"layout", "pcie-tree"},
               {"sockets", sockets},
               {"switches_per_socket", switches},
               {"cards_per_switch", dice.whole(1, 2)},
               {"gpus_per_card", 1},
               {"gpu", dice.of(kGpus)},
               {"cpu", "xeon-e5-2680v4"},
               {"card_link", random_link(dice)}};
  if (sockets > 1) node["socket_link"] = random_link(dice);
  if (switches > 0) node["switch_link"] = random_link(dice);
  if (dice.in_ten(4)) {
    node["gpus_per_card"] = 2;
    node["gpu_link"] = random_link(dice);
  }
  json file = {{"format", "forescale-platform-1"}, {"name", "made-up"}};
  if (nodes > 1) {
    node["nics"] = json::array();
    const json adapter = random_link(dice);
    for (std::int64_t socket = 0; socket < (dice.in_ten(5) ? sockets : 1); ++socket) {
      json nic = {{"socket", socket}, {"class", adapter}};
      if (switches > 0) nic["switch"] = 0;
      node["nics"].push_back(nic);
    }
    file["fabric"] = random_fabric(dice, nodes * static_cast<std::int64_t>(node["nics"].size()));
  }
  file["node"] = node;
  return file.dump(2);
}

}  // namespace forescale::testing
