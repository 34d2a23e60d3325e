// How calls are run, refused memory and given up, with a library of two plans in
// place of the real ones.
#include "cuda/worker/trial/call_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cuda/worker/messages/frame.h"

namespace memplan::gpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CappedDevice : public Device {
 public:
  std::optional<Bytes> cap() const override { return cap_; }
  absl::Status SetCap(std::optional<Bytes> cap) override {
    cap_ = cap;
    return absl::OkStatus();
  }
  absl::StatusOr<Bytes> Renew() override { return Bytes(0); }
  absl::Status ReleaseCache() override { return absl::OkStatus(); }
  Prepared Identity() const override { return {}; }
  void BeginSpan() override {}
  Span ReadSpan() override { return {}; }
  absl::StatusOr<Settled> State() override {
    if (is_lost) return absl::UnavailableError("device-side assert triggered");
    return Settled{};
  }

  bool is_lost = false;

 private:
  std::optional<Bytes> cap_;
};

TraceRecord MemoryEvent(TraceEvent event, uint64_t bytes, uint64_t address) {
  return {.event = event,
          .reserved = 0,
          .depth = 1,
          .name = kNoName,
          .bytes = bytes,
          .address = address,
          .stream = 0};
}

// An operator's way: an output of 512 bytes, then the first scratch that the cap
// allows. Without one it fails.
class ScriptedRunner : public CallRunner {
 public:
  explicit ScriptedRunner(CappedDevice& device) : device_(device) {}

  CallRun Run(const DistinctCall& call) override {
    ++runs[call.operator_name];
    CallRun run;
    if (call.operator_name == "aten::assert") {
      device_.is_lost = true;
      run.failure = Failure{.end = EndKind::kModelFailed,
                            .field = "",
                            .message = "index out of bounds"};
      return run;
    }
    run.events = {MemoryEvent(TraceEvent::kAlloc, 512, 0x10)};
    for (const uint64_t scratch : scratches) {
      const Bytes needed(static_cast<int64_t>(512 + scratch));
      if (device_.cap().has_value() && needed > *device_.cap()) continue;
      run.events.push_back(MemoryEvent(TraceEvent::kAlloc, scratch, 0x20));
      run.events.push_back(MemoryEvent(TraceEvent::kFree, scratch, 0x20));
      return run;
    }
    run.failure = Failure{.end = EndKind::kOutOfMemory,
                          .field = "",
                          .message = "unable to find an engine"};
    return run;
  }

  std::vector<uint64_t> scratches = {4096};
  std::map<std::string, int> runs;

 private:
  CappedDevice& device_;
};

DistinctCall Call(const std::string& name, bool is_convolution) {
  DistinctCall call;
  call.operator_name = name;
  call.is_convolution = is_convolution;
  call.has_signature = true;
  return call;
}

CallPlan PlanWith(int64_t scratch) { return {{0, 512}, {1, scratch}, {1, 0}}; }

// convolution_backward where the allocator has segments: two scratches, of which
// the second lies in the segment of the first, or little where that is refused.
class SharingRunner : public CallRunner {
 public:
  explicit SharingRunner(CappedDevice& device) : device_(device) {}

  CallRun Run(const DistinctCall&) override {
    constexpr uint64_t kSegment = uint64_t{20} << 20;
    CallRun run;
    run.events = {MemoryEvent(TraceEvent::kSegmentAlloc, kSegment, kSegment),
                  MemoryEvent(TraceEvent::kAlloc, kSegment, kSegment)};
    if (device_.cap().has_value() && *device_.cap() < Bytes(2 * kSegment)) {
      return run;
    }
    run.events.push_back(
        MemoryEvent(TraceEvent::kSegmentAlloc, kSegment, 2 * kSegment));
    for (const uint64_t scratch : {kSegment - 512, kSegment}) {
      run.events.push_back(
          MemoryEvent(TraceEvent::kAlloc, scratch, 2 * kSegment));
      run.events.push_back(
          MemoryEvent(TraceEvent::kFree, scratch, 2 * kSegment));
    }
    return run;
  }

 private:
  CappedDevice& device_;
};

class ProbeCallsTest : public ::testing::Test {
 protected:
  CallsReport Probe(const std::vector<DistinctCall>& calls,
                    std::optional<Bytes> cap = std::nullopt) {
    EXPECT_TRUE(device_.SetCap(cap).ok());
    return ProbeCalls({.calls = calls, .cap = cap}, device_, runner_);
  }

  CappedDevice device_;
  ScriptedRunner runner_{device_};
};

TEST_F(ProbeCallsTest, RunsACallTwiceAndTellsItsPlan) {
  const CallsReport report = Probe({Call("aten::sum", false)});
  EXPECT_EQ(runner_.runs["aten::sum"], 2);
  EXPECT_THAT(report.results, ElementsAre(CallResult{{PlanWith(4096)}, ""}));
}

TEST_F(ProbeCallsTest, RefusesAConvolutionsScratchUntilItFails) {
  runner_.scratches = {4096, 2048, 512};
  const CallsReport report =
      Probe({Call("aten::convolution", true)}, Bytes(1 << 20));
  EXPECT_THAT(report.results,
              ElementsAre(CallResult{
                  {PlanWith(4096), PlanWith(2048), PlanWith(512)}, ""}));
  EXPECT_EQ(device_.cap(), Bytes(1 << 20));
}

TEST_F(ProbeCallsTest, RefusesScratchThatLiesWhereScratchLayBefore) {
  SharingRunner runner(device_);
  constexpr int64_t kSegment = int64_t{20} << 20;
  const CallsReport report = ProbeCalls(
      {.calls = {Call("aten::convolution_backward", true)}, .cap = MiB(60)},
      device_, runner);
  EXPECT_THAT(
      report.results,
      ElementsAre(CallResult{
          {{{0, kSegment}, {1, kSegment - 512}, {1, 0}, {2, kSegment}, {2, 0}},
           {{0, kSegment}}},
          ""}));
}

TEST_F(ProbeCallsTest, StopsAtEightPlans) {
  for (uint64_t scratch = 10240; scratch > 0; scratch -= 512) {
    runner_.scratches.push_back(scratch);
  }
  const CallsReport report = Probe({Call("aten::convolution", true)});
  EXPECT_THAT(report.results.at(0).plans, SizeIs(8));
}

TEST_F(ProbeCallsTest, MemoryThatRunsOutIsAFaultWithTheCap) {
  const CallsReport report = Probe(
      {Call("aten::convolution", true), Call("aten::sum", false)}, Bytes(4096));
  EXPECT_THAT(report.results.at(0).plans, IsEmpty());
  EXPECT_EQ(report.results.at(0).fault,
            "it needs more than the cap of 4.00 KiB: unable to find an engine");
  EXPECT_THAT(report.results.at(1).fault, HasSubstr("more than the cap"));
}

TEST_F(ProbeCallsTest, ALostDeviceIsTheFaultOfAllThatFollow) {
  const CallsReport report =
      Probe({Call("aten::sum", false), Call("aten::assert", false),
             Call("aten::mean", false)});
  EXPECT_THAT(report.results.at(0).plans, SizeIs(1));
  EXPECT_EQ(report.results.at(1).fault, "index out of bounds");
  EXPECT_EQ(report.results.at(2).fault,
            "the device was lost to this process when aten::assert ran alone: "
            "device-side assert triggered");
  EXPECT_EQ(runner_.runs["aten::mean"], 0);
}

TEST_F(ProbeCallsTest, ACallWithoutASignatureIsNotRun) {
  DistinctCall call = Call("fused_add", false);
  call.has_signature = false;
  EXPECT_THAT(Probe({call}).results.at(0).fault, HasSubstr("not recorded"));
  EXPECT_EQ(runner_.runs["fused_add"], 0);
}

TEST(FittingFrameTest, LeavesOutPlansThatDoNotFit) {
  const CallPlan plan(20000, CallStep{0, int64_t{1} << 59});
  CallsReport report;
  report.results.resize(10, {.plans = {plan}, .fault = ""});
  report = FittingFrame(report);
  EXPECT_LE(Encode(report).size(), kMaxFrameBytes);
  EXPECT_THAT(report.results.front().plans, SizeIs(1));
  EXPECT_THAT(report.results.back().fault, HasSubstr("too long"));
}

TEST(FittingFrameTest, LeavesOutPlansLongerThanAMessageMayHave) {
  CallsReport report;
  report.results = {
      {.plans = {CallPlan(kMaxStepsOfPlan + 1, CallStep{0, 1})}, .fault = ""},
      {.plans = {PlanWith(4096)}, .fault = ""}};
  report = FittingFrame(report);
  EXPECT_THAT(report.results.at(0).fault, HasSubstr("too long"));
  EXPECT_THAT(report.results.at(1).plans, SizeIs(1));
}

TEST(FittingFrameTest, LeavesShortReportsAlone) {
  CallsReport report;
  report.results.resize(4096, {.plans = {PlanWith(4096)}, .fault = ""});
  EXPECT_EQ(FittingFrame(report), report);
}

}  // namespace
}  // namespace memplan::gpu
