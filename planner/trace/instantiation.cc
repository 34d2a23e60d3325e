#include "planner/trace/instantiation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/base/status_macros.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/event.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/shape.h"
#include "planner/trace/size_rules.h"
#include "planner/trace/symbolic_trace.h"

namespace memplan {
namespace {

// With ScratchScenario::kAppears a convolution takes this many times its largest
// output: the copies of input and output in another layout that libraries make.
constexpr int64_t kAppearingOutputs = 2;

absl::StatusOr<std::vector<int64_t>> ValuesAt(const SymbolicTrace& symbolic,
                                              const Shape& shape) {
  std::vector<int64_t> values;
  for (const ShapeDimension& dimension : shape) {
    const size_t d = values.size();
    if (d >= symbolic.dimensions.size() ||
        dimension.name != symbolic.dimensions[d] || dimension.value < 1 ||
        dimension.value > kMaxShapeValue) {
      break;
    }
    values.push_back(dimension.value);
  }
  if (values.size() != shape.size() ||
      values.size() != symbolic.dimensions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shape ", ShapeText(shape),
                     " does not give each of the recorded dimensions (",
                     absl::StrJoin(symbolic.dimensions, ", "),
                     ") a value from 1 to ", kMaxShapeValue));
  }
  for (size_t d = 0; d < values.size(); ++d) {
    const auto is_same = [&](const std::vector<int64_t>& recorded) {
      return recorded[d] == symbolic.shapes[0][d];
    };
    if (std::all_of(symbolic.shapes.begin(), symbolic.shapes.end(), is_same) &&
        values[d] != symbolic.shapes[0][d]) {
      return absl::InvalidArgumentError(
          absl::StrCat(symbolic.dimensions[d], " was ", symbolic.shapes[0][d],
                       " in every recording, so that nothing is known at ",
                       values[d], "; record a shape in which it differs"));
    }
  }
  return values;
}

std::optional<size_t> RecordingAt(const SymbolicTrace& symbolic,
                                  const std::vector<int64_t>& values) {
  const auto found =
      std::find(symbolic.shapes.begin(), symbolic.shapes.end(), values);
  if (found == symbolic.shapes.end()) return std::nullopt;
  return found - symbolic.shapes.begin();
}

absl::Status CheckPlan(const SymbolicTrace& symbolic, const SymbolicCall& call,
                       const CallPlan& plan) {
  const absl::Status status = CheckCallPlan(plan, call.outputs.size());
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("the plan given for the call of ",
                   std::string(symbolic.names.Name(call.name)), " at event ",
                   symbolic.requests[call.requests.begin].event,
                   " does not go with it: ", status.message(),
                   "; run the call with the arguments at this very shape"));
}

}  // namespace

Instantiator::Instantiator(const SymbolicTrace& symbolic)
    : symbolic_(symbolic) {
  places_.reserve(symbolic.calls.size());
  for (const SymbolicCall& call : symbolic.calls) {
    places_.push_back(PlaceOf(symbolic, call));
  }
}

// Blocks are numbered in the order of their requests.
Instantiator::CallPlace Instantiator::PlaceOf(const SymbolicTrace& symbolic,
                                              const SymbolicCall& call) {
  CallPlace place{.own_blocks = {kNoId, 0}, .first_own = call.requests.end};
  for (uint32_t i = call.requests.begin; i < call.requests.end; ++i) {
    const SymbolicRequest& request = symbolic.requests[i];
    if (request.kind != RequestKind::kAlloc) continue;
    if (place.first_own == call.requests.end) {
      place.first_own = i;
      place.stream = request.stream;
    }
    place.own_blocks.begin = std::min(place.own_blocks.begin, request.block);
    place.own_blocks.end = request.block + 1;
  }
  return place;
}

absl::Status Instantiator::Run(const Shape& shape,
                               const InstantiateOptions& options,
                               RequestStream& stream) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                           ValuesAt(symbolic_, shape));
  const std::optional<size_t> recording = RecordingAt(symbolic_, values);
  is_recorded_ = recording.has_value();
  if (is_recorded_ && *recording != symbolic_.largest) {
    stream = symbolic_.recorded[*recording];
    return absl::OkStatus();
  }
  InstantiateOptions used = options;
  if (is_recorded_) used = {.scenario = ScratchScenario::kHeld};
  MEMPLAN_RETURN_IF_ERROR(
      symbolic_.sizes.Evaluate(values, used.scenario, sized_));
  return FillFromLaws(used, stream);
}

absl::Status Instantiator::FillFromLaws(const InstantiateOptions& options,
                                        RequestStream& stream) {
  stream.Clear();
  planned_.clear();
  for (ReadCall& read : read_) read.is_read = false;
  stream.block_count = symbolic_.block_count;
  stream.streams = symbolic_.streams;
  uint32_t next = 0;
  auto phase = symbolic_.phases.begin();
  // Phases begin between calls, never inside of one.
  const auto add_phases_up_to = [&](uint32_t request) {
    for (; phase != symbolic_.phases.end() && phase->begin <= request;
         ++phase) {
      AddRecorded({next, phase->begin}, stream);
      next = phase->begin;
      stream.phases.push_back(*phase);
      stream.phases.back().begin =
          static_cast<uint32_t>(stream.requests.size());
    }
  };
  for (uint32_t i = 0; i < symbolic_.calls.size(); ++i) {
    const RequestRange range = symbolic_.calls[i].requests;
    add_phases_up_to(range.begin);
    AddRecorded({next, range.begin}, stream);
    next = range.end;
    const bool is_known = options.plans != nullptr &&
                          i < options.plans->of_call.size() &&
                          options.plans->of_call[i] != kNoId;
    if (is_known) {
      MEMPLAN_RETURN_IF_ERROR(AddPlanned(i, *options.plans, stream));
    } else {
      AddAssumed(i, options.scenario, stream);
    }
  }
  add_phases_up_to(kNoId);
  AddRecorded({next, static_cast<uint32_t>(symbolic_.requests.size())}, stream);
  return absl::OkStatus();
}

Request Instantiator::MakeRequest(const SymbolicRequest& from) const {
  Request request{
      .block = from.block, .stream = from.stream, .kind = from.kind};
  if (from.kind == RequestKind::kAlloc) {
    request.bytes = sized_[from.rule].bytes;
    request.origin =
        is_recorded_ ? SizeOrigin::kRecorded : sized_[from.rule].origin;
  }
  return request;
}

void Instantiator::AddRecorded(RequestRange range,
                               RequestStream& stream) const {
  if (range.begin >= range.end) return;
  size_t added = stream.requests.size();
  stream.requests.resize(added + range.end - range.begin);
  stream.events.resize(stream.requests.size());
  for (uint32_t i = range.begin; i < range.end; ++i, ++added) {
    stream.requests[added] = MakeRequest(symbolic_.requests[i]);
    stream.events[added] = symbolic_.requests[i].event;
  }
}

void Instantiator::AddAssumed(uint32_t index, ScratchScenario scenario,
                              RequestStream& stream) const {
  const SymbolicCall& call = symbolic_.calls[index];
  const auto begin = static_cast<uint32_t>(stream.requests.size());
  AddRecorded(call.requests, stream);
  if (call.is_convolution && scenario == ScratchScenario::kAppears) {
    AddAppearing(call, begin, stream);
  }
  stream.calls.push_back(
      {.requests = {begin, static_cast<uint32_t>(stream.requests.size())},
       .call = index,
       .is_convolution = call.is_convolution});
}

void Instantiator::AddAppearing(const SymbolicCall& call, uint32_t begin,
                                RequestStream& stream) const {
  Request scratch{.block = stream.block_count++, .origin = SizeOrigin::kHeld};
  for (uint32_t i = begin; i < stream.requests.size(); ++i) {
    const Request& request = stream.requests[i];
    if (request.kind == RequestKind::kAlloc &&
        std::binary_search(call.outputs.begin(), call.outputs.end(),
                           request.block)) {
      scratch.bytes = std::max(scratch.bytes, request.bytes);
      scratch.stream = request.stream;
    }
  }
  scratch.bytes = std::min(scratch.bytes, kMaxEventBytes / kAppearingOutputs) *
                  kAppearingOutputs;
  stream.requests.push_back(scratch);
  stream.requests.push_back({.block = scratch.block,
                             .stream = scratch.stream,
                             .kind = RequestKind::kFree});
  stream.events.insert(stream.events.end(), 2, kNoId);
}

absl::Status Instantiator::AddPlanned(uint32_t index, const CallPlans& plans,
                                      RequestStream& stream) {
  const SymbolicCall& call = symbolic_.calls[index];
  const uint32_t distinct = plans.of_call[index];
  if (distinct >= plans.distinct.size() || plans.distinct[distinct].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("call ", index, " has plans of number ", distinct,
                     ", but there are none of that number"));
  }
  if (distinct >= read_.size()) read_.resize(plans.distinct.size());
  ReadCall& read = read_[distinct];
  if (!read.is_read || read.outputs != call.outputs.size()) {
    MEMPLAN_RETURN_IF_ERROR(ReadPlans(index, plans.distinct[distinct], read));
  }
  StreamCall added{
      .call = index, .plans = distinct, .is_convolution = call.is_convolution};
  const uint32_t first_scratch = stream.block_count;
  added.requests.begin = static_cast<uint32_t>(stream.requests.size());
  AddPlan(index, read.plans.front(), first_scratch, stream.requests);
  added.requests.end = static_cast<uint32_t>(stream.requests.size());
  added.alternatives.begin = static_cast<uint32_t>(stream.alternatives.size());
  for (size_t i = 1; i < read.plans.size(); ++i) {
    const auto begin =
        static_cast<uint32_t>(stream.alternative_requests.size());
    AddPlan(index, read.plans[i], first_scratch, stream.alternative_requests);
    stream.alternatives.push_back(
        {begin, static_cast<uint32_t>(stream.alternative_requests.size())});
  }
  added.alternatives.end = static_cast<uint32_t>(stream.alternatives.size());
  stream.block_count += static_cast<uint32_t>(read.most_requests);
  stream.events.resize(stream.requests.size(), kNoId);
  stream.calls.push_back(added);
  return absl::OkStatus();
}

absl::Status Instantiator::ReadPlans(uint32_t index,
                                     const std::vector<CallPlan>& plans,
                                     ReadCall& read) {
  const SymbolicCall& call = symbolic_.calls[index];
  read.is_read = true;
  read.outputs = call.outputs.size();
  read.most_requests = 0;
  read.plans.clear();
  std::vector<uint32_t> numbers;  // by request, among the outputs
  for (const CallPlan& plan : plans) {
    MEMPLAN_RETURN_IF_ERROR(CheckPlan(symbolic_, call, plan));
    const std::vector<bool> is_freed = FreedRequests(plan);
    numbers.clear();
    uint32_t outputs = 0;
    for (const bool freed : is_freed) numbers.push_back(freed ? 0 : outputs++);
    const auto begin = static_cast<uint32_t>(planned_.size());
    for (const CallStep& step : plan) {
      const bool is_output = !is_freed[step.request];
      planned_.push_back(
          {.bytes = step.bytes,
           .number = is_output ? numbers[step.request] : step.request,
           .is_output = is_output});
    }
    read.plans.push_back({begin, static_cast<uint32_t>(planned_.size())});
    read.most_requests = std::max(read.most_requests, is_freed.size());
  }
  return absl::OkStatus();
}

void Instantiator::AddPlan(uint32_t index, RequestRange planned,
                           uint32_t first_scratch,
                           std::vector<Request>& requests) const {
  const SymbolicCall& call = symbolic_.calls[index];
  const CallPlace& place = places_[index];
  AddFreesOfOthers({call.requests.begin, place.first_own}, place.own_blocks,
                   requests);
  for (uint32_t i = planned.begin; i < planned.end; ++i) {
    const PlannedRequest& step = planned_[i];
    requests.push_back(
        {.bytes = step.bytes,
         .block = step.is_output ? call.outputs[step.number]
                                 : first_scratch + step.number,
         .stream = place.stream,
         .kind = step.bytes > 0 ? RequestKind::kAlloc : RequestKind::kFree,
         .origin = step.bytes > 0 ? SizeOrigin::kSubstituted
                                  : SizeOrigin::kRecorded});
  }
  AddFreesOfOthers({place.first_own, call.requests.end}, place.own_blocks,
                   requests);
}

void Instantiator::AddFreesOfOthers(RequestRange range, RequestRange own_blocks,
                                    std::vector<Request>& requests) const {
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const SymbolicRequest& request = symbolic_.requests[i];
    const bool is_own =
        request.block >= own_blocks.begin && request.block < own_blocks.end;
    if (request.kind == RequestKind::kFree && !is_own) {
      requests.push_back(MakeRequest(request));
    }
  }
}

absl::StatusOr<Reach> ReachOf(const SymbolicTrace& symbolic,
                              const Shape& shape) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<int64_t> values,
                           ValuesAt(symbolic, shape));
  if (RecordingAt(symbolic, values).has_value()) return Reach::kRecorded;
  for (size_t d = 0; d < values.size(); ++d) {
    const bool is_above = std::all_of(
        symbolic.shapes.begin(), symbolic.shapes.end(),
        [&](const auto& recorded) { return recorded[d] < values[d]; });
    if (is_above) return Reach::kExtrapolated;
  }
  return Reach::kInterpolated;
}

}  // namespace memplan
