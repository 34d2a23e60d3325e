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

ProbeTable::ProbePtr ProbeTable::TakeNext(const std::string& device_id) {
  Line& line = lines_[device_id];
  if (line.busy || line.waiting.empty()) return nullptr;
  const Sequence first = *line.waiting.begin();
  line.waiting.erase(first);
  line.busy = true;
  // The others' places stay: who took the first place is still before them.
  return probes_.at(first);
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
