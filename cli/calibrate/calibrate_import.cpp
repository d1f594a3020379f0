// `forescale calibrate import`: logs of other benchmarks, of networks and of GPUs, as a
// measurement.
#include <fmt/format.h>

#include <cstdio>

#include "algorithms/collective.hpp"
#include "calibrate/import/import_log.hpp"
#include "cli/calibrate/calibrate.hpp"
#include "cli/calibrate/calibrate_table.hpp"
#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

struct CalibrateImportOptions {
  std::vector<std::string> files;
  std::string format = "auto";
  std::string machine;
  std::string out;
  LogImportOptions log;
};

Measurement read_logs(const CalibrateImportOptions& options) {
  std::vector<Measurement> parts;
  Problems problems;
  for (const std::string& file : options.files)
    problems.attempt([&] { parts.push_back(import_log(file, options.format, options.log)); });
  problems.raise("calibrate import");
  Measurement measurement = merge_measurements(parts);
  if (!options.machine.empty()) measurement.machine = options.machine;
  return measurement;
}

void import_measurement(const CalibrateImportOptions& options) {
  if (!options.log.op.empty()) parse_collective_op(options.log.op, "--op");
  const Measurement measurement = read_logs(options);
  if (options.out.empty()) {
    fmt::print("{}\n", to_json(measurement).dump(1, ' ', false, json_errors()));
    return;
  }
  write_measurement(measurement, options.out);
  fmt::print("{}\n{}: {}\n", measurement_table(measurement), options.out,
             measurement_size(measurement));
}

void add_calibrate_import(Subcommand calibrate) {
  auto options = std::make_shared<CalibrateImportOptions>();
  Subcommand verb = add_verb(
      calibrate,
      {.name = "import",
       .summary =
           "Logs of OSU, IMB, nccl-tests; of GPUs: DeepBench, caffe time, PyTorch's profiler",
       .examples = {"calibrate import osu_latency.txt osu_bw.txt -o measurement.json",
                    ("calibrate import osu_allreduce.txt --ranks 32 --machine \"our cluster\" \\\n"
                     "                             -o measurement.json"),
                    "calibrate import imb.log nccl.log -o measurement.json",
                    "calibrate import deepbench_gemm.csv --device NV_P100 -o p100.json",
                    "calibrate import caffe_time.log -o gpu.json",
                    "calibrate import layers.csv --device caffe --network net.prototxt -o gpu.json",
                    "calibrate import worker0.pt.trace.json.gz -o gpu.json"}});
  verb.add_option("FILE", options->files, "Logs; all become one measurement").required();
  std::vector<std::string> formats = log_formats();
  formats.insert(formats.begin(), "auto");
  verb.add_option("--from", options->format,
                  fmt::format("Tool: {} (default auto: by content)", fmt::join(formats, ", ")))
      .one_of(formats);
  verb.add_option("--ranks", options->log.ranks,
                  "Ranks that took part, where a log does not say it (OSU's collectives)")
      .in_range(1, 1 << 24);
  verb.add_option("--ranks-per-host", options->log.ranks_per_host,
                  "Ranks of a collective that share a host (default 1); no log says it")
      .in_range(1, 1 << 16);
  verb.add_option("--op", options->log.op,
                  "Operation, where a log does not say it (older nccl-tests): all-reduce, ...");
  verb.add_option("--place", options->log.place,
                  "Where buffers are, where a log does not say it: host, gpu")
      .one_of({"host", "gpu"});
  verb.add_option("--device", options->log.device,
                  "Which GPU (DeepBench) or framework (layers), of a table of several");
  verb.add_option(
          "--network", options->log.networks,
          "Network of layers without shapes: zoo name, JSON file, .prototxt or .onnx; repeatable")
      .allow_extra_args(false);
  verb.add_option("--batch", options->log.batch, "Images, where a network does not state them")
      .in_range(1, 1 << 24);
  verb.add_option("--machine", options->machine, "What people call the machine");
  verb.add_flag("--partial", options->log.partial,
                "Take what a log that was cut short holds, with a note");
  verb.add_option("-o,--out", options->out,
                  "Write here and print what was read (default: JSON to standard output)");
  verb.callback([options] { import_measurement(*options); });
}

const bool kCalibrateImportRegistered =
    Registry<CalibrateCommand>::add({.name = "import", .add = add_calibrate_import});

}  // namespace
}  // namespace forescale
