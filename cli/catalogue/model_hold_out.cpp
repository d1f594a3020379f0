#include "cli/catalogue/model_hold_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/median.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "models/compute/compute_hold_out.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct ModelHoldOutOptions {
  std::vector<std::string> gpus{"k40", "k80", "p100", "v100"};
  std::vector<std::string> networks{"alexnet", "googlenet", "vgg-16", "resnet-50"};
  OutputOptions output;
};

json rows_of(const std::vector<HeldOutTime>& times, const char* way) {
  json rows = json::array();
  for (const HeldOutTime& time : times)
    rows.push_back({{"from", way},
                    {"gpu", time.gpu},
                    {"network", time.network},
                    {"framework", to_text(time.framework)},
                    {"batch", time.batch},
                    {"measured_images_per_s", static_cast<double>(time.batch) / time.measured_s},
                    {"predicted_images_per_s", static_cast<double>(time.batch) / time.predicted_s},
                    {"error", time.error()},
                    {"fitted_on", time.fitted_on}});
  return rows;
}

std::string images_per_s_cell(const json& value) {
  return fmt::format("{:.1f}", value.get<double>());
}
std::string time_error_cell(const json& value) {
  return fmt::format("{:+.0f} %", 100 * value.get<double>());
}

std::vector<Column> hold_out_columns() {
  return {
      {.key = "gpu", .heading = "<GPU"},
      {.key = "network", .heading = "<network"},
      {.key = "framework", .heading = "<framework"},
      {.key = "batch", .heading = "batch"},
      {.key = "measured_images_per_s", .heading = "published images/s", .text = images_per_s_cell},
      {.key = "predicted_images_per_s", .heading = "predicted", .text = images_per_s_cell},
      {.key = "error", .heading = "error of the time", .text = time_error_cell},
      {.key = "fitted_on", .heading = "<fitted on"}};
}

double median_time_error(const std::vector<HeldOutTime>& times) {
  std::vector<double> errors;
  for (const HeldOutTime& time : times) errors.push_back(std::abs(time.error()));
  return median(std::move(errors));
}

// Of each GPU, network and framework the largest batch: the throughput that is usually quoted.
std::vector<HeldOutTime> largest_batches(const std::vector<HeldOutTime>& times) {
  std::vector<HeldOutTime> largest;
  for (const HeldOutTime& time : times) {
    const auto same = std::find_if(largest.begin(), largest.end(), [&](const HeldOutTime& other) {
      return other.gpu == time.gpu && other.network == time.network &&
             other.framework == time.framework;
    });
    if (same == largest.end())
      largest.push_back(time);
    else if (time.batch > same->batch)
      *same = time;
  }
  return largest;
}

void print_hold_out(const std::vector<HeldOutTime>& times, const char* way) {
  if (times.empty()) return;
  const std::vector<HeldOutTime> largest = largest_batches(times);
  fmt::print("\nfrom {}\n{}", way, table_text(rows_of(times, way), hold_out_columns()));
  fmt::print(
      "median |error|: {:.1f} % of {} times; {:.1f} % of the largest batch of each GPU, network "
      "and framework ({})\n",
      100 * median_time_error(times), times.size(), 100 * median_time_error(largest),
      largest.size());
}

void hold_out(const ModelHoldOutOptions& options) {
  const std::vector<HeldOutTime> networks =
      predict_from_other_networks(options.gpus, options.networks);
  const std::vector<HeldOutTime> batches =
      predict_from_other_batches(options.gpus, options.networks);
  constexpr const char* kNetworks = "other networks";
  constexpr const char* kBatches = "other batches";
  if (networks.empty() && batches.empty())
    throw InputError({.source = "model hold-out",
                      .path = "",
                      .value = "",
                      .constraint = "no published time of these networks is left to predict"});
  if (options.output.json || options.output.csv) {
    json rows = rows_of(networks, kNetworks);
    for (json& row : rows_of(batches, kBatches)) rows.push_back(std::move(row));
    std::vector<Column> all = hold_out_columns();
    all.insert(all.begin(), {.key = "from", .heading = "<from"});
    print_rows(rows, all, options.output);
    return;
  }
  fmt::print("published times, each predicted without its own\n");
  print_hold_out(networks, kNetworks);
  print_hold_out(batches, kBatches);
}

}  // namespace

void add_hold_out(Subcommand command) {
  auto options = std::make_shared<ModelHoldOutOptions>();
  Subcommand verb =
      add_verb(command, {.name = "hold-out",
                         .summary = "Published times of networks, predicted from the others'",
                         .examples = {"model hold-out", "model hold-out --gpu p100 --csv"}});
  verb.add_option("--gpu", options->gpus, "GPUs (default: k40,k80,p100,v100)").delimiter(',');
  verb.add_option("--network", options->networks,
                  "Networks (default: alexnet,googlenet,vgg-16,resnet-50)")
      .delimiter(',');
  add_output_options(verb, options->output);
  verb.callback([options] { hold_out(*options); });
}

}  // namespace forescale
