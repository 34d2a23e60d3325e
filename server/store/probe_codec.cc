#include "server/store/probe_codec.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/store/json_record.h"
#include "server/store/spec_codec.h"
#include "server/store/time_stamp.h"
#include "server/store/trial_codec.h"

namespace memplan {
namespace {

using nlohmann::json;

constexpr EnumNames<ProbeState, 5> kStates = {{
    {ProbeState::kQueued, "queued"},
    {ProbeState::kRunning, "running"},
    {ProbeState::kSucceeded, "succeeded"},
    {ProbeState::kFailed, "failed"},
    {ProbeState::kCancelled, "cancelled"},
}};

json TimeToJson(Time time) { return NanosecondsOf(time); }
Time TimeFromJson(const json& value) {
  return TimeFromNanoseconds(value.get<int64_t>());
}

json ErrorToJson(const ProbeError& error) {
  return {{"code", static_cast<int>(error.code)},
          {"reason", error.reason},
          {"message", error.message},
          {"field", error.field}};
}

ProbeError ErrorFromJson(const json& object) {
  ProbeError error;
  const int code = object.at("code").get<int>();
  if (code < 1 || code > 16) throw UnreadableRecord("no such status code");
  error.code = static_cast<absl::StatusCode>(code);
  error.reason = object.at("reason").get<std::string>();
  error.message = object.at("message").get<std::string>();
  error.field = object.at("field").get<std::string>();
  return error;
}

Probe ProbeFromJson(const json& object) {
  Probe probe;
  probe.id = object.at("id").get<std::string>();
  probe.request_id = object.at("request_id").get<std::string>();
  probe.spec = SpecFromJson(object.at("spec"));
  probe.state = ValueIn(kStates, object.at("state"));
  probe.create_time = TimeFromJson(object.at("create_time_ns"));
  probe.start_time = GetOptional(object, "start_time_ns", TimeFromJson);
  probe.end_time = GetOptional(object, "end_time_ns", TimeFromJson);
  for (const json& trial : object.at("trials")) {
    probe.trials.push_back(TrialFromJson(trial));
  }
  probe.plan = GetOptional(object, "plan", PlanFromJson);
  probe.error = GetOptional(object, "error", ErrorFromJson);
  probe.restart_count = object.at("restart_count").get<int>();
  probe.worker_version = object.value("worker_version", "");
  probe.device_identity = object.value("device_identity", "");
  probe.begun_anew_reason = object.value("begun_anew_reason", "");
  probe.version = object.at("version").get<int64_t>();
  return probe;
}

}  // namespace

std::string EncodeProbe(const Probe& probe) {
  json object = {
      {"id", probe.id},
      {"request_id", probe.request_id},
      {"spec", SpecToJson(probe.spec)},
      {"state", NameIn(kStates, probe.state)},
      {"create_time_ns", TimeToJson(probe.create_time)},
      {"trials", json::array()},
      {"restart_count", probe.restart_count},
      {"worker_version", probe.worker_version},
      {"device_identity", probe.device_identity},
      {"begun_anew_reason", probe.begun_anew_reason},
      {"version", probe.version},
  };
  for (const Trial& trial : probe.trials) {
    object["trials"].push_back(TrialToJson(trial));
  }
  PutOptional(object, "start_time_ns", probe.start_time, TimeToJson);
  PutOptional(object, "end_time_ns", probe.end_time, TimeToJson);
  PutOptional(object, "plan", probe.plan, PlanToJson);
  PutOptional(object, "error", probe.error, ErrorToJson);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<Probe> DecodeProbe(std::string_view text) {
  try {
    return ProbeFromJson(json::parse(text));
  } catch (const std::exception& error) {
    return absl::DataLossError(
        absl::StrCat("the record of a probe cannot be read: ", error.what()));
  }
}

}  // namespace memplan
