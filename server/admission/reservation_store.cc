#include "server/admission/reservation_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <spdlog/spdlog.h>
#include <sqlite3.h>

#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "server/admission/boot_clock.h"
#include "server/base/reason.h"
#include "server/base/work_queue.h"

namespace memplan {
namespace {

constexpr int kLayout = 1;
constexpr const char* kTables = R"sql(
CREATE TABLE reservations (
  id TEXT PRIMARY KEY,
  live INTEGER NOT NULL,
  state INTEGER NOT NULL,  -- 0 promised, 1 adopted, 2 released, 3 expired, 4 gone
  request_id TEXT NOT NULL,
  request TEXT NOT NULL,
  token TEXT NOT NULL,
  device_id TEXT NOT NULL,
  holder TEXT NOT NULL,
  promised_bytes INTEGER NOT NULL,
  need_least_bytes INTEGER NOT NULL,
  need_expected_bytes INTEGER NOT NULL,
  need_most_bytes INTEGER NOT NULL,
  need_source INTEGER NOT NULL,  -- 0 stated, 1 estimate, 2 measured, 3 verified
  plan_id TEXT NOT NULL,
  batch INTEGER NOT NULL,
  lifetime_ns INTEGER NOT NULL,
  expires_ns INTEGER NOT NULL,   -- since the boot called boot_id
  saved_ns INTEGER NOT NULL,     -- likewise
  boot_id TEXT NOT NULL,
  saved_at_ns INTEGER NOT NULL,  -- since 1970
  processes TEXT NOT NULL,       -- PID:START_TICKS, with commas between
  peak_bytes INTEGER NOT NULL,
  ran_out_of_memory INTEGER NOT NULL,
  create_time_ns INTEGER NOT NULL,  -- since 1970
  end_time_ns INTEGER NOT NULL      -- since 1970; 0 while it lives
) WITHOUT ROWID;
)sql";
// Of ended ones alone, so that a living one is written to one tree. Earlier daemons
// had the other index, and find what they look for without it too.
constexpr const char* kIndexes = R"sql(
DROP INDEX IF EXISTS by_end;
CREATE INDEX IF NOT EXISTS ended ON reservations (end_time_ns) WHERE live = 0;
)sql";

constexpr const char* kColumns =
    "id, live, state, request_id, request, token, device_id, holder, "
    "promised_bytes, "
    "need_least_bytes, need_expected_bytes, need_most_bytes, need_source, "
    "plan_id, batch, lifetime_ns, expires_ns, saved_ns, boot_id, saved_at_ns, "
    "processes, peak_bytes, ran_out_of_memory, create_time_ns, end_time_ns";
constexpr int kColumnCount = 25;

absl::Status StatusOf(const SQLite::Exception& error) {
  const std::string message =
      absl::StrCat("cannot save a reservation: ", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_FULL:
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              message, "; free space there, or delete models or probes")),
          "STORE_FULL");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    default:
      return absl::InternalError(message);
  }
}

std::string ProcessText(const std::vector<HeldProcess>& processes) {
  return absl::StrJoin(
      processes, ",", [](std::string* out, const HeldProcess& process) {
        absl::StrAppend(out, process.pid, ":", process.start_ticks);
      });
}

std::vector<HeldProcess> ParseProcesses(const std::string& text) {
  std::vector<HeldProcess> processes;
  for (const auto part : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const std::vector<std::string> numbers = absl::StrSplit(part, ':');
    HeldProcess process;
    if (numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &process.pid) &&
        absl::SimpleAtoi(numbers[1], &process.start_ticks)) {
      processes.push_back(process);
    }
  }
  return processes;
}

// Binds and reads columns in their order.
class Writer {
 public:
  explicit Writer(SQLite::Statement& statement) : statement_(statement) {}
  void operator()(int64_t value) { statement_.bind(++place_, value); }
  void operator()(const std::string& value) {
    statement_.bindNoCopy(++place_, value);
  }
  void Text(const std::string& value) { statement_.bind(++place_, value); }

 private:
  SQLite::Statement& statement_;
  int place_ = 0;
};

class Reader {
 public:
  explicit Reader(SQLite::Statement& statement) : statement_(statement) {}
  int64_t Number() { return statement_.getColumn(place_++).getInt64(); }
  Bytes Amount() { return Bytes(Number()); }
  absl::Duration Span() { return absl::Nanoseconds(Number()); }
  absl::Time Moment() { return absl::FromUnixNanos(Number()); }
  std::string Text() { return statement_.getColumn(place_++).getString(); }

 private:
  SQLite::Statement& statement_;
  int place_ = 0;
};

struct PendingSave {
  std::optional<Reservation> reservation;  // unset: only `done`
  ReservationStore::Done done;
};

void Bind(SQLite::Statement& statement, const Reservation& reservation,
          const std::string& boot_id) {
  Writer write(statement);
  const bool ended = HasEnded(reservation.state);
  write(reservation.id);
  write(int64_t{ended ? 0 : 1});
  write(static_cast<int64_t>(reservation.state));
  write(reservation.request_id);
  write(reservation.request);
  write(reservation.token);
  write(reservation.device_id);
  write(reservation.holder);
  write(reservation.promised.count());
  write(reservation.need.least.count());
  write(reservation.need.expected.count());
  write(reservation.need.most.count());
  write(static_cast<int64_t>(reservation.need.source));
  write(reservation.need.plan_id);
  write(reservation.need.batch);
  write(absl::ToInt64Nanoseconds(reservation.lifetime));
  write(absl::ToInt64Nanoseconds(reservation.expires_at));
  write(absl::ToInt64Nanoseconds(SinceBoot()));
  write(boot_id);
  write(absl::ToUnixNanos(absl::Now()));
  write.Text(ProcessText(reservation.processes));
  write(reservation.peak.count());
  write(int64_t{reservation.ran_out_of_memory ? 1 : 0});
  write(absl::ToUnixNanos(reservation.create_time));
  write(ended ? absl::ToUnixNanos(reservation.end_time) : int64_t{0});
}

StoredReservation ReadRow(SQLite::Statement& query) {
  Reader read(query);
  StoredReservation stored;
  Reservation& reservation = stored.reservation;
  reservation.id = read.Text();
  const bool live = read.Number() != 0;
  reservation.state = static_cast<ReservationState>(read.Number());
  reservation.request_id = read.Text();
  reservation.request = read.Text();
  reservation.token = read.Text();
  reservation.device_id = read.Text();
  reservation.holder = read.Text();
  reservation.promised = read.Amount();
  reservation.need.least = read.Amount();
  reservation.need.expected = read.Amount();
  reservation.need.most = read.Amount();
  reservation.need.source = static_cast<NeedSource>(read.Number());
  reservation.need.plan_id = read.Text();
  reservation.need.batch = read.Number();
  reservation.lifetime = read.Span();
  reservation.expires_at = read.Span();
  stored.saved = read.Span();
  stored.boot_id = read.Text();
  stored.saved_at = read.Moment();
  reservation.processes = ParseProcesses(read.Text());
  reservation.peak = read.Amount();
  reservation.ran_out_of_memory = read.Number() != 0;
  reservation.create_time = read.Moment();
  const absl::Time end = read.Moment();
  if (!live) reservation.end_time = end;
  return stored;
}

class SqliteReservations final : public ReservationStore {
 public:
  explicit SqliteReservations(std::unique_ptr<SQLite::Database> connection)
      : connection_(std::move(connection)),
        boot_id_(BootId()),
        upsert_(*connection_, UpsertText()),
        trim_(*connection_,
              "DELETE FROM reservations WHERE id IN (SELECT id FROM "
              "reservations WHERE live = 0 ORDER BY end_time_ns DESC "
              "LIMIT 5000 OFFSET ?)"),
        thread_([this] { WriteUntilStopped(); }) {}
  ~SqliteReservations() override { Stop(); }

  absl::StatusOr<std::vector<StoredReservation>> Load() override {
    const std::lock_guard using_it(connection_mutex_);
    try {
      std::vector<StoredReservation> all;
      for (const char* which :
           {"live = 1", "live = 0 ORDER BY end_time_ns DESC LIMIT 1000"}) {
        SQLite::Statement query(
            *connection_, absl::StrCat("SELECT ", kColumns,
                                       " FROM reservations WHERE ", which));
        while (query.executeStep()) all.push_back(ReadRow(query));
      }
      return all;
    } catch (const SQLite::Exception& error) {
      return StatusOf(error);
    }
  }

  void Save(const Reservation& reservation, Done done) override {
    Post({reservation, std::move(done)});
  }
  void WhenSaved(Done done) override { Post({std::nullopt, std::move(done)}); }

  size_t waiting() const override {
    const std::lock_guard lock(mutex_);
    return waiting_.size() + unanswered_;
  }
  int64_t commits() const override {
    const std::lock_guard lock(mutex_);
    return commits_;
  }

  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    const std::lock_guard joining(joining_);
    if (thread_.joinable()) thread_.join();
    answers_.Stop();
  }

 private:
  static std::string UpsertText() {
    std::string places = "?";
    for (int i = 1; i < kColumnCount; ++i) places += ", ?";
    return absl::StrCat("INSERT OR REPLACE INTO reservations (", kColumns,
                        ") VALUES (", places, ")");
  }

  void Post(PendingSave save) {
    {
      const std::lock_guard lock(mutex_);
      if (!stopped_) {
        waiting_.push_back(std::move(save));
        changed_.notify_one();
        return;
      }
    }
    save.done(WithReason(absl::UnavailableError("the daemon is shutting down"),
                         "SHUTTING_DOWN"));
  }

  void WriteUntilStopped() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      std::vector<PendingSave> saves = std::exchange(waiting_, {});
      lock.unlock();
      absl::Status written = Write(saves);
      AnswerLater(std::move(saves), std::move(written));
      lock.lock();
    }
  }

  // The next ones are written meanwhile: an answer costs as much as a row.
  void AnswerLater(std::vector<PendingSave> saves, absl::Status written) {
    unanswered_ += saves.size();
    answers_.Post([this, saves = std::move(saves),
                   written = std::move(written)]() mutable {
      for (PendingSave& save : saves) {
        save.done(written);
        save.done = nullptr;
        --unanswered_;
      }
    });
  }

  // One transaction, and so one sync, for all of them.
  absl::Status Write(const std::vector<PendingSave>& saves) {
    const std::lock_guard using_it(connection_mutex_);
    try {
      int64_t ended = 0;
      SQLite::Transaction transaction(*connection_);
      int64_t written = 0;
      for (const PendingSave& save : saves) {
        if (!save.reservation) continue;
        Bind(upsert_, *save.reservation, boot_id_);
        upsert_.exec();
        upsert_.reset();
        ++written;
        if (HasEnded(save.reservation->state)) ++ended;
      }
      if (written == 0) return absl::OkStatus();
      TrimAfter(ended);
      transaction.commit();
      const std::lock_guard lock(mutex_);
      ++commits_;
      return absl::OkStatus();
    } catch (const SQLite::Exception& error) {
      upsert_.tryReset();
      spdlog::error("reservations are not saved: {}", error.what());
      return StatusOf(error);
    }
  }

  // Removes ended ones beyond those that are kept, now and then.
  void TrimAfter(int64_t ended) {
    ended_since_trim_ += ended;
    if (ended_since_trim_ < kTrimAfter) return;
    ended_since_trim_ = 0;
    trim_.bind(1, static_cast<int64_t>(kKeptEndedReservations));
    trim_.exec();
    trim_.reset();
  }

  static constexpr int64_t kTrimAfter = 256;

  std::mutex connection_mutex_;
  const std::unique_ptr<SQLite::Database> connection_;
  const std::string boot_id_;
  SQLite::Statement upsert_;
  SQLite::Statement trim_;
  int64_t ended_since_trim_ = kTrimAfter;  // what an older daemon left

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PendingSave> waiting_;  // under mutex_
  int64_t commits_ = 0;               // under mutex_
  bool stopped_ = false;              // under mutex_
  std::mutex joining_;                // one Stop at a time
  std::atomic<size_t> unanswered_ = 0;
  // As many as wait for an answer: callers bound that, not the line.
  WorkQueue answers_{1, std::numeric_limits<size_t>::max()};
  std::thread thread_;  // last: uses all of the above
};

absl::Status Prepare(SQLite::Database& connection, const std::string& path) {
  connection.exec("PRAGMA journal_mode = WAL");
  connection.exec("PRAGMA synchronous = FULL");
  connection.exec(
      "PRAGMA cache_size = -16384");  // KiB: the rows of a full ledger
  SQLite::Transaction transaction(connection);
  const int layout = connection.execAndGet("PRAGMA user_version").getInt();
  if (layout != 0 && layout != kLayout) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "the reservations in ", path, " have layout ", layout,
            ", written by a newer memplan-server than this one, which knows "
            "layout ",
            kLayout, "; start the newer program, or choose another folder")),
        "STORE_TOO_NEW");
  }
  if (layout == 0) {
    connection.exec(kTables);
    connection.exec(absl::StrCat("PRAGMA user_version = ", kLayout));
  }
  connection.exec(kIndexes);
  transaction.commit();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReservationStore>> ReservationStore::Open(
    const std::string& path) {
  try {
    auto connection = std::make_unique<SQLite::Database>(
        path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    if (absl::Status status = Prepare(*connection, path); !status.ok()) {
      return status;
    }
    return std::make_unique<SqliteReservations>(std::move(connection));
  } catch (const SQLite::Exception& error) {
    return StatusOf(error);
  }
}

}  // namespace memplan
