#include "planner/admission/waiting_line.h"

#include <algorithm>
#include <limits>

namespace memplan {

WaitingLine::Ticket WaitingLine::Add(absl::Duration since,
                                     std::vector<std::string> devices) {
  const Ticket ticket(since, ++last_);
  waiters_.emplace(ticket, std::move(devices));
  return ticket;
}

void WaitingLine::Remove(const Ticket& ticket) { waiters_.erase(ticket); }

bool WaitingLine::IsHeld(std::string_view device_id, absl::Duration now) const {
  return IsHeld(
      device_id, now,
      {absl::InfiniteDuration(), std::numeric_limits<int64_t>::max()});
}

bool WaitingLine::IsHeld(std::string_view device_id, absl::Duration now,
                         const Ticket& ticket) const {
  for (const auto& [other, devices] : waiters_) {
    if (other >= ticket || now - other.first < kPassable) return false;
    if (std::find(devices.begin(), devices.end(), device_id) != devices.end()) {
      return true;
    }
  }
  return false;
}

std::vector<WaitingLine::Ticket> WaitingLine::InOrder() const {
  std::vector<Ticket> tickets;
  tickets.reserve(waiters_.size());
  for (const auto& [ticket, devices] : waiters_) tickets.push_back(ticket);
  return tickets;
}

}  // namespace memplan
