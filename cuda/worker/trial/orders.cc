#include "cuda/worker/trial/orders.h"

#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"

namespace memplan::gpu {

absl::Status Orders::Serve(DaemonMessage first) {
  DaemonMessage order = std::move(first);
  for (;;) {
    MEMPLAN_ASSIGN_OR_RETURN(const Next next, CarryOut(order));
    if (next == Next::kEnd) return absl::OkStatus();
    absl::StatusOr<DaemonMessage> following = conversation_.NextOrder();
    // Between orders the daemon may just hang up.
    if (absl::IsUnavailable(following.status())) return absl::OkStatus();
    MEMPLAN_RETURN_IF_ERROR(following.status());
    order = *std::move(following);
  }
}

absl::StatusOr<Orders::Next> Orders::CarryOut(const DaemonMessage& order) {
  if (const auto* run = std::get_if<TrialRequest>(&order)) {
    return CarryOut(*run);
  }
  if (const auto* prepare = std::get_if<Prepare>(&order)) {
    return CarryOut(*prepare);
  }
  if (const auto* calls = std::get_if<RunCalls>(&order)) {
    return CarryOut(*calls);
  }
  return Next::kEnd;
}

absl::StatusOr<Orders::Next> Orders::CarryOut(const TrialRequest& request) {
  MEMPLAN_RETURN_IF_ERROR(CheckProgram(request));
  if (prepared_ == nullptr) MEMPLAN_RETURN_IF_ERROR(Load(request));
  MEMPLAN_RETURN_IF_ERROR(device_.SetCap(request.cap));
  const auto load = std::exchange(prepared_, nullptr);
  const Report report = Finished(
      RunSteps(request, *load, device_, *execution_, recorder_, conversation_));
  MEMPLAN_RETURN_IF_ERROR(conversation_.Answer(report));
  // Nothing runs in this process any more after an error of CUDA that sticks.
  const bool is_lost = report.end_class == EndClass::kDeviceAssert;
  return request.stay && !is_lost ? Next::kWait : Next::kEnd;
}

absl::StatusOr<Orders::Next> Orders::CarryOut(const Prepare& order) {
  MEMPLAN_RETURN_IF_ERROR(CheckProgram(order.program));
  switch (order.preparation) {
    case Preparation::kProgram:
      break;
    case Preparation::kRehearsedProgram:
      MEMPLAN_RETURN_IF_ERROR(Renew(order.program.cap));
      workshop_.Rehearse(AsShutIn(order.program));
      break;
    case Preparation::kLibraries:
      MEMPLAN_RETURN_IF_ERROR(Renew(order.program.cap));
      workshop_.OpenLibraries();
      MEMPLAN_RETURN_IF_ERROR(conversation_.Answer(device_.Identity()));
      return Next::kWait;
  }
  return PrepareProgram(order.program);
}

absl::StatusOr<Orders::Next> Orders::PrepareProgram(
    const TrialRequest& program) {
  MEMPLAN_RETURN_IF_ERROR(Load(program));
  if (!prepared_->failure.has_value()) {
    MEMPLAN_RETURN_IF_ERROR(conversation_.Answer(device_.Identity()));
    return Next::kWait;
  }
  const auto load = std::exchange(prepared_, nullptr);
  MEMPLAN_RETURN_IF_ERROR(conversation_.Answer(Finished(RunSteps(
      program, *load, device_, *execution_, recorder_, conversation_))));
  return Next::kWait;
}

absl::StatusOr<Orders::Next> Orders::CarryOut(const RunCalls& order) {
  MEMPLAN_RETURN_IF_ERROR(Renew(order.cap));
  MEMPLAN_RETURN_IF_ERROR(conversation_.Answer(workshop_.RunEach(order)));
  return Next::kWait;
}

absl::Status Orders::CheckProgram(const TrialRequest& request) const {
  if (request.model_path == program_.request.model_path &&
      request.loss_path == program_.request.loss_path &&
      request.device == program_.request.device) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("an order is of ",
                                                 request.model_path,
                                                 ", but this worker "
                                                 "was started for ",
                                                 program_.request.model_path));
}

TrialRequest Orders::AsShutIn(const TrialRequest& request) const {
  TrialRequest order = request;
  order.sandbox = program_.request.sandbox;
  return order;
}

absl::Status Orders::Load(const TrialRequest& request) {
  MEMPLAN_RETURN_IF_ERROR(Renew(request.cap));
  execution_ = workshop_.MakeExecution(AsShutIn(request));
  prepared_ = std::make_unique<LoadResult>(
      RunLoad(device_, *execution_, recorder_, conversation_));
  return absl::OkStatus();
}

absl::Status Orders::Renew(std::optional<Bytes> cap) {
  prepared_.reset();
  execution_.reset();
  if (!std::exchange(is_fresh_, false)) {
    const absl::StatusOr<Bytes> held = device_.Renew();
    if (!held.ok()) {
      return absl::FailedPreconditionError(held.status().message());
    }
    if (*held > Bytes(0)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the program before holds ", FormatBytes(*held),
          " that it does not give back; run this in a fresh worker"));
    }
    recorder_.Restart();
  }
  return device_.SetCap(cap);
}

Report Orders::Finished(Report report) const {
  report.traced_batch = program_.traced_batch;
  return report;
}

}  // namespace memplan::gpu
