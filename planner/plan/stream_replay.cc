#include "planner/plan/stream_replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "planner/allocator/block.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/trace/event.h"
#include "planner/trace/request_stream.h"

namespace memplan {

StreamOutcome StreamReplay::Run(const RequestStream& stream) {
  stream_ = &stream;
  outcome_ = StreamOutcome();
  blocks_.assign(stream.block_count, kNoBlock);
  plans_in_use_.clear();
  next_phase_ = 0;
  is_in_step_ = false;
  allocator_.Reset(stream.streams);

  uint32_t next = 0;
  bool runs = true;
  for (const StreamCall& call : stream.calls) {
    if (!RunRequests(next, call.requests.begin) || !RunCall(call)) {
      runs = false;
      break;
    }
    next = call.requests.end;
  }
  if (runs) {
    const auto end = static_cast<uint32_t>(stream.requests.size());
    if (RunRequests(next, end)) BeginPhases(end);
  }
  EndStep();
  outcome_.peaks = allocator_.peaks();
  outcome_.retries = allocator_.retries();
  outcome_.segments_freed = allocator_.segments_freed();
  return outcome_;
}

bool StreamReplay::RunRequests(uint32_t begin, uint32_t end) {
  while (begin < end) {
    BeginPhases(begin);
    uint32_t stop = end;
    if (next_phase_ < stream_->phases.size()) {
      stop = std::min(stop, stream_->phases[next_phase_].begin);
    }
    for (; begin < stop; ++begin) {
      allocator_.set_event(begin);
      if (!RunRequest(stream_->requests[begin])) {
        outcome_.failed_request = begin;
        return false;
      }
    }
  }
  return true;
}

bool StreamReplay::RunRequest(const Request& request) {
  switch (request.kind) {
    case RequestKind::kAlloc:
      if (request.bytes == 0) return true;
      blocks_[request.block] = allocator_.Malloc(request.bytes, request.stream);
      return blocks_[request.block] != kNoBlock;
    case RequestKind::kFree:
      Free(request.block);
      return true;
    case RequestKind::kEmptyCache:
      allocator_.EmptyCache();
      return true;
  }
  return true;
}

bool StreamReplay::RunCall(const StreamCall& call) {
  BeginPhases(call.requests.begin);
  allocator_.set_event(call.requests.begin);
  const size_t last_plan = call.alternatives.end - call.alternatives.begin;
  size_t plan = 0;
  if (call.plans != kNoId) {
    if (call.plans >= plans_in_use_.size()) {
      plans_in_use_.resize(call.plans + 1);
    }
    plan = plans_in_use_[call.plans];
  }
  std::span<const Request> requests = PlanOf(call, plan);
  for (size_t i = 0;;) {
    while (i < requests.size() && RunRequest(requests[i])) ++i;
    if (i == requests.size()) return true;
    if (!call.is_convolution || plan >= last_plan) {
      EndInCall(call, requests, i, plan);
      return false;
    }
    const std::span<const Request> next = PlanOf(call, ++plan);
    plans_in_use_[call.plans] = plan;
    ++outcome_.caught_failures;
    const std::span<const Request> tried = requests.first(i);
    const auto differing =
        std::mismatch(tried.begin(), tried.end(), next.begin(), next.end());
    const auto common = static_cast<size_t>(differing.first - tried.begin());
    GiveBack(tried.subspan(common));
    requests = next;
    i = common;
  }
}

void StreamReplay::EndInCall(const StreamCall& call,
                             std::span<const Request> requests, size_t failed,
                             size_t plan) {
  outcome_.failed_request =
      call.requests.begin + (plan == 0 ? static_cast<uint32_t>(failed) : 0);
  outcome_.ended_in_convolution = call.is_convolution;
  if (!call.is_convolution) return;
  const Request& refused = requests[failed];
  outcome_.refused_plans = static_cast<int64_t>(plan) + 1;
  outcome_.ended_in_scratch = std::any_of(
      requests.begin() + static_cast<int64_t>(failed), requests.end(),
      [&](const Request& later) {
        return later.kind == RequestKind::kFree && later.block == refused.block;
      });
}

std::span<const Request> StreamReplay::PlanOf(const StreamCall& call,
                                              size_t plan) const {
  if (plan == 0) {
    return std::span(stream_->requests)
        .subspan(call.requests.begin, call.requests.end - call.requests.begin);
  }
  const RequestRange range =
      stream_->alternatives[call.alternatives.begin + plan - 1];
  return std::span(stream_->alternative_requests)
      .subspan(range.begin, range.end - range.begin);
}

void StreamReplay::GiveBack(std::span<const Request> requests) {
  for (const Request& request : requests) {
    if (request.kind == RequestKind::kAlloc) Free(request.block);
  }
}

void StreamReplay::Free(uint32_t block) {
  if (blocks_[block] == kNoBlock) return;
  allocator_.Free(blocks_[block]);
  blocks_[block] = kNoBlock;
}

void StreamReplay::BeginPhases(uint32_t request) {
  while (next_phase_ < stream_->phases.size() &&
         stream_->phases[next_phase_].begin <= request) {
    const StreamPhase& phase = stream_->phases[next_phase_++];
    if (phase.is_part && is_in_step_) continue;
    EndStep();
    is_in_step_ = phase.is_step;
    retries_before_step_ = allocator_.retries();
    segments_freed_before_step_ = allocator_.segments_freed();
  }
}

void StreamReplay::EndStep() {
  if (!is_in_step_) return;
  is_in_step_ = false;
  outcome_.steady_retries = allocator_.retries() - retries_before_step_;
  outcome_.steady_segments_freed =
      allocator_.segments_freed() - segments_freed_before_step_;
}

}  // namespace memplan
