// DeepBench (Baidu): GEMM and convolution, as its programs print them and as its result sheets are
// published (rows of CSV with a device each).
//
//     m       n      k      a_t     b_t      precision        time (usec)
//   1760     16   1760      n      n          float                 182
//   w  h  c  n  k  f_w  f_h  pad_w  pad_h  stride_w  stride_h  precision  fwd_time (usec)
//     bwd_inputs_time (usec)  bwd_params_time (usec)  total_time (usec)  fwd_algo
//
// Transposes are printed as n and t, or as 0 and 1. Times are whole microseconds. "half" is FP16
// operands whatever accumulates. A time of 0 is one that was not measured (no gradient of inputs).
// Source: baidu-research/DeepBench, code/nvidia/{gemm,conv}_bench.cu. Limits: INT8 is left out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/units.hpp"
#include "calibrate/import/import_csv.hpp"
#include "calibrate/import/import_format.hpp"

namespace forescale {
namespace {

constexpr double kMilli = 1e-3;
constexpr const char* kGemmCsv = "device,sheet,precision,M,N,K,";
constexpr const char* kConvolutionCsv = "device,sheet,precision,source,W,H,C,N,K,";

std::vector<std::string> header_words(std::string_view line) {
  std::vector<std::string> words;
  for (const std::string_view word : words_of(line))
    if (!word.starts_with('(')) words.emplace_back(word);
  return words;
}

bool is_log_header(std::string_view line) {
  const std::vector<std::string> words = header_words(line);
  const auto starts = [&](std::initializer_list<const char*> wanted) {
    return words.size() > wanted.size() && std::equal(wanted.begin(), wanted.end(), words.begin());
  };
  return starts({"m", "n", "k", "a_t", "b_t"}) || starts({"w", "h", "c", "n", "k"});
}

bool recognises_deepbench(std::string_view line) {
  return line.starts_with(kGemmCsv) || line.starts_with(kConvolutionCsv) || is_log_header(line);
}

class DeepBenchImporter : public LogImporter {
 public:
  explicit DeepBenchImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    if (line.text.starts_with("device,")) {
      table_ = std::make_unique<CsvTable>(target_, line);
      columns_.clear();
    } else if (is_log_header(line.text)) {
      table_.reset();
      columns_ = header_words(line.text);
    } else if (table_) {
      table_->read(line);
      read_csv();
    } else if (is_row(line.text)) {
      read_row(line);
    }
  }

  void end(const LogLine& last) override {
    if (skipped_ > 0)
      target_.note(fmt::format("{} rows of other precisions are left out", skipped_));
    const std::string wanted = target_.options().device;
    if (devices_.empty()) return;
    if (wanted.empty() && devices_.size() > 1)
      target_.refuse(last, fmt::format("this table is of {}: say which with --device",
                                       fmt::join(devices_, ", ")));
    const std::string device = wanted.empty() ? *devices_.begin() : wanted;
    if (!devices_.contains(device))
      target_.refuse(last, fmt::format("--device {} is not in this table, which has {}", device,
                                       fmt::join(devices_, ", ")));
    target_.measurement().machine = device;
    target_.measurement().gpu["name"] = device;
    // code/nvidia/conv_bench.cu: CUDNN_TENSOR_NCHW
    target_.measurement().gpu["convolution_layout"] = "nchw";
  }

 private:
  // False for what is no training precision.
  bool read_precision(const LogLine& line, std::string_view text, Precision& precision) {
    if (text == "Float" || text == "float") {
      precision = Precision::kFp32;
      return true;
    }
    if (text == "half" || text.starts_with("16 bit inputs")) {
      precision = Precision::kFp16;
      return true;
    }
    if (text.empty()) target_.refuse(line, "must state a precision");
    ++skipped_;
    return false;
  }

  void read_csv() {
    const CsvTable& row = *table_;
    const std::string& device = row.text("device");
    devices_.insert(device);
    if (!target_.options().device.empty() && device != target_.options().device) return;
    MeasuredKernel measured;
    if (!read_precision(row.line(), row.text("precision"), measured.kernel.precision)) return;
    target_.measurement().provenance["source"] = "DeepBench, " + row.text("path");
    if (row.has("M")) {
      measured.kernel.shape = GemmShape{.m = row.integer("M"),
                                        .n = row.integer("N"),
                                        .k = row.integer("K"),
                                        .transpose_a = row.text("a_transpose") == "T",
                                        .transpose_b = row.text("b_transpose") == "T"};
      add(row.line(), measured, kMilli * row.positive("time_ms", "time in ms"));
      return;
    }
    measured.kernel.shape = ConvolutionShape{.batch = row.integer("N"),
                                             .channels = row.integer("C"),
                                             .height = row.integer("H"),
                                             .width = row.integer("W"),
                                             .filters = row.integer("K"),
                                             .filter_height = row.integer("filter_h"),
                                             .filter_width = row.integer("filter_w"),
                                             .pad_height = row.integer("pad_h"),
                                             .pad_width = row.integer("pad_w"),
                                             .stride_height = row.integer("stride_h"),
                                             .stride_width = row.integer("stride_w")};
    if (row.text("column_names_v1_to_v7").find("wrt Parameters") == std::string::npos) {
      target_.refuse(row.line(), "must be a sheet of training: forward, inputs, parameters");
    }
    constexpr std::array kPasses{KernelPass::kForward, KernelPass::kBackwardData,
                                 KernelPass::kBackwardWeights};
    for (size_t i = 0; i < kPasses.size(); ++i) {
      const std::string column = fmt::format("v{}", i + 1);
      if (row.text(column).empty()) continue;  // the first layer has no gradient of its inputs
      measured.kernel.pass = kPasses[i];
      add(row.line(), measured, kMilli * row.positive(column, "time in ms"));
    }
  }

  void read_row(const LogLine& line) {
    const std::vector<std::string_view> words = words_of(line.text);
    const auto word = [&](const char* column) -> std::string_view {
      const auto found = std::find(columns_.begin(), columns_.end(), column);
      const auto place = static_cast<size_t>(found - columns_.begin());
      if (found == columns_.end()) return {};
      if (place >= words.size())
        target_.refuse_cut(line, fmt::format("the row ends before its column \"{}\"", column));
      return place < words.size() ? words[place] : std::string_view();
    };
    const auto size = [&](const char* column) { return target_.integer(line, word(column)); };
    if (words.size() + 1 < columns_.size()) {
      target_.refuse_cut(line, "the row has fewer words than the header");
      return;
    }
    MeasuredKernel measured;
    const std::string_view precision = word("precision");
    if (!read_precision(line, precision.empty() ? "float" : precision, measured.kernel.precision))
      return;
    const auto add_time = [&](const char* column, KernelPass pass) {
      const std::string_view text = word(column);
      if (text.empty() || text == "0" || text == "Not") return;
      measured.kernel.pass = pass;
      add(line, measured, kMicrosecond_s * target_.positive(line, text, "time in us"));
    };
    if (columns_.front() == "m") {
      const auto is_transposed = [&](const char* column) {
        const std::string_view text = word(column);
        if (text != "n" && text != "t" && text != "0" && text != "1")
          target_.refuse(line, fmt::format("{} must be n or t", column));
        return text == "t" || text == "1";
      };
      measured.kernel.shape = GemmShape{.m = size("m"),
                                        .n = size("n"),
                                        .k = size("k"),
                                        .transpose_a = is_transposed("a_t"),
                                        .transpose_b = is_transposed("b_t")};
      add_time("time", KernelPass::kForward);
      return;
    }
    measured.kernel.shape =
        ConvolutionShape{.batch = size("n"),
                         .channels = size("c"),
                         .height = size("h"),
                         .width = size("w"),
                         .filters = size("k"),
                         .filter_height = size(columns_[6] == "f_h" ? "f_h" : "s"),
                         .filter_width = size(columns_[5] == "f_w" ? "f_w" : "r"),
                         .pad_height = size("pad_h"),
                         .pad_width = size("pad_w"),
                         .stride_height = size("stride_h"),
                         .stride_width = size("stride_w")};
    add_time("fwd_time", KernelPass::kForward);
    add_time("bwd_inputs_time", KernelPass::kBackwardData);
    add_time("bwd_params_time", KernelPass::kBackwardWeights);
  }

  void add(const LogLine& line, MeasuredKernel& measured, double time_s) {
    measured.time_s = measured.low_s = measured.high_s = time_s;
    target_.add_kernel(line, measured);
  }

  ImportTarget& target_;
  std::unique_ptr<CsvTable> table_;
  std::vector<std::string> columns_;
  std::set<std::string> devices_;
  int skipped_ = 0;
};

std::unique_ptr<LogImporter> open_deepbench(ImportTarget& target) {
  return std::make_unique<DeepBenchImporter>(target);
}

const bool kDeepbenchRegistered = Registry<LogFormat>::add(
    {.name = "deepbench", .recognises = recognises_deepbench, .open = open_deepbench});

}  // namespace
}  // namespace forescale
