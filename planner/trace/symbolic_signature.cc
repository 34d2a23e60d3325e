#include "planner/trace/symbolic_signature.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/recordings.h"
#include "planner/trace/signature.h"
#include "planner/trace/size_law.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

// A signature in its trace.
struct RecordedSignature {
  const Trace* trace = nullptr;
  const Signature* signature = nullptr;

  std::span<const SignatureArgument> Arguments() const {
    return trace->signatures.Arguments(*signature);
  }
  std::span<const int64_t> Numbers(size_t argument) const {
    return trace->signatures.Numbers(Arguments()[argument]);
  }
};

std::optional<RecordedSignature> FindSignature(
    const AlignedRecording& recording, uint32_t mark) {
  const uint32_t partner = recording.marks[mark];
  if (partner == kNoId) return std::nullopt;
  const Trace& trace = *recording.trace;
  const uint32_t id = trace.events[recording.outline.events[partner]].link;
  if (id >= trace.signatures.signatures.size()) return std::nullopt;
  return RecordedSignature{&trace, &trace.signatures.signatures[id]};
}

// Whether the two differ in numbers at most.
bool HaveOneForm(const RecordedSignature& a, const RecordedSignature& b) {
  if (a.trace->names.Name(a.signature->overload) !=
          b.trace->names.Name(b.signature->overload) ||
      a.Arguments().size() != b.Arguments().size()) {
    return false;
  }
  for (size_t i = 0; i < a.Arguments().size(); ++i) {
    const SignatureArgument& one = a.Arguments()[i];
    const SignatureArgument& other = b.Arguments()[i];
    if (one.kind != other.kind || one.on_cpu != other.on_cpu ||
        one.number_count != other.number_count ||
        a.trace->names.Name(one.dtype) != b.trace->names.Name(other.dtype)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<SymbolicSignature> GeneralizeSignature(
    const AlignedRecordings& aligned, const SizeLawFitter& fitter,
    uint32_t mark) {
  const auto largest = FindSignature(aligned.Largest(), mark);
  if (!largest.has_value()) return std::nullopt;
  std::vector<RecordedSignature> recorded;
  for (const AlignedRecording& recording : aligned.recordings) {
    const auto found = FindSignature(recording, mark);
    if (!found.has_value() || !HaveOneForm(*found, *largest)) {
      return std::nullopt;
    }
    recorded.push_back(*found);
  }
  SymbolicSignature result{.overload = largest->signature->overload,
                           .arguments = {}};
  std::vector<int64_t> seen(recorded.size());
  for (size_t i = 0; i < largest->Arguments().size(); ++i) {
    const SignatureArgument& argument = largest->Arguments()[i];
    SymbolicArgument& added = result.arguments.emplace_back();
    added.kind = argument.kind;
    added.on_cpu = argument.on_cpu;
    added.dtype = argument.dtype;
    for (size_t n = 0; n < argument.number_count; ++n) {
      for (size_t r = 0; r < recorded.size(); ++r) {
        seen[r] = recorded[r].Numbers(i)[n];
      }
      auto law = fitter.Fit(seen);
      if (!law.has_value()) return std::nullopt;
      added.numbers.push_back(*std::move(law));
    }
  }
  return result;
}

std::vector<uint32_t> SignaturePlaces(const AlignedRecordings& aligned,
                                      uint32_t mark) {
  std::vector<uint32_t> places;
  for (const AlignedRecording& recording : aligned.recordings) {
    const auto found = FindSignature(recording, mark);
    if (!found.has_value()) return {};
    const Signature& signature = *found->signature;
    places.insert(places.end(), {signature.overload, signature.first_argument,
                                 signature.argument_count});
  }
  return places;
}

}  // namespace memplan
