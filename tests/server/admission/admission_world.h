// A node that a test plays: its devices, its processes, its time; and admission
// over a real store in a folder of its own.
#ifndef MEMPLAN_TESTS_SERVER_ADMISSION_ADMISSION_WORLD_H_
#define MEMPLAN_TESTS_SERVER_ADMISSION_ADMISSION_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "server/admission/admission.h"
#include "server/base/reason.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

class FakeProcesses final : public ProcessTable {
 public:
  std::optional<ProcessEntry> Find(int64_t pid) const override {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(pid);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }
  std::map<int64_t, ProcessEntry> All() const override {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  void Start(int64_t pid, int64_t start_ticks, int64_t parent = 1,
             Bytes resident = {}) {
    const std::lock_guard lock(mutex_);
    entries_[pid] = {parent, start_ticks, resident};
  }
  void End(int64_t pid) {
    const std::lock_guard lock(mutex_);
    entries_.erase(pid);
  }

 private:
  mutable std::mutex mutex_;
  std::map<int64_t, ProcessEntry> entries_;
};

class AdmissionWorld {
 public:
  explicit AdmissionWorld(AdmissionRules rules = Exact()) : rules_(rules) {
    Restart();
  }
  ~AdmissionWorld() { StopDaemon(); }

  // Without headroom, so that a test counts in whole GiB, without a tick, and with
  // readings that do not age while a test lets hours pass.
  static AdmissionRules Exact() {
    AdmissionRules rules;
    rules.headroom = Bytes(0);
    rules.max_age = std::chrono::hours(24);
    rules.tick = std::chrono::milliseconds(0);
    return rules;
  }

  // A card of this total with what its processes use, as it is read from now on.
  void SetCard(const std::string& id, Bytes total,
               std::vector<DeviceProcess> on_it = {}) {
    Device device;
    device.id = id;
    device.display_name = "Card";
    device.total = total;
    device.driver_reserve = Bytes(0);
    Bytes used;
    for (const DeviceProcess& process : on_it) used += *process.used;
    device.used = used;
    device.free = total - used;
    device.unattributed = Bytes(0);
    device.processes = std::move(on_it);
    SetDevice(std::move(device));
  }
  void SetDevice(Device device) {
    device.snapshot_id = ++snapshot_id_;
    auto next = std::make_shared<DeviceSnapshot>(*snapshot());
    std::erase_if(next->devices,
                  [&](const Device& each) { return each.id == device.id; });
    next->devices.push_back(std::move(device));
    Publish(std::move(next));
  }
  void LoseDevice(const std::string& id) {
    auto next = std::make_shared<DeviceSnapshot>(*snapshot());
    std::erase_if(next->devices,
                  [&](const Device& each) { return each.id == id; });
    Publish(std::move(next));
  }

  void StopDaemon() {
    if (admission_ == nullptr) return;
    store_->Stop();
    admission_->Stop();
    admission_ = nullptr;
    store_ = nullptr;
  }
  void Restart() {
    StopDaemon();
    store_ = *ReservationStore::Open(path());
    admission_ =
        *Admission::Start(rules_, {.devices = [this] { return snapshot(); },
                                   .processes = processes,
                                   .store = *store_,
                                   .now = [this] { return now(); }});
  }

  void Pass(absl::Duration time) {
    nanos_ += absl::ToInt64Nanoseconds(time);
    if (admission_ != nullptr) admission_->Tick();
  }
  absl::Duration now() const { return absl::Nanoseconds(nanos_.load()); }

  Answer Check(Bytes bytes, const std::string& device = "") {
    const auto answer = admission_->Check({.need = bytes, .device = device});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : Answer{.judgement = {}};
  }
  absl::StatusOr<Admitted> TryReserve(const ReserveSpec& spec) {
    auto promise = std::make_shared<std::promise<absl::StatusOr<Admitted>>>();
    admission_->Reserve(spec, [promise](absl::StatusOr<Admitted> admitted) {
      promise->set_value(std::move(admitted));
    });
    return promise->get_future().get();
  }
  // The reservation, or an empty one if it does not fit.
  Reservation Reserve(Bytes bytes, const std::string& device = "",
                      const std::string& request_id = "") {
    const auto admitted = TryReserve(
        {.job = {.need = bytes, .device = device}, .request_id = request_id});
    EXPECT_TRUE(admitted.ok()) << admitted.status();
    if (!admitted.ok() || !admitted->reservation) return {};
    return *admitted->reservation;
  }
  absl::StatusOr<Reservation> Adopt(const Reservation& reservation, int64_t pid,
                                    int64_t start_ticks = 0) {
    return Ask([&](Admission::ReservationCallback done) {
      admission_->Adopt(reservation.id, reservation.token, {pid, start_ticks},
                        std::move(done));
    });
  }
  absl::StatusOr<Reservation> Release(const Reservation& reservation) {
    return Ask([&](Admission::ReservationCallback done) {
      admission_->Release(reservation.id, reservation.token, std::move(done));
    });
  }
  absl::StatusOr<Reservation> Renew(const Reservation& reservation,
                                    absl::Duration lifetime) {
    return Ask([&](Admission::ReservationCallback done) {
      admission_->Renew(reservation.id, reservation.token, lifetime, {},
                        std::move(done));
    });
  }
  absl::StatusOr<Reservation> ReportOutOfMemory(
      const Reservation& reservation) {
    return Ask([&](Admission::ReservationCallback done) {
      admission_->ReportOutcome(reservation.id, reservation.token, true,
                                std::move(done));
    });
  }
  ReservationState StateOf(const Reservation& reservation) {
    const auto found = admission_->Get(reservation.id);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? found->state : ReservationState::kReleased;
  }

  std::string path() const { return dir_.Path("reservations.db"); }
  Admission& admission() { return *admission_; }
  ReservationStore& store() { return *store_; }

  FakeProcesses processes;

 private:
  template <typename Call>
  absl::StatusOr<Reservation> Ask(const Call& call) {
    auto promise =
        std::make_shared<std::promise<absl::StatusOr<Reservation>>>();
    call([promise](absl::StatusOr<Reservation> reservation) {
      promise->set_value(std::move(reservation));
    });
    return promise->get_future().get();
  }
  std::shared_ptr<const DeviceSnapshot> snapshot() const {
    const std::lock_guard lock(mutex_);
    return snapshot_;
  }
  void Publish(std::shared_ptr<const DeviceSnapshot> next) {
    {
      const std::lock_guard lock(mutex_);
      snapshot_ = std::move(next);
    }
    admission_->Tick();
  }

  const AdmissionRules rules_;
  TempDir dir_;
  mutable std::mutex mutex_;
  std::shared_ptr<const DeviceSnapshot> snapshot_ =
      std::make_shared<DeviceSnapshot>();
  int64_t snapshot_id_ = 0;
  std::atomic<int64_t> nanos_ = int64_t{1'000'000'000'000};
  std::unique_ptr<ReservationStore> store_;
  std::unique_ptr<Admission> admission_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_ADMISSION_ADMISSION_WORLD_H_
