#include "server/store/database.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "server/base/reason.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class DatabaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<Database> Open() {
    auto database = Database::Open(path_);
    EXPECT_THAT(database, IsOk());
    return *std::move(database);
  }
  // The single number that `query` gives.
  int64_t Number(Database& database, const char* query) {
    int64_t number = -1;
    EXPECT_THAT(database.Run("ask",
                             [&](SQLite::Database& connection) {
                               number = connection.execAndGet(query).getInt64();
                               return absl::OkStatus();
                             }),
                IsOk());
    return number;
  }
  static absl::Status AddModel(SQLite::Database& connection) {
    connection.exec("INSERT INTO models VALUES ('abc', '', 1, 1, 1)");
    return absl::OkStatus();
  }

  TempDir temp_;
  const std::string path_ = temp_.Path("test.db");
};

TEST_F(DatabaseTest, WritesAheadAndSyncsFully) {
  auto database = Open();
  EXPECT_EQ(Number(*database, "PRAGMA synchronous"), 2);  // FULL
  std::string mode;
  ASSERT_THAT(
      database->Run(
          "ask",
          [&](SQLite::Database& connection) {
            mode = connection.execAndGet("PRAGMA journal_mode").getString();
            return absl::OkStatus();
          }),
      IsOk());
  EXPECT_EQ(mode, "wal");
}

TEST_F(DatabaseTest, KeepsWhatWasCommitted) {
  ASSERT_THAT(Open()->Run("add", AddModel), IsOk());
  EXPECT_EQ(Number(*Open(), "SELECT count(*) FROM models"), 1);
}

TEST_F(DatabaseTest, RollsBackWorkThatFails) {
  auto database = Open();
  EXPECT_THAT(database->Run("add",
                            [](SQLite::Database& connection) {
                              (void)AddModel(connection);
                              return absl::CancelledError("changed my mind");
                            }),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM models"), 0);
}

TEST_F(DatabaseTest, TurnsExceptionsIntoStatuses) {
  auto database = Open();
  ASSERT_THAT(database->Run("add", AddModel), IsOk());
  EXPECT_THAT(database->Run("add a model", AddModel),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       HasSubstr("cannot add a model: ")));
  EXPECT_THAT(database->Run("talk nonsense",
                            [](SQLite::Database& connection) {
                              connection.exec("NONSENSE");
                              return absl::OkStatus();
                            }),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("cannot talk nonsense: ")));
}

TEST_F(DatabaseTest, SaysThatTheStoreIsFull) {
  auto database = Open();
  const absl::Status status = database->Run("save", [](SQLite::Database&
                                                           connection) {
    connection.exec("PRAGMA max_page_count = 20");
    connection.exec(
        "INSERT INTO models VALUES ('abc', hex(zeroblob(1000000)), 1, 1, 1)");
    return absl::OkStatus();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("free space there")));
  EXPECT_EQ(ReasonOf(status), "STORE_FULL");
}

TEST_F(DatabaseTest, BringsTheFirstLayoutToThisOne) {
  {
    SQLite::Database old(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    old.exec(
        "CREATE TABLE models (sha256 TEXT PRIMARY KEY, display_name TEXT NOT "
        "NULL, size_bytes INTEGER NOT NULL, create_time_ns INTEGER NOT NULL)");
    old.exec(
        "CREATE TABLE probes (sequence INTEGER PRIMARY KEY AUTOINCREMENT, id "
        "TEXT NOT NULL UNIQUE, request_id TEXT UNIQUE, record TEXT NOT NULL)");
    old.exec("INSERT INTO models VALUES ('abc', 'old', 7, 1234)");
    old.exec("INSERT INTO probes (id, record) VALUES ('p', '{}')");
    old.exec("PRAGMA user_version = 1");
  }
  const auto database = Open();
  EXPECT_EQ(Number(*database, "PRAGMA user_version"), 3);
  EXPECT_EQ(Number(*database,
                   "SELECT last_use_time_ns FROM models WHERE sha256 = 'abc' "
                   "AND display_name = 'old' AND size_bytes = 7"),
            1234);
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM probes"), 1);
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM parts"), 0);
  EXPECT_EQ(Number(*database, "SELECT count(*) FROM call_results"), 0);
}

TEST_F(DatabaseTest, RefusesANewerLayoutAndLeavesItAlone) {
  {
    SQLite::Database newer(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    newer.exec("PRAGMA user_version = 7");
  }
  const auto database = Database::Open(path_);
  EXPECT_THAT(database,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("layout 7"), HasSubstr("knows layout 3"),
                             HasSubstr("start the newer program"))));
  EXPECT_EQ(ReasonOf(database.status()), "STORE_TOO_NEW");
  SQLite::Database left(path_, SQLite::OPEN_READONLY);
  EXPECT_EQ(left.execAndGet("PRAGMA user_version").getInt(), 7);
}

TEST_F(DatabaseTest, SaysThatAFileIsNoDatabase) {
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_THAT(Database::Open(path_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path_)));
}

}  // namespace
}  // namespace memplan
