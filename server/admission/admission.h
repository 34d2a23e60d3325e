// The one who says yes or no: judges jobs, holds what was promised, and watches
// what became of it. Everything is in memory behind one mutex that is held for
// microseconds; the disk, /proc and the driver are waited for on other threads.
//
//   devices' snapshot ─┐                        ┌─▶ reservation store (durable)
//   processes ─────────┼─▶ (a tick) ─▶ ledger ──┤
//   calls ─────────────┘                        └─▶ waiters, in fair order
//
// What adopted processes use and the snapshot it was read from change together,
// at a tick, so that a job is never counted twice or not at all.
#ifndef MEMPLAN_SERVER_ADMISSION_ADMISSION_H_
#define MEMPLAN_SERVER_ADMISSION_ADMISSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission/admission_counts.h"
#include "server/admission/boot_clock.h"
#include "server/admission/job_spec.h"
#include "server/admission/plan_needs.h"
#include "server/admission/process_table.h"
#include "server/admission/reservation_store.h"
#include "server/devices/device_snapshot.h"

namespace memplan {

struct AdmissionRules {
  Bytes headroom = MiB(256);  // where the job names none
  Bytes min_headroom;         // kept whatever the job names
  // Where the job names none: five readings.
  std::chrono::milliseconds max_age = std::chrono::seconds(10);
  // Whether the headroom that ended jobs suggest is kept as well.
  bool follow_suggestion = false;
  int64_t max_reservations = 10'000;
  // How often processes, lifetimes and snapshots are looked at.
  std::chrono::milliseconds tick{200};
};

// What it stands on. All outlive it.
struct AdmissionParts {
  // The devices' last snapshot, or null. Never blocks.
  std::function<std::shared_ptr<const DeviceSnapshot>()> devices;
  const ProcessTable& processes;
  ReservationStore& store;
  // Since the host's boot.
  std::function<absl::Duration()> now = SinceBoot;
};

// Thread-safe. No method blocks but Start and Stop. Callbacks come on any
// thread, also before the method returns, and must not block.
class Admission {
 public:
  using AdmittedCallback = std::function<void(absl::StatusOr<Admitted>)>;
  using ReservationCallback = std::function<void(absl::StatusOr<Reservation>)>;

  // Takes over what the store holds: processes that live keep theirs, promises
  // what is left of their lifetime. Ticks by itself unless `rules.tick` is 0.
  static absl::StatusOr<std::unique_ptr<Admission>> Start(AdmissionRules rules,
                                                          AdmissionParts parts);
  virtual ~Admission() = default;

  // kInvalidArgument (INVALID_ADMISSION) for a device that is a bare number,
  // kNotFound (DEVICE_NOT_FOUND).
  virtual absl::StatusOr<Answer> Check(const JobSpec& job) = 0;

  // As Check; kAlreadyExists (REQUEST_ID_REUSED), kResourceExhausted
  // (TOO_MANY_RESERVATIONS, SERVER_BUSY, STORE_FULL), kUnavailable
  // (SHUTTING_DOWN). Answers once the reservation is on disk.
  virtual void Reserve(const ReserveSpec& spec, AdmittedCallback done) = 0;

  // As Reserve, after at most `patience`. The number is for CancelWait, which
  // drops the call without an answer; nothing happens if it was answered.
  virtual int64_t Wait(const ReserveSpec& spec,
                       std::chrono::milliseconds patience,
                       AdmittedCallback done) = 0;
  virtual void CancelWait(int64_t number) = 0;

  // kNotFound (RESERVATION_NOT_FOUND), kPermissionDenied (NOT_THE_OWNER),
  // kFailedPrecondition (RESERVATION_ENDED). A zero lifetime and an unset
  // `promised` are as before.
  virtual void Renew(const std::string& id, const std::string& token,
                     absl::Duration lifetime, std::optional<Bytes> promised,
                     ReservationCallback done) = 0;
  // Also kFailedPrecondition (PROCESS_NOT_FOUND, PROCESS_HELD).
  virtual void Adopt(const std::string& id, const std::string& token,
                     HeldProcess process, ReservationCallback done) = 0;
  virtual void Release(const std::string& id, const std::string& token,
                       ReservationCallback done) = 0;
  virtual void ReportOutcome(const std::string& id, const std::string& token,
                             bool ran_out_of_memory,
                             ReservationCallback done) = 0;

  // kNotFound (RESERVATION_NOT_FOUND).
  virtual absl::StatusOr<Reservation> Get(std::string_view id) const = 0;
  // Those that live, and the last that ended if `ended`; on one device if it is
  // named. In no order.
  virtual std::vector<std::pair<std::string, absl::Time>> List(
      bool ended, const std::string& device_id) const = 0;
  // What is left of the lifetime of a promise.
  virtual absl::Duration LeftOf(const Reservation& reservation) const = 0;

  // For the daemon's own probes: holds `least` bytes of the device that `reading`
  // is of, or all it has with `all`, for the processes that are children of
  // ours. Not durable. Returns the id, for EndHold, or words with what is missing.
  virtual std::variant<int64_t, std::string> Hold(
      const Device& reading, Bytes least, bool all,
      const std::string& holder) = 0;
  virtual void EndHold(int64_t hold) = 0;

  // What models take; probes that end are added here.
  virtual PlanNeeds& needs() = 0;

  virtual AdmissionCounts Counts() const = 0;

  // Looks at snapshot, processes, lifetimes and waiters now. For tests; not
  // beside a tick of its own.
  virtual void Tick() = 0;

  // From now on Reserve and Wait are refused, and waits end (SHUTTING_DOWN).
  virtual void Drain() = 0;
  // As Drain, and ends the tick. Later calls do nothing. The store is stopped
  // after this.
  virtual void Stop() = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_ADMISSION_H_
