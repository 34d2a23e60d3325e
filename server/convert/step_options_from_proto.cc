#include "server/convert/step_options_from_proto.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/worker/messages/step_options.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/convert/enums.h"
#include "server/convert/model_to_proto.h"
#include "server/convert/refused_spec.h"
#include "server/convert/task_from_proto.h"

namespace memplan {
namespace {

constexpr size_t kMaxInputBytes = 256;

absl::Status NoSuchValue(int value, const std::string& field) {
  return RefusedSpec(
      absl::StrCat(
          "the value ", value,
          " has no meaning to this daemon; leave it out, or ask one of "
          "a newer release"),
      field);
}

absl::Status ReadAlsoBatches(const v1::StepOptions& proto,
                             gpu::StepOptions& options) {
  if (static_cast<size_t>(proto.also_batches_size()) > gpu::kMaxAlsoBatches) {
    return RefusedSpec(absl::StrCat(proto.also_batches_size(),
                                    " further batches are given; "
                                    "at most ",
                                    gpu::kMaxAlsoBatches, " are run"),
                       "spec.step.also_batches");
  }
  for (int i = 0; i < proto.also_batches_size(); ++i) {
    const int64_t batch = proto.also_batches(i);
    MEMPLAN_RETURN_IF_ERROR(
        CheckBatch(batch, absl::StrCat("spec.step.also_batches[", i, "]")));
    options.also_batches.push_back(batch);
  }
  return absl::OkStatus();
}

// The first field that goes only with training, or null.
const char* TrainingField(const v1::StepOptions& proto) {
  if (proto.accumulation_steps() != 0) return "accumulation_steps";
  if (proto.zero_grad() != v1::ZERO_GRAD_UNSPECIFIED) return "zero_grad";
  if (proto.evaluation_batch() != 0) return "evaluation_batch";
  if (proto.has_loss_output()) return "loss_output";
  if (!proto.loss_model_sha256().empty()) return "loss_model_sha256";
  if (proto.targets_size() > 0) return "targets";
  if (proto.optimizer_implementation() !=
      v1::OPTIMIZER_IMPLEMENTATION_UNSPECIFIED) {
    return "optimizer_implementation";
  }
  return nullptr;
}

absl::Status ReadLoop(const v1::StepOptions& proto, ProbeSpec& spec) {
  const int accumulation = proto.accumulation_steps();
  if (accumulation < 0 || accumulation > gpu::kMaxAccumulationSteps) {
    return RefusedSpec(
        absl::StrCat("an optimizer step has 1 to ", gpu::kMaxAccumulationSteps,
                     " micro-batches (0 means 1), not ", accumulation),
        "spec.step.accumulation_steps");
  }
  const auto zero_grad = FromProto(proto.zero_grad());
  if (!zero_grad) {
    return NoSuchValue(proto.zero_grad(), "spec.step.zero_grad");
  }
  const auto implementation = FromProto(proto.optimizer_implementation());
  if (!implementation) {
    return NoSuchValue(proto.optimizer_implementation(),
                       "spec.step.optimizer_implementation");
  }
  if (proto.evaluation_batch() != 0) {
    MEMPLAN_RETURN_IF_ERROR(
        CheckBatch(proto.evaluation_batch(), "spec.step.evaluation_batch"));
  }
  spec.step.accumulation_steps = accumulation == 0 ? 1 : accumulation;
  spec.step.zero_grad = *zero_grad;
  spec.step.evaluation_batch = proto.evaluation_batch();
  spec.optimizer_implementation = *implementation;
  return absl::OkStatus();
}

absl::Status ReadTargets(const v1::StepOptions& proto,
                         gpu::StepOptions& options) {
  if (proto.targets_size() > 0 && proto.loss_model_sha256().empty()) {
    return RefusedSpec(
        "targets go only with a loss of your own; name it, or leave them out",
        "spec.step.targets");
  }
  if (static_cast<size_t>(proto.targets_size()) > gpu::kMaxTargets) {
    return RefusedSpec(
        absl::StrCat(proto.targets_size(), " targets are given; at most ",
                     gpu::kMaxTargets, " are taken"),
        "spec.step.targets");
  }
  for (int i = 0; i < proto.targets_size(); ++i) {
    MEMPLAN_ASSIGN_OR_RETURN(
        InputSpec target,
        ReadInputSpec(proto.targets(i),
                      absl::StrCat("spec.step.targets[", i, "]")));
    options.targets.push_back(std::move(target));
  }
  return absl::OkStatus();
}

absl::Status ReadLoss(const v1::StepOptions& proto, ProbeSpec& spec) {
  if (proto.has_loss_output()) {
    if (!proto.loss_model_sha256().empty()) {
      return RefusedSpec(
          "the loss is either an output of the model or a module of its own; "
          "leave one of the two out",
          "spec.step.loss_output");
    }
    if (proto.loss_output() < 0 || proto.loss_output() > gpu::kMaxLossOutput) {
      return RefusedSpec(
          absl::StrCat("an output is counted from 0 to ", gpu::kMaxLossOutput,
                       ", not ", proto.loss_output()),
          "spec.step.loss_output");
    }
    spec.step.loss_output = proto.loss_output();
  }
  if (!proto.loss_model_sha256().empty()) {
    MEMPLAN_RETURN_IF_ERROR(CheckSha256(proto.loss_model_sha256(),
                                        "INVALID_PROBE_SPEC",
                                        "spec.step.loss_model_sha256"));
    spec.loss_model_sha256 = proto.loss_model_sha256();
  }
  return ReadTargets(proto, spec.step);
}

}  // namespace

absl::StatusOr<InputSpec> ReadInputSpec(const std::string& text,
                                        const std::string& field) {
  if (text.size() > kMaxInputBytes) {
    return RefusedSpec(
        absl::StrCat("the text has ", text.size(), " bytes; at most ",
                     kMaxInputBytes, " are taken"),
        field);
  }
  absl::StatusOr<InputSpec> input = ParseInputSpec(text);
  if (!input.ok())
    return WithReason(input.status(), "INPUT_SPEC_SYNTAX", field);
  return input;
}

absl::Status ReadStepOptions(const v1::ProbeSpec& proto, ProbeSpec& spec) {
  const v1::StepOptions& step = proto.step();
  const char* training = TrainingField(step);
  if (spec.mode != gpu::Mode::kTrain && training != nullptr) {
    return RefusedSpec("this goes only with MODE_TRAIN; leave it out, or train",
                       absl::StrCat("spec.step.", training));
  }
  const auto autocast = FromProto(step.autocast());
  if (!autocast) return NoSuchValue(step.autocast(), "spec.step.autocast");
  spec.step.autocast = *autocast;
  spec.step.cudnn_benchmark = step.cudnn_benchmark();
  spec.step.cudnn_deterministic = step.cudnn_deterministic();
  MEMPLAN_RETURN_IF_ERROR(ReadAlsoBatches(step, spec.step));
  MEMPLAN_RETURN_IF_ERROR(ReadLoop(step, spec));
  return ReadLoss(step, spec);
}

}  // namespace memplan
