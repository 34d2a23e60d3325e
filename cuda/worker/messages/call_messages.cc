#include "cuda/worker/messages/call_messages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/call_text.h"

namespace memplan::gpu {
namespace {

using nlohmann::json;

constexpr size_t kMaxNameBytes = 512;
// What a trace keeps of a signature, and room for longer numbers.
constexpr size_t kMaxSignatureBytes = 65536;
constexpr int64_t kMaxRequestBytes = int64_t{1} << 60;

json PlanToJson(const CallPlan& plan) {
  json numbers = json::array();
  for (const CallStep& step : plan) {
    numbers.push_back(step.bytes > 0 ? step.bytes : -int64_t{step.request});
  }
  return numbers;
}

// A fault stays with the reader it is called with.
class PlanReader {
 public:
  explicit PlanReader(JsonReader& parent) : parent_(parent) {}

  CallPlan Read(const json& numbers) {
    if (!numbers.is_array() || numbers.size() > kMaxStepsOfPlan) {
      parent_.Fault("plans", absl::StrCat("has an item that is no list of at "
                                          "most ",
                                          kMaxStepsOfPlan, " numbers"));
      return {};
    }
    CallPlan plan;
    for (const json& number : numbers) {
      if (!AddStep(number, plan)) return {};
    }
    return Checked(std::move(plan));
  }

 private:
  bool AddStep(const json& number, CallPlan& plan) {
    const auto* value = number.get_ptr<const int64_t*>();
    const auto* positive = number.get_ptr<const uint64_t*>();
    const bool too_large = positive != nullptr &&
                           *positive > static_cast<uint64_t>(kMaxRequestBytes);
    if (value == nullptr || too_large ||
        *value < -static_cast<int64_t>(kMaxStepsOfPlan)) {
      parent_.Fault("plans",
                    "has a step that is neither bytes nor a request's number");
      return false;
    }
    if (*value > 0) {
      plan.push_back({.request = requests_++, .bytes = *value});
    } else {
      plan.push_back({.request = static_cast<uint32_t>(-*value), .bytes = 0});
    }
    return true;
  }

  CallPlan Checked(CallPlan plan) {
    const size_t frees = plan.size() - requests_;
    // More frees than requests wrap around and fit no plan.
    const absl::Status status = CheckCallPlan(plan, requests_ - frees);
    if (status.ok()) return plan;
    parent_.Fault("plans", std::string(status.message()));
    return {};
  }

  JsonReader& parent_;
  uint32_t requests_ = 0;
};

DistinctCall ReadCall(JsonReader& reader) {
  DistinctCall call;
  call.operator_name = reader.Text("operator", kMaxNameBytes);
  call.is_convolution = reader.Boolean("is_convolution");
  if (reader.Has("signature")) {
    const std::string text = reader.Text("signature", kMaxSignatureBytes);
    const absl::Status status = ReadCallText(text, call);
    if (!status.ok()) reader.Fault("signature", std::string(status.message()));
  }
  return call;
}

CallResult ReadResult(JsonReader& reader) {
  CallResult result;
  if (reader.Has("fault")) {
    result.fault = reader.Text("fault", kMaxMessageBytes);
    if (TrimmedMessage(result.fault) != result.fault) {
      reader.Fault("fault", "has control characters");
    }
    if (result.fault.empty()) reader.Fault("fault", "is empty");
    return result;
  }
  for (const json& plan : reader.Array("plans", kMaxPlansOfCall)) {
    result.plans.push_back(PlanReader(reader).Read(plan));
  }
  if (result.plans.empty()) reader.Fault("plans", "is empty");
  return result;
}

// Reads each item of the member `name` with `read`.
template <typename Value>
std::vector<Value> ReadEach(JsonReader& parent, const std::string& name,
                            Value (*read)(JsonReader&)) {
  std::vector<Value> values;
  for (const json& item : parent.Array(name, kMaxCalls)) {
    JsonReader reader(
        item, absl::StrCat(parent.path(), ".", name, "[", values.size(), "]"));
    values.push_back(read(reader));
    parent.Absorb(reader.Finish());
  }
  return values;
}

}  // namespace

json CallsToJson(const std::vector<DistinctCall>& calls) {
  json items = json::array();
  for (const DistinctCall& call : calls) {
    json item = {{"operator", call.operator_name},
                 {"is_convolution", call.is_convolution}};
    if (call.has_signature) item["signature"] = WriteCallText(call);
    items.push_back(std::move(item));
  }
  return items;
}

json ResultsToJson(const std::vector<CallResult>& results) {
  json items = json::array();
  for (const CallResult& result : results) {
    json item = json::object();
    if (result.plans.empty()) {
      const std::string fault = TrimmedMessage(result.fault);
      item["fault"] = fault.empty() ? "it has no words" : fault;
    } else {
      json plans = json::array();
      for (const CallPlan& plan : result.plans) {
        plans.push_back(PlanToJson(plan));
      }
      item["plans"] = std::move(plans);
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<DistinctCall> ReadCalls(JsonReader& parent) {
  return ReadEach(parent, "calls", &ReadCall);
}

std::vector<CallResult> ReadResults(JsonReader& parent) {
  return ReadEach(parent, "results", &ReadResult);
}

}  // namespace memplan::gpu
