#include "planner/trace/symbolic_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "planner/base/status_macros.h"
#include "planner/trace/event.h"
#include "planner/trace/outer_calls.h"
#include "planner/trace/recordings.h"
#include "planner/trace/request_stream.h"
#include "planner/trace/size_law.h"
#include "planner/trace/size_rules.h"
#include "planner/trace/symbolic_signature.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

// Makes the requests of a symbolic trace from aligned recordings.
class Generalizer {
 public:
  Generalizer(const AlignedRecordings& aligned, const SizeLawFitter& fitter,
              SymbolicTrace& symbolic)
      : aligned_(aligned),
        fitter_(fitter),
        trace_(*aligned.Largest().trace),
        symbolic_(symbolic),
        outer_calls_(FindOuterCalls(aligned.Largest().outlined())),
        call_of_block_(CallsOfBlocks()) {}

  void Run() {
    FindIrregularOperators();
    AddRequests();
    AddCalls();
  }

 private:
  struct CallOfBlock {
    uint32_t call = kNoId;   // the outer call that asks for it
    bool is_inside = false;  // and sees it freed
  };

  const Outline& outline() const { return aligned_.Largest().outline; }

  std::vector<CallOfBlock> CallsOfBlocks() const {
    std::vector<CallOfBlock> calls(trace_.blocks.size());
    uint32_t call = 0;
    for (size_t b = 0; b < calls.size(); ++b) {
      const TraceBlock& block = trace_.blocks[b];
      while (call < outer_calls_.size() &&
             outer_calls_[call].end_event <= block.alloc) {
        ++call;
      }
      if (call == outer_calls_.size()) break;
      if (block.alloc < outer_calls_[call].begin_event) continue;
      calls[b] = {call, block.free != kNoId &&
                            block.free < outer_calls_[call].end_event};
    }
    return calls;
  }

  // The block's size in each recording.
  std::span<const int64_t> SizesOf(size_t block) {
    sizes_.clear();
    for (const AlignedRecording& recording : aligned_.recordings) {
      const uint32_t partner = recording.blocks[block];
      sizes_.push_back(
          partner == kNoId
              ? SizeRules::kMissing
              : recording.trace->events[recording.trace->blocks[partner].alloc]
                    .bytes);
    }
    return sizes_;
  }

  // Freed before the operator that asked for it is over.
  bool IsScratch(size_t block) const {
    const uint32_t asker = outline().askers[block];
    const uint32_t free = trace_.blocks[block].free;
    return asker != kNoId && free != kNoId && free < outline().ends[asker];
  }

  uint32_t NameOf(const OuterCall& call) const {
    return trace_.events[call.begin_event].name;
  }

  // An operator is irregular if scratch in any of its calls varies, or if it
  // holds a convolution: those change their plans without a sign.
  void FindIrregularOperators() {
    is_irregular_.assign(trace_.names.size(), false);
    for (const OuterCall& call : outer_calls_) {
      if (call.is_convolution) is_irregular_[NameOf(call)] = true;
    }
    for (size_t b = 0; b < trace_.blocks.size(); ++b) {
      const uint32_t call = call_of_block_[b].call;
      if (call == kNoId || !IsScratch(b)) continue;
      const std::span<const int64_t> sizes = SizesOf(b);
      const bool is_constant =
          std::all_of(sizes.begin(), sizes.end(),
                      [&](int64_t size) { return size == sizes[0]; });
      if (!is_constant) is_irregular_[NameOf(outer_calls_[call])] = true;
    }
  }

  SizeRole RoleOf(size_t block) const {
    const CallOfBlock& of = call_of_block_[block];
    if (of.call == kNoId || !of.is_inside) return SizeRole::kTensor;
    const uint32_t name = NameOf(outer_calls_[of.call]);
    if (!is_irregular_[name]) return SizeRole::kTensor;
    const std::string_view text = trace_.names.Name(name);
    return text == "aten::sum" || text == "aten::mean"
               ? SizeRole::kReductionScratch
               : SizeRole::kScratch;
  }

  void AddRequests() {
    RequestStream stream = StreamOf(aligned_.Largest().outlined());
    symbolic_.requests.reserve(stream.requests.size());
    for (size_t i = 0; i < stream.requests.size(); ++i) {
      const Request& request = stream.requests[i];
      SymbolicRequest& added = symbolic_.requests.emplace_back(
          SymbolicRequest{.block = request.block,
                          .event = stream.events[i],
                          .stream = request.stream,
                          .kind = request.kind});
      if (request.kind == RequestKind::kAlloc) {
        added.rule =
            symbolic_.sizes.Add(SizesOf(request.block), RoleOf(request.block));
      }
    }
    symbolic_.phases = std::move(stream.phases);
    symbolic_.block_count = stream.block_count;
    symbolic_.streams = std::move(stream.streams);
  }

  void AddCalls() {
    size_t request = 0;
    const auto first_request_at = [&](uint32_t event) {
      while (request < symbolic_.requests.size() &&
             symbolic_.requests[request].event < event) {
        ++request;
      }
      return static_cast<uint32_t>(request);
    };
    for (const OuterCall& outer : outer_calls_) {
      if (!is_irregular_[NameOf(outer)]) continue;
      SymbolicCall call{.name = NameOf(outer),
                        .is_convolution = outer.is_convolution};
      call.requests.begin = first_request_at(outer.begin_event);
      call.requests.end = first_request_at(outer.end_event);
      if (call.requests.begin == call.requests.end) continue;
      AddOutputs(call);
      AddSignature(outer.mark, call);
      symbolic_.calls.push_back(std::move(call));
    }
  }

  // Most calls are alike: those of each step, and those of equal layers.
  void AddSignature(uint32_t mark, SymbolicCall& call) {
    std::vector<uint32_t> places = SignaturePlaces(aligned_, mark);
    if (places.empty()) return;
    places.insert(places.end(), {call.name, call.is_convolution ? 1U : 0U});
    const auto index = static_cast<uint32_t>(symbolic_.calls.size());
    const auto [first, is_new] =
        first_calls_.try_emplace(std::move(places), index);
    if (is_new) {
      call.signature = GeneralizeSignature(aligned_, fitter_, mark);
    } else {
      call.signature = symbolic_.calls[first->second].signature;
      call.alike = first->second;
    }
  }

  void AddOutputs(SymbolicCall& call) const {
    for (uint32_t i = call.requests.begin; i < call.requests.end; ++i) {
      const SymbolicRequest& request = symbolic_.requests[i];
      if (request.kind == RequestKind::kAlloc &&
          !call_of_block_[request.block].is_inside) {
        call.outputs.push_back(request.block);
      }
    }
  }

  const AlignedRecordings& aligned_;
  const SizeLawFitter& fitter_;  // through all recordings
  const Trace& trace_;           // the largest recording
  SymbolicTrace& symbolic_;
  std::vector<OuterCall> outer_calls_;
  std::vector<CallOfBlock> call_of_block_;
  std::vector<bool> is_irregular_;  // by name
  std::vector<int64_t> sizes_;      // SizesOf's result
  // By name and where their signatures stand.
  absl::flat_hash_map<std::vector<uint32_t>, uint32_t> first_calls_;
};

}  // namespace

absl::StatusOr<SymbolicTrace> MakeSymbolicTrace(
    std::span<const Recording> recordings) {
  MEMPLAN_ASSIGN_OR_RETURN(const AlignedRecordings aligned,
                           AlignRecordings(recordings));
  MEMPLAN_ASSIGN_OR_RETURN(const SizeLawFitter fitter,
                           SizeLawFitter::Create(aligned.points));
  SymbolicTrace symbolic;
  MEMPLAN_ASSIGN_OR_RETURN(symbolic.sizes,
                           SizeRules::Create(aligned.points, aligned.largest));
  for (const ShapeDimension& dimension : recordings[0].shape) {
    symbolic.dimensions.push_back(dimension.name);
  }
  symbolic.shapes = aligned.points;
  symbolic.largest = aligned.largest;
  symbolic.names = aligned.Largest().trace->names;
  for (size_t i = 0; i < aligned.recordings.size(); ++i) {
    const AlignedRecording& recording = aligned.recordings[i];
    symbolic.similarity_ratios.push_back(recording.similarity_ratio);
    symbolic.recorded.push_back(i == aligned.largest
                                    ? RequestStream()
                                    : StreamOf(recording.outlined()));
  }
  Generalizer(aligned, fitter, symbolic).Run();
  return symbolic;
}

}  // namespace memplan
