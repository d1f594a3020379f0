#include "studies/sweep/sweep_database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "studies/sweep/sweep_view.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kApplication = 0x66635377;  // "fcSw"
constexpr std::int64_t kSchema = 1;

constexpr const char* kTables = R"(
CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE point (
  key       TEXT PRIMARY KEY,
  place     INTEGER NOT NULL UNIQUE,
  inputs    TEXT NOT NULL,
  status    TEXT NOT NULL CHECK (status IN ('done', 'failed')),
  exit_code INTEGER NOT NULL,
  reason    TEXT,
  answer    TEXT,
  CHECK ((status = 'done') = (answer IS NOT NULL)),
  CHECK ((status = 'failed') = (reason IS NOT NULL))
) WITHOUT ROWID;
CREATE TABLE execution (
  key      TEXT PRIMARY KEY REFERENCES point (key),
  wall_s   REAL NOT NULL,
  host     TEXT NOT NULL,
  finished TEXT NOT NULL
) WITHOUT ROWID;
)";

struct NamedFact {
  const char* name;
  std::string SweepFacts::*value;
  const char* title;  // empty: may differ, or follows from the others
};
constexpr std::array<NamedFact, 7> kFacts = {{{"version", &SweepFacts::version, "version"},
                                              {"name", &SweepFacts::name, ""},
                                              {"command", &SweepFacts::command, "command"},
                                              {"study", &SweepFacts::study, "study"},
                                              {"points", &SweepFacts::points, ""},
                                              {"varied", &SweepFacts::varied, ""},
                                              {"files", &SweepFacts::files, "input files"}}};

}  // namespace

SweepFacts facts_of(const Study& study, const std::string& version) {
  return {.version = version,
          .name = study.name,
          .command = study.command,
          .study = study.id,
          .points = std::to_string(study.points.size()),
          .varied = nlohmann::json(study.varied).dump(),
          .files = nlohmann::json(study.files).dump()};
}

SweepDatabase::WriterLock::WriterLock(const std::string& file)
    : descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0)
    refuse(file, "", "cannot be written: " + std::generic_category().message(errno));
  // A byte that SQLite neither uses nor locks: after the 512 of its lock-byte page that it does.
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = 0x40000000 + 1024;
  wanted.l_len = 1;
  // What a killed sweep has begun shares its lock and dies a moment after it.
  constexpr int kTries = 100;
  constexpr std::chrono::milliseconds kBetween(20);
  int error = 0;
  for (int i = 0; i < kTries; ++i) {
    if (fcntl(descriptor_, F_OFD_SETLK, &wanted) == 0) return;
    error = errno;
    if (error != EAGAIN && error != EACCES) break;
    std::this_thread::sleep_for(kBetween);
  }
  close(descriptor_);
  refuse(file, "",
         error == EAGAIN || error == EACCES
             ? "is being written by another process: wait for it, or name another file"
             : "cannot be locked: " + std::generic_category().message(error));
}

SweepDatabase::WriterLock::~WriterLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

SweepDatabase::SweepDatabase(const std::string& file, const SweepFacts& facts)
    : lock_(file), sqlite_(file, Sqlite::Access::kWrite), facts_(facts) {
  // Not WAL, which readers on other machines would break. A journal that is not made anew for each
  // transaction is five times as fast, and as safe from being killed.
  sqlite_.execute("PRAGMA journal_mode = PERSIST; PRAGMA synchronous = NORMAL");
  if (sqlite_.integer("SELECT count(*) FROM sqlite_master") == 0) {
    create();
  } else {
    read_facts();
    refuse_others(facts);
  }
}

SweepDatabase::SweepDatabase(const std::string& file) : sqlite_(file, Sqlite::Access::kRead) {
  read_facts();
}

SweepDatabase::~SweepDatabase() {
  if (!lock_.is_held()) return;
  try {
    sqlite_.execute("PRAGMA journal_mode = DELETE");  // removes the journal
  } catch (const InputError&) {
    return;  // it does no harm
  }
}

void SweepDatabase::create() {
  SqliteTransaction transaction(sqlite_);
  sqlite_.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kSchema));
  sqlite_.execute(kTables);
  sqlite_.execute(result_view(facts_.command, parse_json(facts_.varied)));
  sqlite_.execute(number_view());
  SqliteStatement insert(sqlite_, "INSERT INTO study VALUES (?, ?)");
  for (const NamedFact& fact : kFacts) {
    insert.bind(1, fact.name);
    insert.bind(2, facts_.*fact.value);
    insert.run();
  }
  transaction.commit();
}

void SweepDatabase::read_facts() {
  if (sqlite_.integer("PRAGMA application_id") != kApplication)
    refuse(file(), "", "is a database, but none that `forescale sweep` has made");
  if (sqlite_.integer("PRAGMA user_version") != kSchema)
    refuse(file(), "", "has tables of another version of forescale");
  SqliteStatement select(sqlite_, "SELECT value FROM study WHERE name = ?");
  for (const NamedFact& fact : kFacts) {
    select.bind(1, fact.name);
    if (!select.step())
      refuse(file(), "", fmt::format("lacks \"{}\" in its table study", fact.name));
    facts_.*fact.value = select.text(0);
    select.run();
  }
}

void SweepDatabase::refuse_others(const SweepFacts& wanted) const {
  for (const NamedFact& fact : kFacts)
    if (*fact.title != '\0' && facts_.*fact.value != wanted.*fact.value)
      refuse(file(), "",
             fmt::format("holds answers to another question ({}: {} there, {} here); "
                         "name another file",
                         fact.title, facts_.*fact.value, wanted.*fact.value));
}

void SweepDatabase::store(const std::vector<SweepRow>& rows) {
  if (rows.empty()) return;
  SqliteTransaction transaction(sqlite_);
  SqliteStatement point(sqlite_, "INSERT OR REPLACE INTO point VALUES (?, ?, ?, ?, ?, ?, ?)");
  SqliteStatement execution(sqlite_, "INSERT OR REPLACE INTO execution VALUES (?, ?, ?, ?)");
  for (const SweepRow& row : rows) {
    const bool is_done = row.reason.empty();
    point.bind(1, row.key);
    point.bind(2, row.place);
    point.bind(3, row.inputs);
    point.bind(4, std::string(is_done ? "done" : "failed"));
    point.bind(5, std::int64_t{row.exit_code});
    if (is_done)
      point.bind_null(6);
    else
      point.bind(6, row.reason);
    if (is_done)
      point.bind(7, row.answer);
    else
      point.bind_null(7);
    point.run();
    execution.bind(1, row.key);
    execution.bind(2, row.wall_s);
    execution.bind(3, row.host);
    execution.bind(4, row.finished);
    execution.run();
  }
  transaction.commit();
}

// 128 + SIGHUP, SIGINT, SIGKILL or SIGTERM: signals that are sent, where others are a program's
// own.
std::set<std::string> SweepDatabase::settled_keys(bool retry) {
  SqliteStatement select(sqlite_, retry ? "SELECT key FROM point WHERE status = 'done'"
                                        : "SELECT key FROM point "
                                          "WHERE exit_code NOT IN (129, 130, 137, 143)");
  std::set<std::string> keys;
  while (select.step()) keys.insert(select.text(0));
  return keys;
}

std::vector<SweepRow> SweepDatabase::rows() {
  std::vector<SweepRow> rows;
  SqliteStatement select(sqlite_,
                         "SELECT key, place, inputs, exit_code, reason, answer, wall_s, host, "
                         "finished FROM point JOIN execution USING (key) ORDER BY place");
  while (select.step())
    rows.push_back({.key = select.text(0),
                    .place = select.integer(1),
                    .inputs = select.text(2),
                    .exit_code = static_cast<int>(select.integer(3)),
                    .reason = select.text(4),
                    .answer = select.text(5),
                    .wall_s = select.number(6),
                    .host = select.text(7),
                    .finished = select.text(8)});
  return rows;
}

SweepTally SweepDatabase::tally() {
  SweepTally tally{.done = sqlite_.integer("SELECT count(*) FROM point WHERE status = 'done'"),
                   .failed = sqlite_.integer("SELECT count(*) FROM point WHERE status = 'failed'")};
  tally.missing = std::stoll(facts_.points) - tally.done - tally.failed;
  return tally;
}

std::vector<FailureReason> SweepDatabase::reasons() {
  std::vector<FailureReason> reasons;
  SqliteStatement select(sqlite_,
                         "SELECT reason, count(*), min(place) FROM point WHERE status = 'failed' "
                         "GROUP BY reason ORDER BY count(*) DESC, min(place)");
  while (select.step())
    reasons.push_back(
        {.text = select.text(0), .count = select.integer(1), .first_place = select.integer(2)});
  return reasons;
}

SweepTable SweepDatabase::results() {
  SqliteStatement select(sqlite_, "SELECT * FROM result");
  SweepTable table{.columns = select.column_names(), .rows = {}};
  while (select.step()) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      cells.push_back(select.text(static_cast<int>(i)));
  }
  return table;
}

}  // namespace forescale
