#include "models/compute/compute_hold_out.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/compute/line_fit.hpp"
#include "models/compute/other_networks.hpp"

namespace forescale {
namespace {

const OtherNetworks& times_on(const std::string& gpu) {
  return OtherNetworks::on(load_gpu(gpu, "--gpu", nullptr));
}

HeldOutTime held_out(const std::string& gpu, const TimeOfNetwork& time) {
  return {.gpu = gpu,
          .network = time.network,
          .framework = time.framework,
          .batch = time.batch,
          .measured_s = time.measured_s};
}

// CaffeNet is AlexNet with two layers exchanged: no independent witness.
std::string family(const std::string& network) {
  return network == "caffenet" ? "alexnet" : network;
}

bool is_listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<HeldOutTime> predict_from_other_networks(const std::vector<std::string>& gpus,
                                                     const std::vector<std::string>& networks) {
  std::vector<HeldOutTime> times;
  for (const std::string& gpu : gpus) {
    const OtherNetworks& known = times_on(gpu);
    for (const TimeOfNetwork& time : known.times()) {
      if (!is_listed(networks, time.network)) continue;
      const std::optional<NetworkFactors> factors =
          known.fit(time.framework, [&](const TimeOfNetwork& other) {
            return family(other.network) != family(time.network);
          });
      if (!factors) continue;
      times.push_back(held_out(gpu, time));
      times.back().predicted_s = factors->iteration_s(time);
      times.back().fitted_on = factors->fitted_on;
    }
  }
  return times;
}

std::vector<HeldOutTime> predict_from_other_batches(const std::vector<std::string>& gpus,
                                                    const std::vector<std::string>& networks) {
  std::vector<HeldOutTime> times;
  for (const std::string& gpu : gpus) {
    const OtherNetworks& known = times_on(gpu);
    for (const TimeOfNetwork& time : known.times()) {
      std::vector<TimedBatch> points;
      for (const TimeOfNetwork& other : known.times())
        if (other.network == time.network && other.framework == time.framework &&
            other.batch != time.batch)
          points.push_back({.batch = static_cast<double>(other.batch), .time_s = other.measured_s});
      if (!is_listed(networks, time.network) || !has_several_batches(points)) continue;
      const BatchLine line = fit_line(points);
      times.push_back(held_out(gpu, time));
      times.back().predicted_s = line.t0_s + static_cast<double>(time.batch) * line.t1_s;
      times.back().fitted_on = fmt::format("{} times at other batches", points.size());
    }
  }
  return times;
}

}  // namespace forescale
