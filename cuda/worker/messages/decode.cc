// JSON to messages, believing nothing. encode.cc is its mirror.
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/call_messages.h"
#include "cuda/worker/messages/json_reader.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/messages/step_option_messages.h"
#include "cuda/worker/messages/words.h"
#include "planner/base/status_macros.h"
#include "planner/plan/input_spec.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {
namespace {

using nlohmann::json;

constexpr int64_t kMaxCount = int64_t{1} << 60;
constexpr int64_t kMaxPid = INT32_MAX;
constexpr int64_t kMaxSteps = 100;
// And those that follow: other batches, an evaluation, one more.
constexpr int64_t kMaxStepResults = kMaxSteps + kMaxAlsoBatches + 2;
constexpr double kMaxSpeed = 1e18;  // bytes a second
constexpr size_t kMaxInputs = 64;
constexpr size_t kMaxDimensions = 64;
constexpr size_t kMaxLayers = 16;
constexpr size_t kMaxWordBytes = 64;
constexpr size_t kMaxPathBytes = 4096;

// A text to be shown: as TrimmedMessage leaves it.
std::string ShownText(JsonReader& reader, const std::string& name,
                      size_t max_bytes) {
  std::string text = reader.Text(name, max_bytes);
  if (TrimmedMessage(text) != text) {
    reader.Fault(name, "has control characters");
  }
  return text;
}

Peaks ReadPeaks(JsonReader& parent, const std::string& name) {
  JsonReader reader(parent.Object(name, 4),
                    absl::StrCat(parent.path(), ".", name));
  Peaks peaks;
  peaks.requested = reader.Size("requested");
  peaks.allocated = reader.Size("allocated");
  peaks.active = reader.Size("active");
  peaks.reserved = reader.OptionalSize("reserved");
  parent.Absorb(reader.Finish());
  return peaks;
}

std::vector<StepResult> ReadSteps(JsonReader& parent) {
  std::vector<StepResult> steps;
  for (const json& item : parent.Array("steps", kMaxStepResults)) {
    JsonReader reader(
        item, absl::StrCat(parent.path(), ".steps[", steps.size(), "]"));
    StepResult step;
    step.peaks = ReadPeaks(reader, "peaks");
    step.seconds = reader.Seconds("seconds");
    step.allocation_retries =
        reader.Integer("allocation_retries", 0, kMaxCount);
    step.failed_requests = reader.Integer("failed_requests", 0, kMaxCount);
    if (reader.Has("kind")) {
      step.kind = reader.OneOf<StepKind>("kind", kStepKindWords);
    }
    step.batch = reader.OptionalInteger("batch", 1, kMaxDimension).value_or(0);
    parent.Absorb(reader.Finish());
    steps.push_back(step);
  }
  return steps;
}

absl::StatusOr<WorkerMessage> DecodeHello(JsonReader& reader) {
  Hello hello;
  hello.protocol_version =
      static_cast<int>(reader.Integer("protocol_version", 0, INT32_MAX));
  hello.pid = reader.Integer("pid", 1, kMaxPid);
  hello.torch_version = ShownText(reader, "torch_version", kMaxWordBytes);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return hello;
}

absl::StatusOr<WorkerMessage> DecodeSandboxed(JsonReader& parent) {
  Sandboxed sandboxed;
  for (const json& item : parent.Array("layers", kMaxLayers)) {
    JsonReader reader(item, absl::StrCat(parent.path(), ".layers[",
                                         sandboxed.layers.size(), "]"));
    SandboxLayer layer;
    layer.name = ShownText(reader, "name", kMaxWordBytes);
    layer.state = reader.OneOf<LayerState>("state", kLayerStateWords);
    layer.detail = ShownText(reader, "detail", kMaxMessageBytes);
    parent.Absorb(reader.Finish());
    sandboxed.layers.push_back(std::move(layer));
  }
  MEMPLAN_RETURN_IF_ERROR(parent.Finish());
  return sandboxed;
}

absl::StatusOr<WorkerMessage> DecodePrepared(JsonReader& reader) {
  Prepared prepared;
  prepared.device_name = ShownText(reader, "device_name", kMaxWordBytes);
  prepared.driver_version = ShownText(reader, "driver_version", kMaxWordBytes);
  prepared.cudnn_version = ShownText(reader, "cudnn_version", kMaxWordBytes);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return prepared;
}

absl::StatusOr<WorkerMessage> DecodeProgress(JsonReader& reader) {
  Progress progress;
  progress.phase = ShownText(reader, "phase", kMaxWordBytes);
  progress.steps_done =
      static_cast<int>(reader.Integer("steps_done", 0, kMaxStepResults));
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return progress;
}

absl::StatusOr<WorkerMessage> DecodeSettled(JsonReader& reader) {
  Settled settled;
  settled.reserved = reader.Size("reserved");
  settled.device_free = reader.OptionalSize("device_free");
  settled.device_total = reader.OptionalSize("device_total");
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return settled;
}

std::optional<MemorySpeed> ReadMemorySpeed(JsonReader& parent) {
  if (!parent.Has("memory_speed")) return std::nullopt;
  JsonReader reader(parent.Object("memory_speed", 3),
                    absl::StrCat(parent.path(), ".memory_speed"));
  MemorySpeed speed;
  speed.slowest = reader.Number("slowest", kMaxSpeed);
  speed.peak = reader.Number("peak", kMaxSpeed);
  speed.absence = ShownText(reader, "absence", kMaxMessageBytes);
  parent.Absorb(reader.Finish());
  return speed;
}

absl::StatusOr<WorkerMessage> DecodeReport(JsonReader& reader) {
  Report report;
  report.end = reader.OneOf<EndKind>("end", kEndKindWords);
  report.end_class = reader.OneOf<EndClass>("end_class", kEndClassWords);
  report.field = ShownText(reader, "field", kMaxWordBytes);
  report.message = ShownText(reader, "message", kMaxMessageBytes);
  report.failed_while_loading = reader.Boolean("failed_while_loading");
  report.load_peaks = ReadPeaks(reader, "load_peaks");
  report.load_allocation_retries =
      reader.Integer("load_allocation_retries", 0, kMaxCount);
  report.load_failed_requests =
      reader.Integer("load_failed_requests", 0, kMaxCount);
  report.steps = ReadSteps(reader);
  report.traced_batch =
      reader.OptionalInteger("traced_batch", 1, kMaxDimension);
  report.cap = reader.OptionalSize("cap");
  report.memory_speed = ReadMemorySpeed(reader);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return report;
}

absl::StatusOr<WorkerMessage> DecodeCallsReport(JsonReader& reader) {
  CallsReport report;
  report.results = ReadResults(reader);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return report;
}

std::map<std::string, int64_t> ReadDimensions(JsonReader& parent) {
  const json& object = parent.Object("dimensions", kMaxDimensions);
  JsonReader reader(object, absl::StrCat(parent.path(), ".dimensions"));
  std::map<std::string, int64_t> dimensions;
  for (const auto& [name, value] : object.items()) {
    dimensions[name] = reader.Integer(name, 1, kMaxDimension);
  }
  parent.Absorb(reader.Finish());
  return dimensions;
}

std::optional<SandboxOrder> ReadSandbox(JsonReader& parent) {
  if (!parent.Has("sandbox")) return std::nullopt;
  JsonReader reader(parent.Object("sandbox", 2),
                    absl::StrCat(parent.path(), ".sandbox"));
  SandboxOrder sandbox;
  sandbox.required = reader.Boolean("required");
  sandbox.scratch_path = reader.Text("scratch_path", kMaxPathBytes);
  parent.Absorb(reader.Finish());
  return sandbox;
}

TrialRequest ReadRequest(JsonReader& reader) {
  TrialRequest request;
  request.model_path = reader.Text("model_path", kMaxPathBytes);
  request.device = reader.OneOf<DeviceKind>("device", kDeviceKindWords);
  request.inputs = ReadInputSpecs(reader, "inputs", kMaxInputs);
  request.dimensions = ReadDimensions(reader);
  request.batch = reader.Integer("batch", 1, kMaxDimension);
  request.mode = reader.OneOf<Mode>("mode", kModeWords);
  request.optimizer = reader.OneOf<Optimizer>("optimizer", kOptimizerWords);
  request.run_as = reader.OneOf<RunAs>("run_as", kRunAsWords);
  request.steps = static_cast<int>(reader.Integer("steps", 1, kMaxSteps));
  request.options = ReadStepOptions(reader);
  if (reader.Has("loss_path")) {
    request.loss_path = reader.Text("loss_path", kMaxPathBytes);
  }
  request.cap = reader.OptionalSize("cap");
  request.sandbox = ReadSandbox(reader);
  request.stay = reader.Boolean("stay");
  return request;
}

absl::StatusOr<DaemonMessage> DecodeRun(JsonReader& reader) {
  TrialRequest request = ReadRequest(reader);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return request;
}

absl::StatusOr<DaemonMessage> DecodePrepare(JsonReader& reader) {
  Prepare prepare{.program = ReadRequest(reader)};
  prepare.preparation =
      reader.OneOf<Preparation>("preparation", kPreparationWords);
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return prepare;
}

absl::StatusOr<DaemonMessage> DecodeRunCalls(JsonReader& reader) {
  RunCalls order;
  order.calls = ReadCalls(reader);
  order.cap = reader.OptionalSize("cap");
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return order;
}

// A message that its type says all of.
template <typename Message>
absl::StatusOr<DaemonMessage> DecodeBare(JsonReader& reader) {
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  return Message{};
}

absl::Status UnknownType(const std::string& type) {
  return absl::InvalidArgumentError(
      absl::StrCat("type \"", type, "\" is no message that comes this way"));
}

absl::StatusOr<std::string> TypeOf(const json& object) {
  if (object.is_discarded())
    return absl::InvalidArgumentError("this is no JSON");
  JsonReader reader(object, "message");
  std::string type = ShownText(reader, "type", kMaxWordBytes);
  // Only this member's faults; the others are the message's own.
  MEMPLAN_RETURN_IF_ERROR(reader.status());
  return type;
}

}  // namespace

absl::StatusOr<WorkerMessage> DecodeWorkerMessage(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  MEMPLAN_ASSIGN_OR_RETURN(const std::string type, TypeOf(object));
  JsonReader reader(object, type);
  reader.Text("type", kMaxWordBytes);
  if (type == "hello") return DecodeHello(reader);
  if (type == "sandboxed") return DecodeSandboxed(reader);
  if (type == "prepared") return DecodePrepared(reader);
  if (type == "progress") return DecodeProgress(reader);
  if (type == "settled") return DecodeSettled(reader);
  if (type == "report") return DecodeReport(reader);
  if (type == "calls_report") return DecodeCallsReport(reader);
  return UnknownType(type);
}

absl::StatusOr<DaemonMessage> DecodeDaemonMessage(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  MEMPLAN_ASSIGN_OR_RETURN(const std::string type, TypeOf(object));
  JsonReader reader(object, type);
  reader.Text("type", kMaxWordBytes);
  if (type == "run") return DecodeRun(reader);
  if (type == "proceed") return DecodeBare<Proceed>(reader);
  if (type == "prepare") return DecodePrepare(reader);
  if (type == "run_calls") return DecodeRunCalls(reader);
  if (type == "end") return DecodeBare<End>(reader);
  return UnknownType(type);
}

}  // namespace memplan::gpu
