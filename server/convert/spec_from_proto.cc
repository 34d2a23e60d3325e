#include "server/convert/spec_from_proto.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/enums.h"
#include "server/convert/limits_from_proto.h"
#include "server/convert/model_to_proto.h"
#include "server/convert/refused_spec.h"
#include "server/convert/step_options_from_proto.h"
#include "server/convert/task_from_proto.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

constexpr size_t kMaxDeviceIdBytes = 128;
constexpr int kMaxInputs = 64;
constexpr size_t kMaxDimensionNameBytes = 32;
constexpr int kDefaultSteps = 4;
constexpr int kMaxSteps = 100;
constexpr std::chrono::hours kLongestTrial{24};
// The largest amount the worker's messages carry.
constexpr int64_t kMostBytes = int64_t{1} << 60;

absl::Status ReadNames(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  MEMPLAN_RETURN_IF_ERROR(CheckSha256(
      proto.model_sha256(), "INVALID_PROBE_SPEC", "spec.model_sha256"));
  if (proto.device_id().empty() ||
      proto.device_id().size() > kMaxDeviceIdBytes) {
    return RefusedSpec(
        "a device's id is needed: `cpu` or `GPU-…` as ListDevices gives it",
        "spec.device_id");
  }
  spec.model_sha256 = proto.model_sha256();
  spec.device_id = proto.device_id();
  return absl::OkStatus();
}

absl::Status ReadInputs(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  if (proto.inputs().empty()) {
    return RefusedSpec(
        "no input is given; describe each input of the model's forward, such "
        "as float32[B,3,224,224]",
        "spec.inputs");
  }
  if (proto.inputs_size() > kMaxInputs) {
    return RefusedSpec(
        absl::StrCat(proto.inputs_size(), " inputs are given; at most ",
                     kMaxInputs, " are taken"),
        "spec.inputs");
  }
  for (int i = 0; i < proto.inputs_size(); ++i) {
    const std::string field = absl::StrCat("spec.inputs[", i, "]");
    MEMPLAN_ASSIGN_OR_RETURN(InputSpec input,
                             ReadInputSpec(proto.inputs(i), field));
    spec.inputs.push_back(std::move(input));
  }
  if (std::none_of(spec.inputs.begin(), spec.inputs.end(), UsesBatch)) {
    return RefusedSpec(
        "no input has the dimension B, so that there is no batch to vary; "
        "write B where the batch stands, as in float32[B,3,224,224]",
        "spec.inputs");
  }
  return absl::OkStatus();
}

void AddNames(const std::vector<InputSpec>& specs,
              std::set<std::string>& names) {
  for (const InputSpec& spec : specs) {
    for (const Dimension& dimension : spec.shape) {
      if (!dimension.name.empty() && dimension.name != kBatchDimension) {
        names.insert(dimension.name);
      }
    }
  }
}

// The names in the shapes of inputs and targets other than B.
std::set<std::string> NamesInUse(const ProbeSpec& spec) {
  std::set<std::string> names;
  AddNames(spec.inputs, names);
  AddNames(spec.step.targets, names);
  return names;
}

absl::Status CheckDimension(const std::string& name, int64_t size,
                            const std::set<std::string>& in_use) {
  if (name.size() > kMaxDimensionNameBytes) {
    return RefusedSpec(absl::StrCat("a name has ", name.size(),
                                    " bytes; no input has such a dimension"),
                       "spec.dimensions");
  }
  const std::string field = absl::StrCat("spec.dimensions[\"", name, "\"]");
  if (name == kBatchDimension) {
    return RefusedSpec(
        "B is the batch and takes its sizes from the task; name only other "
        "dimensions here",
        field);
  }
  if (!in_use.contains(name)) {
    return RefusedSpec(absl::StrCat("no input has a dimension called ", name,
                                    "; remove it, or correct the input"),
                       field);
  }
  if (size < 1 || size > kMaxDimension) {
    return RefusedSpec(absl::StrCat("a dimension's size is 1 to ",
                                    kMaxDimension, " (2^31), not ", size),
                       field);
  }
  return absl::OkStatus();
}

absl::Status ReadDimensions(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  const std::set<std::string> in_use = NamesInUse(spec);
  spec.dimensions.insert(proto.dimensions().begin(), proto.dimensions().end());
  for (const auto& [name, size] : spec.dimensions) {
    MEMPLAN_RETURN_IF_ERROR(CheckDimension(name, size, in_use));
  }
  for (const std::string& name : in_use) {
    if (!spec.dimensions.contains(name)) {
      return RefusedSpec(
          absl::StrCat("the dimension ", name,
                       " of an input has no size; give it one, as "
                       "in ",
                       name, "=256"),
          "spec.dimensions");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadHowToRun(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  const std::optional<gpu::Mode> mode = FromProto(proto.mode());
  if (!mode) {
    return RefusedSpec(
        "a mode is needed: MODE_INFER, MODE_INFER_GRAD or MODE_TRAIN",
        "spec.mode");
  }
  const std::optional<gpu::Optimizer> optimizer = FromProto(proto.optimizer());
  const bool is_none = optimizer == gpu::Optimizer::kNone;
  if (!optimizer || (*mode == gpu::Mode::kTrain && is_none)) {
    return RefusedSpec(
        "MODE_TRAIN needs an optimizer: OPTIMIZER_SGD, OPTIMIZER_SGD_MOMENTUM, "
        "OPTIMIZER_ADAM or OPTIMIZER_ADAMW",
        "spec.optimizer");
  }
  if (*mode != gpu::Mode::kTrain && !is_none) {
    return RefusedSpec("an optimizer goes only with MODE_TRAIN; leave it out",
                       "spec.optimizer");
  }
  const std::optional<gpu::RunAs> run_as = FromProto(proto.run_as());
  if (!run_as) {
    return RefusedSpec(
        "how to run the model is needed: RUN_AS_TORCHSCRIPT or RUN_AS_EAGER",
        "spec.run_as");
  }
  if (proto.steps() < 0 || proto.steps() > kMaxSteps) {
    return RefusedSpec(
        absl::StrCat("a trial has 1 to ", kMaxSteps, " steps (0 means ",
                     kDefaultSteps, "), not ", proto.steps()),
        "spec.steps");
  }
  spec.mode = *mode;
  spec.optimizer = *optimizer;
  spec.run_as = *run_as;
  spec.steps = proto.steps() == 0 ? kDefaultSteps : proto.steps();
  return absl::OkStatus();
}

absl::StatusOr<Bytes> ReadAmount(int64_t count, const std::string& field) {
  if (count < 1 || count > kMostBytes) {
    return RefusedSpec(
        absl::StrCat("an amount of memory is 1 to 2^60 bytes, not ", count),
        field);
  }
  return Bytes(count);
}

absl::Status ReadLimit(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  switch (proto.limit_case()) {
    case v1::ProbeSpec::kCapBytes: {
      MEMPLAN_ASSIGN_OR_RETURN(spec.limit.cap,
                               ReadAmount(proto.cap_bytes(), "spec.cap_bytes"));
      break;
    }
    case v1::ProbeSpec::kBudgetBytes: {
      MEMPLAN_ASSIGN_OR_RETURN(
          spec.limit.budget,
          ReadAmount(proto.budget_bytes(), "spec.budget_bytes"));
      break;
    }
    case v1::ProbeSpec::LIMIT_NOT_SET:
      if (spec.device_id == "cpu") {
        return RefusedSpec(
            "the cpu device has no memory of its own to fill; give a cap or a "
            "budget in bytes, such as 2147483648 for 2 GiB",
            "spec.cap_bytes");
      }
      break;
  }
  return absl::OkStatus();
}

absl::Status ReadTimeout(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  if (!proto.has_trial_timeout()) return absl::OkStatus();
  const auto timeout = PositiveDuration(proto.trial_timeout(), kLongestTrial);
  if (!timeout) {
    return RefusedSpec(
        "a trial's timeout is more than 0 and at most a day; leave it out for "
        "10 minutes",
        "spec.trial_timeout");
  }
  spec.trial_timeout = *timeout;
  return absl::OkStatus();
}

absl::Status NotNamed(const std::string& what) {
  return WithReason(
      absl::UnavailableError(absl::StrCat(
          what,
          "; the driver has not said which GPUs there are, or what one is "
          "called: see whether `nvidia-smi` hangs, and try again")),
      "DEVICES_NOT_READ");
}

}  // namespace

absl::StatusOr<ProbeSpec> SpecFromProto(const v1::ProbeSpec& proto) {
  ProbeSpec spec;
  MEMPLAN_RETURN_IF_ERROR(ReadNames(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadInputs(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadHowToRun(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadStepOptions(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadDimensions(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadLimit(proto, spec));
  MEMPLAN_ASSIGN_OR_RETURN(spec.task, TaskFromProto(proto));
  MEMPLAN_ASSIGN_OR_RETURN(spec.method, MethodFromProto(proto));
  MEMPLAN_RETURN_IF_ERROR(ReadTimeout(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(ReadProbeLimits(proto, spec));
  MEMPLAN_RETURN_IF_ERROR(CheckShapes(spec));
  return spec;
}

absl::Status NoSuchDevice(const std::string& id, const DeviceSnapshot& snapshot,
                          std::string_view field) {
  std::string known;
  for (const Device& device : snapshot.devices) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", device.id);
  }
  const std::string why =
      snapshot.gpu_absence_reason.empty()
          ? std::string()
          : absl::StrCat(" (no GPU: ", snapshot.gpu_absence_reason, ")");
  if (!snapshot.gpus_known) {
    return NotNamed(absl::StrCat("nobody knows yet whether a device is called ",
                                 "\"", id.substr(0, kMaxDeviceIdBytes),
                                 "\"; there are: ", known));
  }
  return WithReason(
      absl::NotFoundError(absl::StrCat("no device is called \"",
                                       id.substr(0, kMaxDeviceIdBytes),
                                       "\"; there are: ", known, why)),
      "DEVICE_NOT_FOUND", field);
}

absl::Status CheckAgainstDevices(const ProbeSpec& spec,
                                 const DeviceSnapshot& snapshot) {
  const Device* device = FindDevice(snapshot, spec.device_id);
  if (device == nullptr) {
    return NoSuchDevice(spec.device_id, snapshot, "spec.device_id");
  }
  if (device->id.starts_with(kUnreadableGpu)) {
    return NotNamed(absl::StrCat(device->id, " is no device's own name"));
  }
  if (!device->total.has_value()) return absl::OkStatus();
  const Bytes total = *device->total;
  const auto above = [&](const char* what, Bytes amount) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", what, " of ", FormatBytes(amount), " is above the ",
                     FormatBytes(total), " that ", device->id,
                     " has in all; choose a smaller ", what));
  };
  const auto& [cap, budget] = spec.limit;
  if (cap.has_value() && *cap > total) {
    return WithReason(above("cap", *cap), "CAP_ABOVE_DEVICE", "spec.cap_bytes");
  }
  if (budget.has_value() && *budget > total) {
    return WithReason(above("budget", *budget), "BUDGET_ABOVE_DEVICE",
                      "spec.budget_bytes");
  }
  return absl::OkStatus();
}

}  // namespace memplan
