#include "studies/validate/leave_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "sim/ask/ask.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Of the logarithm of predicted over measured: its deviation where nothing is wrong with a
// constant, and from where on what is further off pulls no harder.
constexpr double kHuber = 0.3;
constexpr double kNegligible = 0.01;
constexpr double kLeast = 0.01;  // of predicted over measured, where it is compared at all
// Of a triangular distribution between -1 and 1.
constexpr double kPriorVariance = 1.0 / 6;
constexpr int kRounds = 20000;
constexpr double kStill = 1e-7;  // of all positions' ways in a round

double huber(double residual) {
  const double size = std::abs(residual);
  return size < kHuber ? size * size / 2 : kHuber * (size - kHuber / 2);
}

double moved_by(const std::array<double, 2>& at_ends, double position) {
  return position < 0 ? -position * at_ends[0] : position * at_ends[1];
}

std::string key_of_path(const std::string& path) { return path.substr(path.rfind('/')); }

bool is_same(const NumberSource& one, const NumberSource& other) {
  return one.file == other.file && key_of_path(one.path) == key_of_path(other.path) &&
         one.value == other.value && one.fast == other.fast && one.slow == other.slow &&
         one.source == other.source;
}

double off_by(const FitRow& row, const std::vector<double>& positions) {
  double off = row.nominal;
  for (std::size_t i = 0; i < positions.size(); ++i) off += moved_by(row.at_ends[i], positions[i]);
  return off;
}

double prior_of(double position) { return position * position / 2 / kPriorVariance; }

double loss_of(const std::vector<FitRow>& rows, const std::vector<double>& positions) {
  double sum = 0;
  for (const FitRow& row : rows) sum += huber(off_by(row, positions)) / (kHuber * kHuber);
  for (const double position : positions) sum += prior_of(position);
  return sum;
}

// The least of a convex function between two ends, by golden section.
double least_between(double low, double high, const std::function<double(double)>& of) {
  const double golden = (std::sqrt(5.0) - 1) / 2;
  while (high - low > kStill / 10) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    (of(left) < of(right) ? high : low) = of(left) < of(right) ? right : left;
  }
  return (low + high) / 2;
}

// One position after the other to where it is best, until none moves. On either side of a
// position's nominal value the loss is smooth and convex, and its limits are apart from the
// others'.
std::vector<double> descend(const std::vector<FitRow>& rows, std::vector<double> positions) {
  for (int round = 0; round < kRounds; ++round) {
    double way = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::vector<double> others;
      for (const FitRow& row : rows)
        others.push_back(off_by(row, positions) - moved_by(row.at_ends[i], positions[i]));
      const auto loss = [&](double position) {
        double sum = prior_of(position);
        for (std::size_t row = 0; row < rows.size(); ++row)
          sum += huber(others[row] + moved_by(rows[row].at_ends[i], position)) / (kHuber * kHuber);
        return sum;
      };
      const double before = positions[i];
      positions[i] = 0;
      for (const double found : {least_between(-1, 0, loss), least_between(0, 1, loss)})
        if (loss(found) < loss(positions[i])) positions[i] = found;
      way += std::abs(positions[i] - before);
    }
    if (way < kStill) break;
  }
  return positions;
}

bool is_uncertain(const NumberSource& number) {
  return number.value != 0 && number.fast != number.slow;
}

// By name.
std::map<std::string, NumberSource> uncertain_numbers(const Question& question, Asker& asker) {
  std::vector<const Provenance*> read;
  if (question.about == Question::About::kTraining) {
    const PredictionInputs& inputs = asker.inputs(question);
    read = {&inputs.platform.provenance, &inputs.stack.provenance, &inputs.provenance};
  } else {
    const QuestionMachine& machine = asker.machine(question);
    read = {&machine.platform.provenance, &machine.stack.provenance};
  }
  std::map<std::string, NumberSource> numbers;
  for (const Provenance* provenance : read)
    for (const NumberSource& number : provenance->numbers)
      if (is_uncertain(number)) numbers.emplace(name_of(number), number);
  return numbers;
}

ValidationChoice scored(std::vector<std::string> papers) {
  return {.papers = std::move(papers),
          .ids = {},
          .roles = {name_of(Role::kPrediction), name_of(Role::kAdjusted)},
          .draws = Draws::kNominal};
}

// What the requests of the papers' scored claims read.
class Reads {
 public:
  Reads(const std::vector<ClaimFile>& files, Asker& asker) {
    for (const ClaimFile& file : files)
      for (const Claim& claim : file.claims) {
        if (!claim.is_scored()) continue;
        for (const std::string& request : requests_of(claim)) {
          auto& read = by_request_[{file.paper, request}];
          if (read.empty()) read = uncertain_numbers(file.requests.at(request).question, asker);
          for (const auto& [name, number] : read) {
            papers_[name].insert(file.paper);
            claims_[name].insert(claim.id);
            numbers_.emplace(name, number);
          }
        }
      }
  }

  // What a file says in several places, by one key and from one source, is one constant.
  std::vector<SharedConstant> shared_with(const std::string& paper) const {
    std::vector<SharedConstant> shared;
    for (const auto& [name, papers] : papers_) {
      if (papers.size() < 2 || papers.count(paper) == 0) continue;
      const NumberSource& number = numbers_.at(name);
      const auto same = std::find_if(shared.begin(), shared.end(), [&](const SharedConstant& of) {
        return is_same(of.number, number) && of.papers == papers;
      });
      if (same == shared.end())
        shared.push_back({.number = number, .names = {name}, .papers = papers});
      else
        same->names.push_back(name);
    }
    return shared;
  }

  bool reads(const Claim& claim, const SharedConstant& constant) const {
    return std::any_of(constant.names.begin(), constant.names.end(), [&](const std::string& name) {
      return claims_.at(name).count(claim.id) > 0;
    });
  }

  // The files with the constants of their requests as many times as large; of those that read them.
  std::vector<ClaimFile> scaled(std::vector<ClaimFile> files,
                                const std::map<std::string, double>& factors) const {
    for (ClaimFile& file : files)
      for (auto& [key, request] : file.requests) {
        const auto read = by_request_.find({file.paper, key});
        if (read == by_request_.end()) continue;
        for (const auto& [name, factor] : factors)
          if (read->second.count(name) > 0)
            request.question.number_scales.emplace(name, 1).first->second *= factor;
      }
    return files;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::map<std::string, NumberSource>> by_request_;
  std::map<std::string, std::set<std::string>> papers_;  // by number
  std::map<std::string, std::set<std::string>> claims_;
  std::map<std::string, NumberSource> numbers_;
};

// All its places to `value`.
void scale(const SharedConstant& constant, double value, std::map<std::string, double>& factors) {
  for (const std::string& name : constant.names) factors[name] = value / constant.number.value;
}

// Constants that are all at one of their ends, for some rows.
struct AtEnd {
  std::vector<std::size_t> constants;
  std::size_t end = 0;  // 0: the fast one
  std::set<std::string> rows;
};

// Predicted over measured, of an improvement that of the improvements.
double log_ratio(const ValidationRow& row) {
  return std::log(std::max(kLeast, 1 + *row.error_percent / 100));
}

class LeavingOut {
 public:
  LeavingOut(const std::string& paper, const std::vector<ClaimFile>& files)
      : paper_(paper), files_(files), reads_(files, asker_) {
    for (const ClaimFile& file : files_) papers_.push_back(file.paper);
  }

  LeftOut run() {
    LeftOut found{.paper = paper_,
                  .constants = reads_.shared_with(paper_),
                  .shipped = with({}, "constants as shipped"),
                  .refitted = {}};
    for (const ValidationRow& row : found.shipped.rows)
      if (row.claim.paper != paper_ && row.error_percent)
        rows_[row.claim.id] = {.nominal = log_ratio(row),
                               .at_ends = {found.constants.size(), {0, 0}}};
    ask_at_ends(found.constants);
    const std::vector<FitRow> rows = moved_rows(found.shipped);
    found.fitted_rows = static_cast<int>(rows.size());
    const std::vector<double> positions = fit_positions(rows, found.constants.size());
    std::map<std::string, double> factors;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      SharedConstant& constant = found.constants[i];
      constant.position = positions[i];
      if (constant.position != 0) scale(constant, constant.fitted(), factors);
    }
    found.refitted = with(factors, "constants as fitted to the others");
    return found;
  }

 private:
  Validation with(const std::map<std::string, double>& factors, const std::string& label) {
    return validate_each({{.files = reads_.scaled(files_, factors), .choice = scored(papers_)}},
                         asker_, label)
        .front();
  }

  // Constants of a file that move a row together are asked one by one, of these rows.
  void ask_at_ends(const std::vector<SharedConstant>& constants) {
    std::set<std::string> all;
    for (const auto& [id, row] : rows_) all.insert(id);
    std::map<std::string, std::vector<std::size_t>> by_file;
    for (std::size_t i = 0; i < constants.size(); ++i)
      by_file[constants[i].number.file].push_back(i);
    std::vector<AtEnd> together;
    for (const auto& [file, group] : by_file)
      for (const std::size_t end : {0, 1})
        together.push_back({.constants = group, .end = end, .rows = all});
    std::map<std::string, std::set<std::string>> moved;
    for (const auto& [asked, gains] :
         gains_of(together, constants, "the constants of each file at their ends"))
      for (const auto& [id, gain] : gains)
        moved[constants[asked.constants.front()].number.file].insert(id);
    std::vector<AtEnd> alone;
    for (const auto& [file, rows] : moved)
      for (const std::size_t constant : by_file.at(file))
        for (const std::size_t end : {0, 1})
          alone.push_back({.constants = {constant}, .end = end, .rows = rows});
    for (const auto& [asked, gains] : gains_of(alone, constants, "each constant at its ends"))
      for (const auto& [id, gain] : gains)
        rows_.at(id).at_ends[asked.constants.front()].at(asked.end) = gain;
  }

  // What log(predicted over measured) gains, by row; rows that gain next to nothing are left out.
  std::vector<std::pair<AtEnd, std::map<std::string, double>>> gains_of(
      const std::vector<AtEnd>& asked, const std::vector<SharedConstant>& constants,
      const std::string& label) {
    std::vector<std::pair<AtEnd, std::map<std::string, double>>> gains;
    std::vector<ValidationCase> cases;
    for (const AtEnd& each : asked) {
      ValidationChoice choice = scored(papers_);
      choice.ids = ids_that_read(each, constants);
      if (choice.ids.empty()) continue;  // only orderings read it
      std::map<std::string, double> factors;
      for (const std::size_t i : each.constants) {
        const NumberSource& number = constants[i].number;
        scale(constants[i], each.end == 0 ? number.fast : number.slow, factors);
      }
      cases.push_back({.files = reads_.scaled(files_, factors), .choice = choice});
      gains.push_back({each, {}});
    }
    const std::vector<Validation> validations = validate_each(cases, asker_, label);
    for (std::size_t i = 0; i < gains.size(); ++i)
      for (const ValidationRow& row : validations[i].rows) {
        if (!row.error_percent) continue;
        const double gain = log_ratio(row) - rows_.at(row.claim.id).nominal;
        if (std::abs(gain) > kNegligible) gains[i].second[row.claim.id] = gain;
      }
    return gains;
  }

  std::vector<std::string> ids_that_read(const AtEnd& asked,
                                         const std::vector<SharedConstant>& constants) const {
    std::vector<std::string> ids;
    for (const ClaimFile& file : files_)
      for (const Claim& claim : file.claims)
        if (asked.rows.count(claim.id) > 0 &&
            std::any_of(asked.constants.begin(), asked.constants.end(),
                        [&](std::size_t i) { return reads_.reads(claim, constants[i]); }))
          ids.push_back(claim.id);
    return ids;
  }

  // Those that a constant moves.
  std::vector<FitRow> moved_rows(const Validation& shipped) const {
    std::vector<FitRow> rows;
    for (const ValidationRow& row : shipped.rows) {
      const auto found = rows_.find(row.claim.id);
      if (found == rows_.end()) continue;
      const auto& ends = found->second.at_ends;
      if (std::any_of(ends.begin(), ends.end(),
                      [](const std::array<double, 2>& of) { return of[0] != 0 || of[1] != 0; }))
        rows.push_back(found->second);
    }
    return rows;
  }

  std::string paper_;
  std::vector<ClaimFile> files_;
  std::vector<std::string> papers_;
  Asker asker_;
  Reads reads_;
  std::map<std::string, FitRow> rows_;  // by claim, of the other papers
};

json left_out_row(const ValidationRow& shipped, const ValidationRow& refitted) {
  const auto error = [](const ValidationRow& row) {
    return row.error_percent ? json(*row.error_percent / 100) : json();
  };
  return {{"id", shipped.claim.id},
          {"paper", shipped.claim.paper},
          {"claim", shipped.claim.claim},
          {"error", error(shipped)},
          {"error_refitted", error(refitted)},
          {"right", shipped.right ? json(*shipped.right) : json()},
          {"right_refitted", refitted.right ? json(*refitted.right) : json()}};
}

}  // namespace

double SharedConstant::fitted() const {
  return value_at(position, number.fast, number.value, number.slow);
}

std::vector<double> fit_positions(const std::vector<FitRow>& rows, std::size_t constants) {
  std::vector<double> best(constants, 0);
  double least = loss_of(rows, best);
  for (const double start : {0.0, -1.0, 1.0}) {
    const std::vector<double> found = descend(rows, std::vector<double>(constants, start));
    const double loss = loss_of(rows, found);
    if (loss < least) {
      least = loss;
      best = found;
    }
  }
  return best;
}

LeftOut leave_out(const std::string& paper, const std::vector<ClaimFile>& files) {
  std::vector<ClaimFile> papers;
  std::vector<std::string> names;
  for (const ClaimFile& file : files)
    if (!file.is_open) {
      papers.push_back(file);
      names.push_back(file.paper);
    }
  if (std::find(names.begin(), names.end(), paper) == names.end())
    refuse("--leave-out", paper, unknown_name(paper, names));
  return LeavingOut(paper, papers).run();
}

json to_json(const LeftOut& left_out) {
  json constants = json::array();
  for (const SharedConstant& constant : left_out.constants)
    constants.push_back({{"numbers", constant.names},
                         {"value", constant.number.value},
                         {"fast", constant.number.fast},
                         {"slow", constant.number.slow},
                         {"fitted", constant.fitted()},
                         {"position", constant.position},
                         {"papers", constant.papers}});
  json rows = json::array();
  for (std::size_t i = 0; i < left_out.shipped.rows.size(); ++i)
    rows.push_back(left_out_row(left_out.shipped.rows[i], left_out.refitted.rows[i]));
  return {{"format", "forescale-left-out-1"},
          {"paper", left_out.paper},
          {"constants", constants},
          {"fitted_rows", left_out.fitted_rows},
          {"rows", rows}};
}

}  // namespace forescale
