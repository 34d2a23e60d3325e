#include "server/admission/reservation_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <mutex>
#include <string>
#include <thread>

#include "server/base/reason.h"
#include "tests/support/temp_dir.h"

namespace {
std::atomic<int> syncs = 0;
std::mutex gate;  // passed after a sync was counted, before it is done
}  // namespace

// In place of the C library's, for SQLite too: counts, and syncs.
extern "C" int fdatasync(int descriptor) {
  ++syncs;
  const std::lock_guard pass(gate);
  return static_cast<int>(syscall(SYS_fdatasync, descriptor));
}
extern "C" int fsync(int descriptor) {
  ++syncs;
  const std::lock_guard pass(gate);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace memplan::testing {
namespace {

Reservation Sample(const std::string& id) {
  Reservation reservation;
  reservation.id = id;
  reservation.request_id = "request-" + id;
  reservation.request = "4096 on GPU-a for a \"team\"";
  reservation.token = "secret";
  reservation.device_id = "GPU-a";
  reservation.holder = "a \"team\"";
  reservation.promised = Bytes(4096);
  reservation.need = {.least = Bytes(1),
                      .expected = Bytes(2),
                      .most = Bytes(4096),
                      .source = NeedSource::kMeasured,
                      .plan_id = "probe-1",
                      .batch = 32};
  reservation.lifetime = absl::Seconds(90);
  reservation.expires_at = absl::Seconds(1000);
  reservation.state = ReservationState::kAdopted;
  reservation.processes = {{7, 70}, {8, 80}};
  reservation.peak = Bytes(5000);
  reservation.create_time = absl::FromUnixSeconds(1'800'000'000);
  return reservation;
}

absl::Status SaveNow(ReservationStore& store, const Reservation& reservation) {
  std::promise<absl::Status> saved;
  store.Save(reservation,
             [&](const absl::Status& status) { saved.set_value(status); });
  return saved.get_future().get();
}

TEST(ReservationStoreTest, GivesBackWhatItWasGiven) {
  const TempDir dir;
  const std::string path = dir.Path("r.db");
  {
    const auto store = *ReservationStore::Open(path);
    ASSERT_TRUE(SaveNow(*store, Sample("a")).ok());
  }
  const auto store = *ReservationStore::Open(path);
  const auto all = store->Load();
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 1u);
  const Reservation wanted = Sample("a");
  const Reservation& found = all->front().reservation;
  EXPECT_EQ(found.request_id, wanted.request_id);
  EXPECT_EQ(found.request, wanted.request);
  EXPECT_EQ(found.token, wanted.token);
  EXPECT_EQ(found.holder, wanted.holder);
  EXPECT_EQ(found.need, wanted.need);
  EXPECT_EQ(found.lifetime, wanted.lifetime);
  EXPECT_EQ(found.expires_at, wanted.expires_at);
  EXPECT_EQ(found.state, wanted.state);
  EXPECT_EQ(found.processes, wanted.processes);
  EXPECT_EQ(found.peak, wanted.peak);
  EXPECT_EQ(found.create_time, wanted.create_time);
  EXPECT_EQ(found.end_time, absl::InfiniteFuture());
}

TEST(ReservationStoreTest, SyncsBeforeItAnswersAndOnceForAllThatCameMeanwhile) {
  const TempDir dir;
  const auto store = *ReservationStore::Open(dir.Path("r.db"));
  ASSERT_TRUE(SaveNow(*store, Sample("first")).ok());

  const int before_one = syncs;
  std::promise<int> at_answer;
  store->Save(Sample("a"), [&](const absl::Status& status) {
    ASSERT_TRUE(status.ok());
    at_answer.set_value(syncs);
  });
  EXPECT_GT(at_answer.get_future().get(), before_one);

  // The store's thread is held in a sync while a hundred more come in.
  std::unique_lock held(gate);
  const int before = syncs;
  constexpr int kMany = 100;
  std::latch answered(kMany + 1);
  store->Save(Sample("b"), [&](const absl::Status& saved) {
    EXPECT_TRUE(saved.ok());
    answered.count_down();
  });
  while (syncs == before) std::this_thread::yield();
  for (int i = 0; i < kMany; ++i) {
    store->Save(Sample("m" + std::to_string(i)),
                [&](const absl::Status& saved) {
                  EXPECT_TRUE(saved.ok());
                  answered.count_down();
                });
  }
  held.unlock();
  answered.wait();
  EXPECT_EQ(syncs - before, 2);  // of the one, and of the hundred
}

TEST(ReservationStoreTest, ForgetsTheOldestThatEnded) {
  const TempDir dir;
  const std::string path = dir.Path("r.db");
  {
    const auto store = *ReservationStore::Open(path);
    for (int i = 0; i < 1500; ++i) {
      Reservation ended = Sample("e" + std::to_string(i));
      ended.state = ReservationState::kReleased;
      ended.end_time = absl::FromUnixSeconds(1'800'000'000 + i);
      store->Save(ended, [](const absl::Status&) {});
    }
    ASSERT_TRUE(SaveNow(*store, Sample("live")).ok());
  }
  const auto store = *ReservationStore::Open(path);
  const auto all = *store->Load();
  EXPECT_EQ(all.size(), kKeptEndedReservations + 1);
  for (const StoredReservation& each : all) {
    EXPECT_NE(each.reservation.id, "e499");
  }
}

TEST(ReservationStoreTest, StartsWithAHundredThousandOldOnesWithinASecond) {
  const TempDir dir;
  const std::string path = dir.Path("r.db");
  {
    const auto store = *ReservationStore::Open(path);
    Reservation live = Sample("live");
    ASSERT_TRUE(SaveNow(*store, live).ok());
  }
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    // Copies of the live one that have expired, and some that live.
    database.exec(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
        "i < 100000) INSERT INTO reservations SELECT 'x' || i, 0, 3, 'q' || i, "
        "request, token, device_id, holder, promised_bytes, need_least_bytes, "
        "need_expected_bytes, need_most_bytes, need_source, plan_id, batch, "
        "lifetime_ns, expires_ns, saved_ns, boot_id, saved_at_ns, '', "
        "peak_bytes, ran_out_of_memory, create_time_ns, create_time_ns + i "
        "FROM reservations, n WHERE id = 'live'");
  }
  const auto begun = std::chrono::steady_clock::now();
  const auto store = *ReservationStore::Open(path);
  const auto all = *store->Load();
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(all.size(), kKeptEndedReservations + 1);
  // A second on a calm machine; a tenth of that is usual.
  EXPECT_LT(took, std::chrono::seconds(10));
  RecordProperty(
      "milliseconds",
      static_cast<int>(
          std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
}

TEST(ReservationStoreTest, TakesOverTheStoreOfAnEarlierProgram) {
  const TempDir dir;
  const std::string path = dir.Path("r.db");
  ASSERT_TRUE(SaveNow(**ReservationStore::Open(path), Sample("kept")).ok());
  SQLite::Database earlier(path, SQLite::OPEN_READWRITE);
  earlier.exec(
      "DROP INDEX ended; "
      "CREATE INDEX by_end ON reservations (live, end_time_ns)");
  EXPECT_EQ((*ReservationStore::Open(path))->Load()->size(), 1u);
  const auto indexes = earlier.execAndGet(
      "SELECT group_concat(name) FROM sqlite_master "
      "WHERE type = 'index' AND name NOT LIKE 'sqlite%'");
  EXPECT_EQ(indexes.getString(), "ended");
}

TEST(ReservationStoreTest, RefusesTheStoreOfANewerProgram) {
  const TempDir dir;
  const std::string path = dir.Path("r.db");
  { const auto store = *ReservationStore::Open(path); }
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    database.exec("PRAGMA user_version = 99");
  }
  EXPECT_EQ(ReasonOf(ReservationStore::Open(path).status()), "STORE_TOO_NEW");
}

TEST(ReservationStoreTest, SaysThatItIsStoppedAndKeepsWhatWaited) {
  const TempDir dir;
  const auto store = *ReservationStore::Open(dir.Path("r.db"));
  std::atomic<int> saved = 0;
  for (int i = 0; i < 10; ++i) {
    store->Save(Sample(std::to_string(i)), [&](const absl::Status& status) {
      saved += status.ok() ? 1 : 0;
    });
  }
  store->Stop();
  EXPECT_EQ(saved, 10);
  EXPECT_EQ(ReasonOf(SaveNow(*store, Sample("late"))), "SHUTTING_DOWN");
}

}  // namespace
}  // namespace memplan::testing
