#include "server/jobs/probe_table.h"

#include <algorithm>
#include <utility>

namespace memplan {

void ProbeTable::Put(Sequence sequence, Probe probe) {
  ProbePtr& kept = probes_[sequence];
  kept = std::make_shared<const Probe>(std::move(probe));
  changes_.push_back(kept);
}

void ProbeTable::Add(Probe probe) {
  const Sequence sequence = ++last_;
  by_id_[probe.id] = sequence;
  if (!probe.request_id.empty()) by_request_id_[probe.request_id] = sequence;
  Line& line = lines_[probe.spec.device_id];
  if (probe.state == ProbeState::kQueued) {
    probe.queue_position =
        static_cast<int>(line.waiting.size()) + (line.busy ? 1 : 0);
    line.waiting.insert(sequence);
  }
  Put(sequence, std::move(probe));
}

void ProbeTable::Erase(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const auto probe = probes_.find(found->second);
  by_request_id_.erase(probe->second->request_id);
  probes_.erase(probe);
  by_id_.erase(found);
}

ProbeTable::ProbePtr ProbeTable::Get(std::string_view id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : probes_.at(found->second);
}

ProbeTable::ProbePtr ProbeTable::WithRequestId(
    std::string_view request_id) const {
  const auto found = by_request_id_.find(request_id);
  return found == by_request_id_.end() ? nullptr : probes_.at(found->second);
}

std::vector<ProbeTable::ProbePtr> ProbeTable::NewestFirst() const {
  std::vector<ProbePtr> probes;
  probes.reserve(probes_.size());
  for (auto probe = probes_.rbegin(); probe != probes_.rend(); ++probe) {
    probes.push_back(probe->second);
  }
  return probes;
}

int ProbeTable::CountIn(ProbeState state) const {
  return static_cast<int>(std::count_if(
      probes_.begin(), probes_.end(),
      [state](const auto& entry) { return entry.second->state == state; }));
}

bool ProbeTable::CanTake(const std::string& device_id) const {
  const auto line = lines_.find(device_id);
  return line != lines_.end() && !line->second.busy &&
         !line->second.waiting.empty();
}

ProbeTable::ProbePtr ProbeTable::TakeNext(
    const std::string& device_id,
    absl::FunctionRef<bool(const Probe&)> may_run) {
  if (!CanTake(device_id)) return nullptr;
  Line& line = lines_[device_id];
  for (const Sequence sequence : line.waiting) {
    const ProbePtr probe = probes_.at(sequence);
    if (!may_run(*probe)) continue;
    line.waiting.erase(sequence);
    line.busy = true;
    // Who was taken is before all the others now, also before those it passed.
    Renumber(line);
    return probe;
  }
  return nullptr;
}

void ProbeTable::SetWaitingFor(std::string_view id,
                               std::optional<WaitingFor> waiting_for) {
  const Sequence sequence = by_id_.find(id)->second;
  if (probes_.at(sequence)->waiting_for == waiting_for) return;
  Probe next = *probes_.at(sequence);
  next.waiting_for = std::move(waiting_for);
  ++next.version;
  Put(sequence, std::move(next));
}

std::map<WaitingReason, int64_t> ProbeTable::CountWaiting() const {
  std::map<WaitingReason, int64_t> counts;
  for (const auto& [device, line] : lines_) {
    for (const Sequence sequence : line.waiting) {
      const ProbePtr& probe = probes_.at(sequence);
      if (probe->waiting_for) ++counts[probe->waiting_for->reason];
    }
  }
  return counts;
}

void ProbeTable::Release(const std::string& device_id) {
  Line& line = lines_[device_id];
  line.busy = false;
  Renumber(line);
}

bool ProbeTable::LeaveLine(std::string_view id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return false;
  Line* line = LineOf(found->second);
  if (line == nullptr) return false;
  line->waiting.erase(found->second);
  Renumber(*line);
  return true;
}

void ProbeTable::RejoinLine(std::string_view id) {
  const Sequence sequence = by_id_.find(id)->second;
  Line& line = lines_[probes_.at(sequence)->spec.device_id];
  line.waiting.insert(sequence);
  Renumber(line);
}

void ProbeTable::Update(Probe next) {
  const auto found = by_id_.find(next.id);
  if (found != by_id_.end()) Put(found->second, std::move(next));
}

std::vector<ProbeTable::ProbePtr> ProbeTable::TakeChanges() {
  return std::exchange(changes_, {});
}

ProbeTable::Line* ProbeTable::LineOf(Sequence sequence) {
  Line& line = lines_[probes_.at(sequence)->spec.device_id];
  return line.waiting.contains(sequence) ? &line : nullptr;
}

void ProbeTable::Renumber(const Line& line) {
  int position = line.busy ? 1 : 0;
  for (const Sequence sequence : line.waiting) {
    const ProbePtr& probe = probes_.at(sequence);
    if (probe->queue_position != position) {
      Probe moved = *probe;
      moved.queue_position = position;
      ++moved.version;
      Put(sequence, std::move(moved));
    }
    ++position;
  }
}

}  // namespace memplan
