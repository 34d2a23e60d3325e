// What models take by batch, from the probes that ended: one table a probe, made
// when that is stored, so that no call replays or computes anything.
#ifndef MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_
#define MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "planner/admission/device.h"
#include "planner/admission/need.h"
#include "planner/admission/need_table.h"
#include "planner/admission/verdict.h"
#include "server/probe/probe.h"

namespace memplan {

// How a job names its model; proto ModelNeed says more.
struct ModelNeed {
  std::string model_sha256 = {};
  int64_t batch = 1;
  std::optional<gpu::Mode> mode = {};
  std::optional<gpu::Optimizer> optimizer = {};
  std::string probe_id = {};
};

// A need, or why there is none: kNoPlan, kPlanAmbiguous, kBatchNotMeasured.
using FoundNeed = std::variant<Need, VerdictReason>;

// The table of the probe's trials that fit; empty if none did.
NeedTable TableOf(const Probe& probe);

// Thread-safe; look-ups take microseconds.
class PlanNeeds {
 public:
  // Takes a probe in that has ended; nothing if none of its trials fit.
  void Add(const Probe& probe);

  // What `need` takes on `device`: by probes that ran there or on a device of
  // the same name and total.
  FoundNeed Find(const ModelNeed& need, const Device& device) const;

  size_t size() const;

 private:
  struct Entry {
    ProbeSpec spec;
    std::string device_type;
    NeedTable table;
  };

  mutable std::mutex mutex_;
  // By model, the newest first; under mutex_.
  std::map<std::string, std::deque<Entry>, std::less<>> entries_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_
