#include "models/hardware.hpp"

#include <filesystem>

#include "base/data_files.hpp"

namespace forescale {
namespace {

// Opens the catalogue's file or the path that `name` says.
JsonInput open(const std::string& folder, const std::string& name, const std::string& option,
               Provenance* provenance) {
  return JsonInput::from_file(find_data_file("models/hardware/" + folder, name, option),
                              provenance);
}

}  // namespace

GpuModel load_gpu(const std::string& name, const std::string& option, Provenance* provenance) {
  const JsonInput in = open("gpus", name, option, provenance);
  in.allow_only({"memory_bytes", "memory_bandwidth_bytes_per_s", "peak_flops_per_s",
                 "kernel_launch_s", "synchronize_s", "host_copy_bytes_per_s",
                 // matrix_peaks.hpp
                 "tf32_flops_per_s", "half_flops_per_s", "fp8_flops_per_s", "fp4_flops_per_s",
                 "gpu_model", "products_elsewhere", "variation",
                 // of importers: topologies/import/known_hardware.hpp
                 "pci_devices", "nvlinks", "reference_platform"});
  const auto fitted = in.find("gpu_model");
  const auto elsewhere = in.find("products_elsewhere");
  const auto variation = in.find("variation");
  return {.name = short_name(name),
          .memory = in.at("memory_bytes").bytes(1),
          .memory_bandwidth = in.at("memory_bandwidth_bytes_per_s").bandwidth(),
          .peak_flops = in.at("peak_flops_per_s").flops_rate(),
          .kernel_launch = in.at("kernel_launch_s").seconds(),
          .synchronize = in.at("synchronize_s").seconds(),
          .host_copy = in.at("host_copy_bytes_per_s").bandwidth(),
          .file = in.file(),
          .fitted = fitted ? fitted->string() : "",
          .products_elsewhere = elsewhere ? elsewhere->factor(0.1, 10) : 1,
          .variation = variation ? std::optional(variation->factor(0, 1)) : std::nullopt};
}

void forget(Provenance* provenance, const GpuModel& gpu, const std::string& key) {
  if (provenance == nullptr) return;
  std::erase_if(provenance->numbers, [&](const NumberSource& number) {
    return number.file == gpu.file && number.path == "/" + key;
  });
}

CpuModel load_cpu(const std::string& name, const std::string& option, Provenance* provenance) {
  const JsonInput in = open("cpus", name, option, provenance);
  in.allow_only({"cores", "memory_bandwidth_bytes_per_s", "reduce_per_core_bytes_per_s",
                 "copy_per_core_bytes_per_s",
                 // of importers: topologies/import/known_hardware.hpp
                 "cpuid", "socket_link"});
  constexpr int kCoresMax = 4096;
  return {.name = short_name(name),
          .cores = static_cast<int>(in.at("cores").integer(1, kCoresMax)),
          .memory_bandwidth = in.at("memory_bandwidth_bytes_per_s").bandwidth(),
          .reduce_per_core = in.at("reduce_per_core_bytes_per_s").bandwidth(),
          .copy_per_core = in.at("copy_per_core_bytes_per_s").bandwidth()};
}

LinkClass load_link(const std::string& name, const std::string& option, Provenance* provenance) {
  return read_link(open("links", name, option, provenance), short_name(name));
}

LinkClass read_link(const JsonInput& in, const std::string& name) {
  in.allow_only({"bandwidth_bytes_per_s", "latency_s", "duplex", "burst_bytes"});
  const auto duplex = in.find("duplex");
  const auto burst = in.find("burst_bytes");
  return {.name = name,
          .bandwidth = in.at("bandwidth_bytes_per_s").bandwidth(),
          .latency = in.at("latency_s").seconds(),
          .full_duplex = !duplex || duplex->one_of({"full", "half"}) == "full",
          .burst = burst ? burst->bytes() : Bytes{}};
}

}  // namespace forescale
