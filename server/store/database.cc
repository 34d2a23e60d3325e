#include "server/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// What makes each layout of the one before; the first makes the tables. A new
// database goes through all, an old one through those it lacks.
constexpr std::array<const char*, kSchemaVersion> kMigrations = {
    R"sql(
CREATE TABLE models (
  sha256 TEXT PRIMARY KEY,
  display_name TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  create_time_ns INTEGER NOT NULL  -- since 1970
);
CREATE TABLE probes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order of creation
  id TEXT NOT NULL UNIQUE,
  request_id TEXT UNIQUE,  -- NULL if the caller gave none
  record TEXT NOT NULL     -- JSON; server/store/probe_codec.h
);
)sql",
    R"sql(
ALTER TABLE models
  ADD COLUMN last_use_time_ns INTEGER NOT NULL DEFAULT 0;  -- since 1970
UPDATE models SET last_use_time_ns = create_time_ns;
CREATE TABLE parts (
  sha256 TEXT PRIMARY KEY,
  display_name TEXT NOT NULL,
  total_bytes INTEGER NOT NULL,
  create_time_ns INTEGER NOT NULL  -- since 1970
);
)sql",
    R"sql(
CREATE TABLE call_results (
  key TEXT PRIMARY KEY,  -- SHA-256; server/store/call_results.cc
  plans BLOB NOT NULL,
  last_use INTEGER NOT NULL  -- uses are numbered on
);
CREATE INDEX call_results_by_use ON call_results (last_use);
)sql",
};

absl::Status StatusOf(const SQLite::Exception& error, std::string_view what) {
  const std::string message =
      absl::StrCat("cannot ", std::string(what), ": ", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              message, "; free space there, or delete models or probes")),
          "STORE_FULL");
    case SQLITE_CONSTRAINT:
      return absl::AlreadyExistsError(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::PermissionDeniedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::Status PrepareSchema(SQLite::Database& connection,
                           const std::string& path) {
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("PRAGMA synchronous = FULL");
  SQLite::Transaction transaction(connection);
  const int version = connection.execAndGet("PRAGMA user_version").getInt();
  if (version == kSchemaVersion) return absl::OkStatus();
  if (version < 0 || version > kSchemaVersion) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the store's database ", path, " has layout ", version,
            ", written by a newer memplan-server than this one, which knows "
            "layout ",
            kSchemaVersion,
            "; start the newer program, or choose another folder")),
        "STORE_TOO_NEW");
  }
  for (int done = version; done < kSchemaVersion; ++done) {
    connection.exec(kMigrations[static_cast<size_t>(done)]);
  }
  connection.exec(absl::StrCat("PRAGMA user_version = ", kSchemaVersion));
  transaction.commit();
  return absl::OkStatus();
}

}  // namespace

Database::Database(std::unique_ptr<SQLite::Database> connection)
    : connection_(std::move(connection)) {}

Database::~Database() = default;

absl::StatusOr<std::unique_ptr<Database>> Database::Open(
    const std::string& path) {
  try {
    auto connection = std::make_unique<SQLite::Database>(
        path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    if (absl::Status status = PrepareSchema(*connection, path); !status.ok()) {
      return status;
    }
    return std::unique_ptr<Database>(new Database(std::move(connection)));
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, absl::StrCat("open the database ", path));
  }
}

absl::Status Database::Run(
    std::string_view what,
    const std::function<absl::Status(SQLite::Database&)>& work) {
  const std::lock_guard lock(mutex_);
  try {
    SQLite::Transaction transaction(*connection_);
    if (absl::Status status = work(*connection_); !status.ok()) return status;
    transaction.commit();
    return absl::OkStatus();
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, what);
  }
}

absl::Status Database::Check() {
  return Run("look at the database", [](SQLite::Database& connection) {
    (void)connection.execAndGet("SELECT count(*) FROM models");
    return absl::OkStatus();
  });
}

}  // namespace memplan
