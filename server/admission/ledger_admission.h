// Admission over a ledger. Its parts: judging (ledger_admission_judge.cc), the
// calls (ledger_admission.cc), waiters (…_wait.cc), the tick (…_tick.cc).
#ifndef MEMPLAN_SERVER_ADMISSION_LEDGER_ADMISSION_H_
#define MEMPLAN_SERVER_ADMISSION_LEDGER_ADMISSION_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "planner/admission/headroom_policy.h"
#include "planner/admission/ledger.h"
#include "planner/admission/waiting_line.h"
#include "server/admission/admission.h"
#include "server/base/ticker.h"
#include "server/base/timers.h"

namespace memplan {

class LedgerAdmission final : public Admission {
 public:
  LedgerAdmission(AdmissionRules rules, AdmissionParts parts);
  ~LedgerAdmission() override;

  // Takes over what the store holds; call it once, first.
  absl::Status Load();
  void StartTicking();

  absl::StatusOr<Answer> Check(const JobSpec& job) override;
  void Reserve(const ReserveSpec& spec, AdmittedCallback done) override;
  int64_t Wait(const ReserveSpec& spec, std::chrono::milliseconds patience,
               AdmittedCallback done) override;
  void CancelWait(int64_t number) override;
  void Renew(const std::string& id, const std::string& token,
             absl::Duration lifetime, std::optional<Bytes> promised,
             ReservationCallback done) override;
  void Adopt(const std::string& id, const std::string& token,
             HeldProcess process, ReservationCallback done) override;
  void Release(const std::string& id, const std::string& token,
               ReservationCallback done) override;
  void ReportOutcome(const std::string& id, const std::string& token,
                     bool ran_out_of_memory, ReservationCallback done) override;
  absl::StatusOr<Reservation> Get(std::string_view id) const override;
  std::vector<std::pair<std::string, absl::Time>> List(
      bool ended, const std::string& device_id) const override;
  absl::Duration LeftOf(const Reservation& reservation) const override;
  std::variant<int64_t, std::string> Hold(const Device& reading, Bytes least,
                                          bool all,
                                          const std::string& holder) override;
  void EndHold(int64_t hold) override;
  PlanNeeds& needs() override { return needs_; }
  AdmissionCounts Counts() const override;
  void Tick() override;
  void Drain() override;
  void Stop() override;

 private:
  using Ticket = WaitingLine::Ticket;
  using Calls = std::vector<std::function<void()>>;

  // How a device was read last.
  struct Reading {
    int64_t snapshot_id = 0;
    absl::Duration seen;    // since boot
    absl::Duration listed;  // when it was in a snapshot for the last time
  };
  // A device of the snapshot with what is looked up once, when that comes.
  struct Standing {
    const Device* device = nullptr;
    std::optional<absl::Duration> seen = {};  // since boot; unset: never read

    // How old its reading is, at least 0; unset if it was never read.
    std::optional<absl::Duration> AgeAt(absl::Duration now) const;
  };
  struct Waiter {
    int64_t number = 0;
    ReserveSpec spec;
    AdmittedCallback done;
    Timers::Id timer;
  };
  // What a tick finds out without the mutex.
  struct Watched {
    std::string id;
    std::string device_id;
    std::vector<HeldProcess> processes;
  };
  struct Findings {
    std::shared_ptr<const DeviceSnapshot> snapshot;
    std::map<std::string, std::vector<HeldProcess>> ended;  // by reservation
    std::map<std::string, std::optional<Bytes>> measured;   // by reservation
    // The reservation of each process on a device.
    std::map<std::string, std::map<int64_t, std::string>> owners;
  };

  // With mutex_ held, but for the first.
  void Count(const Judgement& judgement);
  // What is the same for every device that a job is judged on.
  struct Question {
    const JobSpec& job;
    const Ticket* ticket;  // null: it has no place in the line
    absl::Duration now;
    Bytes headroom;
    ModelNeeds model;  // none if the job states its bytes
  };
  absl::StatusOr<Answer> JudgeJob(const JobSpec& job, const Ticket* ticket);
  absl::StatusOr<std::vector<Standing>> Candidates(
      const std::string& device) const;
  static FoundNeed NeedOn(const Question& question, const Device& device);
  Judgement JudgeOn(const Question& question, const Standing& standing) const;
  Bytes HeadroomOf(const JobSpec& job, Bytes suggestion) const;
  std::vector<MemoryHolder> HoldersOf(const Device& device, size_t most) const;

  absl::Status CheckRoomForOne() const;
  // The reservation that `spec`'s request_id made, if there is one.
  absl::StatusOr<std::optional<Reservation>> MadeBefore(
      const ReserveSpec& spec) const;
  void AnswerAgain(Reservation reservation, const ReserveSpec& spec,
                   AdmittedCallback done);
  void Grant(const ReserveSpec& spec, Answer answer, AdmittedCallback done);
  // For one that waited: its request_id may have been served meanwhile.
  void GrantOnce(const ReserveSpec& spec, Answer answer, AdmittedCallback done);
  void AfterSave(const std::string& id, const absl::Status& saved);
  absl::StatusOr<const Reservation*> Owned(const std::string& id,
                                           const std::string& token) const;
  absl::Status CheckAdoptable(const Reservation& reservation,
                              const HeldProcess& process,
                              const std::optional<ProcessEntry>& entry) const;
  void SaveThen(const Reservation& reservation, ReservationCallback done);
  Reservation End(const std::string& id, ReservationState state);
  void KeepEnded(Reservation reservation);
  void LearnFrom(const Reservation& reservation);
  void TakeOver(StoredReservation stored, const std::string& boot_id);

  absl::Duration SinceWhen(const ReserveSpec& spec);
  void LeaveLine(const Ticket& ticket, bool comes_back);
  void ServeWaiters(Calls& calls);
  void OnPatienceOver(const Ticket& ticket);

  std::vector<Watched> WatchedNow() const;
  Findings FindOut(const std::vector<Watched>& watched,
                   std::shared_ptr<const DeviceSnapshot> snapshot) const;
  void TakeFindings(Findings findings);
  void TakeSnapshot(const std::shared_ptr<const DeviceSnapshot>& snapshot);
  void EndWhatIsOver();
  void EndAllOn(const std::string& device_id);

  const AdmissionRules rules_;
  const AdmissionParts parts_;
  PlanNeeds needs_;
  std::array<std::array<std::atomic<int64_t>, kVerdictReasons>, kVerdicts>
      verdicts_{};

  mutable std::mutex mutex_;
  // All below under mutex_.
  Ledger ledger_;
  std::shared_ptr<const DeviceSnapshot> snapshot_;
  std::vector<Standing> standings_;  // of snapshot_'s devices
  std::map<std::string, Reading, std::less<>> readings_;
  std::map<std::string, std::map<int64_t, std::string>> owners_;
  std::unordered_map<std::string, std::string> by_request_;  // id
  std::unordered_map<std::string, Reservation> ended_;
  std::deque<std::string> ended_order_;
  HeadroomPolicy policy_;
  WaitingLine line_;
  std::map<Ticket, Waiter> waiters_;
  std::map<std::string, std::pair<absl::Duration, absl::Duration>> returning_;
  AdmissionCounts counts_;
  int64_t last_number_ = 0;
  bool draining_ = false;
  absl::Duration first_snapshot_;  // when there was none before
  bool room_changed_ = false;      // something may have become free

  Timers timers_;
  std::unique_ptr<Ticker> ticker_;  // last: uses all of the above
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_LEDGER_ADMISSION_H_
