#include "calibrate/fit/fit_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/fit/cluster_shape.hpp"
#include "calibrate/fit/estimate.hpp"
#include "calibrate/fit/shaper_burst.hpp"
#include "models/stack.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Differences below this are within what a fit of medians can tell.
constexpr double kTold = 0.02;

bool all_among(const Series& series, const std::vector<int>& hosts) {
  std::vector<int> members = series.members;
  if (members.empty()) {
    members.resize(static_cast<size_t>(series.ranks));
    std::iota(members.begin(), members.end(), 0);
  }
  return std::all_of(members.begin(), members.end(), [&](int member) {
    return std::find(hosts.begin(), hosts.end(), member) != hosts.end();
  });
}

class Fit {
 public:
  Fit(const Measurement& measurement, const std::string& source, const ClusterFitOptions& options)
      : measurement_(measurement), source_(source), options_(options) {}

  ClusterFit run() {
    shape_ = shape_of(measurement_, options_.switches);
    for (const std::string& note : shape_.notes) fit_.warnings.push_back(note);
    ordinary_ = shape_.ordinary();
    const Series* ping_pong = longest(Pattern::kPingPong, &ordinary_);
    if (ping_pong == nullptr) ping_pong = longest(Pattern::kPingPong, nullptr);
    if (ping_pong == nullptr)
      throw InputError({.source = source_,
                        .path = "/series",
                        .value = "",
                        .constraint = "must hold a ping-pong at three sizes or more"});
    for (const MeasuredPoint& point : ping_pong->points) sizes_.add(point.bytes);
    eager_limit_ = eager_limit();
    SegmentedFitOptions known;
    if (eager_limit_ > 0) known.breakpoints = {eager_limit_};
    const SegmentedFit raw = fit_medians(ping_pong->points, source_ + ": ping-pong", known);
    burst_ = shaper_burst(ping_pong->points, raw.segments.back(), eager_limit_);
    constexpr double kIdle_s = 1;  // between ping-pongs: longer than any bucket needs
    one_way_ =
        fit_medians(without_burst(ping_pong->points, raw.segments.back(), burst_.value, kIdle_s),
                    source_ + ": ping-pong", known);
    warn("ping-pong", one_way_);
    fit_.residuals = one_way_.residuals;
    shift_ = like_ping_pong(Pattern::kShift);
    shift_of_two_ = shift_ranks_ > 2 ? like_ping_pong(Pattern::kShift, 2) : shift_;
    stream_ = like_ping_pong(Pattern::kStream);
    if (const auto cores = measurement_.provenance.find("shared_cores");
        cores != measurement_.provenance.end())
      shared_cores_ = static_cast<int>(parse_integer(cores->second, source_));
    if (!shift_) missing("shift", "ranks that send and receive at once are taken to lose nothing");
    if (!stream_) missing("stream", "all of alpha is taken to hold the ports");
    fit_platform();
    fit_stack();
    return std::move(fit_);
  }

 private:
  // The series of a pattern with the most ranks, then the most sizes; among `hosts` only.
  const Series* longest(Pattern pattern, const std::vector<int>* hosts, int ranks = 0) const {
    const Series* best = nullptr;
    for (const Series& series : measurement_.series) {
      if (series.pattern != pattern || series.points.size() < 3) continue;
      if (ranks > 0 && series.ranks != ranks) continue;
      if (hosts != nullptr && !all_among(series, *hosts)) continue;
      if (best == nullptr || std::pair(series.ranks, series.points.size()) >
                                 std::pair(best->ranks, best->points.size()))
        best = &series;
    }
    return best;
  }

  // A pattern fitted with the breakpoints of the ping-pong.
  std::optional<SegmentedFit> like_ping_pong(Pattern pattern, int ranks = 0) {
    const Series* series = longest(pattern, &ordinary_, ranks);
    if (series == nullptr) return std::nullopt;
    SegmentedFitOptions same{.segments_max = static_cast<int>(one_way_.segments.size())};
    for (size_t i = 0; i + 1 < one_way_.segments.size(); ++i)
      same.breakpoints.push_back(one_way_.segments[i].up_to_bytes);
    const std::string name = name_of(pattern);
    try {
      // Many steps in a row: a link gains tokens only while the next message is prepared.
      const double idle_s = series->points.front().time_s;
      SegmentedFit fitted =
          fit_medians(without_burst(series->points, one_way_.segments.back(), burst_.value, idle_s),
                      source_ + ": " + name, same);
      if (fitted.segments.size() != one_way_.segments.size()) return std::nullopt;
      warn(name, fitted);
      if (pattern == Pattern::kShift && ranks == 0) shift_ranks_ = series->ranks;
      return fitted;
    } catch (const InputError& error) {
      fit_.warnings.push_back(fmt::format("{}: {}", name, error.what()));
      return std::nullopt;
    }
  }

  std::int64_t eager_limit() {
    // Half of the time by which receives are late (measurement.hpp).
    constexpr double kWaited_s = 2.5e-3;
    std::int64_t limit = 0;
    for (const Series& series : measurement_.series) {
      if (series.pattern != Pattern::kLateReceive) continue;
      for (const MeasuredPoint& point : series.points) {
        if (point.time_s >= kWaited_s) break;
        limit = std::max(limit, point.bytes);
      }
      return limit;
    }
    missing("late-receive", "every message is taken to wait for its receiver");
    return 0;
  }

  void missing(const std::string& pattern, const std::string& consequence) {
    fit_.warnings.push_back(
        fmt::format("no {} among hosts that are alike: {}", pattern, consequence));
  }

  void warn(const std::string& what, const SegmentedFit& fitted) {
    for (const std::string& warning : fitted.warnings)
      fit_.warnings.push_back(fmt::format("{}: {}", what, warning));
  }

  json number(const std::string& what, const std::string& from, const std::string& unit,
              const Estimate& estimate) {
    fit_.numbers.push_back({.what = what,
                            .from = from,
                            .unit = unit,
                            .value = estimate.value,
                            .interval = estimate.interval});
    // A time is fast when small, a rate when large.
    const bool is_time = unit == "s";
    const auto written = [&](double value) {
      return unit == "bytes" ? json(std::llround(value)) : json(value);
    };
    return {{"value", written(estimate.value)},
            {"source", fmt::format("fitted to {} of {}", from, source_)},
            {"fast", written(is_time ? estimate.interval.low : estimate.interval.high)},
            {"slow", written(is_time ? estimate.interval.high : estimate.interval.low)}};
  }

  // Slope of a large-message segment as a rate.
  Estimate bandwidth(const SegmentedFit& of, size_t segment, double factor) const {
    const AlphaBeta& line = of.segments[segment];
    return inverse(
        widened({.value = line.beta_s_per_byte, .interval = line.beta_interval_s_per_byte},
                of.ratio),
        factor);
  }

  bool has_slope(const AlphaBeta& line) const {
    return line.beta_s_per_byte > 0 && line.beta_interval_s_per_byte.low > 0;
  }

  // What the ordinary hosts' cables carry one way.
  Estimate link_rate() const {
    Estimate best;
    for (size_t i = 0; i < one_way_.segments.size(); ++i)
      if (has_slope(one_way_.segments[i]))
        if (const Estimate rate = bandwidth(one_way_, i, 1);
            i + 1 == one_way_.segments.size() || rate.value > best.value)
          best = rate;
    if (best.value <= 0)
      throw InputError({.source = source_,
                        .path = "/series",
                        .value = "ping-pong",
                        .constraint = "must reach sizes whose time grows with size: measure for "
                                      "longer, or larger messages (--budget, --max-bytes)"});
    return best;
  }

  // As many hosts as are asked for; those that were not measured are like the ordinary ones.
  void resize_shape(double usual_rate) {
    if (options_.hosts == 0) return;
    const auto hosts = static_cast<size_t>(options_.hosts);
    if (hosts > shape_.host_rate.size() && shape_.switch_count() > 1)
      throw InputError({.source = "--hosts",
                        .path = "",
                        .value = std::to_string(hosts),
                        .constraint = fmt::format("must be <= {}, the hosts measured: they are on "
                                                  "{} switches, and nothing says where more are",
                                                  shape_.host_rate.size(), shape_.switch_count())});
    if (hosts > shape_.host_rate.size()) {
      fit_.warnings.push_back(
          fmt::format("hosts {} to {} were not measured: taken to be like the ordinary ones, on a "
                      "switch where each keeps the share that it had when all measured ones sent",
                      shape_.host_rate.size(), hosts - 1));
      if (shared_cores_ > 0)
        fit_.warnings.push_back(fmt::format(
            "all {} hosts are taken to share {} cores, as those measured on one machine did: on "
            "machines of their own take \"shared_cores\" out of the stack",
            hosts, shared_cores_));
      unmeasured_growth_ =
          static_cast<double>(hosts) / static_cast<double>(shape_.host_rate.size());
    }
    shape_.host_rate.resize(hosts, usual_rate);
    shape_.switch_of.resize(hosts, 0);
  }

  // What hangs on a switch.
  std::string port(size_t host) const {
    return options_.ranks_per_host > 1 ? fmt::format("node{}/nic", host)
                                       : fmt::format("host{}", host);
  }

  json node() {
    json bare{{"count", shape_.host_rate.size()}, {"layout", "host"}};
    if (!options_.emulated_gpu.empty()) bare["emulated_gpu"] = options_.emulated_gpu;
    if (options_.ranks_per_host == 1) return bare;
    if (!options_.emulated_gpu.empty())
      throw InputError({.source = "--ranks-per-host",
                        .path = "",
                        .value = std::to_string(options_.ranks_per_host),
                        .constraint = "must be 1 with --emulated-gpu"});
    const json through_memory{{"bandwidth_bytes_per_s", memory_rate()}, {"latency_s", 0}};
    json devices = json::array(
        {{{"name", "memory"}, {"kind", "pcie-switch"}}, {{"name", "nic"}, {"kind", "nic"}}});
    json links = json::array({{{"from", "memory"}, {"to", "nic"}, {"class", through_memory}}});
    for (int rank = 0; rank < options_.ranks_per_host; ++rank) {
      const std::string name = fmt::format("rank{}", rank);
      devices.push_back({{"name", name}, {"kind", "host"}});
      links.push_back({{"from", name}, {"to", "memory"}, {"class", through_memory}});
    }
    return {{"count", shape_.host_rate.size()},
            {"layout", "explicit"},
            {"devices", devices},
            {"links", links}};
  }

  // What a rank sends to another one of its host passes.
  json memory_rate() {
    const Series* copies = longest(Pattern::kMemoryCopy, nullptr);
    if (copies != nullptr) {
      const MeasuredPoint& point = copies->points.back();
      const auto bytes = static_cast<double>(point.bytes);
      return number("memory", "memory copy", "bytes/s",
                    {.value = bytes / point.time_s,
                     .interval = {.low = bytes / point.high_s, .high = bytes / point.low_s}});
    }
    constexpr double kAssumed_bytes_per_s = 10e9;  // one core's copy on a server
    fit_.warnings.push_back(
        "no memory copy measured: between ranks of a host 10 GB/s are assumed, "
        "and the network's latency");
    return {{"value", kAssumed_bytes_per_s},
            {"assumed", "one core's copy, between ranks of a host"},
            {"fast", 40e9},
            {"slow", 3e9}};
  }

  void fit_platform() {
    link_ = link_rate();
    double usual = 0;
    for (const int host : ordinary_)
      usual = std::max(usual, shape_.host_rate[static_cast<size_t>(host)]);
    resize_shape(usual);
    json links = json::array();
    json switches = json::array();
    for (int i = 0; i < shape_.switch_count(); ++i) switches.push_back(fmt::format("switch{}", i));
    const json burst =
        burst_.value > 0 ? number("burst", "ping-pong of eager messages", "bytes", burst_) : json();
    const auto link_class = [&](const std::string& what, const std::string& from, Estimate rate) {
      json made{{"bandwidth_bytes_per_s", number(what, from, "bytes/s", rate)}, {"latency_s", 0}};
      if (burst_.value > 0) made["burst_bytes"] = burst;
      return made;
    };
    // One class for all hosts that are alike: one number was measured, which an interval moves as
    // one.
    json classes{{"link", link_class("link", "ping-pong", link_)}};
    for (size_t host = 0; host < shape_.host_rate.size(); ++host) {
      const bool is_slow = usual > 0 && shape_.host_rate[host] < 0.9 * usual;
      // Scaled, so that what large messages lose counts for all hosts alike.
      const std::string name = is_slow ? fmt::format("link of host {}", host) : "link";
      if (is_slow)
        classes[name] =
            link_class(name, "ping-pongs of pairs", scaled(link_, shape_.host_rate[host] / usual));
      links.push_back({{"from", port(host)},
                       {"to", fmt::format("switch{}", shape_.switch_of[host])},
                       {"class", name}});
    }
    if (shape_.switch_count() > 1) {
      const double scale = usual > 0 ? shape_.trunk_rate / usual : 1;
      classes["trunk"] = link_class("trunk", "pairs across", scaled(link_, scale));
      for (int i = 1; i < shape_.switch_count(); ++i)
        links.push_back(
            {{"from", "switch0"}, {"to", fmt::format("switch{}", i)}, {"class", "trunk"}});
    }
    fit_.platform = {
        {"format", "forescale-platform-1"},
        {"name", options_.name},
        {"description", fmt::format("{}, as measured", machine())},
        {"source", provenance()},
        {"link_classes", classes},
        {"node", node()},
        {"fabric", {{"layout", "explicit"}, {"switches", switches}, {"links", links}}}};
  }

  // Intercepts of ping-pong and a shift: the geometric mean, both as ends.
  Estimate alpha(size_t segment, const std::optional<SegmentedFit>& shift) const {
    const AlphaBeta& pair = one_way_.segments[segment];
    Estimate of{.value = pair.alpha_s, .interval = pair.alpha_interval_s};
    if (shift) {
      const AlphaBeta& all = shift->segments[segment];
      if (pair.alpha_s > 0 && all.alpha_s > 0) of.value = std::sqrt(pair.alpha_s * all.alpha_s);
      of.interval.low = std::min(of.interval.low, all.alpha_interval_s.low);
      of.interval.high = std::max(of.interval.high, all.alpha_interval_s.high);
    }
    return widened(of, one_way_.ratio);
  }

  // alpha in its two parts.
  struct Overheads {
    Estimate o_send;
    Estimate latency;
    std::string from;
  };

  // What is left of `whole` without `part`. Where that is nothing, what the data allow beyond it is
  // still the interval's.
  static Estimate rest(const Estimate& whole, double part) {
    if (whole.value > part) return scaled(whole, 1 - part / whole.value);
    return {.value = 0, .interval = {.low = 0, .high = std::max(0.0, whole.interval.high - part)}};
  }

  Overheads overheads(size_t segment) const {
    const std::string both =
        shift_ ? fmt::format("ping-pong and shift of {}", shift_ranks_) : "ping-pong";
    if (shared_cores_ > 0 && shift_of_two_ && shift_ranks_ > std::max(2, shared_cores_)) {
      const double turns_of_two = std::max(1.0, 2.0 / shared_cores_);
      const double turns = static_cast<double>(shift_ranks_) / shared_cores_ - turns_of_two;
      const Estimate two = alpha(segment, shift_of_two_);
      const AlphaBeta& all = shift_->segments[segment];
      const auto share = [&](double all_s, double two_s) {
        return std::clamp((all_s - two_s) / turns, 0.0, two_s / turns_of_two);
      };
      Overheads of;
      of.from = fmt::format("ping-pong, shift of 2 and of {}", shift_ranks_);
      of.o_send = {.value = share(all.alpha_s, two.value),
                   .interval = {.low = share(all.alpha_interval_s.low, two.value),
                                .high = share(all.alpha_interval_s.high, two.value)}};
      of.latency = rest(two, of.o_send.value * turns_of_two);
      return of;
    }
    const Estimate whole = alpha(segment, shift_);
    const double share =
        stream_ && whole.value > 0
            ? std::clamp(stream_->segments[segment].alpha_s / whole.value, 0.0, 1.0)
            : 1;
    return {.o_send = scaled(whole, share),
            .latency = share < 1 ? scaled(whole, 1 - share) : Estimate{},
            .from = both + ", stream"};
  }

  // What k messages through one host's port move together, bytes/s; nothing where that is what its
  // link carries.
  std::optional<Estimate> shared_rate(Pattern pattern) {
    const Series* series = longest(pattern, &ordinary_);
    if (series == nullptr) {
      missing(name_of(pattern), "many messages through one port are taken to lose nothing");
      return std::nullopt;
    }
    std::vector<double> rates;
    for (const MeasuredPoint& point : series->points) {
      if (point.bytes < 131'072) continue;
      const double moved =
          static_cast<double>(series->ranks - 1) * static_cast<double>(point.bytes);
      rates.push_back(moved / (point.time_s - one_way_.segments.back().alpha_s));
    }
    if (rates.empty()) return std::nullopt;
    std::sort(rates.begin(), rates.end());
    const Estimate rate{.value = rates[rates.size() / 2],
                        .interval = {.low = rates.front(), .high = rates.back()}};
    if (rate.value > (1 - kTold) * link_.value) return std::nullopt;
    return rate;
  }

  // Caps on what two ranks exchange, or what a host moves both ways, and on all together: from a
  // shift of two ranks, in which both partners are one, and a shift of more.
  void add_shared_caps(json& rule, size_t i, const std::string& size) {
    double expected = link_.value;  // of each rank, while all shift
    if (shift_of_two_ && has_slope(shift_of_two_->segments[i])) {
      const Estimate both = bandwidth(*shift_of_two_, i, 2);
      if (both.value < 2 * (1 - kTold) * link_.value) {
        // Ranks that send to one and receive from another, and lose less: the loss is the pair's.
        constexpr double kMore = 1.1;
        const bool of_pair = shift_ranks_ > 2 && has_slope(shift_->segments[i]) &&
                             bandwidth(*shift_, i, 2).value > kMore * both.value;
        rule[of_pair ? "pair_cap_bytes_per_s" : "duplex_cap_bytes_per_s"] = number(
            (of_pair ? "a pair both ways " : "both ways ") + size, "shift of 2", "bytes/s", both);
        if (!of_pair) expected = both.value / 2;
      }
    }
    if (shift_ranks_ > 2 && has_slope(shift_->segments[i]))
      if (const Estimate rate = bandwidth(*shift_, i, shift_ranks_);
          rate.value < shift_ranks_ * (1 - kTold) * expected)
        rule["fabric_cap_bytes_per_s"] =
            number("all together " + size,
                   unmeasured_growth_ > 1 ? fmt::format("shift of {}, to scale", shift_ranks_)
                                          : fmt::format("shift of {}", shift_ranks_),
                   "bytes/s", scaled(rate, unmeasured_growth_));
  }

  json path(size_t i, const std::optional<Estimate>& into, const std::optional<Estimate>& out) {
    const AlphaBeta& segment = one_way_.segments[i];
    const bool is_last = i + 1 == one_way_.segments.size();
    const std::string size =
        is_last ? (i == 0 ? std::string("at any size")
                          : "above " + to_text(Bytes{one_way_.segments[i - 1].up_to_bytes}))
                : "up to " + to_text(Bytes{segment.up_to_bytes});
    json rule{{"where", "any"}, {"buffers", "host"}, {"mechanism", "direct"}};
    if (!is_last) rule["up_to_bytes"] = segment.up_to_bytes;
    const Overheads parts = overheads(i);
    rule["o_send_s"] = number("o_send " + size, parts.from, "s", parts.o_send);
    rule["latency_s"] = number("latency " + size, parts.from, "s", parts.latency);
    if (has_slope(segment))
      if (const Estimate rate = bandwidth(one_way_, i, 1); rate.value < (1 - kTold) * link_.value)
        rule["connection_cap_bytes_per_s"] =
            number("connection " + size, "ping-pong", "bytes/s", rate);
    add_shared_caps(rule, i, size);
    if (into)
      rule["write_cap_bytes_per_s"] = number("into a host " + size, "fan-in", "bytes/s", *into);
    if (out)
      rule["read_cap_bytes_per_s"] = number("out of a host " + size, "fan-out", "bytes/s", *out);
    return rule;
  }

  json reduction() {
    const Series* series = longest(Pattern::kReduction, nullptr);
    if (series == nullptr) {
      fit_.warnings.push_back("no reduction: adding is taken to cost nothing");
      return {{"place", "free"}, {"overlaps_transfer", true}};
    }
    const SegmentedFit line =
        fit_medians(series->points, source_ + ": reduction", {.segments_max = 1});
    warn("reduction", line);
    const AlphaBeta& only = line.segments.front();
    return {
        {"place", "fixed"},
        {"overlaps_transfer", true},
        {"overhead_s",
         number("reduction overhead", "reduction", "s",
                widened({.value = only.alpha_s, .interval = only.alpha_interval_s}, line.ratio))},
        {"rate_bytes_per_s", number("reduction", "reduction", "bytes/s", bandwidth(line, 0, 1))}};
  }

  void fit_stack() {
    const std::optional<Estimate> into = shared_rate(Pattern::kFanIn);
    const std::optional<Estimate> out = shared_rate(Pattern::kFanOut);
    json paths = json::array();
    for (size_t i = 0; i < one_way_.segments.size(); ++i) paths.push_back(path(i, into, out));
    const json adding = reduction();
    const auto only = [](const char* algorithm) {
      return json::array({{{"algorithm", algorithm}}});
    };
    // What schedules use when nobody says more: our own choice, and what is executed too.
    constexpr std::int64_t kSmall = 32'768;
    fit_.stack = {{"format", "forescale-stack-1"},
                  {"name", options_.name},
                  {"description",
                   fmt::format("{} with forescale's own plans, as measured", measurement_.library)},
                  {"source", provenance()},
                  {"measured_bytes", {{"from", sizes_.least}, {"to", sizes_.most}}},
                  {"channels", 1},
                  {"channels_of", "collective"},
                  {"eager_limit_bytes", eager_limit_},
                  {"latency_holds_ports", false},
                  {"shared_cores", shared_cores_},
                  {"progress", "inside-calls"},
                  {"reduction", adding},
                  {"host_reduction", adding},
                  {"paths", paths},
                  {"selection",
                   {{"all-reduce",
                     json::array({{{"up_to_bytes", kSmall}, {"algorithm", "recursive-doubling"}},
                                  {{"algorithm", "ring"}}})},
                    {"reduce", only("binomial")},
                    {"broadcast", only("binomial")},
                    {"reduce-scatter", only("ring")},
                    {"allgather", only("ring")},
                    {"gather", only("flat")},
                    {"scatter", only("flat")},
                    {"all-to-all", only("pairwise")}}}};
  }

  std::string machine() const {
    return measurement_.machine.empty() ? "a cluster" : measurement_.machine;
  }

  std::string provenance() const {
    const auto entry = [&](const char* key) {
      const auto found = measurement_.provenance.find(key);
      return found == measurement_.provenance.end() ? std::string("unknown") : found->second;
    };
    return fmt::format("measured {} with {} on kernel {}: {}", entry("date"), measurement_.library,
                       entry("kernel"), entry("command"));
  }

  const Measurement& measurement_;
  std::string source_;
  const ClusterFitOptions& options_;
  ClusterFit fit_;
  ClusterShape shape_;
  std::vector<int> ordinary_;
  MessageSizes sizes_;  // of the ping-pong
  std::int64_t eager_limit_ = 0;
  SegmentedFit one_way_;
  std::optional<SegmentedFit> shift_;
  std::optional<SegmentedFit> stream_;
  std::optional<SegmentedFit> shift_of_two_;
  int shift_ranks_ = 0;
  double unmeasured_growth_ = 1;  // hosts asked for over those measured, at least 1
  int shared_cores_ = 0;          // 0: every host has its own
  Estimate link_;
  Estimate burst_;  // bytes; 0: no shaper
};

}  // namespace

ClusterFit fit_cluster(const Measurement& measurement, const std::string& source,
                       const ClusterFitOptions& options) {
  return Fit(measurement, source, options).run();
}

}  // namespace forescale
