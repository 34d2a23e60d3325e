#include "tests/planner/plan/recorded_device.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "planner/plan/plan_scaling.h"
#include "planner/trace/alignment.h"
#include "planner/trace/event.h"
#include "planner/trace/instantiation.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/outline.h"
#include "planner/trace/pairing.h"
#include "planner/trace/trace_builder.h"
#include "tests/planner/trace/recorded_plans.h"

namespace memplan::testing {
namespace {

// Scratch between recordings is a multiple of this.
constexpr double kTile = 4096;

void Sign(uint32_t event, uint32_t mark, int64_t batch, Trace& trace) {
  SignatureTable& table = trace.signatures;
  Signature signature;
  signature.overload = trace.names.Add("default");
  signature.first_argument = static_cast<uint32_t>(table.arguments.size());
  signature.argument_count = 2;
  for (const int64_t number : {static_cast<int64_t>(mark), batch}) {
    SignatureArgument argument;
    argument.kind = ArgumentKind::kInteger;
    argument.first_number = static_cast<uint32_t>(table.numbers.size());
    argument.number_count = 1;
    table.arguments.push_back(argument);
    table.numbers.push_back(number);
  }
  trace.events[event].link = static_cast<uint32_t>(table.signatures.size());
  table.signatures.push_back(signature);
}

std::vector<int64_t> OutputsOf(const CallPlan& plan) {
  const std::vector<bool> is_freed = FreedRequests(plan);
  std::vector<int64_t> outputs;
  for (const CallStep& step : plan) {
    if (step.bytes > 0 && !is_freed[step.request]) {
      outputs.push_back(step.bytes);
    }
  }
  return outputs;
}

// On the line from `near` at `low` to `far` at `high`.
double Between(int64_t near, int64_t far, double part) {
  return static_cast<double>(near) + part * static_cast<double>(far - near);
}

// Writes a stream as a trace: the marks of the largest recording with the
// stream's requests between them. Those of a call come after the marks inside of
// it.
class TraceWriter {
 public:
  TraceWriter(const Trace& largest, const SymbolicTrace& symbolic,
              int64_t batch)
      : largest_(largest), symbolic_(symbolic), batch_(batch) {}

  Trace Write(const RequestStream& stream) {
    addresses_.assign(stream.block_count, 0);
    auto call = stream.calls.begin();
    for (uint32_t i = 0; i < stream.requests.size(); ++i) {
      while (call != stream.calls.end() && call->requests.end <= i) ++call;
      if (call != stream.calls.end() && call->requests.begin == i) {
        BeginAsking(FirstAsking(symbolic_.calls[call->call]));
      }
      if (stream.events[i] != kNoId) BeginAsking(stream.events[i]);
      AddRequest(stream.requests[i]);
    }
    AddMarksBefore(static_cast<uint32_t>(largest_.events.size()));
    Trace trace = builder_.Build().value();
    SignAll(trace);
    return trace;
  }

 private:
  static bool IsMark(const TraceEvent& event) {
    return event.kind == EventKind::kPhase ||
           event.kind == EventKind::kOperator;
  }

  void Add(const TraceEntry& entry) {
    const absl::Status status = builder_.Add(entry);
    EXPECT_TRUE(status.ok()) << status;
  }

  uint32_t FirstAsking(const SymbolicCall& call) const {
    for (uint32_t r = call.requests.begin; r < call.requests.end; ++r) {
      const SymbolicRequest& request = symbolic_.requests[r];
      if (request.kind == RequestKind::kAlloc) return request.event;
    }
    return asking_;
  }

  void BeginAsking(uint32_t event) {
    AddMarksBefore(event);
    asking_ = event;
  }

  void AddMarksBefore(uint32_t end) {
    for (; next_ < end; ++next_) {
      const TraceEvent& event = largest_.events[next_];
      if (!IsMark(event)) continue;
      marks_.push_back(next_);
      Add({.kind = event.kind,
           .name = largest_.Name(event),
           .depth = event.depth});
    }
  }

  void AddRequest(const Request& request) {
    if (request.kind == RequestKind::kEmptyCache) {
      Add({.kind = EventKind::kEmptyCache});
      return;
    }
    uint64_t& address = addresses_[request.block];
    if (request.kind == RequestKind::kFree) {
      if (address == 0) return;
      Add({.kind = EventKind::kFree, .address = address});
      return;
    }
    if (request.bytes == 0) return;
    address = next_address_;
    next_address_ += static_cast<uint64_t>(request.bytes) + 512;
    const TraceEvent& asking = largest_.events[asking_];
    Add({.kind = EventKind::kAlloc,
         .bytes = request.bytes,
         .address = address,
         .name = largest_.Name(asking),
         .depth = asking.depth});
  }

  // Marks are as many and in one order in both.
  void SignAll(Trace& trace) const {
    uint32_t mark = 0;
    for (uint32_t i = 0; i < trace.events.size(); ++i) {
      if (!IsMark(trace.events[i])) continue;
      const TraceEvent& event = largest_.events[marks_[mark]];
      if (event.kind == EventKind::kOperator && event.link != kNoId) {
        Sign(i, mark, batch_, trace);
      }
      ++mark;
    }
  }

  const Trace& largest_;  // with signatures
  const SymbolicTrace& symbolic_;
  const int64_t batch_;
  TraceBuilder builder_;
  uint32_t next_ = 0;                // event whose marks are not added yet
  uint32_t asking_ = 0;              // the event that asks
  std::vector<uint32_t> marks_;      // by mark added: its event
  std::vector<uint64_t> addresses_;  // by block
  uint64_t next_address_ = uint64_t{1} << 40;
};

}  // namespace

RecordedDevice::RecordedDevice(const RecordedProgram& program)
    : program_(program) {
  std::vector<int64_t> batches;
  for (const auto& [batch, run] : program.runs) batches.push_back(batch);
  for (const auto& [batch, run] : program.runs) AddRecording(batch, run.trace);
  symbolic_ = SymbolicTraceOf(program, batches);

  PathTable paths;
  const Trace& largest = program.runs.rbegin()->second.trace;
  const Outline outline = MakeOutline(largest, paths);
  const std::vector<OuterCall> outer = FindOuterCalls({largest, outline});
  auto next = outer.begin();
  for (const SymbolicCall& call : symbolic_.calls) {
    const uint32_t event = symbolic_.requests[call.requests.begin].event;
    while (next->end_event <= event) ++next;
    marks_.push_back(next->mark);
  }
}

void RecordedDevice::AddRecording(int64_t batch, const Trace& trace) {
  PathTable paths;
  const Trace& largest = program_.runs.rbegin()->second.trace;
  const Outline left = MakeOutline(largest, paths);
  const Outline right = MakeOutline(trace, paths);
  const std::vector<uint32_t> partners =
      PairMarks(left, Align(left.paths, right.paths).value());
  std::map<uint32_t, OuterCall> calls;  // by mark
  for (const OuterCall& call : FindOuterCalls({trace, right})) {
    calls[call.mark] = call;
  }
  Trace& added = traces_[batch] = trace;
  for (uint32_t mark = 0; mark < partners.size(); ++mark) {
    const auto call = calls.find(partners[mark]);
    if (call == calls.end()) continue;
    plans_[batch][mark] = PlanOf(trace, call->second);
    Sign(call->second.begin_event, mark, batch, added);
  }
}

// The plan of the nearer recording that has the call. Sizes are on the line to
// the recording on the other side; scratch that is not there grows with the batch.
CallPlan RecordedDevice::PlanAt(uint32_t mark, int64_t batch) const {
  std::map<int64_t, const CallPlan*> known;
  for (const auto& [recorded, plans] : plans_) {
    const auto found = plans.find(mark);
    if (found != plans.end()) known[recorded] = &found->second;
  }
  if (known.contains(batch) || known.size() < 2) return *known.begin()->second;
  auto high = known.upper_bound(batch);
  if (high == known.begin()) ++high;
  if (high == known.end()) --high;
  const auto low = std::prev(high);
  const bool is_low = batch - low->first < high->first - batch;
  const auto near = is_low ? low : high;
  const auto far = is_low ? high : low;
  const double part = static_cast<double>(batch - near->first) /
                      static_cast<double>(far->first - near->first);
  const bool is_alike = HaveOneStructure(*near->second, *far->second);
  const std::vector<int64_t> far_outputs = OutputsOf(*far->second);
  const std::vector<bool> is_freed = FreedRequests(*near->second);
  CallPlan plan = *near->second;
  size_t output = 0;
  for (size_t i = 0; i < plan.size(); ++i) {
    int64_t& bytes = plan[i].bytes;
    if (bytes == 0) continue;
    if (!is_freed[plan[i].request]) {
      bytes = std::llround(Between(bytes, far_outputs.at(output++), part));
      continue;
    }
    const double scratch =
        is_alike ? Between(bytes, (*far->second)[i].bytes, part)
                 : static_cast<double>(bytes) * static_cast<double>(batch) /
                       static_cast<double>(near->first);
    bytes =
        static_cast<int64_t>(std::max(std::ceil(scratch / kTile), 1.0) * kTile);
  }
  return plan;
}

CallPlans RecordedDevice::PlansAt(int64_t batch) const {
  CallPlans plans;
  for (uint32_t i = 0; i < marks_.size(); ++i) {
    plans.of_call.push_back(i);
    plans.distinct.push_back({PlanAt(marks_[i], batch)});
  }
  return plans;
}

CallPlansOrNone RecordedDevice::RunCall(const DistinctCall& call) const {
  const auto mark = static_cast<uint32_t>(call.arguments.at(0).numbers.at(0));
  const int64_t batch = call.arguments.at(1).numbers.at(0);
  const auto recorded = plans_.find(batch);
  if (recorded != plans_.end() && recorded->second.contains(mark)) {
    return {recorded->second.at(mark)};
  }
  return {PlanAt(mark, batch)};
}

RequestStream RecordedDevice::StreamAt(int64_t batch) const {
  const auto recorded = program_.runs.find(batch);
  if (recorded != program_.runs.end()) return StreamOf(recorded->second.trace);
  const CallPlans plans = PlansAt(batch);
  RequestStream stream;
  const absl::Status status = Instantiator(symbolic_).Run(
      BatchShape(batch), {ScratchScenario::kBestGuess, &plans}, stream);
  EXPECT_TRUE(status.ok()) << status;
  return stream;
}

Trace RecordedDevice::TraceAt(int64_t batch) const {
  const auto recorded = traces_.find(batch);
  return recorded == traces_.end() ? Synthesized(batch) : recorded->second;
}

Trace RecordedDevice::Synthesized(int64_t batch) const {
  return TraceWriter(traces_.rbegin()->second, symbolic_, batch)
      .Write(StreamAt(batch));
}

}  // namespace memplan::testing
