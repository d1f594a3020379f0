#include "models/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"
#include "models/stack_rules.hpp"

namespace forescale {
namespace {

constexpr const char* kStacks = "models/stacks";

ServiceCosts read_service(const JsonInput& in) {
  in.allow_only({"request_bytes", "request_s", "encode_bytes_per_s", "decode_bytes_per_s",
                 "stages_through_host", "threads", "compute_threads"});
  ServiceCosts service;
  service.request = in.at("request_bytes").bytes();
  service.request_time = in.at("request_s").seconds();
  service.encode = cap_or_none(in, "encode_bytes_per_s");
  service.decode = cap_or_none(in, "decode_bytes_per_s");
  service.stages_through_host = in.at("stages_through_host").boolean();
  service.threads = static_cast<int>(in.at("threads").integer(1, 1024));
  if (const auto threads = in.find("compute_threads"))
    service.compute_threads = static_cast<int>(threads->integer(1, 1024));
  return service;
}

// Numbers of a base file under `path` that the extending file replaces are no longer used.
void forget_numbers(Provenance* provenance, const std::string& file, const std::string& path) {
  if (provenance == nullptr) return;
  std::erase_if(provenance->numbers, [&](const NumberSource& number) {
    return number.file != file && number.path.starts_with(path);
  });
}

constexpr std::int64_t kMeasuredSizeMax = std::int64_t{1} << 50;

// A file that extends another states only what differs; an operation's selection is replaced whole.
// `extending` lists the files on the way here.
Stack read_stack(const JsonInput& in, std::vector<std::string> extending = {}) {
  in.allow_only({"format", "name", "description", "extends", "measured_bytes", "channels",
                 "channels_of", "eager_limit_bytes", "packet_limit_bytes", "latency_holds_ports",
                 "shared_cores", "progress", "reduction", "host_reduction", "paths", "selection",
                 "service"});
  in.at("format").one_of({"forescale-stack-1"});
  Stack stack;
  const auto base = in.find("extends");
  if (base) {
    const std::string file =
        find_data_file(kStacks, base->string(), in.file() + ":" + base->path());
    extending.push_back(in.file());
    if (std::find(extending.begin(), extending.end(), file) != extending.end())
      base->fail("must not lead back to a file that extends itself");
    stack = read_stack(JsonInput::from_file(file, in.provenance()), extending);
  }
  const auto states = [&](const char* key) {
    if (base && in.has(key)) forget_numbers(in.provenance(), in.file(), std::string("/") + key);
    return !base || in.has(key);
  };
  stack.name = in.at("name").string();
  stack.description = in.at("description").string();
  if (const auto sizes = in.find("measured_bytes")) {
    sizes->allow_only({"from", "to"});
    stack.measured = {.least = sizes->at("from").integer(0, kMeasuredSizeMax),
                      .most = sizes->at("to").integer(1, kMeasuredSizeMax)};
    if (stack.measured->none()) sizes->at("to").fail("must be >= \"from\"");
  } else if (in.has("paths")) {
    stack.measured.reset();  // the base's paths were
  }
  if (states("channels")) stack.channels = static_cast<int>(in.at("channels").integer(1, 64));
  if (const auto of = in.find("channels_of")) {
    const std::string owner = of->one_of({"rank", "collective", "queue"});
    for (const ChannelsOf each : {ChannelsOf::kRank, ChannelsOf::kCollective, ChannelsOf::kQueue})
      if (owner == name_of(each)) stack.channels_of = each;
  }
  if (states("eager_limit_bytes")) stack.eager_limit = in.at("eager_limit_bytes").bytes();
  if (const auto limit = in.find("packet_limit_bytes")) stack.packet_limit = limit->bytes();
  if (states("latency_holds_ports"))
    stack.latency_holds_ports = in.at("latency_holds_ports").boolean();
  if (const auto cores = in.find("shared_cores"))
    stack.shared_cores = static_cast<int>(cores->integer(0, 1 << 16));
  if (states("progress"))
    stack.progress = in.at("progress").one_of({"hardware", "inside-calls"}) == "hardware"
                         ? Progress::kHardware
                         : Progress::kInsideCalls;
  if (states("reduction")) stack.reduction = read_reduction(in.at("reduction"));
  if (states("host_reduction")) {
    stack.host_reduction = read_reduction(in.at("host_reduction"));
    if (stack.host_reduction.place == ReductionPlace::kGpu)
      in.at("host_reduction").at("place").fail("must not be \"gpu\" for buffers in host memory");
  }
  if (in.has("service")) {
    forget_numbers(in.provenance(), in.file(), "/service/");
    stack.service = read_service(in.at("service"));
  }
  if (states("paths")) {
    stack.paths.clear();
    for (const JsonInput& rule : in.at("paths").elements())
      stack.paths.push_back(read_path(rule, stack.protocols));
    if (stack.paths.empty()) in.at("paths").fail("must name at least one path");
  }
  if (!base || in.has("selection"))
    for (const std::string& op : in.at("selection").keys()) {
      forget_numbers(in.provenance(), in.file(), "/selection/" + op + "/");
      stack.selection[op].clear();
      for (const JsonInput& rule : in.at("selection").at(op).elements())
        stack.selection[op].push_back(read_selection(rule, stack.protocols));
    }
  return stack;
}

void apply_ideal_options(Stack& stack, const OptionsText& options) {
  options.allow_only({"reduce_bandwidth", "reduce_overhead", "overlap", "eager", "channels"});
  if (const auto text = options.find("reduce_bandwidth")) {
    stack.reduction.place = ReductionPlace::kFixed;
    stack.reduction.rate = parse_bandwidth(*text, options.where("reduce_bandwidth"));
    if (const auto overhead = options.find("reduce_overhead"))
      stack.reduction.overhead = parse_seconds(*overhead, options.where("reduce_overhead"));
    stack.reduction.overlaps_transfer = options.boolean("overlap", false);
    stack.host_reduction = stack.reduction;
  } else if (options.find("overlap") || options.find("reduce_overhead")) {
    throw InputError({.source = options.where("reduce_bandwidth"),
                      .path = "",
                      .value = "",
                      .constraint = "is required with overlap and reduce_overhead"});
  }
  if (const auto text = options.find("eager"))
    stack.eager_limit = parse_bytes(*text, options.where("eager"));
  stack.channels = static_cast<int>(options.integer("channels", stack.channels, 1, 64));
}

}  // namespace

const char* name_of(ChannelsOf owner) {
  switch (owner) {
    case ChannelsOf::kRank:
      return "rank";
    case ChannelsOf::kCollective:
      return "collective";
    case ChannelsOf::kQueue:
      return "queue";
  }
  FORESCALE_CHECK(false, "unknown owner of channels");
}

const char* name_of(BufferPlace place) { return place == BufferPlace::kGpu ? "gpu" : "host"; }

const PathRule& Stack::path(const std::string& locality, BufferPlace buffers,
                            std::int64_t bytes) const {
  for (const PathRule& rule : paths)
    if (bytes <= rule.up_to_bytes && rule.is_for(locality, buffers)) return rule;
  throw InputError({.source = "stack " + name,
                    .path = "/paths",
                    .value = "",
                    .constraint = fmt::format("has no path for {} of {} buffers, {} bytes",
                                              locality, name_of(buffers), bytes)});
}

const SelectionRule* find_rule(const SelectionRules& rules, const std::string& op,
                               const GroupShape& group, std::int64_t bytes) {
  const auto of_op = rules.find(op);
  if (of_op != rules.end())
    for (const SelectionRule& rule : of_op->second)
      if (rule.fits(group, bytes)) return &rule;
  return nullptr;
}

const SelectionRule* find_rule_with(const SelectionRules& rules, const std::string& algorithm,
                                    const std::string& op, const GroupShape& group,
                                    std::int64_t bytes) {
  const auto of_op = rules.find(op);
  if (of_op != rules.end())
    for (const SelectionRule& rule : of_op->second)
      if (rule.algorithm == algorithm && rule.fits(group, bytes)) return &rule;
  return nullptr;
}

Stack load_stack(const std::string& text, Scenario scenario) {
  const OptionsText options = OptionsText::parse(text, "--stack");
  Provenance provenance{.scenario = scenario, .numbers = {}};
  const std::string file = find_data_file(kStacks, options.name(), "--stack");
  Stack stack = read_stack(JsonInput::from_file(file, &provenance));
  stack.provenance = std::move(provenance);
  if (stack.name == "ideal") {
    apply_ideal_options(stack, options);
  } else {
    options.allow_only({});
  }
  return stack;
}

std::string Stack::beyond_measured(const MessageSizes& sent) const {
  if (!measured || sent.none()) return "";
  std::vector<std::string> beyond;
  if (sent.least < measured->least / 2) beyond.push_back(to_text(Bytes{sent.least}));
  if (sent.most > 2 * measured->most) beyond.push_back(to_text(Bytes{sent.most}));
  if (beyond.empty()) return "";
  return fmt::format(
      "messages of {} are sent, and {} was measured from {} to {} alone: no interval knows how far "
      "that is off",
      fmt::join(beyond, " and of "), name, to_text(Bytes{measured->least}),
      to_text(Bytes{measured->most}));
}

}  // namespace forescale
