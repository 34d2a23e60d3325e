// Probes with hand-made numbers, for what prints them.
#ifndef MEMPLAN_TESTS_CLIENT_PROBES_FOR_TESTS_H_
#define MEMPLAN_TESTS_CLIENT_PROBES_FOR_TESTS_H_

#include <cstdint>
#include <tuple>

#include "memplan/v1/probe_service.pb.h"

namespace memplan::testing {

inline v1::Quantity MakeQuantity(int64_t bytes, v1::Provenance provenance,
                                 int trial_number) {
  v1::Quantity quantity;
  quantity.set_bytes(bytes);
  quantity.set_provenance(provenance);
  quantity.set_trial_number(trial_number);
  return quantity;
}

// A profile's trial on the CPU device: without reserved peak, context, fragmentation.
inline v1::Trial MakeTrial(int number, int64_t batch,
                           v1::TrialOutcome outcome) {
  v1::Trial trial;
  trial.set_number(number);
  trial.set_batch(batch);
  trial.set_purpose(v1::TRIAL_PURPOSE_PROFILE);
  trial.set_outcome(outcome);
  trial.mutable_peaks()->set_requested_bytes(batch << 20);
  trial.mutable_peaks()->set_allocated_bytes(batch << 20);
  trial.mutable_peaks()->set_active_bytes(batch << 20);
  trial.mutable_duration()->set_seconds(2);
  return trial;
}

// A search on a GPU, under 16 GiB, that found 37, verified in trial 9.
inline v1::Probe FoundProbe() {
  v1::Probe probe;
  probe.set_id("probe-1");
  probe.set_state(v1::PROBE_STATE_SUCCEEDED);
  v1::ProbeSpec& spec = *probe.mutable_spec();
  spec.set_device_id("GPU-1");
  spec.set_mode(v1::MODE_TRAIN);
  spec.set_optimizer(v1::OPTIMIZER_ADAM);
  spec.set_run_as(v1::RUN_AS_EAGER);
  spec.set_steps(4);
  spec.set_cap_bytes(int64_t{16} << 30);
  spec.mutable_search();
  v1::Plan& plan = *probe.mutable_plan();
  plan.set_verdict(v1::PLAN_VERDICT_FOUND);
  plan.set_safe_batch(37);
  plan.set_verified(true);
  plan.set_verifying_trials(1);
  plan.set_limit(v1::SEARCH_LIMIT_MEMORY);
  const auto verified = v1::PROVENANCE_VERIFIED;
  *plan.mutable_peak_requested() = MakeQuantity(3 << 29, verified, 9);
  *plan.mutable_peak_allocated() = MakeQuantity(3 << 29, verified, 9);
  *plan.mutable_peak_active() = MakeQuantity(3 << 29, verified, 9);
  *plan.mutable_peak_reserved() =
      MakeQuantity(int64_t{1} << 31, v1::PROVENANCE_MEASURED, 3);
  *plan.mutable_context() = MakeQuantity(512 << 20, verified, 9);
  *plan.mutable_fragmentation() = MakeQuantity(512 << 20, verified, 9);
  plan.set_fragmentation_ratio(0.25);
  plan.set_peak_step(1);
  for (const auto& [batch, outcome, number] :
       {std::tuple(35, v1::TRIAL_OUTCOME_FITS, 7),
        std::tuple(38, v1::TRIAL_OUTCOME_OUT_OF_MEMORY, 6)}) {
    v1::Neighbour& neighbour = *plan.add_neighbours();
    neighbour.set_batch(batch);
    neighbour.set_outcome(outcome);
    neighbour.set_trial_number(number);
  }
  plan.set_method(v1::PLAN_METHOD_BISECTED);
  plan.set_trial_count(9);
  plan.set_out_of_memory_count(3);
  plan.mutable_duration()->set_seconds(83);
  return probe;
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_CLIENT_PROBES_FOR_TESTS_H_
