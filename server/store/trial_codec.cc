#include "server/store/trial_codec.h"

#include <nlohmann/json.hpp>

#include "server/store/attribution_codec.h"
#include "server/store/json_record.h"
#include "server/store/prediction_codec.h"

namespace memplan {
namespace {

using nlohmann::json;

constexpr EnumNames<TrialPurpose, 6> kPurposes = {{
    {TrialPurpose::kProfile, "profile"},
    {TrialPurpose::kSearch, "search"},
    {TrialPurpose::kNeighbour, "neighbour"},
    {TrialPurpose::kVerify, "verify"},
    {TrialPurpose::kCalibrate, "calibrate"},
    {TrialPurpose::kRecord, "record"},
}};

constexpr EnumNames<TrialOutcome, 7> kOutcomes = {{
    {TrialOutcome::kFits, "fits"},
    {TrialOutcome::kOutOfMemory, "out_of_memory"},
    {TrialOutcome::kShapeRefused, "shape_refused"},
    {TrialOutcome::kModelFailed, "model_failed"},
    {TrialOutcome::kTimedOut, "timed_out"},
    {TrialOutcome::kWorkerDied, "worker_died"},
    {TrialOutcome::kSandboxRefused, "sandbox_refused"},
}};

constexpr EnumNames<SearchEnd, 4> kEnds = {{
    {SearchEnd::kFound, "found"},
    {SearchEnd::kDoesNotFit, "does_not_fit"},
    {SearchEnd::kFixedBatch, "fixed_batch"},
    {SearchEnd::kFailed, "failed"},
}};

constexpr EnumNames<SearchLimit, 3> kLimits = {{
    {SearchLimit::kMemory, "memory"},
    {SearchLimit::kMaxBatch, "max_batch"},
    {SearchLimit::kOtherFailure, "other_failure"},
}};

constexpr EnumNames<Provenance, 3> kProvenances = {{
    {Provenance::kEstimate, "estimate"},
    {Provenance::kMeasured, "measured"},
    {Provenance::kVerified, "verified"},
}};

constexpr EnumNames<StepKind, 4> kStepKinds = {{
    {StepKind::kStep, "step"},
    {StepKind::kOtherBatch, "other_batch"},
    {StepKind::kEvaluation, "evaluation"},
    {StepKind::kAgain, "again"},
}};

json PeaksToJson(const Peaks& peaks) {
  json object = {{"requested_bytes", peaks.requested.count()},
                 {"allocated_bytes", peaks.allocated.count()},
                 {"active_bytes", peaks.active.count()}};
  PutOptional(object, "reserved_bytes", peaks.reserved, BytesToJson);
  return object;
}

Peaks PeaksFromJson(const json& object) {
  Peaks peaks;
  peaks.requested = BytesFromJson(object.at("requested_bytes"));
  peaks.allocated = BytesFromJson(object.at("allocated_bytes"));
  peaks.active = BytesFromJson(object.at("active_bytes"));
  peaks.reserved = GetOptional(object, "reserved_bytes", BytesFromJson);
  return peaks;
}

json StepToJson(const StepResult& step) {
  json object = {{"peaks", PeaksToJson(step.peaks)},
                 {"seconds", step.seconds},
                 {"allocation_retries", step.allocation_retries},
                 {"failed_requests", step.failed_requests}};
  // Left out as long as they say nothing, as records of before they were do.
  if (step.kind != StepKind::kStep) {
    object["kind"] = NameIn(kStepKinds, step.kind);
  }
  if (step.batch != 0) object["batch"] = step.batch;
  return object;
}

StepResult StepFromJson(const json& object) {
  StepResult step;
  step.peaks = PeaksFromJson(object.at("peaks"));
  step.seconds = object.at("seconds").get<double>();
  step.allocation_retries = object.at("allocation_retries").get<int64_t>();
  step.failed_requests = object.at("failed_requests").get<int64_t>();
  if (object.contains("kind")) {
    step.kind = ValueIn(kStepKinds, object.at("kind"));
  }
  step.batch = object.value("batch", int64_t{0});
  return step;
}

json QuantityToJson(const Quantity& quantity) {
  return {{"bytes", quantity.bytes.count()},
          {"provenance", NameIn(kProvenances, quantity.provenance)},
          {"trial_number", quantity.trial_number}};
}

Quantity QuantityFromJson(const json& object) {
  Quantity quantity;
  quantity.bytes = BytesFromJson(object.at("bytes"));
  quantity.provenance = ValueIn(kProvenances, object.at("provenance"));
  quantity.trial_number = object.at("trial_number").get<int>();
  return quantity;
}

json WarmUpToJson(const WarmUp& warm_up) {
  return {{"trial_number", warm_up.trial_number},
          {"steps", warm_up.steps},
          {"settled", warm_up.settled},
          {"first_seconds", warm_up.first_seconds},
          {"steady_seconds", warm_up.steady_seconds}};
}

WarmUp WarmUpFromJson(const json& object) {
  WarmUp warm_up;
  warm_up.trial_number = object.at("trial_number").get<int>();
  warm_up.steps = object.at("steps").get<int>();
  warm_up.settled = object.at("settled").get<bool>();
  warm_up.first_seconds = object.at("first_seconds").get<double>();
  warm_up.steady_seconds = object.at("steady_seconds").get<double>();
  return warm_up;
}

json NeighbourToJson(const Neighbour& neighbour) {
  return {{"batch", neighbour.batch},
          {"outcome", NameIn(kOutcomes, neighbour.outcome)},
          {"trial_number", neighbour.trial_number}};
}

Neighbour NeighbourFromJson(const json& object) {
  Neighbour neighbour;
  neighbour.batch = object.at("batch").get<int64_t>();
  neighbour.outcome = ValueIn(kOutcomes, object.at("outcome"));
  neighbour.trial_number = object.at("trial_number").get<int>();
  return neighbour;
}

json AnswerToJson(const SearchAnswer& answer) {
  return {{"end", NameIn(kEnds, answer.end)},
          {"safe_batch", answer.safe_batch},
          {"verifying_trials", answer.verifying_trials},
          {"limit", NameIn(kLimits, answer.limit)},
          {"message", answer.message},
          {"unsafe_running_batches", answer.unsafe_running_batches}};
}

SearchAnswer AnswerFromJson(const json& object) {
  SearchAnswer answer;
  answer.end = ValueIn(kEnds, object.at("end"));
  answer.safe_batch = object.at("safe_batch").get<int64_t>();
  answer.verifying_trials = object.at("verifying_trials").get<int>();
  answer.limit = ValueIn(kLimits, object.at("limit"));
  answer.message = object.at("message").get<std::string>();
  answer.unsafe_running_batches =
      object.at("unsafe_running_batches").get<std::vector<int64_t>>();
  return answer;
}

int64_t Int64FromJson(const json& value) { return value.get<int64_t>(); }
double DoubleFromJson(const json& value) { return value.get<double>(); }

}  // namespace

json TrialToJson(const Trial& trial) {
  json object = {
      {"batch", trial.batch},
      {"purpose", NameIn(kPurposes, trial.purpose)},
      {"outcome", NameIn(kOutcomes, trial.outcome)},
      {"message", trial.message},
      {"load_peaks", PeaksToJson(trial.load_peaks)},
      {"load_allocation_retries", trial.load_allocation_retries},
      {"load_failed_requests", trial.load_failed_requests},
      {"failed_while_loading", trial.failed_while_loading},
      {"context_source", trial.context_source},
      {"seconds", trial.seconds},
      {"trace_events", trial.trace_events},
      {"trace_overflowed", trial.trace_overflowed},
      {"steps", json::array()},
  };
  for (const StepResult& step : trial.steps) {
    object["steps"].push_back(StepToJson(step));
  }
  if (!trial.end_class.empty()) object["end_class"] = trial.end_class;
  PutOptional(object, "traced_batch", trial.traced_batch,
              [](int64_t batch) { return json(batch); });
  PutOptional(object, "context_bytes", trial.context, BytesToJson);
  PutOptional(object, "cap_bytes", trial.cap, BytesToJson);
  PutOptional(object, "peak_request", trial.peak_request, AttributedToJson);
  PutOptional(object, "refused_request", trial.refused_request,
              AttributedToJson);
  PutOptional(object, "contents_dependence", trial.contents_dependence,
              ContentsToJson);
  return object;
}

Trial TrialFromJson(const json& object) {
  Trial trial;
  trial.batch = object.at("batch").get<int64_t>();
  trial.purpose = ValueIn(kPurposes, object.at("purpose"));
  trial.outcome = ValueIn(kOutcomes, object.at("outcome"));
  trial.message = object.at("message").get<std::string>();
  trial.load_peaks = PeaksFromJson(object.at("load_peaks"));
  trial.load_allocation_retries =
      object.at("load_allocation_retries").get<int64_t>();
  trial.load_failed_requests = object.at("load_failed_requests").get<int64_t>();
  trial.failed_while_loading = object.at("failed_while_loading").get<bool>();
  trial.context_source = object.at("context_source").get<std::string>();
  trial.seconds = object.at("seconds").get<double>();
  trial.trace_events = object.at("trace_events").get<int64_t>();
  trial.trace_overflowed = object.at("trace_overflowed").get<bool>();
  for (const json& step : object.at("steps")) {
    trial.steps.push_back(StepFromJson(step));
  }
  trial.end_class = object.value("end_class", "");
  trial.traced_batch = GetOptional(object, "traced_batch", Int64FromJson);
  trial.context = GetOptional(object, "context_bytes", BytesFromJson);
  trial.cap = GetOptional(object, "cap_bytes", BytesFromJson);
  trial.peak_request = GetOptional(object, "peak_request", AttributedFromJson);
  trial.refused_request =
      GetOptional(object, "refused_request", AttributedFromJson);
  trial.contents_dependence =
      GetOptional(object, "contents_dependence", ContentsFromJson);
  return trial;
}

json PlanToJson(const Plan& plan) {
  json object = {
      {"answer", AnswerToJson(plan.answer)},
      {"verified", plan.verified},
      {"peak_step", plan.peak_step},
      {"trial_count", plan.trial_count},
      {"out_of_memory_count", plan.out_of_memory_count},
      {"seconds", plan.seconds},
      {"neighbours", json::array()},
      {"recording_trials", plan.recording_trials},
      {"fall_back_reason", plan.fall_back_reason},
  };
  PutOptional(object, "predicted", plan.predicted, PredictionToJson);
  for (const Neighbour& neighbour : plan.neighbours) {
    object["neighbours"].push_back(NeighbourToJson(neighbour));
  }
  PutOptional(object, "peak_requested", plan.peak_requested, QuantityToJson);
  PutOptional(object, "peak_allocated", plan.peak_allocated, QuantityToJson);
  PutOptional(object, "peak_active", plan.peak_active, QuantityToJson);
  PutOptional(object, "peak_reserved", plan.peak_reserved, QuantityToJson);
  PutOptional(object, "steady_peak_allocated", plan.steady_peak_allocated,
              QuantityToJson);
  PutOptional(object, "steady_peak_reserved", plan.steady_peak_reserved,
              QuantityToJson);
  PutOptional(object, "warm_up", plan.warm_up, WarmUpToJson);
  PutOptional(object, "context", plan.context, QuantityToJson);
  PutOptional(object, "fragmentation", plan.fragmentation, QuantityToJson);
  PutOptional(object, "fragmentation_ratio", plan.fragmentation_ratio,
              [](double ratio) { return json(ratio); });
  PutOptional(object, "peak_request", plan.peak_request, AttributedToJson);
  PutOptional(object, "contents_dependence", plan.contents_dependence,
              ContentsToJson);
  return object;
}

Plan PlanFromJson(const json& object) {
  Plan plan;
  plan.answer = AnswerFromJson(object.at("answer"));
  plan.verified = object.at("verified").get<bool>();
  plan.peak_step = object.at("peak_step").get<int>();
  plan.trial_count = object.at("trial_count").get<int>();
  plan.out_of_memory_count = object.at("out_of_memory_count").get<int>();
  plan.seconds = object.at("seconds").get<double>();
  for (const json& neighbour : object.at("neighbours")) {
    plan.neighbours.push_back(NeighbourFromJson(neighbour));
  }
  plan.recording_trials = object.value("recording_trials", 0);
  plan.fall_back_reason = object.value("fall_back_reason", "");
  plan.predicted = GetOptional(object, "predicted", PredictionFromJson);
  const auto quantity = [&object](const char* key) {
    return GetOptional(object, key, QuantityFromJson);
  };
  plan.peak_requested = quantity("peak_requested");
  plan.peak_allocated = quantity("peak_allocated");
  plan.peak_active = quantity("peak_active");
  plan.peak_reserved = quantity("peak_reserved");
  plan.steady_peak_allocated = quantity("steady_peak_allocated");
  plan.steady_peak_reserved = quantity("steady_peak_reserved");
  plan.warm_up = GetOptional(object, "warm_up", WarmUpFromJson);
  plan.context = quantity("context");
  plan.fragmentation = quantity("fragmentation");
  plan.fragmentation_ratio =
      GetOptional(object, "fragmentation_ratio", DoubleFromJson);
  plan.peak_request = GetOptional(object, "peak_request", AttributedFromJson);
  plan.contents_dependence =
      GetOptional(object, "contents_dependence", ContentsFromJson);
  return plan;
}

}  // namespace memplan
