// What Python's optimizers ask for in one step, as libtorch 2.11's torch/optim
// does it on a GPU, by the sizes of the parameters in their order.
//
//   Adam, parameters p q, in a later step
//   for-loop   sqrt p  div p  ·sqrt p  sqrt q  div q  ·sqrt q  ·div p  ·div q
//   foreach    sqrt p  sqrt q                                  ·sqrt q ·sqrt p
//   fused      nothing
//
// ( · : freed. The for-loop's `denom` of one parameter lives until that of the
// next is made; a list is freed from its end.) All states are made before the
// first update; fused Adam's counters are on the device too. Weight decay that
// is added to gradients, amsgrad, maximize and capturable are not modelled.
#ifndef MEMPLAN_PLANNER_TRACE_PYTHON_OPTIMIZER_H_
#define MEMPLAN_PLANNER_TRACE_PYTHON_OPTIMIZER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/trace/call_plan.h"

namespace memplan {

enum class OptimizerAlgorithm { kSgd, kSgdMomentum, kAdam, kAdamW };

// How Python goes through the parameters: its arguments foreach and fused. With
// neither it takes foreach on a GPU.
enum class OptimizerLoop { kForLoop, kForeach, kFused };

struct PythonOptimizer {
  OptimizerAlgorithm algorithm = OptimizerAlgorithm::kSgd;
  OptimizerLoop loop = OptimizerLoop::kForeach;
  friend bool operator==(const PythonOptimizer&,
                         const PythonOptimizer&) = default;
};

// An operator of the step with what is asked for while it runs and freed before
// the next begins. Requests are numbered through the whole step; those that are
// not freed in it are states.
struct OptimizerOperator {
  std::string_view name;
  std::vector<CallStep> steps;
  friend bool operator==(const OptimizerOperator&,
                         const OptimizerOperator&) = default;
};

// States of a parameter that are of its size: 0, 1 or 2.
int StatesPerParameter(OptimizerAlgorithm algorithm);

// One step that updates parameters of `parameter_bytes`, and makes the states of
// the last `new_parameters` of them: in the first step those of all.
std::vector<OptimizerOperator> OptimizerStep(
    const PythonOptimizer& optimizer, std::span<const int64_t> parameter_bytes,
    size_t new_parameters);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_PYTHON_OPTIMIZER_H_
