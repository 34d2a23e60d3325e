#include "server/convert/step_options_to_proto.h"

#include "cuda/worker/messages/step_options.h"
#include "planner/plan/input_spec.h"
#include "server/convert/enums.h"

namespace memplan {

v1::StepOptions StepOptionsToProto(const ProbeSpec& spec) {
  const gpu::StepOptions& options = spec.step;
  v1::StepOptions proto;
  proto.set_autocast(ToProto(options.autocast));
  proto.set_cudnn_benchmark(options.cudnn_benchmark);
  proto.set_cudnn_deterministic(options.cudnn_deterministic);
  proto.mutable_also_batches()->Assign(options.also_batches.begin(),
                                       options.also_batches.end());
  if (spec.mode != gpu::Mode::kTrain) return proto;
  proto.set_accumulation_steps(options.accumulation_steps);
  proto.set_zero_grad(ToProto(options.zero_grad));
  proto.set_evaluation_batch(options.evaluation_batch);
  if (options.loss_output) proto.set_loss_output(*options.loss_output);
  proto.set_loss_model_sha256(spec.loss_model_sha256);
  for (const InputSpec& target : options.targets) {
    proto.add_targets(FormatInputSpec(target));
  }
  proto.set_optimizer_implementation(ToProto(spec.optimizer_implementation));
  return proto;
}

}  // namespace memplan
