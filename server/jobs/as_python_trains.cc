#include "server/jobs/as_python_trains.h"

#include <optional>

#include "planner/trace/optimizer_template.h"
#include "planner/trace/python_optimizer.h"

namespace memplan {
namespace {

std::optional<OptimizerAlgorithm> AlgorithmOf(gpu::Optimizer optimizer) {
  switch (optimizer) {
    case gpu::Optimizer::kSgd:
      return OptimizerAlgorithm::kSgd;
    case gpu::Optimizer::kSgdMomentum:
      return OptimizerAlgorithm::kSgdMomentum;
    case gpu::Optimizer::kAdam:
      return OptimizerAlgorithm::kAdam;
    case gpu::Optimizer::kAdamW:
      return OptimizerAlgorithm::kAdamW;
    case gpu::Optimizer::kNone:
      break;
  }
  return std::nullopt;
}

std::optional<OptimizerLoop> LoopOf(gpu::OptimizerImplementation kind) {
  switch (kind) {
    case gpu::OptimizerImplementation::kForLoop:
      return OptimizerLoop::kForLoop;
    case gpu::OptimizerImplementation::kForeach:
      return OptimizerLoop::kForeach;
    case gpu::OptimizerImplementation::kFused:
      return OptimizerLoop::kFused;
    case gpu::OptimizerImplementation::kLibtorch:
      break;
  }
  return std::nullopt;
}

// None: libtorch's, or nothing is trained.
std::optional<PythonOptimizer> PythonOptimizerOf(const ProbeSpec& spec) {
  const auto algorithm = AlgorithmOf(spec.optimizer);
  const auto loop = LoopOf(spec.optimizer_implementation);
  if (spec.mode != gpu::Mode::kTrain || !algorithm || !loop) {
    return std::nullopt;
  }
  return PythonOptimizer{*algorithm, *loop};
}

}  // namespace

absl::StatusOr<Trace> AsSpecTrains(const ProbeSpec& spec, Trace trace) {
  const auto optimizer = PythonOptimizerOf(spec);
  if (!optimizer) return trace;
  return WithPythonOptimizer(trace, *optimizer);
}

bool TrainsAsWorkersDo(const ProbeSpec& spec) {
  return !PythonOptimizerOf(spec).has_value();
}

}  // namespace memplan
