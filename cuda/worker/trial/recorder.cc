#include "cuda/worker/trial/recorder.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace memplan::gpu {
namespace {

// Names of the operators running on this thread, the innermost last.
thread_local std::vector<uint32_t> operators;

uint16_t Depth() {
  constexpr size_t kMost = std::numeric_limits<uint16_t>::max();
  return static_cast<uint16_t>(std::min(operators.size(), kMost));
}

}  // namespace

void Recorder::BeginPhase(std::string_view name) {
  writer_.Append({.event = TraceEvent::kPhase,
                  .reserved = 0,
                  .depth = 0,
                  .name = writer_.Intern(name),
                  .bytes = 0,
                  .address = 0,
                  .stream = 0});
}

void Recorder::BeginOperator(std::string_view name,
                             std::string_view signature) {
  if (is_capturing_) {
    operators.push_back(kNoName);
    return;
  }
  operators.push_back(writer_.Intern(name));
  const uint32_t id =
      signature.empty() ? kNoName : writer_.InternSignature(signature);
  RecordMemory(TraceEvent::kOperator, Bytes(0),
               id == kNoName ? 0 : uint64_t{id} + 1, 0);
}

void Recorder::EndOperator() {
  if (!operators.empty()) operators.pop_back();
}

void Recorder::RecordMemory(TraceEvent event, Bytes bytes, uint64_t address,
                            uint64_t stream) {
  Append({.event = event,
          .reserved = 0,
          .depth = Depth(),
          .name = operators.empty() ? kNoName : operators.back(),
          .bytes = static_cast<uint64_t>(bytes.count()),
          .address = address,
          .stream = stream});
}

void Recorder::BeginCapture() {
  const std::lock_guard lock(mutex_);
  captured_.clear();
  is_capturing_ = true;
}

std::vector<TraceRecord> Recorder::EndCapture() {
  const std::lock_guard lock(mutex_);
  is_capturing_ = false;
  return std::exchange(captured_, {});
}

void Recorder::Append(const TraceRecord& record) {
  if (!is_capturing_) {
    writer_.Append(record);
    return;
  }
  const std::lock_guard lock(mutex_);
  captured_.push_back(record);
}

}  // namespace memplan::gpu
