// All probes in memory, and the line before each device. Pure book-keeping: no
// threads, no disk, no clock.
//
//   line of GPU-1:   [p4] p7 p9          p4 was taken: GPU-1 is busy with it
//   queue_position        1  2
#ifndef MEMPLAN_SERVER_JOBS_PROBE_TABLE_H_
#define MEMPLAN_SERVER_JOBS_PROBE_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/probe/probe.h"

namespace memplan {

// Not thread-safe. A probe in line is changed by the table alone (its place);
// one that has left the line, by whoever took it out.
class ProbeTable {
 public:
  using ProbePtr = std::shared_ptr<const Probe>;

  // Adds a probe with a new id, the youngest of all. A queued one goes to the
  // end of its device's line.
  void Add(Probe probe);
  // Forgets a probe that is not in line.
  void Erase(std::string_view id);

  // The probe as it is now, or null.
  ProbePtr Get(std::string_view id) const;
  // The probe that was created with `request_id`, or null; null for none.
  ProbePtr WithRequestId(std::string_view request_id) const;
  std::vector<ProbePtr> NewestFirst() const;
  int CountIn(ProbeState state) const;

  // True if the device is free and somebody waits for it.
  bool CanTake(const std::string& device_id) const;
  // Takes the first probe that `may_run` accepts out of the device's line and
  // makes the device busy. Null if it is busy already or there is no such probe.
  ProbePtr TakeNext(
      const std::string& device_id,
      absl::FunctionRef<bool(const Probe&)> may_run = [](const Probe&) {
        return true;
      });
  // Says what a probe in line waits for besides its place; nothing for nothing.
  void SetWaitingFor(std::string_view id,
                     std::optional<WaitingFor> waiting_for);
  // How many probes in line wait for what.
  std::map<WaitingReason, int64_t> CountWaiting() const;
  // The device is free again.
  void Release(const std::string& device_id);
  // Takes a probe out of its line; false if it is in none.
  bool LeaveLine(std::string_view id);
  // Puts a queued probe that left its line back in its old place.
  void RejoinLine(std::string_view id);

  // Replaces a probe that is in no line by `next`, which has its id.
  void Update(Probe next);

  // Every version of a probe that came to be since the last call, in order.
  std::vector<ProbePtr> TakeChanges();

 private:
  // Probes by when they were added, from 1.
  using Sequence = int64_t;
  struct Line {
    std::set<Sequence> waiting;
    bool busy = false;
  };

  void Put(Sequence sequence, Probe probe);
  // The line that the probe waits in, or null.
  Line* LineOf(Sequence sequence);
  // Tells each probe in the line its place, if that is another now.
  void Renumber(const Line& line);

  std::map<Sequence, ProbePtr> probes_;
  std::map<std::string, Sequence, std::less<>> by_id_;
  std::map<std::string, Sequence, std::less<>> by_request_id_;
  std::map<std::string, Line> lines_;  // by device
  std::vector<ProbePtr> changes_;
  Sequence last_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_JOBS_PROBE_TABLE_H_
