// A probe as the daemon keeps it: the spec, where it stands, its trials and its
// answer. Plain values; proto/memplan/v1/probe_service.proto says what each
// field means.
#ifndef MEMPLAN_SERVER_PROBE_PROBE_H_
#define MEMPLAN_SERVER_PROBE_PROBE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/messages/step_options.h"
#include "planner/plan/batch_search.h"
#include "planner/plan/budget.h"
#include "planner/plan/input_spec.h"
#include "planner/plan/plan.h"
#include "planner/plan/trial.h"

namespace memplan {

using Time = std::chrono::system_clock::time_point;

struct ProfileTask {
  std::vector<int64_t> batches;
  friend bool operator==(const ProfileTask&, const ProfileTask&) = default;
};

// The largest batch that ran and the smallest that failed; 0: none.
struct KnownBatches {
  int64_t largest_running = 0;
  int64_t smallest_failing = 0;
};
KnownBatches BatchesKnownFrom(std::span<const Trial> trials);

// How a search finds its answer. The same words as proto SearchMethod.
enum class SearchMethod {
  kAuto,     // kPredict where it is possible, then kBisect if it does not hold
  kPredict,  // from recordings of small batches; no answer if that does not hold
  kBisect,
};

// What a probe is to do. Valid: made by the converter, which refuses the rest.
struct ProbeSpec {
  std::string model_sha256;
  std::string device_id;
  std::vector<InputSpec> inputs;
  std::map<std::string, int64_t> dimensions;
  gpu::Mode mode = gpu::Mode::kInfer;
  gpu::Optimizer optimizer = gpu::Optimizer::kNone;
  gpu::RunAs run_as = gpu::RunAs::kTorchScript;
  int steps = 4;
  gpu::StepOptions step;
  std::string loss_model_sha256;  // of the loss program; empty for none
  // Of the optimizer in the user's program; workers run libtorch's.
  gpu::OptimizerImplementation optimizer_implementation =
      gpu::OptimizerImplementation::kLibtorch;
  MemoryLimit limit;
  std::variant<ProfileTask, SearchOptions> task;
  SearchMethod method = SearchMethod::kAuto;  // of a search
  std::chrono::milliseconds trial_timeout = std::chrono::minutes(10);
  std::optional<std::chrono::milliseconds> time_limit;  // of running, in all
  int max_trials = 0;  // 0: as many as it takes
  int niceness = 0;    // of the workers; 0 to 19
  bool only_when_idle = false;
  friend bool operator==(const ProbeSpec&, const ProbeSpec&) = default;
};

enum class ProbeState { kQueued, kRunning, kSucceeded, kFailed, kCancelled };

// True for the last three.
bool HasEnded(ProbeState state);

// Why a queued probe that nothing is before does not run. The same words as
// proto WaitingReason.
enum class WaitingReason {
  kRoom,           // the device has less memory left than it may take
  kIdle,           // it is to run alone on the device, and is not alone
  kDeviceNotRead,  // nobody knows what the device has left
  kDeviceLost,     // the device cannot be read, or is gone
  kWorkers,        // workers could not be started again and again
};

struct WaitingFor {
  WaitingReason reason = WaitingReason::kRoom;
  std::string words;  // with the numbers
  friend bool operator==(const WaitingFor&, const WaitingFor&) = default;
};

// What a running probe does at this moment.
struct ProbeProgress {
  int trial_number = 0;  // from 1
  int64_t batch = 0;
  TrialPurpose purpose = TrialPurpose::kSearch;
  std::string phase;  // start, load, step, report
  int steps_done = 0;
  int steps_total = 0;
  int64_t largest_running_batch = 0;   // 0: none known
  int64_t smallest_failing_batch = 0;  // 0: none known
};

// Why a probe failed: what a service method would return.
struct ProbeError {
  absl::StatusCode code = absl::StatusCode::kInternal;
  std::string reason;  // ErrorInfo.reason; docs/errors.md
  std::string message;
  std::string field;  // path in CreateProbeRequest, or empty
};

struct Probe {
  std::string id;
  std::string request_id;
  ProbeSpec spec;
  ProbeState state = ProbeState::kQueued;
  Time create_time;
  std::optional<Time> start_time;
  std::optional<Time> end_time;
  std::vector<Trial> trials;
  std::optional<Plan> plan;
  std::optional<ProbeError> error;
  int restart_count = 0;
  std::string worker_version;   // of the workers that ran `trials`
  std::string device_identity;  // of the device they ran on
  // Why trials of an earlier daemon were dropped; empty if they were not.
  std::string begun_anew_reason;
  std::optional<ProbeProgress> progress;
  int queue_position = 0;
  std::optional<WaitingFor> waiting_for;  // only in line
  int64_t version = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROBE_PROBE_H_
