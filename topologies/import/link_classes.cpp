#include "topologies/import/link_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/data_files.hpp"
#include "base/json_input.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kLinkFiles = "models/hardware/links";

bool is_link_of_catalogue(const std::string& name) {
  const std::vector<std::string> names = catalogue(kLinkFiles);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string said_by(const json& number) {
  for (const char* key : {"assumed", "source"})
    if (number.is_object() && number.contains(key)) return number[key].get<std::string>();
  return "no source";
}

// `base` with `factor` times its bandwidth, under a name of its own.
std::string scaled_class(PlatformDraft& draft, const std::string& name, const std::string& base,
                         double factor) {
  if (is_link_of_catalogue(name)) return name;
  if (draft.link_classes.contains(name)) return name;
  const json file = JsonInput::from_file(find_data_file(kLinkFiles, base, "importer")).raw();
  const json& bandwidth = file.at("bandwidth_bytes_per_s");
  const auto end = [&](const char* key) {
    if (!bandwidth.is_object()) return bandwidth.get<double>() * factor;
    return bandwidth.value(key, bandwidth.at("value").get<double>()) * factor;
  };
  json scaled{
      {"note", fmt::format("{:.4g} times the bandwidth of {}, with its latency", factor, base)},
      {"bandwidth_bytes_per_s",
       {{"value", end("value")},
        {"assumed", fmt::format("in proportion to {}: {}", base, said_by(bandwidth))},
        {"fast", end("fast")},
        {"slow", end("slow")}}},
      {"latency_s", file.at("latency_s")}};
  if (file.contains("duplex")) scaled["duplex"] = file["duplex"];
  draft.link_classes[name] = scaled;
  return name;
}

struct PcieGeneration {
  int number;
  double giga_transfers;
  double bytes_per_s;  // of a lane, after the encoding of bits
};
// PCI Express Base Specification: 8b/10b up to 2.0, 128b/130b up to 5.0, 236 of 256 bytes of a
// flit.
constexpr std::array<PcieGeneration, 6> kPcieGenerations{{{1, 2.5, 0.25e9},
                                                          {2, 5, 0.5e9},
                                                          {3, 8, 8e9 / 8 * 128 / 130},
                                                          {4, 16, 16e9 / 8 * 128 / 130},
                                                          {5, 32, 32e9 / 8 * 128 / 130},
                                                          {6, 64, 64e9 / 8 * 236 / 256}}};
constexpr int kLanes = 16;  // of the catalogue's classes

std::string pcie_of_generation(PlatformDraft& draft, const PcieGeneration& generation, int lanes) {
  const std::string name = fmt::format("pcie{}-x{}", generation.number, lanes);
  const double share = static_cast<double>(lanes) / kLanes;
  if (generation.number == 1) return scaled_class(draft, name, "pcie2-x16", share / 2);
  return scaled_class(draft, name, fmt::format("pcie{}-x16", generation.number), share);
}

}  // namespace

std::string pcie_class(PlatformDraft& draft, double giga_transfers, int lanes) {
  for (const PcieGeneration& generation : kPcieGenerations)
    if (generation.giga_transfers == giga_transfers && lanes >= 1 && lanes <= 32)
      return pcie_of_generation(draft, generation, lanes);
  return "";
}

std::string pcie_class_of_bandwidth(PlatformDraft& draft, double bytes_per_s) {
  constexpr double kTolerance = 0.03;  // hwloc rounds; two generations differ by half
  for (const int lanes : {16, 8, 4, 2, 1, 32, 12})
    for (const PcieGeneration& generation : kPcieGenerations)
      if (std::abs(bytes_per_s / (lanes * generation.bytes_per_s) - 1) < kTolerance)
        return pcie_of_generation(draft, generation, lanes);
  return "";
}

double pcie_bandwidth(const std::string& name) {
  int number = 0;
  int lanes = 0;
  if (std::sscanf(name.c_str(), "pcie%d-x%d", &number, &lanes) != 2) return 0;
  for (const PcieGeneration& generation : kPcieGenerations)
    if (generation.number == number) return lanes * generation.bytes_per_s;
  return 0;
}

// Names of the catalogue: nvlink2, nvlink2-double, nvlink4-x18.
std::string nvlink_class(PlatformDraft& draft, int generation, int count) {
  const std::string stem = fmt::format("nvlink{}", generation);
  std::pair<int, std::string> base;  // of most links: the one that is nearest to a bundle
  for (const std::string& name : catalogue(kLinkFiles)) {
    if (!name.starts_with(stem)) continue;
    const std::string rest = name.substr(stem.size());
    int links = rest.empty() ? 1 : rest == "-double" ? 2 : 0;
    if (rest.starts_with("-x")) std::from_chars(rest.data() + 2, rest.data() + rest.size(), links);
    if (links == count) return name;
    base = std::max(base, std::pair(links, name));
  }
  if (base.first == 0) return "";
  return scaled_class(draft, fmt::format("{}-x{}", stem, count), base.second,
                      static_cast<double>(count) / base.first);
}

std::string adapter_class(PlatformDraft& draft, AdapterKind kind, double gigabits_per_s) {
  constexpr std::array<std::pair<double, const char*>, 6> kInfiniBand{
      {{800, "xdr"}, {400, "ndr"}, {200, "hdr"}, {100, "edr"}, {56, "fdr"}, {54, "fdr"}}};
  if (kind == AdapterKind::kInfiniBand) {
    for (const auto& [speed, name] : kInfiniBand)
      if (gigabits_per_s == speed) return name;
    return scaled_class(draft, fmt::format("infiniband-{:g}g", gigabits_per_s), "edr",
                        gigabits_per_s / 100);
  }
  if (kind == AdapterKind::kElasticFabric) {
    if (gigabits_per_s == 400) return "efa-400g";
    return scaled_class(draft, fmt::format("efa-{:g}g", gigabits_per_s), "efa-100g",
                        gigabits_per_s / 100);
  }
  if (gigabits_per_s == 800) return "xdr";
  if (gigabits_per_s < 100)
    return scaled_class(draft, fmt::format("ethernet-{:g}g", gigabits_per_s), "ethernet-10g",
                        gigabits_per_s / 10);
  return scaled_class(draft, fmt::format("roce-{:g}g", gigabits_per_s), "roce-200g",
                      gigabits_per_s / 200);
}

}  // namespace forescale
