#include "calibrate/bench/gpu/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace forescale {
namespace {

// As nvml.h has them; its interface only grows.
constexpr int kSuccess = 0;
constexpr unsigned kClockOfMultiprocessors = 1;
constexpr unsigned kClockOfMemory = 2;
constexpr unsigned long long kPowerCap = 0x4;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kSoftwareHeat = 0x20;
constexpr unsigned long long kHardwareHeat = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;

struct NvmlUtilization {
  unsigned gpu;  // per cent of the last moments in which a kernel ran
  unsigned memory;
};

struct NvmlProcess {
  unsigned pid;
  unsigned long long memory_bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

}  // namespace

template <class Function>
Function* Nvml::function(const char* name) const {
  if (library_ == nullptr) return nullptr;
  return reinterpret_cast<Function*>(dlsym(library_, name));
}

Nvml::Nvml(const std::string& pci_bus_id) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto begin = function<int()>("nvmlInit_v2");
  const auto find = function<int(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
  if (begin == nullptr || find == nullptr || begin() != kSuccess) return;
  if (find(pci_bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

Nvml::~Nvml() {
  if (const auto end = function<int()>("nvmlShutdown")) end();
  if (library_ != nullptr) dlclose(library_);
}

std::string Nvml::number(const char* name, unsigned which) const {
  const auto ask = function<int(void*, unsigned, unsigned*)>(name);
  unsigned value = 0;
  if (device_ == nullptr || ask == nullptr || ask(device_, which, &value) != kSuccess) return "";
  return std::to_string(value);
}

std::map<std::string, std::string> Nvml::facts() const {
  std::map<std::string, std::string> facts;
  const auto put = [&](const char* key, const std::string& value) {
    if (!value.empty()) facts[key] = value;
  };
  std::array<char, 96> driver{};
  const auto ask_driver = function<int(char*, unsigned)>("nvmlSystemGetDriverVersion");
  if (ask_driver != nullptr && ask_driver(driver.data(), driver.size()) == kSuccess)
    put("driver", driver.data());
  put("clock_mhz", number("nvmlDeviceGetClockInfo", kClockOfMultiprocessors));
  put("clock_mhz_max", number("nvmlDeviceGetMaxClockInfo", kClockOfMultiprocessors));
  put("memory_clock_mhz", number("nvmlDeviceGetClockInfo", kClockOfMemory));
  if (device_ == nullptr) return facts;
  unsigned now = 0;
  unsigned next = 0;
  const auto ask_ecc = function<int(void*, unsigned*, unsigned*)>("nvmlDeviceGetEccMode");
  if (ask_ecc != nullptr && ask_ecc(device_, &now, &next) == kSuccess)
    put("ecc", now == 1 ? "on" : "off");
  const auto ask_limit = function<int(void*, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  if (unsigned milliwatts = 0; ask_limit != nullptr && ask_limit(device_, &milliwatts) == kSuccess)
    put("power_limit_w", std::to_string(milliwatts / 1000));
  return facts;
}

std::vector<std::string> Nvml::warnings_before() const {
  std::vector<std::string> warnings;
  if (device_ == nullptr) return warnings;
  constexpr unsigned kIdlePercent = 5;
  NvmlUtilization load{};
  const auto ask_load = function<int(void*, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates");
  if (ask_load != nullptr && ask_load(device_, &load) == kSuccess && load.gpu > kIdlePercent)
    warnings.push_back(fmt::format(
        "busy: the GPU was at work {} % of the time before this measurement began", load.gpu));
  std::array<NvmlProcess, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  auto ask_processes =
      function<int(void*, unsigned*, NvmlProcess*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  if (ask_processes == nullptr)
    ask_processes =
        function<int(void*, unsigned*, NvmlProcess*)>("nvmlDeviceGetComputeRunningProcesses_v2");
  if (ask_processes == nullptr || ask_processes(device_, &count, processes.data()) != kSuccess)
    return warnings;
  unsigned others = 0;
  for (unsigned i = 0; i < count && i < processes.size(); ++i)
    if (processes[i].pid != static_cast<unsigned>(getpid())) ++others;
  if (others > 0)
    warnings.push_back(fmt::format("busy: {} other process{} computes on this GPU", others,
                                   others == 1 ? "" : "es"));
  return warnings;
}

std::vector<std::string> Nvml::warnings_after() const {
  const auto ask =
      function<int(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned long long reasons = 0;
  if (device_ == nullptr || ask == nullptr || ask(device_, &reasons) != kSuccess) return {};
  std::vector<std::string> warnings;
  const auto put = [&](unsigned long long bits, const char* why) {
    if ((reasons & bits) != 0)
      warnings.push_back(fmt::format("slowed down: at the end the clock was held back by {}", why));
  };
  put(kPowerCap | kPowerBrake, "the power limit");
  put(kSoftwareHeat | kHardwareHeat | kHardwareSlowdown, "heat");
  return warnings;
}

}  // namespace forescale
