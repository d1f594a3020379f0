#include "calibrate/fit/cluster_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "base/median.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

// Two rates within this factor are alike; a pair below it, of what its hosts can do, is behind
// something narrower.
constexpr double kAlike = 0.9;
constexpr double kNarrower = 0.85;
// Sizes below say little about rates.
constexpr std::int64_t kLargeBytes = 131'072;

struct PairRate {
  int a = 0;
  int b = 0;
  double bytes_per_s = 0;
};

std::vector<int> members_of(const Series& series) {
  if (!series.members.empty()) return series.members;
  std::vector<int> members(static_cast<size_t>(series.ranks));
  std::iota(members.begin(), members.end(), 0);
  return members;
}

double smallest_time_s(const Measurement& measurement) {
  double smallest_s = 0;
  for (const Series& series : measurement.series)
    if (series.pattern == Pattern::kPingPong && !series.points.empty())
      if (const double time_s = series.points.front().time_s;
          smallest_s == 0 || time_s < smallest_s)
        smallest_s = time_s;
  return smallest_s;
}

double rate(const MeasuredPoint& point, double alpha_s) {
  // A message that is hardly slower than the smallest one says nothing; half of its time at least.
  return static_cast<double>(point.bytes) / std::max(point.time_s - alpha_s, point.time_s / 2);
}

std::vector<PairRate> pair_rates(const Measurement& measurement, double alpha_s) {
  // All at one size, the largest that every pair has.
  std::int64_t bytes = 0;
  for (const Series& series : measurement.series)
    if (series.pattern == Pattern::kPingPong && !series.points.empty())
      bytes = bytes == 0 ? series.points.back().bytes : std::min(bytes, series.points.back().bytes);
  std::vector<PairRate> rates;
  if (bytes < kLargeBytes) return rates;
  for (const Series& series : measurement.series) {
    if (series.pattern != Pattern::kPingPong) continue;
    const auto point = std::find_if(series.points.begin(), series.points.end(),
                                    [&](const MeasuredPoint& each) { return each.bytes == bytes; });
    if (point == series.points.end()) continue;
    const std::vector<int> members = members_of(series);
    rates.push_back({.a = members[0], .b = members[1], .bytes_per_s = rate(*point, alpha_s)});
  }
  return rates;
}

int host_count_of(const Measurement& measurement) {
  int hosts = 2;
  for (const Series& series : measurement.series)
    for (const int member : members_of(series))
      hosts = std::max(hosts, member / series.ranks_per_host + 1);
  return hosts;
}

// Switches as the pairs show them: hosts that reach each other at the rate of the slower one share
// a switch.
std::vector<int> groups_of(const std::vector<PairRate>& rates,
                           const std::vector<double>& host_rate) {
  std::vector<int> group(host_rate.size());
  std::iota(group.begin(), group.end(), 0);
  const auto root = [&](int host) {
    while (group[static_cast<size_t>(host)] != host) host = group[static_cast<size_t>(host)];
    return host;
  };
  std::vector<char> seen(host_rate.size(), 0);
  for (const PairRate& pair : rates) {
    seen[static_cast<size_t>(pair.a)] = seen[static_cast<size_t>(pair.b)] = 1;
    const double possible =
        std::min(host_rate[static_cast<size_t>(pair.a)], host_rate[static_cast<size_t>(pair.b)]);
    if (pair.bytes_per_s < kNarrower * possible) continue;
    const int a = root(pair.a);
    const int b = root(pair.b);
    group[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }
  // A host by itself has a slow cable; it takes two to see a trunk.
  std::map<int, int> sizes;
  for (size_t host = 0; host < host_rate.size(); ++host) ++sizes[root(static_cast<int>(host))];
  const auto largest =
      std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  std::map<int, int> numbers;
  std::vector<int> switches;
  for (size_t host = 0; host < host_rate.size(); ++host) {
    const int own = root(static_cast<int>(host));
    const int of = seen[host] != 0 && sizes[own] > 1 ? own : largest;
    switches.push_back(numbers.try_emplace(of, static_cast<int>(numbers.size())).first->second);
  }
  return switches;
}

// What the largest number of simultaneous pairs moved together, and what their hosts could have.
struct Together {
  double moved_bytes_per_s = 0;
  double possible_bytes_per_s = 0;
  std::vector<int> members;
};

Together most_pairs(const Measurement& measurement, const std::vector<double>& host_rate,
                    double alpha_s) {
  Together most;
  for (const Series& series : measurement.series) {
    if (series.pattern != Pattern::kPairs || series.points.empty()) continue;
    if (series.points.back().bytes < kLargeBytes) continue;
    const std::vector<int> members = members_of(series);
    if (members.size() < std::max<size_t>(most.members.size(), 4)) continue;
    const size_t pairs = members.size() / 2;
    most = {.moved_bytes_per_s = static_cast<double>(pairs) * rate(series.points.back(), alpha_s),
            .possible_bytes_per_s = 0,
            .members = members};
    // All are over when the slowest is: what counts is what its hosts could do.
    double slowest = std::numeric_limits<double>::infinity();
    for (const int member : members)
      slowest = std::min(slowest, host_rate[static_cast<size_t>(member)]);
    most.possible_bytes_per_s = static_cast<double>(pairs) * slowest;
  }
  return most;
}

}  // namespace

int ClusterShape::switch_count() const {
  return switch_of.empty() ? 1 : *std::max_element(switch_of.begin(), switch_of.end()) + 1;
}

std::vector<int> ClusterShape::ordinary() const {
  std::map<int, std::vector<int>> hosts;  // by switch
  const double usual = median(host_rate);
  for (size_t host = 0; host < host_rate.size(); ++host)
    if (host_rate[host] > kAlike * usual) hosts[switch_of[host]].push_back(static_cast<int>(host));
  std::vector<int> most;
  for (const auto& [number, ranks] : hosts)
    if (ranks.size() > most.size()) most = ranks;
  return most;
}

ClusterShape shape_of(const Measurement& measurement, const std::vector<int>& switches) {
  ClusterShape shape;
  const auto hosts = static_cast<size_t>(host_count_of(measurement));
  const double alpha_s = smallest_time_s(measurement);
  const std::vector<PairRate> rates = pair_rates(measurement, alpha_s);
  shape.host_rate.assign(hosts, 0);
  for (const PairRate& pair : rates)
    for (const int host : {pair.a, pair.b})
      shape.host_rate[static_cast<size_t>(host)] =
          std::max(shape.host_rate[static_cast<size_t>(host)], pair.bytes_per_s);
  std::vector<double> known;
  for (const double each : shape.host_rate)
    if (each > 0) known.push_back(each);
  const double usual = known.empty() ? 0 : median(known);
  for (double& each : shape.host_rate)
    if (each == 0) each = usual;
  shape.switch_of = switches.empty() ? groups_of(rates, shape.host_rate) : switches;
  shape.switch_of.resize(hosts, 0);

  const Together together = most_pairs(measurement, shape.host_rate, alpha_s);
  const bool is_narrow = together.moved_bytes_per_s < kNarrower * together.possible_bytes_per_s;
  if (shape.switch_count() == 1 && switches.empty() && is_narrow) {
    const size_t half = together.members.size() / 2;
    for (size_t i = half; i < together.members.size(); ++i)
      shape.switch_of[static_cast<size_t>(together.members[i])] = 1;
    shape.notes.push_back(fmt::format(
        "{} pairs at once move {} together where their hosts could {}: taken for a trunk between "
        "the two halves",
        half, to_text(BytesPerSecond{together.moved_bytes_per_s}),
        to_text(BytesPerSecond{together.possible_bytes_per_s})));
  }
  if (shape.switch_count() > 1) {
    // Single pairs see the trunk alone; many at once see it when it is wider than one cable.
    for (const PairRate& pair : rates)
      if (shape.switch_of[static_cast<size_t>(pair.a)] !=
          shape.switch_of[static_cast<size_t>(pair.b)])
        shape.trunk_rate = std::max(shape.trunk_rate, pair.bytes_per_s);
    const size_t half = together.members.size() / 2;
    bool all_cross = half > 0;
    for (size_t i = 0; i < half; ++i)
      all_cross = all_cross && shape.switch_of[static_cast<size_t>(together.members[i])] !=
                                   shape.switch_of[static_cast<size_t>(together.members[half + i])];
    if (all_cross) shape.trunk_rate = together.moved_bytes_per_s;
    shape.notes.push_back(fmt::format("{} switches, trunk {}", shape.switch_count(),
                                      to_text(BytesPerSecond{shape.trunk_rate})));
  }
  for (size_t host = 0; host < hosts; ++host)
    if (shape.host_rate[host] < kAlike * usual)
      shape.notes.push_back(fmt::format("host {} moves {}, the others {}", host,
                                        to_text(BytesPerSecond{shape.host_rate[host]}),
                                        to_text(BytesPerSecond{usual})));
  return shape;
}

}  // namespace forescale
