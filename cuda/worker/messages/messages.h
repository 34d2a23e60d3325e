// The messages between daemon and worker, as plain structs and JSON.
//
//   worker                         daemon
//     ── hello ─────────────────────▶    within the start deadline
//     ◀──────── prepare | run ──────     the first order names the program
//     ── sandboxed ─────────────────▶    once, if that order asks for a sandbox
//     ── prepared ──────────────────▶    prepare: device open, model loaded;
//                                        `report` instead if that failed
//     ◀───────────────────── run ──      as often as the daemon likes
//     ── progress* ─────────────────▶
//     ── settled ───────────────────▶    last step done, memory still held
//     ◀────────────────── proceed ──     the daemon has read the driver's figure
//     ── report ────────────────────▶    exits with 0 unless it is to stay
//     ◀──────────────── run_calls ──     between orders: operators, each alone
//     ── calls_report ──────────────▶
//     ◀───────────────────── end ──      exits with 0
//
// A worker that stays waits for the next order after `prepared`, `report` and
// `calls_report`; all orders are of the program that the first one named. Each
// run begins as in a fresh process, with a trace of its own; only the run after
// `prepare` goes on from the loaded model and the trace of its load. The daemon
// reads the trace after a report, before its next order.
//
// `sandboxed` says what is in force before the model is opened. A worker that
// must have a layer it lacks ends after it. One that lost its device (device
// assert) ends after its report, one that cannot be made fresh again ends with 6
// in place of an answer. A worker that fails in a step skips
// `settled` and sends its report. It exits by itself when the socket closes. The
// trace does not travel here: it lies in a memory file (trace_layout.h) that the
// daemon made.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_MESSAGES_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_MESSAGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda/worker/messages/end_class.h"
#include "cuda/worker/messages/sandbox_layer.h"
#include "cuda/worker/messages/step_options.h"
#include "planner/base/bytes.h"
#include "planner/plan/input_spec.h"
#include "planner/plan/trial.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/irregular_calls.h"

namespace memplan::gpu {

// Raised whenever a message or the trace layout changes.
inline constexpr int kProtocolVersion = 6;

// The descriptors a worker is started with.
inline constexpr int kChannelDescriptor = 3;
inline constexpr int kTraceDescriptor = 4;

enum class DeviceKind { kCuda, kCpu };
enum class Mode { kInfer, kInferGrad, kTrain };
enum class Optimizer { kNone, kSgd, kSgdMomentum, kAdam, kAdamW };
enum class RunAs { kTorchScript, kEager };

// infer, infer-grad, train; none, sgd, sgd-momentum…; torchscript, eager.
std::string_view ModeName(Mode mode);
std::string_view OptimizerName(Optimizer optimizer);
std::string_view RunAsName(RunAs run_as);

// Worker → daemon: alive.
struct Hello {
  int protocol_version = kProtocolVersion;
  int64_t pid = 0;
  std::string torch_version;
  friend bool operator==(const Hello&, const Hello&) = default;
};

// How a worker is to shut itself in before it opens the model.
struct SandboxOrder {
  // Nothing runs unless the core layers (sandbox_layer.h) are in force.
  bool required = false;
  std::string scratch_path;  // the folder it may write to; empty for none
  friend bool operator==(const SandboxOrder&, const SandboxOrder&) = default;
};

// Daemon → worker: what to run.
struct TrialRequest {
  std::string model_path;
  DeviceKind device = DeviceKind::kCpu;
  std::vector<InputSpec> inputs;
  std::map<std::string, int64_t> dimensions;
  int64_t batch = 1;
  Mode mode = Mode::kInfer;
  Optimizer optimizer = Optimizer::kNone;
  RunAs run_as = RunAs::kTorchScript;
  int steps = 4;
  StepOptions options;
  std::string loss_path;     // the loss program; empty for none
  std::optional<Bytes> cap;  // the allocator's; always set on the CPU device
  std::optional<SandboxOrder> sandbox;  // unset: none
  bool stay = false;  // wait for another order after the report
  friend bool operator==(const TrialRequest&, const TrialRequest&) = default;
};

// The steps of its trial: those asked for and those that its options add.
int StepCount(const TrialRequest& request);

// What a worker does with its device open, ahead of the order that needs it.
enum class Preparation {
  kProgram,  // it loads the program
  // Some steps of the program first, and all that they took is given back: what
  // libraries load at their first use is there then. How they end is not told.
  // Then it loads the program.
  kRehearsedProgram,
  kLibraries,  // no program, only what operators' libraries load at first use
};

// Daemon → worker: open the device and get ready, ahead of a run or of calls.
struct Prepare {
  // Batch and steps count for a rehearsal only. The cap is in force meanwhile;
  // the order that follows sets its own.
  TrialRequest program;
  Preparation preparation = Preparation::kProgram;
  friend bool operator==(const Prepare&, const Prepare&) = default;
};

// Worker → daemon: the model is loaded. What decides, beside libtorch, what an
// operator asks for; each at most 64 bytes, empty on the CPU device.
struct Prepared {
  std::string device_name;
  std::string driver_version;
  std::string cudnn_version;
  friend bool operator==(const Prepared&, const Prepared&) = default;
};

// Daemon → worker: run each operator call alone. The model is let go of first.
struct RunCalls {
  std::vector<DistinctCall> calls;  // their `calls` do not travel
  std::optional<Bytes> cap;         // the device must not hold more for them
  friend bool operator==(const RunCalls&, const RunCalls&) = default;
};

// What a call did: plans as in CallPlans::distinct, or none and why.
struct CallResult {
  std::vector<CallPlan> plans;
  std::string fault;  // for people, at most 1 kB; empty if there are plans
  friend bool operator==(const CallResult&, const CallResult&) = default;
};

// Worker → daemon: one result for each call, in their order.
struct CallsReport {
  std::vector<CallResult> results;
  friend bool operator==(const CallsReport&, const CallsReport&) = default;
};

// Daemon → worker: no order follows.
struct End {
  friend bool operator==(const End&, const End&) = default;
};

// Worker → daemon: every layer of the sandbox, as it is from now on.
struct Sandboxed {
  std::vector<SandboxLayer> layers;
  friend bool operator==(const Sandboxed&, const Sandboxed&) = default;
};

// Worker → daemon: a phase has begun.
struct Progress {
  std::string phase;  // load, step
  int steps_done = 0;
  friend bool operator==(const Progress&, const Progress&) = default;
};

// Worker → daemon: the last step is done and its memory still held.
struct Settled {
  // All bytes the allocator holds from the driver at this moment.
  Bytes reserved;
  // The whole device as CUDA reports it; unset on the CPU device.
  std::optional<Bytes> device_free;
  std::optional<Bytes> device_total;
  friend bool operator==(const Settled&, const Settled&) = default;
};

// Daemon → worker: go on.
struct Proceed {
  friend bool operator==(const Proceed&, const Proceed&) = default;
};

// How fast the memory that a trial held could be read, in bytes a second.
struct MemorySpeed {
  double slowest = 0;   // of the stretches that were read; 0: none was judged
  double peak = 0;      // the device's, by its clock and width; 0: not known
  std::string absence;  // why `slowest` is 0; at most 1 kB
  friend bool operator==(const MemorySpeed&, const MemorySpeed&) = default;
};

// Worker → daemon: what the trial showed.
struct Report {
  EndKind end = EndKind::kRan;
  EndClass end_class = EndClass::kNone;
  // For kBadRequest the field of ProbeSpec that is wrong, such as `inputs`,
  // `mode`; else empty.
  std::string field;
  // Why it did not run: the model's or torch's own words, at most 1 kB.
  std::string message;
  bool failed_while_loading = false;
  Peaks load_peaks;
  int64_t load_allocation_retries = 0;
  int64_t load_failed_requests = 0;
  std::vector<StepResult> steps;
  std::optional<int64_t> traced_batch;
  // The cap in force, exact; unset without one.
  std::optional<Bytes> cap;
  // Of a trial that ran on a GPU.
  std::optional<MemorySpeed> memory_speed;
  friend bool operator==(const Report&, const Report&) = default;
};

using WorkerMessage = std::variant<Hello, Sandboxed, Prepared, Progress,
                                   Settled, Report, CallsReport>;
using DaemonMessage =
    std::variant<TrialRequest, Proceed, Prepare, RunCalls, End>;

// One JSON object with a `type`; what is unset is left out.
std::string Encode(const WorkerMessage& message);
std::string Encode(const DaemonMessage& message);

// Return kInvalidArgument, naming the field, for JSON that is no such message:
// unknown type, missing or extra member, wrong type, number out of range (sizes
// are 0 … 2^60, steps at most 100), text too long, plans that cannot be
// (CheckCallPlan). Never throw.
absl::StatusOr<WorkerMessage> DecodeWorkerMessage(std::string_view json);
absl::StatusOr<DaemonMessage> DecodeDaemonMessage(std::string_view json);

// The most of one kind that one message holds.
inline constexpr size_t kMaxCalls = 4096;
inline constexpr size_t kMaxPlansOfCall = 64;
inline constexpr size_t kMaxStepsOfPlan = 65536;

// The longest text of a message that strangers wrote.
inline constexpr size_t kMaxMessageBytes = 1024;

// `text` cut to at most kMaxMessageBytes at a character's border, with … if cut, without
// control characters other than newline. What a message may hold.
std::string TrimmedMessage(std::string_view text);

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_MESSAGES_H_
