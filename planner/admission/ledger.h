// Who was promised what: every live reservation, with the sums of each device
// always at hand. A container with the rules of a reservation's life and no
// clock, threads or disk of its own; whether something fits is asked of check.h.
#ifndef MEMPLAN_PLANNER_ADMISSION_LEDGER_H_
#define MEMPLAN_PLANNER_ADMISSION_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "planner/admission/account.h"
#include "planner/admission/reservation.h"
#include "planner/base/bytes.h"

namespace memplan {

// What is promised on one device.
struct DevicePromises {
  PromiseSums sums = {};
  int64_t over_promise = 0;  // live ones that once used more than promised
  // When the next lifetime is over; unset if none runs.
  std::optional<absl::Duration> next_expiry = {};
};

// Not thread-safe. Pointers to a reservation hold until it is removed.
class Ledger {
 public:
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Takes over a live reservation with an id of its own.
  const Reservation& Add(Reservation reservation);
  // The live reservation, or null.
  const Reservation* Find(std::string_view id) const;
  // Takes it out and returns it in `end`, one of the ended states.
  Reservation Remove(const std::string& id, ReservationState end,
                     absl::Time now);

  // The lifetime begins anew at `now` with the length `lifetime`. `promised`
  // may be less than it was, never more. One of kAdopted only learns both.
  void Renew(const std::string& id, absl::Duration now, absl::Duration lifetime,
             Bytes promised);
  // Hands it to a further process; nothing changes if that has it.
  void Adopt(const std::string& id, HeldProcess process);
  // Processes of its have ended. After the last the lifetime begins anew.
  void DropProcesses(const std::string& id,
                     const std::vector<HeldProcess>& ended, absl::Duration now);
  // What its processes use together; unset if nobody says.
  void Observe(const std::string& id, std::optional<Bytes> measured);
  void TellOutOfMemory(const std::string& id);

  // Those whose lifetime is over at `now`.
  std::vector<std::string> Expired(absl::Duration now) const;

  DevicePromises PromisesOn(std::string_view device_id) const;
  PromiseSums SumsOn(std::string_view device_id) const {
    return PromisesOn(device_id).sums;
  }
  // The live ones of the device with the largest claims, the largest first.
  std::vector<const Reservation*> LargestOn(std::string_view device_id,
                                            size_t most) const;
  // The devices that have live ones.
  std::vector<std::string> Devices() const;
  void ForEach(const std::function<void(const Reservation&)>& visit) const;
  // Those that processes hold. What happens again and again asks this: a full
  // ledger takes milliseconds to walk.
  void ForEachAdopted(
      const std::function<void(const Reservation&)>& visit) const;
  size_t size() const { return reservations_.size(); }

 private:
  struct DeviceBook {
    PromiseSums sums;
    int64_t over_promise = 0;
    std::set<const Reservation*> adopted;
    std::set<std::pair<absl::Duration, std::string>> expiries;
    // By what each claims: its promise, or what it uses where that is more.
    std::set<std::pair<Bytes, const Reservation*>> claims;
  };

  // Changes one and keeps the book of its device right.
  template <typename Change>
  void Edit(const std::string& id, const Change& change);
  void Enter(const Reservation& reservation);
  void Strike(const Reservation& reservation);

  std::unordered_map<std::string, std::unique_ptr<Reservation>> reservations_;
  std::map<std::string, DeviceBook, std::less<>> books_;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_ADMISSION_LEDGER_H_
