// Reservations on disk: SQLite with a write-ahead log and full synchronisation,
// in a file of its own, so that no probe's save holds up an answer.
//
//   Save ─┐                      one transaction,
//   Save ─┼─▶ (store's thread) ─▶ one sync ─▶ (answers' thread) ─▶ done, done
//   Save ─┘   all that came in meanwhile
//
// Who waits for the disk shares the wait: under load one sync serves many.
#ifndef MEMPLAN_SERVER_ADMISSION_RESERVATION_STORE_H_
#define MEMPLAN_SERVER_ADMISSION_RESERVATION_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/admission/reservation.h"

namespace memplan {

// How many ended reservations are kept, the last to end.
inline constexpr size_t kKeptEndedReservations = 1000;

// A reservation as it was left by a daemon of before. `saved` and its expiry are
// of the clock of `boot_id`; the wall clock at that moment stands beside it.
struct StoredReservation {
  Reservation reservation;
  std::string boot_id;
  absl::Duration saved;  // since that boot
  absl::Time saved_at;
};

// Thread-safe.
class ReservationStore {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // Opens or makes the database at `path`. kFailedPrecondition (STORE_TOO_NEW)
  // if a newer memplan has written it, kDataLoss if it is damaged.
  static absl::StatusOr<std::unique_ptr<ReservationStore>> Open(
      const std::string& path);
  virtual ~ReservationStore() = default;

  // What is stored: those that live, and the ended ones that are kept. Waits for
  // the disk; to be called before the first Save.
  virtual absl::StatusOr<std::vector<StoredReservation>> Load() = 0;

  // Inserts or replaces, and calls `done` on a thread of the store once that is on
  // disk, or is known not to be: kResourceExhausted (STORE_FULL), kInternal.
  // Never blocks. After Stop, `done` gets kUnavailable (SHUTTING_DOWN) at once.
  virtual void Save(const Reservation& reservation, Done done) = 0;
  // Calls `done` once all that was given to Save before is on disk or lost.
  virtual void WhenSaved(Done done) = 0;

  // How many Saves have not been answered; transactions so far.
  virtual size_t waiting() const = 0;
  virtual int64_t commits() const = 0;

  // Writes and answers what waits, and ends the threads. Later calls do nothing.
  virtual void Stop() = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_RESERVATION_STORE_H_
