// One CreateProbe call on its way: checks what needs nothing, then what needs
// the devices, then, where it may wait for the disk, the worker; then the probe
// is the job queue's. Each step runs wherever the one before it ended.
//
//   request ─▶ spec ─▶ devices ─▶ (disk's queue) worker ─▶ job queue ─▶ answer
#ifndef MEMPLAN_SERVER_SERVICES_PROBE_CREATION_H_
#define MEMPLAN_SERVER_SERVICES_PROBE_CREATION_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/probe_service.pb.h"
#include "server/base/work_queue.h"
#include "server/devices/device_monitor.h"
#include "server/jobs/probe_jobs.h"
#include "server/jobs/trial_runner.h"
#include "server/services/places.h"
#include "server/services/unary_answer.h"

namespace memplan {

// What the steps need. All outlive the calls.
struct ProbeSupport {
  ProbeJobs& jobs;
  const TrialRunner& runner;
  DeviceMonitor& devices;
  WorkQueue& disk;
  Places& watches;  // and waits
  // The most that one call of WaitProbe waits.
  std::chrono::milliseconds longest_wait = std::chrono::minutes(5);
};

// Lives as long as a step is to come; used by one thread at a time.
class ProbeCreation : public std::enable_shared_from_this<ProbeCreation> {
 public:
  // `request` and `response` live until the answer is given. `call_id` is the
  // call's request id, for the log.
  ProbeCreation(const ProbeSupport& support, UnaryAnswer answer,
                std::string call_id, const v1::CreateProbeRequest& request,
                v1::CreateProbeResponse& response);

  // Takes the first step. An error is for the caller to answer with.
  absl::Status Start();

 private:
  absl::Status CheckDevice(
      const absl::StatusOr<std::shared_ptr<const DeviceSnapshot>>& snapshot);
  absl::Status CheckWorkerAndCreate();
  absl::Status Answer(const absl::StatusOr<ProbeJobs::ProbePtr>& probe);

  const ProbeSupport support_;
  const UnaryAnswer answer_;
  const std::string call_id_;
  const v1::CreateProbeRequest& request_;
  v1::CreateProbeResponse& response_;
  ProbeSpec spec_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_PROBE_CREATION_H_
