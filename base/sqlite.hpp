// A SQLite database, and statements on it. InputError naming the file and SQLite's reason for what
// the world refuses: no such folder, read-only, full disk, no database, locked for a minute.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace forescale {

class Sqlite {
 public:
  // kWrite makes the file if there is none. kRead never changes it, but for what an interrupted
  // writer left half done.
  enum class Access { kRead, kWrite };
  Sqlite(std::string file, Access access);

  void execute(const std::string& sql);          // statements that give no rows
  std::int64_t integer(const std::string& sql);  // of the first column of the only row
  const std::string& file() const { return file_; }

 private:
  friend class SqliteStatement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  void check(int code);
  [[noreturn]] void fail();

  std::string file_;
  std::unique_ptr<sqlite3, Close> connection_;
};

class SqliteStatement {
 public:
  SqliteStatement(Sqlite& database, const std::string& sql);

  // Parameters count from 1 and keep their values until bound anew.
  void bind(int parameter, const std::string& value);
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind_null(int parameter);
  // Goes to the next row; false at the end, after which it may run again.
  bool step();
  void run();  // to the end

  std::vector<std::string> column_names() const;
  // Of the current row; columns count from 0.
  std::string text(int column) const;  // empty for null
  std::int64_t integer(int column) const;
  double number(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Sqlite& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A transaction: commit() or nothing of it.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(Sqlite& database);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  void commit();

 private:
  Sqlite& database_;
  bool is_open_ = true;
};

}  // namespace forescale
