#include "base/sqlite.hpp"

#include <sqlite3.h>

#include <system_error>

#include "base/error.hpp"

namespace forescale {

void Sqlite::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Sqlite::Sqlite(std::string file, Access access) : file_(std::move(file)) {
  constexpr int kPatience_ms = 60'000;
  sqlite3* connection = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | (access == Access::kWrite ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  check(code);
  sqlite3_extended_result_codes(connection, 1);
  check(sqlite3_busy_timeout(connection, kPatience_ms));
  execute("PRAGMA temp_store = MEMORY");
  if (access == Access::kRead) execute("PRAGMA query_only = ON");
}

void Sqlite::check(int code) {
  if (code != SQLITE_OK) fail();
}

void Sqlite::fail() {
  const int code = connection_ ? sqlite3_extended_errcode(connection_.get()) : SQLITE_NOMEM;
  std::string reason = connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code);
  const int number = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
  const bool is_of_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  if (is_of_system && number != 0) reason += ": " + std::generic_category().message(number);
  if (code == SQLITE_READONLY_DIRECTORY) reason += ": its folder cannot be written";
  throw InputError({.source = file_, .path = "", .value = "", .constraint = "SQLite: " + reason});
}

void Sqlite::execute(const std::string& sql) {
  check(sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t Sqlite::integer(const std::string& sql) {
  SqliteStatement statement(*this, sql);
  FORESCALE_CHECK(statement.step(), "no row: " + sql);
  return statement.integer(0);
}

SqliteStatement::SqliteStatement(Sqlite& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  database_.check(
      sqlite3_prepare_v2(database_.connection_.get(), sql.c_str(), -1, &statement, nullptr));
  statement_.reset(statement);
}

void SqliteStatement::bind(int parameter, const std::string& value) {
  database_.check(sqlite3_bind_text64(statement_.get(), parameter, value.data(), value.size(),
                                      SQLITE_TRANSIENT, SQLITE_UTF8));
}
void SqliteStatement::bind(int parameter, std::int64_t value) {
  database_.check(sqlite3_bind_int64(statement_.get(), parameter, value));
}
void SqliteStatement::bind(int parameter, double value) {
  database_.check(sqlite3_bind_double(statement_.get(), parameter, value));
}
void SqliteStatement::bind_null(int parameter) {
  database_.check(sqlite3_bind_null(statement_.get(), parameter));
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail();
  sqlite3_reset(statement_.get());
  return false;
}

void SqliteStatement::run() {
  while (step()) {
  }
}

std::vector<std::string> SqliteStatement::column_names() const {
  std::vector<std::string> names;
  for (int i = 0; i < sqlite3_column_count(statement_.get()); ++i)
    names.emplace_back(sqlite3_column_name(statement_.get(), i));
  return names;
}
std::string SqliteStatement::text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return "";
  const int length = sqlite3_column_bytes(statement_.get(), column);
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(length)};
}
std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double SqliteStatement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

SqliteTransaction::SqliteTransaction(Sqlite& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

SqliteTransaction::~SqliteTransaction() {
  if (!is_open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const InputError&) {  // a full disk has rolled it back already
    is_open_ = false;
  }
}

void SqliteTransaction::commit() {
  database_.execute("COMMIT");
  is_open_ = false;
}

}  // namespace forescale
