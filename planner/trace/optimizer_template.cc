#include "planner/trace/optimizer_template.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"
#include "planner/trace/python_optimizer.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

bool IsOptimizerPhase(std::string_view name) {
  return name.ends_with("/optimizer");
}

bool IsSegmentEvent(EventKind kind) {
  return kind == EventKind::kSegmentAlloc || kind == EventKind::kSegmentFree ||
         kind == EventKind::kSegmentMap || kind == EventKind::kSegmentUnmap;
}

bool IsFree(EventKind kind) {
  return kind == EventKind::kFree || kind == EventKind::kFreeRequested;
}

// Copies a trace event by event, but for its optimizer's.
class Rewriter {
 public:
  Rewriter(const Trace& from, const PythonOptimizer& optimizer)
      : from_(from), optimizer_(optimizer) {
    to_.names = from.names;
    to_.streams = from.streams;
    to_.signatures = from.signatures;
    blocks_.resize(from.blocks.size(), kNoId);
  }

  absl::StatusOr<Trace> Run() {
    bool has_phase = false;
    for (uint32_t i = 0; i < from_.events.size(); ++i) {
      const TraceEvent& event = from_.events[i];
      if (event.kind != EventKind::kPhase ||
          !IsOptimizerPhase(from_.Name(event))) {
        Copy(event);
        continue;
      }
      has_phase = true;
      Copy(event);
      const uint32_t end = EndOfPhase(i + 1);
      MEMPLAN_RETURN_IF_ERROR(Replace(i + 1, end));
      i = end - 1;
    }
    if (!has_phase) {
      return absl::InvalidArgumentError(
          "the trace has no phase step0/optimizer, so that its optimizer's "
          "events are not known; record training with memplan-worker");
    }
    return std::move(to_);
  }

 private:
  uint32_t EndOfPhase(uint32_t begin) const {
    while (begin < from_.events.size() &&
           from_.events[begin].kind != EventKind::kPhase) {
      ++begin;
    }
    return begin;
  }

  absl::Status Replace(uint32_t begin, uint32_t end) {
    MEMPLAN_ASSIGN_OR_RETURN(const std::vector<uint32_t> states,
                             StatesMadeIn(begin, end));
    const int per_parameter = StatesPerParameter(optimizer_.algorithm);
    size_t made = 0;
    for (size_t i = 0; i < states.size(); i += per_parameter, ++made) {
      parameter_bytes_.push_back(BytesOf(states[i]));
    }
    AddStep(OptimizerStep(optimizer_, parameter_bytes_, made), states);
    // What else is freed here, the loss and the inputs, is when it is over.
    for (uint32_t i = begin; i < end; ++i) {
      const TraceEvent& event = from_.events[i];
      if (IsFree(event.kind) && blocks_[event.link] != kNoId) Copy(event);
    }
    return absl::OkStatus();
  }

  int64_t BytesOf(uint32_t block) const {
    return from_.events[from_.blocks[block].alloc].bytes;
  }

  // Blocks of the recording that are taken from `begin` to `end` and kept.
  absl::StatusOr<std::vector<uint32_t>> StatesMadeIn(uint32_t begin,
                                                     uint32_t end) const {
    std::vector<uint32_t> states;
    for (uint32_t i = begin; i < end; ++i) {
      const TraceEvent& event = from_.events[i];
      if (event.kind != EventKind::kAlloc) continue;
      const uint32_t free = from_.blocks[event.link].free;
      if (free == kNoId || free >= end) states.push_back(event.link);
    }
    const auto per_parameter =
        static_cast<size_t>(StatesPerParameter(optimizer_.algorithm));
    bool is_right = states.empty() ||
                    (per_parameter > 0 && states.size() % per_parameter == 0);
    for (size_t i = 1; is_right && i < states.size(); ++i) {
      // Those of one parameter are of one size.
      is_right = i % per_parameter == 0 ||
                 BytesOf(states[i]) == BytesOf(states[i - 1]);
    }
    if (is_right) return states;
    return absl::InvalidArgumentError(
        absl::StrCat("the ", states.size(),
                     " states that the recorded optimizer makes after "
                     "event ",
                     begin, " are not ", per_parameter,
                     " for each parameter; record with the same algorithm"));
  }

  // `recorded` are the states that those of the step stand for, in order.
  void AddStep(const std::vector<OptimizerOperator>& operators,
               const std::vector<uint32_t>& recorded) {
    std::vector<uint32_t> made;  // by request: its block
    std::vector<bool> is_freed;
    for (const OptimizerOperator& op : operators) {
      AddOperator(op.name);
      for (const CallStep& step : op.steps) {
        if (step.bytes == 0) {
          is_freed[step.request] = true;
          AddFree(made[step.request]);
          continue;
        }
        made.push_back(AddBlock(step.bytes, op.name));
        is_freed.push_back(false);
      }
    }
    // Counters of fused optimizers stand for no recorded state.
    size_t next = 0;
    for (size_t i = 0; i < made.size() && next < recorded.size(); ++i) {
      const int64_t bytes = to_.events[to_.blocks[made[i]].alloc].bytes;
      if (!is_freed[i] && bytes == BytesOf(recorded[next])) {
        blocks_[recorded[next++]] = made[i];
      }
    }
  }

  void AddOperator(std::string_view name) {
    to_.events.push_back({.kind = EventKind::kOperator,
                          .depth = 1,
                          .name = to_.names.Add(name)});
  }

  uint32_t AddBlock(int64_t bytes, std::string_view name) {
    const auto block = static_cast<uint32_t>(to_.blocks.size());
    to_.blocks.push_back({.alloc = static_cast<uint32_t>(to_.events.size())});
    to_.events.push_back({.kind = EventKind::kAlloc,
                          .depth = 1,
                          .name = to_.names.Add(name),
                          .link = block,
                          .bytes = bytes});
    return block;
  }

  void AddFree(uint32_t block) {
    to_.blocks[block].free = static_cast<uint32_t>(to_.events.size());
    to_.events.push_back({.kind = EventKind::kFree, .link = block});
  }

  void Copy(TraceEvent event) {
    if (IsSegmentEvent(event.kind)) return;
    if (IsFree(event.kind) && blocks_[event.link] == kNoId) return;
    const auto index = static_cast<uint32_t>(to_.events.size());
    event.address = 0;
    if (event.kind == EventKind::kAlloc) {
      blocks_[event.link] = static_cast<uint32_t>(to_.blocks.size());
      event.link = blocks_[event.link];
      to_.blocks.push_back({.alloc = index});
    } else if (IsFree(event.kind)) {
      event.link = blocks_[event.link];
      TraceBlock& block = to_.blocks[event.link];
      (event.kind == EventKind::kFree ? block.free : block.free_requested) =
          index;
    }
    to_.events.push_back(event);
  }

  const Trace& from_;
  const PythonOptimizer optimizer_;
  Trace to_;
  std::vector<uint32_t>
      blocks_;  // by recorded block: the one that stands for it
  std::vector<int64_t> parameter_bytes_;  // of all that have states
};

}  // namespace

absl::StatusOr<Trace> WithPythonOptimizer(const Trace& trace,
                                          const PythonOptimizer& optimizer) {
  return Rewriter(trace, optimizer).Run();
}

}  // namespace memplan
