// A device that runs a recorded program at any batch: where it was recorded, as
// it was; elsewhere by the laws through all recordings, with the scratch of
// irregular calls drawn between the recorded ones, a jump halfway wherever a
// call's requests differ there.
//
// The recordings have no signatures; each outer operator call is given one, its
// number in the largest recording and the batch.
#ifndef MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_DEVICE_H_
#define MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_DEVICE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "planner/trace/call_plan.h"
#include "planner/trace/symbolic_trace.h"
#include "planner/trace/trace.h"
#include "tests/planner/plan/fast_search_run.h"
#include "tests/planner/plan/recorded_programs.h"

namespace memplan::testing {

class RecordedDevice final : public DeviceProgram {
 public:
  // `program` outlives it.
  explicit RecordedDevice(const RecordedProgram& program);

  Trace TraceAt(int64_t batch) const override;
  RequestStream StreamAt(int64_t batch) const override;
  CallPlansOrNone RunCall(const DistinctCall& call) const override;

 private:
  // By recorded batch: the plan of each call, by its mark in the largest
  // recording.
  using PlansByMark = std::map<uint32_t, CallPlan>;

  void AddRecording(int64_t batch, const Trace& trace);
  CallPlans PlansAt(int64_t batch) const;
  CallPlan PlanAt(uint32_t mark, int64_t batch) const;
  Trace Synthesized(int64_t batch) const;

  const RecordedProgram& program_;
  std::map<int64_t, Trace> traces_;  // with signatures
  std::map<int64_t, PlansByMark> plans_;
  SymbolicTrace symbolic_;
  std::vector<uint32_t> marks_;  // by irregular call
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_PLANNER_PLAN_RECORDED_DEVICE_H_
