#include "models/nccl_environment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr const char* kAlgorithms = "NCCL_ALGO";
constexpr const char* kProtocols = "NCCL_PROTO";
constexpr const char* kNvls = "NCCL_NVLS_ENABLE";
constexpr const char* kPat = "NCCL_PAT_ENABLE";
constexpr const char* kBuffer = "NCCL_BUFFSIZE";
constexpr const char* kTuner = "NCCL_TUNER_PLUGIN";
constexpr const char* kNoTuner = "none";
constexpr int kStepsOfABuffer = 8;  // NCCL_STEPS

// By NCCL's names in lower case, those of alternatives.
const std::map<std::string, std::string>& known_names(const std::string& variable) {
  static const std::map<std::string, std::string> algorithms = {{"collnetchain", "collnet_chain"},
                                                                {"collnetdirect", "collnet_direct"},
                                                                {"nvls", "nvls"},
                                                                {"nvlstree", "nvls_tree"},
                                                                {"pat", "pat"},
                                                                {"ring", "ring"},
                                                                {"tree", "tree"}};
  static const std::map<std::string, std::string> protocols = {
      {"ll", "ll"}, {"ll128", "ll128"}, {"simple", "simple"}};
  return variable == kAlgorithms ? algorithms : protocols;
}

[[noreturn]] void refuse_variable(const OptionsText& options, const std::string& variable,
                                  const std::string& constraint) {
  refuse(options.where(variable), options.at(variable), constraint);
}

std::vector<std::string> items_of(std::string list) {
  std::transform(list.begin(), list.end(), list.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return items;
}

// Of alternatives' algorithms, or protocols, those that the variable leaves; all without it.
std::set<std::string> names_left(const OptionsText& options, const std::string& variable) {
  const std::map<std::string, std::string>& known = known_names(variable);
  std::set<std::string> all;
  std::vector<std::string> names;
  for (const auto& [name, alternative] : known) {
    all.insert(alternative);
    names.push_back(name);
  }
  const auto text = options.find(variable);
  if (!text) return all;
  const bool excludes = text->starts_with("^");
  std::set<std::string> named;
  for (const std::string& item : items_of(text->substr(excludes ? 1 : 0))) {
    const auto found = known.find(item);
    if (found == known.end())
      refuse_variable(options, variable,
                      fmt::format("must be a list of {}, or ^ and a list of what not to take",
                                  fmt::join(names, ", ")));
    named.insert(found->second);
  }
  if (!excludes) return named;
  for (const std::string& name : named) all.erase(name);
  return all;
}

bool switches_on_collnet(const OptionsText& options) {
  const std::string collnet = options.find(kNcclCollnet).value_or("0");
  if (collnet != "0" && collnet != "1") refuse_variable(options, kNcclCollnet, "must be 0 or 1");
  return collnet == "1";
}

// Without the variable that they need, alternatives are not there, unless one is asked for by name.
void switch_on_or_drop(Stack& stack, const OptionsText& options) {
  const bool on = switches_on_collnet(options);
  const std::string taken = options.find("take").value_or("");
  std::set<std::string> dropped;
  for (const auto& [name, alternative] : stack.alternatives)
    if (!alternative.needs.empty()) (on ? stack.switched_on : dropped).insert(name);
  if (on && stack.switched_on.empty())
    refuse_variable(options, kNcclCollnet,
                    "must be 0: of " + stack.name +
                        " no network is known whose switches add (InfiniBand with SHARP)");
  for (const std::string& name : dropped) {
    if (name != taken) stack.alternatives.erase(name);
    for (auto& [op, bands] : stack.preferences)
      for (Preference& band : bands) std::erase(band.order, name);
  }
}

void check_collnet(const Stack& stack, const OptionsText& options,
                   const std::set<std::string>& algorithms) {
  const auto named = options.find(kAlgorithms);
  if (stack.switched_on.empty()) {
    if (named && !named->starts_with("^") &&
        (algorithms.contains("collnet_chain") || algorithms.contains("collnet_direct")))
      refuse_variable(options, kAlgorithms,
                      fmt::format("must be beside {}=1 to take CollNet", kNcclCollnet));
  } else if (algorithms.contains("nvls") && stack.alternatives.contains("nvls/simple")) {
    refuse_variable(options, kNcclCollnet,
                    fmt::format("must be beside {}=0: what NVLS takes between nodes where their "
                                "network adds is not known",
                                kNvls));
  }
}

void allow(Stack& stack, const OptionsText& options) {
  std::set<std::string> algorithms = names_left(options, kAlgorithms);
  const std::set<std::string> protocols = names_left(options, kProtocols);
  const std::string nvls = options.find(kNvls).value_or("2");
  if (nvls != "0" && nvls != "1" && nvls != "2")
    refuse_variable(options, kNvls, "must be 0, 1 or 2");
  const std::string pat = options.find(kPat).value_or("2");
  if (pat != "0" && pat != "2")
    refuse_variable(options, kPat, "must be 0 or 2: trees of several GPUs a node are not known");
  if (pat == "0") algorithms.erase("pat");
  if (nvls == "0")
    for (const char* name : {"nvls", "nvls_tree"}) algorithms.erase(name);
  check_collnet(stack, options, algorithms);
  std::map<std::string, std::set<std::string>> left;
  for (const auto& [name, alternative] : stack.alternatives) {
    const std::string algorithm = name.substr(0, name.find('/'));
    if (!protocols.contains(name.substr(name.find('/') + 1))) continue;
    for (const auto& [op, rules] : alternative.rules)
      if (algorithms.contains(algorithm) || (algorithm == "ring" && op != "all-reduce"))
        left[op].insert(name);
  }
  if (!left.contains("all-reduce"))
    refuse_variable(options,
                    options.find(kAlgorithms)  ? kAlgorithms
                    : options.find(kProtocols) ? kProtocols
                    : options.find(kNvls)      ? kNvls
                                               : kPat,
                    "leaves all-reduces nothing that " + stack.name + " has");
  stack.allowed = std::move(left);
}

// Trees by the simple protocol, parallel aggregated ones, and the chains of broadcast and reduce.
void set_buffer(Stack& stack, const OptionsText& options) {
  const std::int64_t step =
      parse_bytes(options.at(kBuffer), options.where(kBuffer)).value / kStepsOfABuffer;
  if (step < 1) refuse_variable(options, kBuffer, fmt::format("must be >= {} B", kStepsOfABuffer));
  const auto set_chunks = [](std::vector<SelectionRule>& rules, const std::string& algorithm,
                             int protocol, std::int64_t bytes) {
    for (SelectionRule& rule : rules)
      if (rule.algorithm == algorithm && rule.protocol == protocol)
        rule.options.set("chunk_bytes", bytes);
  };
  for (auto& [op, rules] : stack.selection) set_chunks(rules, "chain", 0, step);
  if (const auto pat = stack.alternatives.find("pat/simple"); pat != stack.alternatives.end())
    for (auto& [op, rules] : pat->second.rules) {
      const int protocol = rules.front().protocol;
      set_chunks(rules, "pat", protocol, step);
      set_chunks(stack.selection.at(op), "pat", protocol, step);
    }
  const auto tree = stack.alternatives.find("tree/simple");
  if (tree == stack.alternatives.end()) return;
  const std::int64_t chunk = std::llround(tree->second.chunk_factor * static_cast<double>(step));
  std::vector<SelectionRule>& rules = tree->second.rules.at("all-reduce");
  const int protocol = rules.front().protocol;
  set_chunks(rules, "chain-tree", protocol, chunk);
  set_chunks(stack.selection.at("all-reduce"), "chain-tree", protocol, chunk);
}

}  // namespace

std::vector<std::string> nccl_variables() {
  return {kAlgorithms, kProtocols, kNvls, kPat, kNcclCollnet, kBuffer, kTuner};
}

std::set<std::string> nccl_lists() { return {kAlgorithms, kProtocols}; }

void apply_nccl_environment(Stack& stack, const OptionsText& options) {
  switch_on_or_drop(stack, options);
  if (options.find(kBuffer) && !stack.switched_on.empty())
    refuse_variable(
        options, kBuffer,
        fmt::format("must not be beside {}=1: CollNet's chunks are known for NCCL's own",
                    kNcclCollnet));
  if (options.find(kBuffer)) set_buffer(stack, options);
  if (options.find(kTuner) && options.at(kTuner) != kNoTuner)
    refuse_variable(options, kTuner,
                    fmt::format("must be {}: what another plug-in takes is not known", kNoTuner));
  // aws-ofi-nccl leaves all to NCCL where one of these is set (src/tuner/nccl_ofi_tuner.cpp).
  if (options.find(kTuner) || options.find(kAlgorithms) || options.find(kProtocols))
    stack.tuner = {};
  const std::vector<const char*> choosing = {kAlgorithms, kProtocols, kNvls, kPat, kNcclCollnet};
  if (std::none_of(choosing.begin(), choosing.end(),
                   [&](const char* each) { return options.find(each).has_value(); }))
    return;
  if (options.find("take"))
    refuse_variable(options, "take",
                    fmt::format("must not be beside {}", fmt::join(choosing, ", ")));
  allow(stack, options);
}

}  // namespace forescale
