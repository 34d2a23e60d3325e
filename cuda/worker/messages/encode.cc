// Messages to JSON. decode.cc is its mirror.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "cuda/worker/messages/call_messages.h"
#include "cuda/worker/messages/messages.h"
#include "cuda/worker/messages/step_option_messages.h"
#include "cuda/worker/messages/words.h"
#include "planner/base/bytes.h"
#include "planner/plan/trial.h"

namespace memplan::gpu {
namespace {

using nlohmann::json;

void SetIfKnown(json& object, const char* name, std::optional<Bytes> amount) {
  if (amount.has_value()) object[name] = amount->count();
}

json ToJson(const Peaks& peaks) {
  json object = {{"requested", peaks.requested.count()},
                 {"allocated", peaks.allocated.count()},
                 {"active", peaks.active.count()}};
  SetIfKnown(object, "reserved", peaks.reserved);
  return object;
}

json ToJson(const StepResult& step) {
  json object = {{"peaks", ToJson(step.peaks)},
                 {"seconds", step.seconds},
                 {"allocation_retries", step.allocation_retries},
                 {"failed_requests", step.failed_requests}};
  if (step.kind != StepKind::kStep) {
    object["kind"] = WordFor(step.kind, kStepKindWords);
  }
  if (step.batch != 0) object["batch"] = step.batch;
  return object;
}

json ToJson(const Hello& hello) {
  return {{"type", "hello"},
          {"protocol_version", hello.protocol_version},
          {"pid", hello.pid},
          {"torch_version", hello.torch_version}};
}

json ToJson(const Sandboxed& sandboxed) {
  json layers = json::array();
  for (const SandboxLayer& layer : sandboxed.layers) {
    layers.push_back({{"name", layer.name},
                      {"state", WordFor(layer.state, kLayerStateWords)},
                      {"detail", TrimmedMessage(layer.detail)}});
  }
  return {{"type", "sandboxed"}, {"layers", layers}};
}

json ToJson(const Prepared& prepared) {
  return {{"type", "prepared"},
          {"device_name", prepared.device_name},
          {"driver_version", prepared.driver_version},
          {"cudnn_version", prepared.cudnn_version}};
}

json ToJson(const Progress& progress) {
  return {{"type", "progress"},
          {"phase", progress.phase},
          {"steps_done", progress.steps_done}};
}

json ToJson(const Settled& settled) {
  json object = {{"type", "settled"}, {"reserved", settled.reserved.count()}};
  SetIfKnown(object, "device_free", settled.device_free);
  SetIfKnown(object, "device_total", settled.device_total);
  return object;
}

json ToJson(const Report& report) {
  json steps = json::array();
  for (const StepResult& step : report.steps) steps.push_back(ToJson(step));
  json object = {{"type", "report"},
                 {"end", WordFor(report.end, kEndKindWords)},
                 {"end_class", WordFor(report.end_class, kEndClassWords)},
                 {"field", report.field},
                 {"message", TrimmedMessage(report.message)},
                 {"failed_while_loading", report.failed_while_loading},
                 {"load_peaks", ToJson(report.load_peaks)},
                 {"load_allocation_retries", report.load_allocation_retries},
                 {"load_failed_requests", report.load_failed_requests},
                 {"steps", steps}};
  if (report.traced_batch.has_value()) {
    object["traced_batch"] = *report.traced_batch;
  }
  SetIfKnown(object, "cap", report.cap);
  if (report.memory_speed.has_value()) {
    object["memory_speed"] = {
        {"slowest", report.memory_speed->slowest},
        {"peak", report.memory_speed->peak},
        {"absence", TrimmedMessage(report.memory_speed->absence)}};
  }
  return object;
}

json ToJson(const TrialRequest& request) {
  json object = {{"type", "run"},
                 {"model_path", request.model_path},
                 {"device", WordFor(request.device, kDeviceKindWords)},
                 {"inputs", InputSpecsToJson(request.inputs)},
                 {"dimensions", json(request.dimensions)},
                 {"batch", request.batch},
                 {"mode", WordFor(request.mode, kModeWords)},
                 {"optimizer", WordFor(request.optimizer, kOptimizerWords)},
                 {"run_as", WordFor(request.run_as, kRunAsWords)},
                 {"steps", request.steps},
                 {"stay", request.stay}};
  if (request.options != StepOptions{}) {
    object["options"] = StepOptionsToJson(request.options);
  }
  if (!request.loss_path.empty()) object["loss_path"] = request.loss_path;
  SetIfKnown(object, "cap", request.cap);
  if (request.sandbox.has_value()) {
    object["sandbox"] = {{"required", request.sandbox->required},
                         {"scratch_path", request.sandbox->scratch_path}};
  }
  return object;
}

json ToJson(const CallsReport& report) {
  return {{"type", "calls_report"}, {"results", ResultsToJson(report.results)}};
}

json ToJson(const Proceed&) { return {{"type", "proceed"}}; }

json ToJson(const Prepare& prepare) {
  json object = ToJson(prepare.program);
  object["type"] = "prepare";
  object["preparation"] = WordFor(prepare.preparation, kPreparationWords);
  return object;
}

json ToJson(const RunCalls& order) {
  json object = {{"type", "run_calls"}, {"calls", CallsToJson(order.calls)}};
  SetIfKnown(object, "cap", order.cap);
  return object;
}

json ToJson(const End&) { return {{"type", "end"}}; }

// Bytes that are no UTF-8 are replaced, since dump would throw over them.
template <typename Message>
std::string EncodeAny(const Message& message) {
  const json object =
      std::visit([](const auto& known) { return ToJson(known); }, message);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string Encode(const WorkerMessage& message) { return EncodeAny(message); }
std::string Encode(const DaemonMessage& message) { return EncodeAny(message); }

}  // namespace memplan::gpu
