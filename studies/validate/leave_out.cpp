#include "studies/validate/leave_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "sim/ask/ask.hpp"
#include "studies/validate/fit_positions.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kNegligible = 0.01;  // of log(predicted over measured)
constexpr double kLeast = 0.01;       // of predicted over measured, where it is compared at all

std::string key_of_path(const std::string& path) { return path.substr(path.rfind('/')); }

bool is_same(const NumberSource& one, const NumberSource& other) {
  return one.file == other.file && key_of_path(one.path) == key_of_path(other.path) &&
         one.value == other.value && one.fast == other.fast && one.slow == other.slow &&
         one.source == other.source;
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
    const std::vector<FitRow> rows = moved_rows();
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
  std::vector<FitRow> moved_rows() const {
    std::vector<FitRow> rows;
    for (const auto& [id, row] : rows_)
      if (std::any_of(row.at_ends.begin(), row.at_ends.end(),
                      [](const std::array<double, 2>& of) { return of[0] != 0 || of[1] != 0; }))
        rows.push_back(row);
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
