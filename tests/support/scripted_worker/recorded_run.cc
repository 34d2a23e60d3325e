#include "tests/support/scripted_worker/recorded_run.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/statusor.h"
#include "client/trace_file/trace_file.h"
#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/bytes.h"
#include "planner/trace/call_text.h"

namespace memplan::testing {
namespace {

using gpu::TraceEvent;
using gpu::TraceHeader;
using gpu::TraceRecord;

// A broken test must not look like a behaviour.
[[noreturn]] void Give(const std::string& why) {
  std::cerr << "scripted worker: " << why << std::endl;
  std::abort();
}

template <typename Value>
Value Taken(absl::StatusOr<Value> value) {
  if (!value.ok()) Give(std::string(value.status().message()));
  return *std::move(value);
}

// What the allocator hands out for a request.
int64_t Rounded(uint64_t bytes) {
  return static_cast<int64_t>((std::max<uint64_t>(bytes, 1) + 511) / 512 * 512);
}

// The peaks of each phase, from a trace's records.
class PhasePeaks {
 public:
  void Add(const TraceRecord& record) {
    const auto bytes = static_cast<int64_t>(record.bytes);
    switch (record.event) {
      case TraceEvent::kPhase:
        peaks_.push_back(now_);
        return;
      case TraceEvent::kAlloc:
        blocks_[record.address] = bytes;
        now_.requested += Bytes(bytes);
        now_.allocated += Bytes(Rounded(record.bytes));
        break;
      case TraceEvent::kFree:
        now_.requested -= Bytes(blocks_[record.address]);
        now_.allocated -=
            Bytes(Rounded(static_cast<uint64_t>(blocks_[record.address])));
        break;
      case TraceEvent::kSegmentAlloc:
      case TraceEvent::kSegmentMap:
        *now_.reserved += Bytes(bytes);
        break;
      case TraceEvent::kSegmentFree:
      case TraceEvent::kSegmentUnmap:
        *now_.reserved -= Bytes(bytes);
        break;
      default:
        return;
    }
    now_.active = now_.allocated;
    if (!peaks_.empty()) peaks_.back() = MaxPeaks(peaks_.back(), now_);
  }

  std::vector<Peaks> Take() { return std::move(peaks_); }

 private:
  Peaks now_ = {{}, {}, {}, Bytes(0)};
  std::map<uint64_t, int64_t> blocks_;  // requested bytes, by address
  std::vector<Peaks> peaks_;
};

// The file at `path`, or the same packed as .xz.
std::optional<std::string> ReadIfThere(const std::string& path) {
  for (const std::string& file : {path, path + ".xz"}) {
    if (std::filesystem::exists(file)) return Taken(ReadTraceFile(file));
  }
  return std::nullopt;
}

std::string KeyOf(const DistinctCall& call) {
  return call.operator_name + WriteCallText(call);
}

}  // namespace

RecordedRun::RecordedRun(std::string trace) : trace_(std::move(trace)) {
  if (trace_.size() < gpu::kTraceRecordsOffset) Give("a trace is cut off");
  TraceHeader header = {};
  std::memcpy(&header, trace_.data(), sizeof(header));
  PhasePeaks peaks;
  for (uint64_t i = 0; i < header.record_count; ++i) {
    std::array<char, sizeof(TraceRecord)> bytes;
    std::memcpy(bytes.data(),
                trace_.data() + gpu::kTraceRecordsOffset + i * bytes.size(),
                bytes.size());
    peaks.Add(std::bit_cast<TraceRecord>(bytes));
  }
  phases_ = peaks.Take();
  if (phases_.size() < 2) Give("a trace has no step");
}

std::optional<RecordedRun> RecordedRun::Read(const std::string& folder,
                                             int64_t batch) {
  std::optional<std::string> trace =
      ReadIfThere(folder + "/" + std::to_string(batch) + ".trace");
  if (!trace) return std::nullopt;
  return RecordedRun(*std::move(trace));
}

const Peaks& RecordedRun::step_peaks(int step) const {
  const auto phase = static_cast<size_t>(step) + 1;
  return phases_[std::min(phase, phases_.size() - 1)];
}

void RecordedRun::WriteTrace(int descriptor) const {
  if (pwrite(descriptor, trace_.data(), trace_.size(), 0) !=
      static_cast<ssize_t>(trace_.size())) {
    Give("the recorded trace is larger than the memory for it");
  }
}

gpu::CallsReport RecordedResults(const std::string& folder,
                                 const gpu::RunCalls& order) {
  std::map<std::string, gpu::CallResult> known;
  const std::optional<std::string> text = ReadIfThere(folder + "/calls.json");
  const auto rounds =
      nlohmann::json::parse(text.value_or("[]"), nullptr, false);
  if (!rounds.is_array()) Give(folder + "/calls.json is no array");
  for (const auto& round : rounds) {
    const auto asked = Taken(gpu::DecodeDaemonMessage(round["order"].dump()));
    const auto told = Taken(gpu::DecodeWorkerMessage(round["report"].dump()));
    const auto& calls = std::get<gpu::RunCalls>(asked).calls;
    const auto& results = std::get<gpu::CallsReport>(told).results;
    if (calls.size() != results.size())
      Give("calls.json does not match itself");
    for (size_t i = 0; i < calls.size(); ++i) {
      known[KeyOf(calls[i])] = results[i];
    }
  }
  gpu::CallsReport report;
  for (const DistinctCall& call : order.calls) {
    const auto found = known.find(KeyOf(call));
    report.results.push_back(found != known.end()
                                 ? found->second
                                 : gpu::CallResult{{}, "it was not recorded"});
  }
  return report;
}

}  // namespace memplan::testing
