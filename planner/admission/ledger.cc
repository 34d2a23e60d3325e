#include "planner/admission/ledger.h"

#include <algorithm>

namespace memplan {

Bytes ClaimOf(const Reservation& reservation) {
  return std::max(reservation.promised,
                  reservation.measured.value_or(Bytes(0)));
}

Bytes Outstanding(const Reservation& reservation) {
  if (HasEnded(reservation.state)) return Bytes(0);
  return std::max(
      reservation.promised - reservation.measured.value_or(Bytes(0)), Bytes(0));
}

void Ledger::Enter(const Reservation& reservation) {
  DeviceBook& book = books_[reservation.device_id];
  book.sums.promised += reservation.promised;
  book.sums.outstanding += Outstanding(reservation);
  book.sums.measured += reservation.measured.value_or(Bytes(0));
  if (IsOverPromise(reservation)) ++book.over_promise;
  book.claims.emplace(ClaimOf(reservation), &reservation);
  if (reservation.state == ReservationState::kAdopted) {
    ++book.sums.adopted;
    book.adopted.insert(&reservation);
  } else {
    ++book.sums.waiting;
    book.expiries.emplace(reservation.expires_at, reservation.id);
  }
}

void Ledger::Strike(const Reservation& reservation) {
  const auto found = books_.find(reservation.device_id);
  DeviceBook& book = found->second;
  book.sums.promised -= reservation.promised;
  book.sums.outstanding -= Outstanding(reservation);
  book.sums.measured -= reservation.measured.value_or(Bytes(0));
  if (IsOverPromise(reservation)) --book.over_promise;
  book.claims.erase({ClaimOf(reservation), &reservation});
  if (reservation.state == ReservationState::kAdopted) {
    --book.sums.adopted;
    book.adopted.erase(&reservation);
  } else {
    --book.sums.waiting;
    book.expiries.erase({reservation.expires_at, reservation.id});
  }
  if (book.claims.empty()) books_.erase(found);
}

template <typename Change>
void Ledger::Edit(const std::string& id, const Change& change) {
  const auto found = reservations_.find(id);
  if (found == reservations_.end()) return;
  Strike(*found->second);
  change(*found->second);
  Enter(*found->second);
}

const Reservation& Ledger::Add(Reservation reservation) {
  std::string id = reservation.id;
  auto& place = reservations_[std::move(id)];
  place = std::make_unique<Reservation>(std::move(reservation));
  Enter(*place);
  return *place;
}

const Reservation* Ledger::Find(std::string_view id) const {
  const auto found = reservations_.find(std::string(id));
  return found == reservations_.end() ? nullptr : found->second.get();
}

Reservation Ledger::Remove(const std::string& id, ReservationState end,
                           absl::Time now) {
  const auto found = reservations_.find(id);
  Strike(*found->second);
  Reservation removed = std::move(*found->second);
  reservations_.erase(found);
  removed.state = end;
  removed.end_time = now;
  removed.processes.clear();
  removed.measured.reset();
  return removed;
}

void Ledger::Renew(const std::string& id, absl::Duration now,
                   absl::Duration lifetime, Bytes promised) {
  Edit(id, [&](Reservation& reservation) {
    reservation.lifetime = lifetime;
    reservation.expires_at = now + lifetime;
    reservation.promised = std::min(reservation.promised, promised);
  });
}

void Ledger::Adopt(const std::string& id, HeldProcess process) {
  Edit(id, [&](Reservation& reservation) {
    auto& processes = reservation.processes;
    if (std::find(processes.begin(), processes.end(), process) ==
        processes.end()) {
      processes.push_back(process);
    }
    reservation.state = ReservationState::kAdopted;
  });
}

void Ledger::DropProcesses(const std::string& id,
                           const std::vector<HeldProcess>& ended,
                           absl::Duration now) {
  Edit(id, [&](Reservation& reservation) {
    std::erase_if(reservation.processes, [&](const HeldProcess& process) {
      return std::find(ended.begin(), ended.end(), process) != ended.end();
    });
    if (!reservation.processes.empty()) return;
    reservation.state = ReservationState::kPromised;
    reservation.expires_at = now + reservation.lifetime;
    reservation.measured.reset();
  });
}

void Ledger::Observe(const std::string& id, std::optional<Bytes> measured) {
  const Reservation* known = Find(id);
  if (known == nullptr || known->measured == measured) return;
  Edit(id, [&](Reservation& reservation) {
    reservation.measured = measured;
    reservation.peak = std::max(reservation.peak, measured.value_or(Bytes(0)));
  });
}

void Ledger::TellOutOfMemory(const std::string& id) {
  Edit(id,
       [](Reservation& reservation) { reservation.ran_out_of_memory = true; });
}

std::vector<std::string> Ledger::Expired(absl::Duration now) const {
  std::vector<std::string> ids;
  for (const auto& [device_id, book] : books_) {
    for (const auto& [expires_at, id] : book.expiries) {
      if (expires_at > now) break;
      ids.push_back(id);
    }
  }
  return ids;
}

DevicePromises Ledger::PromisesOn(std::string_view device_id) const {
  const auto found = books_.find(device_id);
  if (found == books_.end()) return {};
  const DeviceBook& book = found->second;
  DevicePromises promises = {.sums = book.sums,
                             .over_promise = book.over_promise};
  if (!book.expiries.empty()) {
    promises.next_expiry = book.expiries.begin()->first;
  }
  return promises;
}

std::vector<const Reservation*> Ledger::LargestOn(std::string_view device_id,
                                                  size_t most) const {
  std::vector<const Reservation*> largest;
  const auto found = books_.find(device_id);
  if (found == books_.end()) return largest;
  const auto& claims = found->second.claims;
  for (auto claim = claims.rbegin();
       claim != claims.rend() && largest.size() < most; ++claim) {
    largest.push_back(claim->second);
  }
  return largest;
}

std::vector<std::string> Ledger::Devices() const {
  std::vector<std::string> ids;
  ids.reserve(books_.size());
  for (const auto& [id, book] : books_) ids.push_back(id);
  return ids;
}

void Ledger::ForEach(
    const std::function<void(const Reservation&)>& visit) const {
  for (const auto& [id, reservation] : reservations_) visit(*reservation);
}

void Ledger::ForEachAdopted(
    const std::function<void(const Reservation&)>& visit) const {
  for (const auto& [device_id, book] : books_) {
    for (const Reservation* reservation : book.adopted) visit(*reservation);
  }
}

}  // namespace memplan
