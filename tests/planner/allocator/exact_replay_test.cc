// The 144 traces recorded on an H200, replayed with the addresses that their
// segments had: peaks to the byte, every block's address, every segment event in
// its place, every failed request.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/recorded_addresses.h"
#include "planner/allocator/replay.h"
#include "planner/base/format.h"
#include "tests/planner/allocator/sample_conditions.h"
#include "tests/support/recorded_traces.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::AllRecordedTraces;
using ::memplan::testing::ConditionsOf;
using ::memplan::testing::IsOk;
using ::memplan::testing::ReadRecorded;
using ::memplan::testing::RecordedTrace;

// A segment's event, and the request that it belongs to.
struct SegmentEvent {
  EventKind kind;
  uint64_t address;
  int64_t size;
  size_t request;

  friend bool operator==(const SegmentEvent&, const SegmentEvent&) = default;
};

bool IsRequest(const TraceEvent& event) {
  return event.kind == EventKind::kAlloc ||
         event.kind == EventKind::kFailedRequest;
}

bool IsSegmentEvent(const TraceEvent& event) {
  return event.kind == EventKind::kSegmentAlloc ||
         event.kind == EventKind::kSegmentFree ||
         event.kind == EventKind::kSegmentMap ||
         event.kind == EventKind::kSegmentUnmap;
}

std::vector<SegmentEvent> RecordedSegments(const Trace& trace) {
  std::vector<SegmentEvent> segments;
  size_t request = 0;
  for (const TraceEvent& event : trace.events) {
    if (IsRequest(event)) ++request;
    if (IsSegmentEvent(event)) {
      segments.push_back({event.kind, event.address, event.bytes, request});
    }
  }
  return segments;
}

// Notes segment events; the trace's index of the event is known to the
// allocator alone, so that requests are counted from its own.
class SegmentLog : public SegmentListener {
 public:
  explicit SegmentLog(const Trace& trace) {
    size_t request = 0;
    for (const TraceEvent& event : trace.events) {
      requests_before_.push_back(request);
      if (IsRequest(event)) ++request;
    }
  }
  void OnSegment(EventKind kind, uint64_t address, int64_t size,
                 uint32_t event) override {
    segments_.push_back({kind, address, size, requests_before_[event]});
  }
  const std::vector<SegmentEvent>& segments() const { return segments_; }

 private:
  std::vector<size_t> requests_before_;
  std::vector<SegmentEvent> segments_;
};

std::vector<uint32_t> RecordedFailures(const Trace& trace) {
  std::vector<uint32_t> failures;
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::kFailedRequest) {
      failures.push_back(i);
    }
  }
  return failures;
}

class ExactReplayTest : public ::testing::TestWithParam<RecordedTrace> {};

TEST_P(ExactReplayTest, IsEqualToTheByte) {
  const RecordedTrace& recorded = GetParam();
  const Trace trace = ReadRecorded(recorded);
  RecordedAddresses addresses(trace);
  CachingAllocator allocator(ConditionsOf(recorded), addresses);
  SegmentLog log(trace);
  allocator.set_listener(&log);
  const auto report = TraceReplay(allocator).Run(trace);
  ASSERT_THAT(report, IsOk());

  EXPECT_EQ(report->peaks.requested.bytes,
            Bytes(recorded.peak_requested_bytes));
  EXPECT_EQ(report->peaks.allocated.bytes,
            Bytes(recorded.peak_allocated_bytes));
  EXPECT_EQ(report->peaks.reserved.bytes, Bytes(recorded.peak_reserved_bytes));
  EXPECT_EQ(report->first_moved, std::nullopt);
  EXPECT_TRUE(log.segments() == RecordedSegments(trace))
      << log.segments().size() << " segment events, recorded "
      << RecordedSegments(trace).size();

  std::vector<uint32_t> failures;
  for (const FailedRequest& failed : report->failed_requests) {
    failures.push_back(failed.event);
  }
  EXPECT_EQ(failures, RecordedFailures(trace));
  EXPECT_EQ(report->served_failures, 0);
  EXPECT_EQ(report->end == ReplayEnd::kOk, recorded.end == "ok");
  if (recorded.segments_freed >= 0 && !allocator.has_expandable_segments()) {
    EXPECT_EQ(report->segments_freed, recorded.segments_freed);
  }
}

std::string NameOf(const ::testing::TestParamInfo<RecordedTrace>& test) {
  std::string name = test.param.file.substr(0, test.param.file.find('.'));
  for (char& c : name) {
    if (c == '/' || c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Traces, ExactReplayTest,
                         ::testing::ValuesIn(AllRecordedTraces()), NameOf);

}  // namespace
}  // namespace memplan
