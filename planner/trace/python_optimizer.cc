#include "planner/trace/python_optimizer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "planner/trace/call_plan.h"

namespace memplan {
namespace {

// float32 without dimensions.
constexpr int64_t kCounterBytes = 4;

bool IsAdam(OptimizerAlgorithm algorithm) {
  return algorithm == OptimizerAlgorithm::kAdam ||
         algorithm == OptimizerAlgorithm::kAdamW;
}

class StepWriter {
 public:
  void Begin(std::string_view name) { operators_.push_back({name, {}}); }

  uint32_t Take(int64_t bytes) {
    operators_.back().steps.push_back({next_, bytes});
    return next_++;
  }

  void Give(uint32_t request) {
    operators_.back().steps.push_back({request, 0});
  }

  std::vector<OptimizerOperator> operators() && {
    return std::move(operators_);
  }

 private:
  std::vector<OptimizerOperator> operators_;
  uint32_t next_ = 0;
};

void MakeStates(const PythonOptimizer& optimizer,
                std::span<const int64_t> parameter_bytes, StepWriter& writer) {
  const bool is_fused = optimizer.loop == OptimizerLoop::kFused;
  for (const int64_t bytes : parameter_bytes) {
    if (optimizer.algorithm == OptimizerAlgorithm::kSgdMomentum) {
      writer.Begin(is_fused ? "aten::empty_like" : "aten::clone");
      writer.Take(bytes);
    } else if (IsAdam(optimizer.algorithm)) {
      if (is_fused) {
        writer.Begin("aten::zeros");
        writer.Take(kCounterBytes);
      }
      for (int i = 0; i < 2; ++i) {
        writer.Begin("aten::zeros_like");
        writer.Take(bytes);
      }
    }
  }
}

// denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)
void UpdateOneByOne(std::span<const int64_t> parameter_bytes,
                    StepWriter& writer) {
  bool has_denom = false;
  uint32_t denom = 0;
  for (const int64_t bytes : parameter_bytes) {
    writer.Begin("aten::sqrt");
    const uint32_t root = writer.Take(bytes);
    writer.Begin("aten::div");
    const uint32_t quotient = writer.Take(bytes);
    writer.Give(root);
    writer.Begin("aten::add_");
    if (has_denom) writer.Give(denom);
    denom = quotient;
    has_denom = true;
    writer.Begin("aten::addcdiv_");
  }
  if (has_denom) writer.Give(denom);
}

// exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)
void UpdateTogether(std::span<const int64_t> parameter_bytes,
                    StepWriter& writer) {
  writer.Begin("aten::_foreach_sqrt");
  std::vector<uint32_t> roots;
  for (const int64_t bytes : parameter_bytes) {
    roots.push_back(writer.Take(bytes));
  }
  writer.Begin("aten::_foreach_addcdiv_");
  for (size_t i = roots.size(); i-- > 0;) writer.Give(roots[i]);
}

}  // namespace

int StatesPerParameter(OptimizerAlgorithm algorithm) {
  switch (algorithm) {
    case OptimizerAlgorithm::kSgd:
      return 0;
    case OptimizerAlgorithm::kSgdMomentum:
      return 1;
    case OptimizerAlgorithm::kAdam:
    case OptimizerAlgorithm::kAdamW:
      return 2;
  }
  return 0;
}

std::vector<OptimizerOperator> OptimizerStep(
    const PythonOptimizer& optimizer, std::span<const int64_t> parameter_bytes,
    size_t new_parameters) {
  StepWriter writer;
  MakeStates(optimizer, parameter_bytes.last(new_parameters), writer);
  if (IsAdam(optimizer.algorithm) && !parameter_bytes.empty()) {
    switch (optimizer.loop) {
      case OptimizerLoop::kForLoop:
        UpdateOneByOne(parameter_bytes, writer);
        break;
      case OptimizerLoop::kForeach:
        UpdateTogether(parameter_bytes, writer);
        break;
      case OptimizerLoop::kFused:
        break;
    }
  }
  return std::move(writer).operators();
}

}  // namespace memplan
