#include "server/store/prediction_codec.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "server/store/json_record.h"

namespace memplan {
namespace {

using nlohmann::json;

constexpr EnumNames<CallKnowledge, 4> kKnowledge = {{
    {CallKnowledge::kRecorded, "recorded"},
    {CallKnowledge::kRun, "run"},
    {CallKnowledge::kScaled, "scaled"},
    {CallKnowledge::kAssumed, "assumed"},
}};

json BatchToJson(const PredictedBatch& predicted) {
  const StreamOutcome& outcome = predicted.outcome;
  return {{"batch", predicted.batch},
          {"knowledge", NameIn(kKnowledge, predicted.knowledge)},
          {"runs", outcome.Runs()},
          {"allocated_bytes", outcome.peaks.allocated.bytes.count()},
          {"reserved_bytes", outcome.peaks.reserved.bytes.count()},
          {"retries", outcome.retries},
          {"segments_freed", outcome.segments_freed},
          {"steady_retries", outcome.steady_retries},
          {"steady_segments_freed", outcome.steady_segments_freed},
          {"caught_failures", outcome.caught_failures}};
}

json RangeToJson(const PeakRange& range) {
  return {{"least_bytes", range.least.count()},
          {"most_bytes", range.most.count()}};
}

PeakRange RangeFromJson(const json& object) {
  return {BytesFromJson(object.at("least_bytes")),
          BytesFromJson(object.at("most_bytes"))};
}

json IntervalToJson(const PeakInterval& interval) {
  return {{"allocated", RangeToJson(interval.allocated)},
          {"reserved", RangeToJson(interval.reserved)}};
}

PeakInterval IntervalFromJson(const json& object) {
  return {RangeFromJson(object.at("allocated")),
          RangeFromJson(object.at("reserved"))};
}

// Which request failed is not kept: the first stands for it.
PredictedBatch BatchFromJson(const json& object) {
  PredictedBatch predicted;
  predicted.batch = object.at("batch").get<int64_t>();
  predicted.knowledge = ValueIn(kKnowledge, object.at("knowledge"));
  StreamOutcome& outcome = predicted.outcome;
  if (!object.at("runs").get<bool>()) outcome.failed_request = 0;
  outcome.peaks.allocated.bytes = BytesFromJson(object.at("allocated_bytes"));
  outcome.peaks.reserved.bytes = BytesFromJson(object.at("reserved_bytes"));
  outcome.retries = object.at("retries").get<int64_t>();
  outcome.segments_freed = object.at("segments_freed").get<int64_t>();
  outcome.steady_retries = object.at("steady_retries").get<int64_t>();
  outcome.steady_segments_freed =
      object.at("steady_segments_freed").get<int64_t>();
  outcome.caught_failures = object.at("caught_failures").get<int64_t>();
  return predicted;
}

}  // namespace

json PredictionToJson(const PredictedAnswer& predicted) {
  json object = {{"safe", BatchToJson(predicted.safe)},
                 {"comfortable", BatchToJson(predicted.comfortable)},
                 {"failing", BatchToJson(predicted.failing)},
                 {"running_above", json::array()},
                 {"checked_from", predicted.checked_from},
                 {"checked_to", predicted.checked_to},
                 {"replays", predicted.replays},
                 {"recorded_batches", predicted.recorded_batches},
                 {"call_batches", predicted.call_batches},
                 {"irregular_calls", predicted.irregular_calls},
                 {"distinct_calls", predicted.distinct_calls}};
  for (const PredictedBatch& batch : predicted.running_above) {
    object["running_above"].push_back(BatchToJson(batch));
  }
  if (predicted.safe_interval) {
    object["safe_interval"] = IntervalToJson(*predicted.safe_interval);
  }
  return object;
}

PredictedAnswer PredictionFromJson(const json& object) {
  PredictedAnswer predicted;
  predicted.safe = BatchFromJson(object.at("safe"));
  predicted.safe_interval =
      GetOptional(object, "safe_interval", IntervalFromJson);
  predicted.comfortable = BatchFromJson(object.at("comfortable"));
  predicted.failing = BatchFromJson(object.at("failing"));
  for (const json& batch : object.at("running_above")) {
    predicted.running_above.push_back(BatchFromJson(batch));
  }
  predicted.checked_from = object.at("checked_from").get<int64_t>();
  predicted.checked_to = object.at("checked_to").get<int64_t>();
  predicted.replays = object.at("replays").get<int64_t>();
  predicted.recorded_batches =
      object.at("recorded_batches").get<std::vector<int64_t>>();
  predicted.call_batches =
      object.at("call_batches").get<std::vector<int64_t>>();
  predicted.irregular_calls = object.at("irregular_calls").get<int64_t>();
  predicted.distinct_calls = object.at("distinct_calls").get<int64_t>();
  return predicted;
}

}  // namespace memplan
