// The table that PyTorch's profiler prints: key_averages(group_by_input_shape=True).table().
//
//   ----------------------  ------------  ...  ------------  ------------------------
//                     Name    Self CPU %  ...    # of Calls              Input Shapes
//   ----------------------  ------------  ...  ------------  ------------------------
//             aten::addmm         3.21 %  ...             4   [[1000], [32, 2048], [2048, 1000]]
//
// Columns end where their dashes end. A row's time is "Self CUDA" over "# of Calls"; rows without
// GPU time or without shapes are counted in a note. Types are not printed: FP32 is taken, as a note
// says. Limits: tables that shorten names or shapes with "..." lose those rows.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "calibrate/import/import_format.hpp"
#include "calibrate/import/import_operator.hpp"

namespace forescale {
namespace {

using nlohmann::json;

bool recognises_key_averages(std::string_view line) {
  return contains(line, "Self CPU %") && contains(line, "# of Calls") && contains(line, "Name");
}

// Cells are apart by two blanks or more; none of them holds two blanks itself.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  size_t at = line.find_first_not_of(' ');
  while (at != std::string_view::npos) {
    const size_t end = std::min(line.find("  ", at), line.size());
    cells.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return cells;
}

class KeyAveragesImporter : public LogImporter {
 public:
  explicit KeyAveragesImporter(ImportTarget& target) : target_(target) {}

  void read(const LogLine& line) override {
    if (recognises_key_averages(line.text)) {
      columns_ = cells_of(line.text);
      header_ = line;
    } else if (line.text.starts_with("Self CPU time total") ||
               line.text.starts_with("Self CUDA time total")) {
      columns_.clear();
      is_ended_ = true;
    } else if (!columns_.empty() && !line.text.starts_with("---")) {
      read_row(line);
    }
  }

  void end(const LogLine& last) override {
    if (!is_ended_) target_.refuse_cut(last, "the table does not end with its sums");
    if (left_out_ > 0)
      target_.note(fmt::format("{} rows without GPU time or shapes are left out", left_out_));
    target_.note("the table prints no types: FP32 is taken");
    target_.measurement().library = "PyTorch";
  }

 private:
  size_t column(const char* name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end())
      target_.refuse(header_, fmt::format("must have a column \"{}\"{}", name,
                                          std::string_view(name) == "Input Shapes"
                                              ? " (key_averages(group_by_input_shape=True))"
                                              : ""));
    return static_cast<size_t>(found - columns_.begin());
  }

  // "1.234ms" in seconds.
  double time_s(const LogLine& line, const std::string& text) const {
    for (const auto& [unit, factor] : {std::pair{"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}})
      if (text.ends_with(unit)) {
        const std::string number = text.substr(0, text.size() - std::string_view(unit).size());
        return number == "0.000" ? 0 : factor * target_.positive(line, number, "time");
      }
    target_.refuse(line, fmt::format("\"{}\" must be a time in us, ms or s", shortened(text)));
  }

  void read_row(const LogLine& line) {
    const std::vector<std::string> cells = cells_of(line.text);
    const size_t self = std::find(columns_.begin(), columns_.end(), "Self CUDA") != columns_.end()
                            ? column("Self CUDA")
                            : column("Self GPU");
    const size_t calls = column("# of Calls");
    const size_t shapes = column("Input Shapes");
    if (cells.size() <= std::max({self, calls, shapes})) {
      ++left_out_;
      return;
    }
    const double total_s = time_s(line, cells[self]);
    const std::int64_t count = target_.integer(line, cells[calls]);
    const json dims = parse_json_or_discard(cells[shapes]);
    const auto call =
        dims.is_discarded()
            ? std::nullopt
            : operator_call(OperatorInputs{
                  .name = cells.front(), .dims = dims, .types = {}, .strides = {}, .values = {}});
    if (!call || total_s <= 0 || count < 1) {
      ++left_out_;
      return;
    }
    const double each_s = total_s / static_cast<double>(count);
    target_.add_kernel(line, {.kernel = call->kernel,
                              .time_s = each_s,
                              .low_s = each_s,
                              .high_s = each_s,
                              .samples = static_cast<int>(std::min<std::int64_t>(count, 1 << 30))});
  }

  ImportTarget& target_;
  LogLine header_;
  std::vector<std::string> columns_;
  int left_out_ = 0;
  bool is_ended_ = false;
};

std::unique_ptr<LogImporter> open_key_averages(ImportTarget& target) {
  return std::make_unique<KeyAveragesImporter>(target);
}

const bool kKeyAveragesRegistered = Registry<LogFormat>::add(
    {.name = "key-averages", .recognises = recognises_key_averages, .open = open_key_averages});

}  // namespace
}  // namespace forescale
