#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/trace/operator_stack.h"
#include "planner/trace/signature_text.h"
#include "planner/trace/text_format.h"

namespace memplan {
namespace {

// Not thread-safe; used for one trace.
class TextWriter {
 public:
  explicit TextWriter(const Trace& trace) : trace_(trace) {}

  std::string Write() {
    for (uint32_t i = 0; i < trace_.events.size(); ++i) {
      WriteEvent(trace_.events[i], i);
      text_ += '\n';
    }
    return std::move(text_);
  }

 private:
  void WriteEvent(const TraceEvent& event, uint32_t index) {
    const std::string_view name = trace_.Name(event);
    switch (event.kind) {
      case EventKind::kPhase:
        operators_.Clear();
        return Append("M\t", name);
      case EventKind::kOperator:
        operators_.Begin(index, event.depth);
        return WriteOperator(event);
      case EventKind::kAlloc:
        Append("A\t", event.bytes, "\t", absl::Hex(event.address), "\t", name);
        return WriteAsking(event);
      case EventKind::kFreeRequested:
        return Append("F\t", absl::Hex(event.address));
      case EventKind::kFree:
        return Append("D\t", absl::Hex(event.address));
      case EventKind::kSegmentAlloc:
        return WriteSegment('S', event);
      case EventKind::kSegmentFree:
        return WriteSegment('U', event);
      case EventKind::kSegmentMap:
        return WriteSegment('P', event);
      case EventKind::kSegmentUnmap:
        return WriteSegment('Q', event);
      case EventKind::kFailedRequest:
        Append("X\t", event.bytes, "\t", name);
        return WriteAsking(event);
      case EventKind::kEmptyCache:
        return Append("E");
    }
  }

  void WriteOperator(const TraceEvent& event) {
    Append("O\t", event.depth, "\t", trace_.Name(event));
    if (event.link == kNoId) return;
    const Signature& signature = trace_.signatures.signatures[event.link];
    Append("\nG\t");
    text_ += WriteSignature(signature, trace_.signatures, trace_.names);
  }

  void WriteSegment(char letter, const TraceEvent& event) {
    Append(std::string_view(&letter, 1), "\t", event.bytes, "\t",
           absl::Hex(event.address));
    WriteStream(event);
  }

  void WriteStream(const TraceEvent& event) {
    if (event.stream == 0) return;
    Append("\tstream=", absl::Hex(trace_.streams[event.stream]));
  }

  void WriteAsking(const TraceEvent& event) {
    WriteStream(event);
    if (event.depth != DepthWithoutField(event.name)) {
      Append("\tdepth=", event.depth);
    }
  }

  // The depth that a reader takes if it is told none.
  int DepthWithoutField(uint32_t name) const {
    return DepthOfInnermost(operators_, trace_.events, name);
  }

  template <typename... Parts>
  void Append(const Parts&... parts) {
    (AppendOne(parts), ...);
  }
  void AppendOne(const char* part) { text_.append(part); }
  void AppendOne(std::string_view part) { text_.append(part); }
  void AppendOne(const absl::AlphaNum& part) {
    text_.append(part.data(), part.size());
  }

  const Trace& trace_;
  OperatorStack operators_;
  std::string text_;
};

}  // namespace

std::string WriteTraceText(const Trace& trace) {
  return TextWriter(trace).Write();
}

}  // namespace memplan
