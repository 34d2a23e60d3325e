// What models take by batch, from the probes that ended: one table a probe, made
// when that is stored, so that no call replays or computes anything.
#ifndef MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_
#define MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>

#include "absl/strings/string_view.h"
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

// The tables of one model as they were at one moment; a value.
class ModelNeeds {
 public:
  ModelNeeds() = default;

  // What `need`, of this model, takes on `device`: by probes that ran there or
  // on a device of the same name and total.
  FoundNeed On(const ModelNeed& need, const Device& device) const;

 private:
  friend class PlanNeeds;
  // What kind of device a probe ran on; `cpu` has no total.
  struct DeviceType {
    std::string name;
    std::optional<Bytes> total;
  };
  struct Entry {
    ProbeSpec spec;
    DeviceType type;
    NeedTable table;
  };
  using Entries = std::deque<std::shared_ptr<const Entry>>;  // the newest first

  static DeviceType TypeIn(absl::string_view identity);
  static bool IsOf(const DeviceType& type, const Device& device);

  std::shared_ptr<const Entries> entries_;  // null: no plan
};

// Thread-safe.
class PlanNeeds {
 public:
  // Takes a probe in that has ended; nothing if none of its trials fit.
  void Add(const Probe& probe);

  // So that a job is looked up once, and then judged on each device.
  ModelNeeds Of(const std::string& model_sha256) const;
  FoundNeed Find(const ModelNeed& need, const Device& device) const {
    return Of(need.model_sha256).On(need, device);
  }

  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, ModelNeeds> models_;  // under mutex_
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_PLAN_NEEDS_H_
