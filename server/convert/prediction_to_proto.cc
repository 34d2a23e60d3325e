#include "server/convert/prediction_to_proto.h"

namespace memplan {
namespace {

v1::CallKnowledge ToProto(CallKnowledge knowledge) {
  switch (knowledge) {
    case CallKnowledge::kRecorded:
      return v1::CALL_KNOWLEDGE_RECORDED;
    case CallKnowledge::kRun:
      return v1::CALL_KNOWLEDGE_RUN;
    case CallKnowledge::kScaled:
      return v1::CALL_KNOWLEDGE_SCALED;
    case CallKnowledge::kAssumed:
      return v1::CALL_KNOWLEDGE_ASSUMED;
  }
  return v1::CALL_KNOWLEDGE_UNSPECIFIED;
}

v1::PredictedBatch ToProto(const PredictedBatch& predicted) {
  v1::PredictedBatch proto;
  proto.set_batch(predicted.batch);
  if (predicted.batch == 0) return proto;
  const StreamOutcome& outcome = predicted.outcome;
  proto.set_runs(outcome.Runs());
  proto.set_knowledge(ToProto(predicted.knowledge));
  proto.set_allocated_bytes(outcome.peaks.allocated.bytes.count());
  proto.set_reserved_bytes(outcome.peaks.reserved.bytes.count());
  proto.set_retries_per_step(outcome.steady_retries);
  proto.set_segments_freed_per_step(outcome.steady_segments_freed);
  proto.set_retries(outcome.retries);
  proto.set_segments_freed(outcome.segments_freed);
  proto.set_caught_failures(outcome.caught_failures);
  return proto;
}

void SetRange(const PeakRange& range, v1::PeakRange& proto) {
  proto.set_least_bytes(range.least.count());
  proto.set_most_bytes(range.most.count());
}

}  // namespace

v1::Prediction ToProto(const PredictedAnswer& predicted) {
  v1::Prediction proto;
  *proto.mutable_safe() = ToProto(predicted.safe);
  if (predicted.safe_interval) {
    v1::PeakInterval& interval = *proto.mutable_safe_interval();
    SetRange(predicted.safe_interval->allocated, *interval.mutable_allocated());
    SetRange(predicted.safe_interval->reserved, *interval.mutable_reserved());
  }
  *proto.mutable_comfortable() = ToProto(predicted.comfortable);
  *proto.mutable_failing() = ToProto(predicted.failing);
  for (const PredictedBatch& batch : predicted.running_above) {
    *proto.add_running_above() = ToProto(batch);
  }
  proto.set_checked_from(predicted.checked_from);
  proto.set_checked_to(predicted.checked_to);
  proto.mutable_recorded_batches()->Add(predicted.recorded_batches.begin(),
                                        predicted.recorded_batches.end());
  proto.mutable_call_batches()->Add(predicted.call_batches.begin(),
                                    predicted.call_batches.end());
  proto.set_irregular_calls(predicted.irregular_calls);
  proto.set_distinct_calls(predicted.distinct_calls);
  return proto;
}

}  // namespace memplan
