#include "models/stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "base/options_text.hpp"
#include "models/nccl_environment.hpp"
#include "models/stack_rules.hpp"

namespace forescale {
namespace {

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

// What `in` has for an operation: its own, or by name what another one has.
JsonInput of_operation(const JsonInput& in, const std::string& op) {
  JsonInput own = in.at(op);
  if (!own.is_string()) return own;
  const auto other = in.find(own.string());
  if (!other || !other->is_array())
    own.fail("must be a list, or the name of another operation that has one here");
  return *other;
}

// Rules in order, by operation.
void read_rules(const JsonInput& in, const std::string& op, const Stack& stack,
                SelectionRules& rules) {
  std::vector<SelectionRule> of_op;
  for (const JsonInput& rule : of_operation(in, op).elements())
    of_op.push_back(read_selection(rule, stack));
  rules[op] = std::move(of_op);
}

Alternative read_alternative(const JsonInput& in, const Stack& stack) {
  constexpr double kLeastFactor = 0.01;
  constexpr double kMostFactor = 1000;
  Alternative alternative;
  for (const std::string& key : in.keys())
    if (key == "chunk_factor")
      alternative.chunk_factor = in.at(key).number(kLeastFactor, kMostFactor);
    else if (key == "needs")
      alternative.needs = in.at(key).one_of({kNcclCollnet});
    else
      read_rules(in, key, stack, alternative.rules);
  return alternative;
}

// Paths of a protocol share a rank's channels, so they agree on what one of them carries.
void check_channel_caps(const Stack& stack, const JsonInput& in) {
  std::map<std::pair<int, BufferPlace>, double> caps;
  for (const PathRule& rule : stack.paths) {
    const double cap = rule.channel_cap.value;
    if (cap <= 0) continue;
    if (stack.channels_of != ChannelsOf::kQueue)
      in.fail("must have \"channels_of\": \"queue\" to have channel_cap_bytes_per_s");
    if (caps.try_emplace({rule.protocol, rule.buffers}, cap).first->second != cap)
      in.fail("must have the same channel_cap_bytes_per_s on all paths of protocol \"" +
              stack.protocols[static_cast<size_t>(rule.protocol)] + "\" that have one");
  }
}

std::vector<Preference> read_preferences(const JsonInput& in, const std::string& op,
                                         const std::map<std::string, Alternative>& alternatives) {
  std::vector<Preference> preferences;
  for (const JsonInput& band : in.elements()) {
    band.allow_only(with_call_range({"order"}));
    Preference& preference = preferences.emplace_back();
    static_cast<CallRange&>(preference) = read_call_range(band);
    std::istringstream names(band.at("order").string());
    for (std::string name; names >> name;) {
      const auto known = alternatives.find(name);
      if (known == alternatives.end() || !known->second.rules.contains(op))
        band.at("order").fail(fmt::format("names {}, which is no alternative for {}", name, op));
      preference.order.push_back(name);
    }
  }
  return preferences;
}

Tuner read_tuner(const JsonInput& in, const std::map<std::string, Alternative>& alternatives) {
  in.allow_only({"name", "source", "choices"});
  Tuner tuner{.name = in.at("name").string()};
  if (in.at("source").string().empty()) in.at("source").fail("must not be empty");
  const JsonInput choices = in.at("choices");
  for (const std::string& op : choices.keys())
    tuner.choices[op] = read_preferences(of_operation(choices, op), op, alternatives);
  return tuner;
}

constexpr int kMemoryAccessesMax = 16;
constexpr std::int64_t kMeasuredSizeMax = std::int64_t{1} << 50;

// A file that extends another states only what differs; an operation's selection is replaced whole.
// `extending` lists the files on the way here.
Stack read_stack(const JsonInput& in, std::vector<std::string> extending = {}) {
  in.allow_only({"format",
                 "name",
                 "description",
                 "releases",
                 "extends",
                 "measured_bytes",
                 "channels",
                 "channels_of",
                 "message_protocol",
                 "eager_limit_bytes",
                 "packet_limit_bytes",
                 "latency_holds_ports",
                 "collectives",
                 "memory_accesses",
                 "shared_cores",
                 "progress",
                 "reduction",
                 "host_reduction",
                 "paths",
                 "orders",
                 "selection",
                 "alternatives",
                 "preferences",
                 "tuner",
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
  if (const auto releases = in.find("releases")) stack.releases = NcclReleases::read(*releases);
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
  if (const auto collectives = in.find("collectives"))
    stack.collectives_in_order = collectives->one_of({"in-order", "concurrent"}) == "in-order";
  if (const auto accesses = in.find("memory_accesses"))
    stack.memory_accesses = accesses->factor(0, kMemoryAccessesMax);
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
  check_channel_caps(stack, in);
  if (const auto protocol = in.find("message_protocol"))
    stack.message_protocol = known_protocol(*protocol, stack.protocols);
  else if (states("paths"))
    stack.message_protocol = 0;
  if (const auto orders = in.find("orders"))
    for (const std::string& name : orders->keys())
      stack.orders[name] = read_orders(orders->at(name));
  if (!base || in.has("selection"))
    for (const std::string& op : in.at("selection").keys()) {
      forget_numbers(in.provenance(), in.file(), "/selection/" + op + "/");
      read_rules(in.at("selection"), op, stack, stack.selection);
    }
  if (const auto alternatives = in.find("alternatives")) {
    forget_numbers(in.provenance(), in.file(), "/alternatives/");
    stack.alternatives.clear();
    for (const std::string& name : alternatives->keys())
      stack.alternatives[name] = read_alternative(alternatives->at(name), stack);
  }
  if (const auto preferences = in.find("preferences"))
    for (const std::string& op : preferences->keys())
      stack.preferences[op] =
          read_preferences(of_operation(*preferences, op), op, stack.alternatives);
  if (const auto tuner = in.find("tuner")) stack.tuner = read_tuner(*tuner, stack.alternatives);
  return stack;
}

void apply_ideal_options(Stack& stack, const OptionsText& options) {
  options.allow_only(
      {"reduce_bandwidth", "reduce_overhead", "overlap", "eager", "channels", "memory_accesses"});
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
  stack.memory_accesses =
      static_cast<double>(options.integer("memory_accesses", 0, 0, kMemoryAccessesMax));
}

// 0: not said.
std::int64_t chunk_of(const OptionsText& options) {
  const auto text = options.find("chunk_bytes");
  if (!text) return 0;
  const std::string where = options.where("chunk_bytes");
  const std::int64_t bytes = parse_bytes(*text, where).value;
  if (bytes < 1)
    throw InputError({.source = where, .path = "", .value = *text, .constraint = "must be >= 1"});
  return bytes;
}

// That a rule of the stack is of; empty: none.
std::string alternative_of(const Stack& stack, const std::string& op, const GroupShape& group,
                           std::int64_t bytes, const SelectionRule* own) {
  if (own == nullptr) return "";
  for (const auto& [known, alternative] : stack.alternatives) {
    const SelectionRule* rule = find_rule(alternative.rules, op, group, bytes);
    if (rule != nullptr && rule->algorithm == own->algorithm && rule->protocol == own->protocol)
      return known;
  }
  return "";
}

// That can be taken: of a tuner whatever it names, of preferences what comes first.
std::set<std::string> names_taken(const Stack& stack) {
  std::set<std::string> names;
  for (const auto& [op, bands] : stack.tuner.choices)
    for (const Preference& band : bands) names.insert(band.order.begin(), band.order.end());
  for (const auto& [op, bands] : stack.preferences)
    for (const Preference& band : bands)
      if (!band.order.empty()) names.insert(band.order.front());
  return names;
}

// What is not taken costs nothing: no number to measure.
void keep_alternatives(Provenance& provenance, const std::set<std::string>& taken) {
  const nlohmann::json::json_pointer all("/alternatives");
  std::erase_if(provenance.numbers, [&](const NumberSource& number) {
    return number.path.starts_with(all.to_string() + "/") &&
           std::none_of(taken.begin(), taken.end(), [&](const std::string& name) {
             return number.path.starts_with((all / name).to_string() + "/");
           });
  });
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
  const OptionsText options = OptionsText::parse(text, "--stack", nccl_lists());
  Provenance provenance{.scenario = scenario, .numbers = {}};
  const std::string file = find_data_file(kStacks, options.name(), "--stack");
  Stack stack = read_stack(JsonInput::from_file(file, &provenance));
  stack.provenance = std::move(provenance);
  if (stack.name == "ideal") {
    apply_ideal_options(stack, options);
  } else if (stack.alternatives.empty()) {
    options.allow_only({});
  } else {
    std::vector<std::string> known = {"take", "chunk_bytes"};
    const std::vector<std::string> variables = nccl_variables();
    known.insert(known.end(), variables.begin(), variables.end());
    options.allow_only(known);
    apply_nccl_environment(stack, options);
    const std::string whole_name = options.empty() ? stack.name : text;
    std::set<std::string> taken = names_taken(stack);
    if (options.find("take") || options.find("chunk_bytes")) {
      stack.take({.name = options.at("take"), .chunk_bytes = chunk_of(options)},
                 options.where("take"));
      taken = {options.at("take")};
    }
    stack.name = whole_name;
    if (stack.allowed.empty()) keep_alternatives(stack.provenance, taken);
  }
  return stack;
}

std::string AlternativeChoice::text() const {
  return chunk_bytes > 0 ? fmt::format("{}:chunk_bytes={}", name, chunk_bytes) : name;
}

AlternativeChoice AlternativeChoice::parse(const std::string& text, const std::string& where) {
  const OptionsText options = OptionsText::parse(text, where);
  options.allow_only({"chunk_bytes"});
  return {.name = options.name(), .chunk_bytes = chunk_of(options)};
}

void Stack::take(const AlternativeChoice& choice, const std::string& where) {
  const auto found = alternatives.find(choice.name);
  const auto refuse = [&](const std::string& constraint) {
    throw InputError(
        {.source = where, .path = "", .value = choice.text(), .constraint = constraint});
  };
  if (found == alternatives.end()) {
    std::string names;
    for (const auto& [known, alternative] : alternatives)
      names += (names.empty() ? "" : ", ") + known;
    refuse(fmt::format("is nothing that {} can take (one of: {})", name, names));
  }
  Alternative taken = found->second;
  if (choice.chunk_bytes > 0 && taken.chunk_factor == 0)
    refuse("must be without chunk_bytes: its size is not for others to choose");
  for (auto& [op, rules] : taken.rules) {
    if (choice.chunk_bytes > 0)
      for (SelectionRule& rule : rules)
        rule.options.set("chunk_bytes", std::llround(taken.chunk_factor *
                                                     static_cast<double>(choice.chunk_bytes)));
    selection[op] = std::move(rules);
  }
  alternatives.clear();
  preferences.clear();
  tuner = {};
  allowed.clear();
  switched_on.clear();
}

bool Stack::is_allowed(const std::string& op, const std::string& alternative) const {
  const auto of_op = allowed.find(op);
  return of_op == allowed.end() || of_op->second.contains(alternative);
}

const SelectionRule* Stack::preferred(const std::map<std::string, std::vector<Preference>>& of_ops,
                                      const std::string& op, const GroupShape& group,
                                      std::int64_t bytes, const std::string& algorithm) const {
  const auto bands = of_ops.find(op);
  if (bands == of_ops.end()) return nullptr;
  const auto band = std::find_if(bands->second.begin(), bands->second.end(),
                                 [&](const Preference& each) { return each.fits(group, bytes); });
  if (band == bands->second.end()) return nullptr;
  for (const std::string& name : band->order)
    if (is_allowed(op, name))
      if (const auto* rule = find_rule(alternatives.at(name).rules, op, group, bytes))
        if (algorithm.empty() || rule->algorithm == algorithm) return rule;
  return nullptr;
}

const SelectionRule* Stack::rule_for(const std::string& op, const GroupShape& group,
                                     std::int64_t bytes) const {
  if (const SelectionRule* tuned = preferred(tuner.choices, op, group, bytes)) return tuned;
  const SelectionRule* own = find_rule(selection, op, group, bytes);
  if (!preferences.contains(op) || (own != nullptr && !allowed.contains(op))) return own;
  const SelectionRule* best = preferred(preferences, op, group, bytes);
  if (own == nullptr) return best;
  const auto name_of_rule = [&](const SelectionRule* rule) {
    return alternative_of(*this, op, group, bytes, rule);
  };
  return is_allowed(op, name_of_rule(own)) && !switched_on.contains(name_of_rule(best)) ? own
                                                                                        : best;
}

const SelectionRule* Stack::rule_with(const std::string& algorithm, const std::string& op,
                                      const GroupShape& group, std::int64_t bytes) const {
  const SelectionRule* own = find_rule_with(selection, algorithm, op, group, bytes);
  return own != nullptr ? own : preferred(preferences, op, group, bytes, algorithm);
}

std::string Stack::tuner_choice(const std::string& op, const GroupShape& group,
                                std::int64_t bytes) const {
  return alternative_of(*this, op, group, bytes, preferred(tuner.choices, op, group, bytes));
}

std::set<std::int64_t> Stack::choice_ends(const std::string& op) const {
  std::set<std::int64_t> ends{std::numeric_limits<std::int64_t>::max()};
  const auto add = [&](const auto& of_ops) {
    if (const auto found = of_ops.find(op); found != of_ops.end())
      for (const CallRange& each : found->second) ends.insert(each.up_to_bytes);
  };
  add(selection);
  add(preferences);
  add(tuner.choices);
  return ends;
}

std::string Stack::own_choice(const std::string& op, const GroupShape& group,
                              std::int64_t bytes) const {
  return alternative_of(*this, op, group, bytes, rule_for(op, group, bytes));
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
