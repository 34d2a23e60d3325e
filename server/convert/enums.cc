#include "server/convert/enums.h"

namespace memplan {

std::optional<gpu::Mode> FromProto(v1::Mode mode) {
  switch (mode) {
    case v1::MODE_INFER:
      return gpu::Mode::kInfer;
    case v1::MODE_INFER_GRAD:
      return gpu::Mode::kInferGrad;
    case v1::MODE_TRAIN:
      return gpu::Mode::kTrain;
    default:
      return std::nullopt;
  }
}

std::optional<gpu::Optimizer> FromProto(v1::Optimizer optimizer) {
  switch (optimizer) {
    case v1::OPTIMIZER_UNSPECIFIED:
      return gpu::Optimizer::kNone;
    case v1::OPTIMIZER_SGD:
      return gpu::Optimizer::kSgd;
    case v1::OPTIMIZER_SGD_MOMENTUM:
      return gpu::Optimizer::kSgdMomentum;
    case v1::OPTIMIZER_ADAM:
      return gpu::Optimizer::kAdam;
    case v1::OPTIMIZER_ADAMW:
      return gpu::Optimizer::kAdamW;
    default:
      return std::nullopt;
  }
}

std::optional<gpu::RunAs> FromProto(v1::RunAs run_as) {
  switch (run_as) {
    case v1::RUN_AS_TORCHSCRIPT:
      return gpu::RunAs::kTorchScript;
    case v1::RUN_AS_EAGER:
      return gpu::RunAs::kEager;
    default:
      return std::nullopt;
  }
}

std::optional<gpu::Autocast> FromProto(v1::Autocast value) {
  switch (value) {
    case v1::AUTOCAST_UNSPECIFIED:
      return gpu::Autocast::kNone;
    case v1::AUTOCAST_BFLOAT16:
      return gpu::Autocast::kBFloat16;
    case v1::AUTOCAST_FLOAT16:
      return gpu::Autocast::kFloat16;
    default:
      return std::nullopt;
  }
}

std::optional<gpu::ZeroGrad> FromProto(v1::ZeroGrad value) {
  switch (value) {
    case v1::ZERO_GRAD_UNSPECIFIED:
    case v1::ZERO_GRAD_NONE:
      return gpu::ZeroGrad::kNone;
    case v1::ZERO_GRAD_ZERO:
      return gpu::ZeroGrad::kZero;
    default:
      return std::nullopt;
  }
}

std::optional<gpu::OptimizerImplementation> FromProto(
    v1::OptimizerImplementation value) {
  switch (value) {
    case v1::OPTIMIZER_IMPLEMENTATION_UNSPECIFIED:
    case v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH:
      return gpu::OptimizerImplementation::kLibtorch;
    case v1::OPTIMIZER_IMPLEMENTATION_FOR_LOOP:
      return gpu::OptimizerImplementation::kForLoop;
    case v1::OPTIMIZER_IMPLEMENTATION_FOREACH:
      return gpu::OptimizerImplementation::kForeach;
    case v1::OPTIMIZER_IMPLEMENTATION_FUSED:
      return gpu::OptimizerImplementation::kFused;
    default:
      return std::nullopt;
  }
}

v1::Mode ToProto(gpu::Mode mode) {
  switch (mode) {
    case gpu::Mode::kInfer:
      return v1::MODE_INFER;
    case gpu::Mode::kInferGrad:
      return v1::MODE_INFER_GRAD;
    case gpu::Mode::kTrain:
      return v1::MODE_TRAIN;
  }
  return v1::MODE_UNSPECIFIED;
}

v1::Optimizer ToProto(gpu::Optimizer optimizer) {
  switch (optimizer) {
    case gpu::Optimizer::kNone:
      return v1::OPTIMIZER_UNSPECIFIED;
    case gpu::Optimizer::kSgd:
      return v1::OPTIMIZER_SGD;
    case gpu::Optimizer::kSgdMomentum:
      return v1::OPTIMIZER_SGD_MOMENTUM;
    case gpu::Optimizer::kAdam:
      return v1::OPTIMIZER_ADAM;
    case gpu::Optimizer::kAdamW:
      return v1::OPTIMIZER_ADAMW;
  }
  return v1::OPTIMIZER_UNSPECIFIED;
}

v1::RunAs ToProto(gpu::RunAs run_as) {
  switch (run_as) {
    case gpu::RunAs::kTorchScript:
      return v1::RUN_AS_TORCHSCRIPT;
    case gpu::RunAs::kEager:
      return v1::RUN_AS_EAGER;
  }
  return v1::RUN_AS_UNSPECIFIED;
}

std::optional<SearchMethod> FromProto(v1::SearchMethod method) {
  switch (method) {
    case v1::SEARCH_METHOD_UNSPECIFIED:
    case v1::SEARCH_METHOD_AUTO:
      return SearchMethod::kAuto;
    case v1::SEARCH_METHOD_PREDICT:
      return SearchMethod::kPredict;
    case v1::SEARCH_METHOD_BISECT:
      return SearchMethod::kBisect;
    default:
      return std::nullopt;
  }
}

v1::SearchMethod ToProto(SearchMethod method) {
  switch (method) {
    case SearchMethod::kAuto:
      return v1::SEARCH_METHOD_AUTO;
    case SearchMethod::kPredict:
      return v1::SEARCH_METHOD_PREDICT;
    case SearchMethod::kBisect:
      return v1::SEARCH_METHOD_BISECT;
  }
  return v1::SEARCH_METHOD_UNSPECIFIED;
}

v1::Autocast ToProto(gpu::Autocast value) {
  switch (value) {
    case gpu::Autocast::kNone:
      return v1::AUTOCAST_UNSPECIFIED;
    case gpu::Autocast::kBFloat16:
      return v1::AUTOCAST_BFLOAT16;
    case gpu::Autocast::kFloat16:
      return v1::AUTOCAST_FLOAT16;
  }
  return v1::AUTOCAST_UNSPECIFIED;
}

v1::ZeroGrad ToProto(gpu::ZeroGrad value) {
  switch (value) {
    case gpu::ZeroGrad::kNone:
      return v1::ZERO_GRAD_NONE;
    case gpu::ZeroGrad::kZero:
      return v1::ZERO_GRAD_ZERO;
  }
  return v1::ZERO_GRAD_UNSPECIFIED;
}

v1::OptimizerImplementation ToProto(gpu::OptimizerImplementation value) {
  switch (value) {
    case gpu::OptimizerImplementation::kLibtorch:
      return v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH;
    case gpu::OptimizerImplementation::kForLoop:
      return v1::OPTIMIZER_IMPLEMENTATION_FOR_LOOP;
    case gpu::OptimizerImplementation::kForeach:
      return v1::OPTIMIZER_IMPLEMENTATION_FOREACH;
    case gpu::OptimizerImplementation::kFused:
      return v1::OPTIMIZER_IMPLEMENTATION_FUSED;
  }
  return v1::OPTIMIZER_IMPLEMENTATION_UNSPECIFIED;
}

v1::StepKind ToProto(StepKind value) {
  switch (value) {
    case StepKind::kStep:
      return v1::STEP_KIND_STEP;
    case StepKind::kOtherBatch:
      return v1::STEP_KIND_OTHER_BATCH;
    case StepKind::kEvaluation:
      return v1::STEP_KIND_EVALUATION;
    case StepKind::kAgain:
      return v1::STEP_KIND_AGAIN;
  }
  return v1::STEP_KIND_UNSPECIFIED;
}

v1::ProbeState ToProto(ProbeState state) {
  switch (state) {
    case ProbeState::kQueued:
      return v1::PROBE_STATE_QUEUED;
    case ProbeState::kRunning:
      return v1::PROBE_STATE_RUNNING;
    case ProbeState::kSucceeded:
      return v1::PROBE_STATE_SUCCEEDED;
    case ProbeState::kFailed:
      return v1::PROBE_STATE_FAILED;
    case ProbeState::kCancelled:
      return v1::PROBE_STATE_CANCELLED;
  }
  return v1::PROBE_STATE_UNSPECIFIED;
}

v1::WaitingReason ToProto(WaitingReason reason) {
  switch (reason) {
    case WaitingReason::kRoom:
      return v1::WAITING_REASON_ROOM;
    case WaitingReason::kIdle:
      return v1::WAITING_REASON_IDLE;
    case WaitingReason::kDeviceNotRead:
      return v1::WAITING_REASON_DEVICE_NOT_READ;
    case WaitingReason::kDeviceLost:
      return v1::WAITING_REASON_DEVICE_LOST;
    case WaitingReason::kWorkers:
      return v1::WAITING_REASON_WORKERS;
  }
  return v1::WAITING_REASON_UNSPECIFIED;
}

v1::TrialPurpose ToProto(TrialPurpose purpose) {
  switch (purpose) {
    case TrialPurpose::kProfile:
      return v1::TRIAL_PURPOSE_PROFILE;
    case TrialPurpose::kSearch:
      return v1::TRIAL_PURPOSE_SEARCH;
    case TrialPurpose::kNeighbour:
      return v1::TRIAL_PURPOSE_NEIGHBOUR;
    case TrialPurpose::kVerify:
      return v1::TRIAL_PURPOSE_VERIFY;
    case TrialPurpose::kCalibrate:
      return v1::TRIAL_PURPOSE_CALIBRATE;
    case TrialPurpose::kRecord:
      return v1::TRIAL_PURPOSE_RECORD;
  }
  return v1::TRIAL_PURPOSE_UNSPECIFIED;
}

v1::TrialOutcome ToProto(TrialOutcome outcome) {
  switch (outcome) {
    case TrialOutcome::kFits:
      return v1::TRIAL_OUTCOME_FITS;
    case TrialOutcome::kOutOfMemory:
      return v1::TRIAL_OUTCOME_OUT_OF_MEMORY;
    case TrialOutcome::kShapeRefused:
      return v1::TRIAL_OUTCOME_SHAPE_REFUSED;
    case TrialOutcome::kModelFailed:
      return v1::TRIAL_OUTCOME_MODEL_FAILED;
    case TrialOutcome::kTimedOut:
      return v1::TRIAL_OUTCOME_TIMED_OUT;
    case TrialOutcome::kWorkerDied:
      return v1::TRIAL_OUTCOME_WORKER_DIED;
    case TrialOutcome::kSandboxRefused:
      return v1::TRIAL_OUTCOME_SANDBOX_REFUSED;
  }
  return v1::TRIAL_OUTCOME_UNSPECIFIED;
}

v1::Provenance ToProto(Provenance provenance) {
  switch (provenance) {
    case Provenance::kEstimate:
      return v1::PROVENANCE_ESTIMATE;
    case Provenance::kMeasured:
      return v1::PROVENANCE_MEASURED;
    case Provenance::kVerified:
      return v1::PROVENANCE_VERIFIED;
  }
  return v1::PROVENANCE_UNSPECIFIED;
}

v1::PlanVerdict ToProto(SearchEnd end) {
  switch (end) {
    case SearchEnd::kFound:
      return v1::PLAN_VERDICT_FOUND;
    case SearchEnd::kDoesNotFit:
      return v1::PLAN_VERDICT_DOES_NOT_FIT;
    case SearchEnd::kFixedBatch:
      return v1::PLAN_VERDICT_FIXED_BATCH;
    case SearchEnd::kFailed:
      return v1::PLAN_VERDICT_UNSPECIFIED;
  }
  return v1::PLAN_VERDICT_UNSPECIFIED;
}

v1::SearchLimit ToProto(SearchLimit limit) {
  switch (limit) {
    case SearchLimit::kMemory:
      return v1::SEARCH_LIMIT_MEMORY;
    case SearchLimit::kMaxBatch:
      return v1::SEARCH_LIMIT_MAX_BATCH;
    case SearchLimit::kOtherFailure:
      return v1::SEARCH_LIMIT_OTHER_FAILURE;
  }
  return v1::SEARCH_LIMIT_UNSPECIFIED;
}

}  // namespace memplan
