#include "models/stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/data_files.hpp"
#include "models/error.hpp"
#include "models/options_text.hpp"

namespace forescale {
namespace {

constexpr const char* kStacks = "models/stacks";

Seconds seconds_or_zero(const JsonInput& in, const char* key) {
  const auto value = in.find(key);
  return value ? value->seconds() : Seconds{0};
}

BytesPerSecond cap_or_none(const JsonInput& in, const char* key) {
  const auto value = in.find(key);
  return value ? value->bandwidth() : BytesPerSecond{0};
}

std::int64_t limit_bytes(const JsonInput& in) {
  const auto value = in.find("up_to_bytes");
  return value ? value->bytes().value : std::numeric_limits<std::int64_t>::max();
}

BufferPlace read_place(const JsonInput& in) {
  return in.one_of({"gpu", "host"}) == "gpu" ? BufferPlace::kGpu : BufferPlace::kHost;
}

PathRule read_path(const JsonInput& in) {
  in.allow_only({"where", "buffers", "up_to_bytes", "mechanism", "o_send_s", "o_recv_s",
                 "latency_s", "connection_cap_bytes_per_s", "read_cap_bytes_per_s",
                 "write_cap_bytes_per_s", "duplex_cap_bytes_per_s", "pair_cap_bytes_per_s",
                 "fabric_cap_bytes_per_s", "segment_bytes", "segment_overhead_s", "through_nic"});
  PathRule rule;
  rule.where = in.at("where").one_of({"any", "peer", "cross-socket", "inter-node"});
  rule.buffers = read_place(in.at("buffers"));
  rule.up_to_bytes = limit_bytes(in);
  rule.staged = in.at("mechanism").one_of({"direct", "staged"}) == "staged";
  if (rule.staged && rule.buffers == BufferPlace::kHost)
    in.at("mechanism").fail("must be \"direct\" for buffers in host memory");
  if (const auto nic = in.find("through_nic")) rule.through_nic = nic->boolean();
  if (rule.through_nic && rule.buffers != BufferPlace::kHost)
    in.at("through_nic").fail("must be false for buffers in GPU memory");
  rule.o_send = seconds_or_zero(in, "o_send_s");
  rule.o_recv = seconds_or_zero(in, "o_recv_s");
  rule.latency = seconds_or_zero(in, "latency_s");
  rule.connection_cap = cap_or_none(in, "connection_cap_bytes_per_s");
  rule.read_cap = cap_or_none(in, "read_cap_bytes_per_s");
  rule.write_cap = cap_or_none(in, "write_cap_bytes_per_s");
  rule.duplex_cap = cap_or_none(in, "duplex_cap_bytes_per_s");
  rule.pair_cap = cap_or_none(in, "pair_cap_bytes_per_s");
  rule.fabric_cap = cap_or_none(in, "fabric_cap_bytes_per_s");
  if (rule.staged && (rule.read_cap.value > 0 || rule.write_cap.value > 0 ||
                      rule.duplex_cap.value > 0 || rule.pair_cap.value > 0))
    in.fail(
        "must be \"direct\" to have read_cap_bytes_per_s, write_cap_bytes_per_s, "
        "duplex_cap_bytes_per_s or pair_cap_bytes_per_s");
  if (rule.staged) {
    rule.segment = in.at("segment_bytes").bytes(1);
    rule.segment_overhead = in.at("segment_overhead_s").seconds();
  } else if (in.has("segment_bytes") || in.has("segment_overhead_s")) {
    in.fail("must be \"staged\" to have segments");
  }
  return rule;
}

ReductionRule read_reduction(const JsonInput& in) {
  in.allow_only({"place", "overlaps_transfer", "overhead_s", "rate_bytes_per_s"});
  ReductionRule rule;
  const std::string place = in.at("place").one_of({"free", "gpu", "cpu", "fixed"});
  rule.place = place == "free"  ? ReductionPlace::kFree
               : place == "gpu" ? ReductionPlace::kGpu
               : place == "cpu" ? ReductionPlace::kCpu
                                : ReductionPlace::kFixed;
  rule.overlaps_transfer = in.at("overlaps_transfer").boolean();
  if (rule.place == ReductionPlace::kFixed) {
    rule.overhead = in.at("overhead_s").seconds();
    rule.rate = in.at("rate_bytes_per_s").bandwidth();
  }
  return rule;
}

SelectionRule read_selection(const JsonInput& in) {
  in.allow_only({"up_to_ranks", "up_to_bytes", "algorithm", "chunk_bytes", "chain_size", "levels",
                 "through_host", "through_host_bytes_per_s", "call_overhead_s"});
  SelectionRule rule;
  if (const auto ranks = in.find("up_to_ranks"))
    rule.up_to_ranks = static_cast<int>(ranks->integer(1, 1 << 30));
  rule.up_to_bytes = limit_bytes(in);
  rule.algorithm = in.at("algorithm").string();
  if (const auto chunk = in.find("chunk_bytes")) rule.chunk_bytes = chunk->bytes(1).value;
  if (const auto chain = in.find("chain_size"))
    rule.chain_size = static_cast<int>(chain->integer(1, 1 << 20));
  if (const auto levels = in.find("levels")) rule.levels = levels->string();
  if (const auto host = in.find("through_host")) rule.through_host = host->boolean();
  rule.through_host_bandwidth = cap_or_none(in, "through_host_bytes_per_s");
  if (const auto overhead = in.find("call_overhead_s")) rule.call_overhead = overhead->seconds();
  return rule;
}

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

// A file that extends another states only what differs; an operation's selection is replaced whole.
// `extending` lists the files on the way here.
Stack read_stack(const JsonInput& in, std::vector<std::string> extending = {}) {
  in.allow_only({"format", "name", "description", "extends", "channels", "channels_of",
                 "eager_limit_bytes", "packet_limit_bytes", "latency_holds_ports", "shared_cores",
                 "progress", "reduction", "host_reduction", "paths", "selection", "service"});
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
  if (states("channels")) stack.channels = static_cast<int>(in.at("channels").integer(1, 64));
  if (const auto of = in.find("channels_of"))
    stack.channels_of_collective = of->one_of({"rank", "collective"}) == "collective";
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
    for (const JsonInput& rule : in.at("paths").elements()) stack.paths.push_back(read_path(rule));
    if (stack.paths.empty()) in.at("paths").fail("must name at least one path");
  }
  if (!base || in.has("selection"))
    for (const std::string& op : in.at("selection").keys()) {
      forget_numbers(in.provenance(), in.file(), "/selection/" + op + "/");
      stack.selection[op].clear();
      for (const JsonInput& rule : in.at("selection").at(op).elements())
        stack.selection[op].push_back(read_selection(rule));
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

const char* name_of(BufferPlace place) { return place == BufferPlace::kGpu ? "gpu" : "host"; }

const PathRule& Stack::path(const std::string& locality, BufferPlace buffers,
                            std::int64_t bytes) const {
  for (const PathRule& rule : paths)
    if (rule.buffers == buffers && bytes <= rule.up_to_bytes &&
        (rule.where == "any" || rule.where == locality))
      return rule;
  throw InputError({.source = "stack " + name,
                    .path = "/paths",
                    .value = "",
                    .constraint = fmt::format("has no path for {} of {} buffers, {} bytes",
                                              locality, name_of(buffers), bytes)});
}

const SelectionRule* Stack::find_rule(const std::string& op, int ranks, std::int64_t bytes) const {
  const auto rules = selection.find(op);
  if (rules != selection.end())
    for (const SelectionRule& rule : rules->second)
      if (ranks <= rule.up_to_ranks && bytes <= rule.up_to_bytes) return &rule;
  return nullptr;
}

const SelectionRule& Stack::select(const std::string& op, int ranks, std::int64_t bytes) const {
  if (const SelectionRule* rule = find_rule(op, ranks, bytes)) return *rule;
  throw InputError(
      {.source = "stack " + name,
       .path = "/selection/" + op,
       .value = "",
       .constraint = fmt::format("chooses no algorithm for {} ranks and {} bytes; name one with "
                                 "--algorithm",
                                 ranks, bytes)});
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

}  // namespace forescale
