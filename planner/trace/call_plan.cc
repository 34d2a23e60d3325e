#include "planner/trace/call_plan.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/trace/event.h"

namespace memplan {

absl::Status CheckCallPlan(const CallPlan& plan, size_t outputs) {
  std::vector<bool> live;
  for (size_t i = 0; i < plan.size(); ++i) {
    const CallStep& step = plan[i];
    const bool is_request = step.bytes != 0;
    const bool is_known =
        is_request ? step.request == live.size()
                   : step.request < live.size() && live[step.request];
    if (!is_known || step.bytes < 0 || step.bytes > kMaxEventBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", i, " cannot follow on those before: request ",
                       step.request, ", ", step.bytes, " bytes"));
    }
    if (is_request) {
      live.push_back(true);
    } else {
      live[step.request] = false;
    }
  }
  const auto left =
      static_cast<size_t>(std::count(live.begin(), live.end(), true));
  if (left == outputs) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it has ", left, " outputs, the recorded ", outputs));
}

std::vector<bool> FreedRequests(const CallPlan& plan) {
  std::vector<bool> freed;
  for (const CallStep& step : plan) {
    if (step.bytes > 0) {
      freed.push_back(false);
    } else {
      freed[step.request] = true;
    }
  }
  return freed;
}

}  // namespace memplan
