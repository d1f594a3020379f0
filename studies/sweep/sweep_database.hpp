// The answers of a study in one SQLite file; docs/sweep.md describes its tables.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/sqlite.hpp"
#include "studies/sweep/sweep_study.hpp"

namespace forescale {

struct SweepRow {
  std::string key;
  std::int64_t place = 0;  // in the study, from 0
  std::string inputs;      // JSON object
  int exit_code = 0;       // of the simulation; 128 + N after signal N
  std::string reason;      // of a failure; empty: done
  std::string answer;      // JSON; empty after a failure
  // How it came to be; differs from run to run.
  double wall_s = 0;
  std::string host;
  std::string finished;  // UTC, "2026-01-31T23:59:59Z"
};

// Whose answers a file holds. Two files with equal facts hold parts of one whole.
struct SweepFacts {
  std::string version;  // of forescale
  std::string name;
  std::string command;
  std::string study;   // Study::id
  std::string points;  // how many the whole study has, in digits
  std::string varied;  // JSON array of options
  std::string files;   // JSON object: Study::files
};
SweepFacts facts_of(const Study& study, const std::string& version);

struct SweepTally {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::int64_t missing = 0;
};

struct FailureReason {
  std::string text;
  std::int64_t count = 0;
  std::int64_t first_place = 0;
};

struct SweepTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // empty text for null
};

class SweepDatabase {
 public:
  // Makes the file, or continues what it holds. InputError when it belongs to another study,
  // another version or other input files, is no such database, cannot be written, or is being
  // written by another process: only one at a time may (readers are free).
  SweepDatabase(const std::string& file, const SweepFacts& facts);
  // What is there, to be read only.
  explicit SweepDatabase(const std::string& file);
  ~SweepDatabase();
  SweepDatabase(const SweepDatabase&) = delete;
  SweepDatabase& operator=(const SweepDatabase&) = delete;

  const SweepFacts& facts() const { return facts_; }
  const std::string& file() const { return sqlite_.file(); }
  // InputError when these are facts of another whole.
  void refuse_others(const SweepFacts& wanted) const;

  // One transaction: on the disk when it returns, or InputError and nothing of it is kept. A row
  // takes the place of one with the same key.
  void store(const std::vector<SweepRow>& rows);

  // Points that need not run: those done and, unless `retry`, those that failed for a reason
  // of their own. One whose process was killed by somebody else (kill, lack of memory) is not among
  // them.
  std::set<std::string> settled_keys(bool retry);
  std::vector<SweepRow> rows();  // in the study's order
  SweepTally tally();
  std::vector<FailureReason> reasons();  // the commonest first
  SweepTable results();                  // the view `result`

 private:
  // Held as long as the file is written. SQLite would drop its own locks if this was closed first.
  class WriterLock {
   public:
    WriterLock() = default;
    explicit WriterLock(const std::string& file);
    ~WriterLock();
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;
    bool is_held() const { return descriptor_ >= 0; }

   private:
    int descriptor_ = -1;
  };

  void create();
  void read_facts();

  WriterLock lock_;
  Sqlite sqlite_;
  SweepFacts facts_;
};

}  // namespace forescale
