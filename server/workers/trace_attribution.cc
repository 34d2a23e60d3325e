#include "server/workers/trace_attribution.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "cuda/worker/messages/messages.h"
#include "planner/trace/contents_operators.h"
#include "planner/trace/outer_calls.h"

namespace memplan {
namespace {

using gpu::kNoName;
using gpu::TraceRecord;

constexpr size_t kMostNames = 8;
constexpr uint16_t kDeepest = 1024;  // of real programs some ten
constexpr size_t kLongestName = 128;
constexpr std::string_view kForward = "/forward";

}  // namespace

TraceAttribution::TraceAttribution(const std::vector<std::string>& names)
    : names_(names) {}

void TraceAttribution::Apply(const TraceRecord& record) {
  switch (record.event) {
    case gpu::TraceEvent::kPhase:
      return BeginPhase(record.name);
    case gpu::TraceEvent::kOperator:
      return BeginOperator(record);
    case gpu::TraceEvent::kFailedRequest: {
      last_refused_ = Describe(record);
      if (!largest_refused_ ||
          last_refused_->bytes >= largest_refused_->bytes) {
        largest_refused_ = last_refused_;
      }
      return;
    }
    default:
      return;
  }
}

void TraceAttribution::TakePeak(const TraceRecord& request, Bytes of_contents) {
  peak_ = Describe(request);
  contents_at_peak_ = of_contents;
}

void TraceAttribution::BeginPhase(uint32_t name) {
  phase_ = name;
  is_forward_ = Name(name).ends_with(kForward);
  seen_in_phase_ = false;
  running_.clear();
}

void TraceAttribution::BeginOperator(const TraceRecord& record) {
  if (record.depth == 0 || record.depth > kDeepest) return;
  running_.resize(record.depth, kNoName);
  running_.back() = record.name;
  const uint32_t within =
      record.depth > 1 ? running_[record.depth - 2] : kNoName;
  if (!SizeDependsOnContents(Name(record.name), Name(within))) return;
  seen_in_phase_ = true;
  if (of_contents_.size() < kMostNames &&
      std::find(of_contents_.begin(), of_contents_.end(), record.name) ==
          of_contents_.end()) {
    of_contents_.push_back(record.name);
  }
}

TraceAttribution::Request TraceAttribution::Describe(
    const TraceRecord& record) const {
  const uint64_t bytes = std::min<uint64_t>(record.bytes, INT64_MAX);
  Request request{Bytes(static_cast<int64_t>(bytes)), phase_, record.name,
                  record.name};
  const size_t depth = std::min<size_t>(record.depth, running_.size());
  for (size_t i = 0; i < depth; ++i) {
    if (!IsOperatorName(Name(running_[i]))) continue;
    request.outer = running_[i];
    break;
  }
  return request;
}

const std::string& TraceAttribution::Name(uint32_t id) const {
  static const std::string kUnknown;
  return id < names_.size() ? names_[id] : kUnknown;
}

std::string TraceAttribution::ShownName(uint32_t id) const {
  return gpu::TrimmedMessage(Name(id).substr(0, kLongestName));
}

AttributedRequest TraceAttribution::Named(const Request& request) const {
  return {request.bytes, ShownName(request.phase), ShownName(request.outer),
          ShownName(request.inner)};
}

Attribution TraceAttribution::Take() const {
  Attribution attribution;
  if (peak_) attribution.peak = Named(*peak_);
  if (largest_refused_) attribution.largest_refused = Named(*largest_refused_);
  if (last_refused_) attribution.last_refused = Named(*last_refused_);
  if (of_contents_.empty()) return attribution;
  ContentsDependence& contents = attribution.contents.emplace();
  contents.at_peak = contents_at_peak_;
  contents.operator_names.reserve(of_contents_.size());
  for (const uint32_t id : of_contents_) {
    contents.operator_names.push_back(ShownName(id));
  }
  return attribution;
}

}  // namespace memplan
