// The store's SQLite database: one connection, used by one thread at a time.
// Write-ahead log with full synchronisation, so that what was committed is
// there after a kill or a loss of power. SQLite's exceptions end here.
#ifndef MEMPLAN_SERVER_STORE_DATABASE_H_
#define MEMPLAN_SERVER_STORE_DATABASE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace SQLite {
class Database;
}

namespace memplan {

// The layout of the tables that this program reads and writes.
inline constexpr int kSchemaVersion = 3;

// Thread-safe.
class Database {
 public:
  // Opens or makes the database; an older layout is brought to this one, all or
  // nothing. kFailedPrecondition (STORE_TOO_NEW) if a newer
  // memplan has written it, kDataLoss if it is no database or damaged.
  static absl::StatusOr<std::unique_ptr<Database>> Open(
      const std::string& path);
  ~Database();

  // Runs `work` with the connection, alone, in one transaction: committed if it
  // returns OK, else rolled back. An exception of SQLite becomes a status that
  // says it happened while trying to `what` ("save a probe"):
  // kResourceExhausted (STORE_FULL) if the disk is full, kAlreadyExists for a
  // broken uniqueness, kDataLoss for a damaged file, else kInternal.
  absl::Status Run(std::string_view what,
                   const std::function<absl::Status(SQLite::Database&)>& work);

  // Reads a little, to see that the file is there and whole. As Run.
  absl::Status Check();

 private:
  explicit Database(std::unique_ptr<SQLite::Database> connection);

  std::mutex mutex_;
  const std::unique_ptr<SQLite::Database> connection_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_DATABASE_H_
