#include "algorithms/layout/pipeline_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <tuple>

#include "base/error.hpp"

namespace forescale {
namespace {

using Orders = std::vector<std::vector<PipelinePass>>;

// A cell of the file, for errors.
struct CsvCell {
  std::string file;
  int line = 0;
  std::string text;

  [[noreturn]] void refuse(const std::string& constraint) const {
    throw InputError({.source = fmt::format("{}:{}", file, line),
                      .path = "",
                      .value = text,
                      .constraint = constraint});
  }
};

constexpr int kNumberMax = 1 << 20;  // of stages and micro-batches

int number_at(const CsvCell& cell, const char*& at, const char* end) {
  int number = 0;
  const auto [after, error] = std::from_chars(at, end, number);
  if (error != std::errc() || number < 0)
    cell.refuse("must be STAGE KIND MICRO-BATCH, such as 1F0");
  if (number > kNumberMax) cell.refuse(fmt::format("must not have numbers above {}", kNumberMax));
  at = after;
  return number;
}

// Adds what the cell says; nothing for an exchange.
void read_pass(const CsvCell& cell, const std::string& text, std::vector<PipelinePass>& order) {
  static const std::map<std::string, PassKind> passes = {{"F", PassKind::kForward},
                                                         {"B", PassKind::kBackward},
                                                         {"I", PassKind::kInputGradient},
                                                         {"W", PassKind::kWeightGradient}};
  static const std::set<std::string> exchanges = {"SEND_F",  "RECV_F",  "SEND_B",     "RECV_B",
                                                  "UNSHARD", "RESHARD", "REDUCE_GRAD"};
  const char* at = text.data();
  const char* end = at + text.size();
  const int stage = number_at(cell, at, end);
  const char* digits = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
  const std::string kind(at, digits);
  if (exchanges.contains(kind)) return;
  const auto pass = passes.find(kind);
  if (pass == passes.end()) cell.refuse("has a kind of pass that is not known: F, B, I, W");
  at = digits;
  const int micro_batch = number_at(cell, at, end);
  if (at != end) cell.refuse("must be STAGE KIND MICRO-BATCH, such as 1F0");
  order.push_back({.kind = pass->second, .stage = stage, .micro_batch = micro_batch});
}

// "(0F1;1B0)OVERLAP_F_B" is both, side by side where the second does not wait for the first.
void read_cell(const CsvCell& cell, std::vector<PipelinePass>& order) {
  if (cell.text.empty()) return;
  if (cell.text.front() != '(') {
    read_pass(cell, cell.text, order);
    return;
  }
  const size_t close = cell.text.find(')');
  const size_t middle = cell.text.find(';');
  if (close == std::string::npos || middle == std::string::npos || middle > close)
    cell.refuse("must be two passes, such as (0F1;1B0)OVERLAP_F_B");
  const size_t first = order.size();
  read_pass(cell, cell.text.substr(1, middle - 1), order);
  read_pass(cell, cell.text.substr(middle + 1, close - middle - 1), order);
  if (order.size() < first + 2) return;
  const PipelinePass& second = order.back();
  order[first].with_next =
      order[first].stage != second.stage || order[first].micro_batch != second.micro_batch;
}

Orders read_orders(const std::string& file, const std::string& option) {
  std::ifstream in(file);
  if (!in) refuse(option, file, "cannot be opened for reading");
  Orders orders;
  std::string line;
  while (std::getline(in, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<PipelinePass>& order = orders.emplace_back();
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(',', begin), line.size());
      std::string text = line.substr(begin, end - begin);
      text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
      read_cell({.file = file, .line = static_cast<int>(orders.size()), .text = text}, order);
      begin = end + 1;
    }
  }
  return orders;
}

bool has(const Orders& orders, PassKind kind) {
  return std::any_of(orders.begin(), orders.end(), [&](const auto& order) {
    return std::any_of(order.begin(), order.end(),
                       [&](const PipelinePass& pass) { return pass.kind == kind; });
  });
}

// Before PyTorch 2.5 a B beside a W was what is I now.
void rename_old_passes(Orders& orders) {
  if (!has(orders, PassKind::kWeightGradient) || has(orders, PassKind::kInputGradient)) return;
  for (auto& order : orders)
    for (PipelinePass& pass : order)
      if (pass.kind == PassKind::kBackward) pass.kind = PassKind::kInputGradient;
}

// Which rank each stage is on. InputError for passes that are missing, there twice or of a stage
// that several ranks have.
std::vector<int> check_passes(const Orders& orders, const PipelineShape& shape,
                              const std::string& file) {
  std::vector<int> ranks(static_cast<size_t>(shape.stages()), -1);
  std::set<std::tuple<PassKind, int, int>> seen;
  for (size_t rank = 0; rank < orders.size(); ++rank)
    for (const PipelinePass& pass : orders[rank]) {
      const CsvCell cell{
          .file = file,
          .line = static_cast<int>(rank) + 1,
          .text = fmt::format("{}{}{}", pass.stage, letter_of(pass.kind), pass.micro_batch)};
      int& place = ranks[static_cast<size_t>(pass.stage)];
      if (place >= 0 && place != static_cast<int>(rank))
        cell.refuse(fmt::format("is of a stage that line {} has too", place + 1));
      place = static_cast<int>(rank);
      if (!seen.emplace(pass.kind, pass.stage, pass.micro_batch).second)
        cell.refuse("is there twice");
    }
  for (int stage = 0; stage < shape.stages(); ++stage)
    for (int i = 0; i < shape.micro_batches; ++i) {
      const auto is_there = [&](PassKind kind) { return seen.contains({kind, stage, i}); };
      const bool whole = is_there(PassKind::kBackward);
      const bool split = is_there(PassKind::kInputGradient) && is_there(PassKind::kWeightGradient);
      if (!is_there(PassKind::kForward) || whole == split)
        throw InputError({.source = file,
                          .path = "",
                          .value = fmt::format("stage {}, micro-batch {}", stage, i),
                          .constraint = "needs F, and B or both I and W"});
    }
  return ranks;
}

}  // namespace

bool is_pipeline_file(const std::string& schedule) { return schedule.ends_with(".csv"); }

PipelineSchedule read_pipeline_file(const std::string& file, const PipelineShape& shape,
                                    const std::string& option) {
  Orders orders = read_orders(file, option);
  rename_old_passes(orders);
  int stages = 0;
  int micro_batches = 0;
  for (const auto& order : orders)
    for (const PipelinePass& pass : order) {
      stages = std::max(stages, pass.stage + 1);
      micro_batches = std::max(micro_batches, pass.micro_batch + 1);
    }
  const auto must_be = [&](const char* what, std::int64_t in_file, std::int64_t in_layout) {
    if (in_file != in_layout)
      refuse(option, "schedule=" + file,
             fmt::format("has {} {}, the layout {}", in_file, what, in_layout));
  };
  must_be("ranks", static_cast<std::int64_t>(orders.size()), shape.ranks);
  must_be("stages", stages, shape.stages());
  must_be("micro-batches", micro_batches, shape.micro_batches);
  const std::vector<int> ranks = check_passes(orders, shape, file);
  return {.name = file,
          .summary = "read of a file",
          .source = file,
          .stages_a_rank_max = 0,
          .splits_backward = has(orders, PassKind::kInputGradient),
          .rank_of = [ranks](const PipelineShape&,
                             int stage) { return ranks[static_cast<size_t>(stage)]; },
          .orders = [orders](const PipelineShape&) { return orders; }};
}

}  // namespace forescale
