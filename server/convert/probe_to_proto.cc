#include "server/convert/probe_to_proto.h"

#include <cstddef>
#include <variant>

#include "server/base/reason.h"
#include "server/convert/enums.h"
#include "server/convert/plan_to_proto.h"
#include "server/convert/rpc_status.h"
#include "server/convert/step_options_to_proto.h"
#include "server/convert/times.h"

namespace memplan {
namespace {

void SetTask(const ProfileTask& task, v1::ProbeSpec& proto) {
  for (const int64_t batch : task.batches) {
    proto.mutable_profile()->add_batches(batch);
  }
}

void SetTask(const SearchOptions& task, v1::ProbeSpec& proto) {
  proto.mutable_search()->set_first_batch(task.first_batch);
  proto.mutable_search()->set_max_batch(task.max_batch);
  proto.mutable_search()->set_repeat(task.repeat);
}

google::rpc::Status ToProto(const ProbeError& error) {
  return ToRpcStatus(WithReason(absl::Status(error.code, error.message),
                                error.reason, error.field));
}

v1::ProbeProgress ToProto(const ProbeProgress& progress) {
  v1::ProbeProgress proto;
  proto.set_trial_number(progress.trial_number);
  proto.set_batch(progress.batch);
  proto.set_purpose(ToProto(progress.purpose));
  proto.set_phase(progress.phase);
  proto.set_steps_done(progress.steps_done);
  proto.set_steps_total(progress.steps_total);
  proto.set_largest_running_batch(progress.largest_running_batch);
  proto.set_smallest_failing_batch(progress.smallest_failing_batch);
  return proto;
}

}  // namespace

v1::ProbeSpec ToProto(const ProbeSpec& spec) {
  v1::ProbeSpec proto;
  proto.set_model_sha256(spec.model_sha256);
  proto.set_device_id(spec.device_id);
  for (const InputSpec& input : spec.inputs) {
    proto.add_inputs(FormatInputSpec(input));
  }
  proto.mutable_dimensions()->insert(spec.dimensions.begin(),
                                     spec.dimensions.end());
  proto.set_mode(ToProto(spec.mode));
  proto.set_optimizer(ToProto(spec.optimizer));
  proto.set_run_as(ToProto(spec.run_as));
  proto.set_steps(spec.steps);
  if (spec.limit.cap) proto.set_cap_bytes(spec.limit.cap->count());
  if (spec.limit.budget) proto.set_budget_bytes(spec.limit.budget->count());
  std::visit([&proto](const auto& task) { SetTask(task, proto); }, spec.task);
  if (proto.has_search()) {
    proto.mutable_search()->set_method(ToProto(spec.method));
  }
  *proto.mutable_trial_timeout() = ToDuration(spec.trial_timeout);
  if (spec.time_limit) {
    *proto.mutable_time_limit() = ToDuration(*spec.time_limit);
  }
  proto.set_max_trials(spec.max_trials);
  proto.set_niceness(spec.niceness);
  proto.set_only_when_idle(spec.only_when_idle);
  const v1::StepOptions step = StepOptionsToProto(spec);
  if (step.ByteSizeLong() > 0) *proto.mutable_step() = step;
  return proto;
}

v1::Probe ToProtoWithoutTrials(const Probe& probe) {
  v1::Probe proto;
  proto.set_id(probe.id);
  *proto.mutable_spec() = ToProto(probe.spec);
  proto.set_state(ToProto(probe.state));
  *proto.mutable_create_time() = ToTimestamp(probe.create_time);
  if (probe.start_time) {
    *proto.mutable_start_time() = ToTimestamp(*probe.start_time);
  }
  if (probe.end_time) {
    *proto.mutable_end_time() = ToTimestamp(*probe.end_time);
  }
  if (probe.plan) {
    *proto.mutable_plan() = ToProto(*probe.plan);
    if (probe.spec.mode == gpu::Mode::kTrain) {
      // What workers run, whatever was asked for.
      proto.mutable_plan()->set_optimizer_implementation(
          v1::OPTIMIZER_IMPLEMENTATION_LIBTORCH);
      if (proto.plan().has_prediction()) {
        proto.mutable_plan()
            ->mutable_prediction()
            ->set_optimizer_implementation(
                ToProto(probe.spec.optimizer_implementation));
      }
    }
  }
  if (probe.error) *proto.mutable_error() = ToProto(*probe.error);
  proto.set_restart_count(probe.restart_count);
  if (probe.progress) *proto.mutable_progress() = ToProto(*probe.progress);
  proto.set_queue_position(probe.queue_position);
  proto.set_version(probe.version);
  if (probe.waiting_for) {
    proto.set_waiting_for(probe.waiting_for->words);
    proto.set_waiting_reason(ToProto(probe.waiting_for->reason));
  }
  const KnownBatches known = BatchesKnownFrom(probe.trials);
  proto.set_largest_running_batch(known.largest_running);
  proto.set_smallest_failing_batch(known.smallest_failing);
  proto.set_worker_version(probe.worker_version);
  proto.set_begun_anew_reason(probe.begun_anew_reason);
  return proto;
}

v1::Probe ToProto(const Probe& probe) {
  v1::Probe proto = ToProtoWithoutTrials(probe);
  for (size_t i = 0; i < probe.trials.size(); ++i) {
    *proto.add_trials() = ToProto(probe.trials[i], static_cast<int>(i) + 1);
  }
  return proto;
}

}  // namespace memplan
