// A training program made up of a few layers, with convolutions whose scratch
// follows no law, as libraries' does: it may vanish, appear or grow in tiles at
// batches that no recording foretells. A call of its own shows it.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_SIMULATED_PROGRAM_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_SIMULATED_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "tests/planner/plan/fast_search_run.h"

namespace memplan::testing {

enum class ScratchKind { kNone, kConstant, kTiles, kVanishes, kAppears };

// Scratch of one direction of a convolution.
struct Scratch {
  ScratchKind kind = ScratchKind::kNone;
  int64_t bytes = 0;      // in all, a tile of 8 samples, or a sample
  int64_t threshold = 0;  // of kVanishes and kAppears, in samples

  int64_t At(int64_t batch) const;
};

struct Layer {
  int64_t weight_bytes = 0;
  int64_t output_bytes = 0;  // a sample
  bool is_convolution = false;
  Scratch forward = {};
  Scratch backward = {};
};

class SimulatedProgram final : public DeviceProgram {
 public:
  explicit SimulatedProgram(std::vector<Layer> layers)
      : layers_(std::move(layers)) {}

  // Load, then three steps: the outputs of all layers are kept until the way
  // back; the first step makes gradients and one state of an optimizer.
  Trace TraceAt(int64_t batch) const override;
  CallPlansOrNone RunCall(const DistinctCall& call) const override;

 private:
  std::vector<Layer> layers_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_SIMULATED_PROGRAM_H_
