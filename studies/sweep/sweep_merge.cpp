#include "studies/sweep/sweep_merge.hpp"

#include "base/error.hpp"
#include "studies/sweep/sweep_database.hpp"

namespace forescale {
namespace {

class JoinedRows {
 public:
  void add(const std::string& file, std::vector<SweepRow> rows) {
    for (SweepRow& row : rows) {
      const auto found = rows_.find(row.key);
      if (found == rows_.end()) {
        const std::string key = row.key;
        rows_.emplace(key, Origin{std::move(row), file});
      } else if (row.reason.empty()) {
        if (found->second.row.reason.empty())
          refuse_two_answers(found->second, row, file);
        else
          found->second = {std::move(row), file};
      }
    }
  }

  std::vector<SweepRow> take() {
    std::vector<SweepRow> rows;
    for (auto& [key, origin] : rows_) rows.push_back(std::move(origin.row));
    return rows;
  }

 private:
  struct Origin {
    SweepRow row;
    std::string file;
  };

  static void refuse_two_answers(const Origin& kept, const SweepRow& row, const std::string& file) {
    if (kept.row.answer == row.answer) return;
    throw InputError({.source = file,
                      .path = "",
                      .value = row.inputs,
                      .constraint = "has another answer than in " + kept.file});
  }

  std::map<std::string, Origin> rows_;
};

}  // namespace

void merge_sweeps(const std::string& output, const std::vector<std::string>& inputs) {
  const SweepFacts facts = SweepDatabase(inputs.front()).facts();
  JoinedRows joined;
  for (const std::string& input : inputs) {
    SweepDatabase database(input);
    database.refuse_others(facts);
    joined.add(input, database.rows());
  }
  SweepDatabase database(output, facts);
  joined.add(output, database.rows());
  database.store(joined.take());
}

}  // namespace forescale
