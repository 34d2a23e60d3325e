// What happens by itself: snapshots come, processes grow and end, lifetimes are
// over, devices go. Also the takeover of what a daemon of before left.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/admission/ledger_admission.h"

namespace memplan {
namespace {

// A device that is not listed for this long, while others are, is gone.
constexpr absl::Duration kGoneAfter = absl::Seconds(5);
// No chain of parents is longer, so that a loop in what /proc said ends.
constexpr int kMostAncestors = 64;

// The reservation that a process of the device belongs to: its own, or that of
// its nearest ancestor that has one; empty if none has.
std::string OwnerOf(int64_t pid, const ProcessTable& processes,
                    const std::map<int64_t, std::string>& adopted) {
  for (int i = 0; i < kMostAncestors && pid > 0; ++i) {
    if (const auto own = adopted.find(pid); own != adopted.end()) {
      return own->second;
    }
    const auto entry = processes.Find(pid);
    if (!entry) break;
    pid = entry->parent;
  }
  return "";
}

// Likewise over a whole table.
std::string OwnerIn(int64_t pid, const std::map<int64_t, ProcessEntry>& all,
                    const std::map<int64_t, std::string>& adopted) {
  for (int i = 0; i < kMostAncestors && pid > 0; ++i) {
    if (const auto own = adopted.find(pid); own != adopted.end()) {
      return own->second;
    }
    const auto entry = all.find(pid);
    if (entry == all.end()) break;
    pid = entry->second.parent;
  }
  return "";
}

void CountEnd(const Reservation& ended, AdmissionCounts& counts) {
  ++counts.ended[static_cast<size_t>(ended.state)];
  if (ended.state == ReservationState::kExpired && ended.peak == Bytes(0)) {
    ++counts.expired_unused;
  }
}

}  // namespace

std::vector<LedgerAdmission::Watched> LedgerAdmission::WatchedNow() const {
  std::vector<Watched> watched;
  ledger_.ForEachAdopted([&](const Reservation& each) {
    watched.push_back({each.id, each.device_id, each.processes});
  });
  return watched;
}

LedgerAdmission::Findings LedgerAdmission::FindOut(
    const std::vector<Watched>& watched,
    std::shared_ptr<const DeviceSnapshot> snapshot) const {
  Findings findings;
  findings.snapshot = std::move(snapshot);
  // By device and pid, the reservations of processes that live.
  std::map<std::string, std::map<int64_t, std::string>> adopted;
  for (const Watched& each : watched) {
    for (const HeldProcess& process : each.processes) {
      const auto entry = parts_.processes.Find(process.pid);
      if (entry && entry->start_ticks == process.start_ticks) {
        adopted[each.device_id][process.pid] = each.id;
      } else {
        findings.ended[each.id].push_back(process);
      }
    }
  }
  if (findings.snapshot == nullptr) return findings;
  for (const Device& device : findings.snapshot->devices) {
    const auto on_it = adopted.find(device.id);
    if (on_it == adopted.end()) continue;
    for (const auto& [pid, id] : on_it->second) {
      findings.measured.emplace(id, Bytes(0));
    }
    const auto add = [&](int64_t pid, const std::string& owner,
                         std::optional<Bytes> used) {
      if (owner.empty()) return;
      findings.owners[device.id][pid] = owner;
      std::optional<Bytes>& sum = findings.measured[owner];
      if (!used) sum.reset();
      if (sum) *sum += *used;
    };
    if (device.is_cpu) {
      // The host lists no processes as a driver does.
      const auto all = parts_.processes.All();
      for (const auto& [pid, entry] : all) {
        add(pid, OwnerIn(pid, all, on_it->second), entry.resident);
      }
      continue;
    }
    for (const DeviceProcess& process : device.processes) {
      add(process.pid, OwnerOf(process.pid, parts_.processes, on_it->second),
          process.used);
    }
  }
  return findings;
}

void LedgerAdmission::TakeSnapshot(
    const std::shared_ptr<const DeviceSnapshot>& snapshot) {
  if (snapshot == nullptr) return;
  const absl::Duration now = parts_.now();
  standings_.clear();
  for (const Device& device : snapshot->devices) {
    Reading& reading = readings_[device.id];
    reading.listed = now;
    const int64_t id = device.snapshot_id;
    // A device that cannot be read keeps the age of its last reading.
    if (id != reading.snapshot_id && device.read_error.empty()) {
      reading.snapshot_id = id;
      reading.seen = now;
    }
    Standing& standing = standings_.emplace_back(Standing{.device = &device});
    if (reading.snapshot_id != 0) standing.seen = reading.seen;
  }
  room_changed_ = room_changed_ || snapshot != snapshot_;
  snapshot_ = snapshot;
}

void LedgerAdmission::TakeFindings(Findings findings) {
  const absl::Duration now = parts_.now();
  TakeSnapshot(findings.snapshot);
  owners_ = std::move(findings.owners);
  for (const auto& [id, measured] : findings.measured) {
    const Reservation* before = ledger_.Find(id);
    if (before == nullptr) continue;
    const bool was_over = IsOverPromise(*before);
    ledger_.Observe(id, measured);
    if (was_over || !IsOverPromise(*before)) continue;
    spdlog::warn("reservation {} ({}) on {} uses {} and was promised {}", id,
                 before->holder, before->device_id, FormatBytes(before->peak),
                 FormatBytes(before->promised));
  }
  for (const auto& [id, ended] : findings.ended) {
    if (ledger_.Find(id) == nullptr) continue;
    ledger_.DropProcesses(id, ended, now);
    room_changed_ = true;
    const Reservation& left = *ledger_.Find(id);
    if (left.durable) parts_.store.Save(left, [](const absl::Status&) {});
  }
}

void LedgerAdmission::EndWhatIsOver() {
  for (const std::string& id : ledger_.Expired(parts_.now())) {
    const Reservation ended = End(id, ReservationState::kExpired);
    spdlog::info("reservation {} ({}) on {} has expired with {}", ended.id,
                 ended.holder, ended.device_id, FormatBytes(ended.promised));
    parts_.store.Save(ended, [](const absl::Status&) {});
  }
  if (snapshot_ == nullptr || !snapshot_->gpus_known ||
      !snapshot_->gpu_absence_reason.empty()) {
    return;
  }
  for (const std::string& device_id : ledger_.Devices()) {
    const auto reading = readings_.find(device_id);
    const absl::Duration listed =
        reading == readings_.end() ? first_snapshot_ : reading->second.listed;
    if (parts_.now() - listed >= kGoneAfter) EndAllOn(device_id);
  }
}

void LedgerAdmission::EndAllOn(const std::string& device_id) {
  std::vector<std::string> ids;
  ledger_.ForEach([&](const Reservation& each) {
    if (each.device_id == device_id && each.durable) ids.push_back(each.id);
  });
  for (const std::string& id : ids) {
    const Reservation ended = End(id, ReservationState::kDeviceGone);
    spdlog::warn("reservation {} ({}) has ended: {} is gone", ended.id,
                 ended.holder, ended.device_id);
    parts_.store.Save(ended, [](const absl::Status&) {});
  }
}

Reservation LedgerAdmission::End(const std::string& id,
                                 ReservationState state) {
  Reservation ended = ledger_.Remove(id, state, absl::Now());
  CountEnd(ended, counts_);
  room_changed_ = true;
  LearnFrom(ended);
  KeepEnded(ended);
  return ended;
}

void LedgerAdmission::LearnFrom(const Reservation& reservation) {
  if (reservation.peak == Bytes(0)) return;
  policy_.Learn(
      {reservation.promised, reservation.peak, reservation.ran_out_of_memory});
  const double ratio = static_cast<double>(reservation.peak.count()) /
                       static_cast<double>(std::max<int64_t>(
                           reservation.need.expected.count(), 1));
  const auto bucket =
      std::lower_bound(kRatioBuckets.begin(), kRatioBuckets.end(), ratio);
  ++counts_.ratios
        .by_bucket[static_cast<size_t>(bucket - kRatioBuckets.begin())];
  counts_.ratios.sum += ratio;
}

void LedgerAdmission::KeepEnded(Reservation reservation) {
  ended_order_.push_back(reservation.id);
  ended_[reservation.id] = std::move(reservation);
  if (ended_order_.size() <= kKeptEndedReservations) return;
  const auto oldest = ended_.find(ended_order_.front());
  by_request_.erase(oldest->second.request_id);
  ended_.erase(oldest);
  ended_order_.pop_front();
}

void LedgerAdmission::Tick() {
  const auto snapshot = parts_.devices();
  std::vector<Watched> watched;
  {
    const std::lock_guard lock(mutex_);
    watched = WatchedNow();
  }
  Findings findings = FindOut(watched, snapshot);
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (snapshot_ == nullptr) first_snapshot_ = parts_.now();
    TakeFindings(std::move(findings));
    EndWhatIsOver();
    if (std::exchange(room_changed_, false)) ServeWaiters(calls);
  }
  for (const auto& call : calls) call();
}

absl::Status LedgerAdmission::Load() {
  MEMPLAN_ASSIGN_OR_RETURN(std::vector<StoredReservation> stored,
                           parts_.store.Load());
  const std::string boot_id = BootId();
  const std::lock_guard lock(mutex_);
  // The last to end comes first.
  std::reverse(stored.begin(), stored.end());
  for (StoredReservation& each : stored) {
    TakeOver(std::move(each), boot_id);
  }
  const auto expired = static_cast<size_t>(ReservationState::kExpired);
  if (const int64_t over = counts_.ended[expired]; over > 0) {
    spdlog::info("{} reservations ran out while no daemon was there", over);
  }
  return absl::OkStatus();
}

void LedgerAdmission::TakeOver(StoredReservation stored,
                               const std::string& boot_id) {
  Reservation& reservation = stored.reservation;
  if (!reservation.request_id.empty()) {
    by_request_[reservation.request_id] = reservation.id;
  }
  if (HasEnded(reservation.state)) {
    KeepEnded(std::move(reservation));
    return;
  }
  const absl::Duration now = parts_.now();
  const bool same_boot = !boot_id.empty() && stored.boot_id == boot_id;
  std::erase_if(reservation.processes, [&](const HeldProcess& process) {
    const auto entry = parts_.processes.Find(process.pid);
    return !same_boot || !entry || entry->start_ticks != process.start_ticks;
  });
  if (!reservation.processes.empty()) {
    ledger_.Add(std::move(reservation));
    return;
  }
  if (reservation.state == ReservationState::kAdopted) {
    // Its process ended while no daemon was there to see it.
    reservation.state = ReservationState::kPromised;
    reservation.expires_at = now + reservation.lifetime;
  } else if (!same_boot) {
    // Only the wall clock knows how long ago that was, and it may lie.
    const absl::Duration left = reservation.expires_at - stored.saved;
    const absl::Duration gone =
        std::clamp(absl::Now() - stored.saved_at, absl::ZeroDuration(), left);
    reservation.expires_at = now + (left - gone);
  }
  if (reservation.expires_at <= now) {
    // It ran out while no daemon was there. There may be many: to end them at a
    // tick would hold up the calls of that moment.
    reservation.state = ReservationState::kExpired;
    reservation.end_time = absl::Now();
    CountEnd(reservation, counts_);
    LearnFrom(reservation);
    parts_.store.Save(reservation, [](const absl::Status&) {});
    KeepEnded(std::move(reservation));
    return;
  }
  ledger_.Add(std::move(reservation));
}

AdmissionCounts LedgerAdmission::Counts() const {
  const std::lock_guard lock(mutex_);
  AdmissionCounts counts = counts_;
  for (size_t i = 0; i < verdicts_.size(); ++i) {
    for (size_t j = 0; j < verdicts_[i].size(); ++j) {
      counts.verdicts[i][j] = verdicts_[i][j].load(std::memory_order_relaxed);
    }
  }
  counts.waiters = static_cast<int64_t>(waiters_.size());
  counts.commits = parts_.store.commits();
  counts.suggested_headroom = policy_.Suggestion();
  counts.plans = static_cast<int64_t>(needs_.size());
  if (snapshot_ == nullptr) return counts;
  const absl::Duration now = parts_.now();
  for (const Standing& standing : standings_) {
    const Device& device = *standing.device;
    const DevicePromises promises = ledger_.PromisesOn(device.id);
    counts.devices.push_back({.device_id = device.id,
                              .sums = promises.sums,
                              .over_promise = promises.over_promise,
                              .age = standing.AgeAt(now),
                              .unattributed = device.unattributed});
  }
  return counts;
}

}  // namespace memplan
