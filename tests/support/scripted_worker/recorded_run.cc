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

// The names of a trace, in the order of their ids.
std::vector<std::string> NamesOf(const std::string& trace,
                                 const TraceHeader& header) {
  std::vector<std::string> names;
  size_t at = gpu::kTraceNamesOffset;
  for (uint32_t i = 0; i < header.name_count; ++i) {
    uint16_t length = 0;
    if (at + sizeof(length) > gpu::kTraceRecordsOffset) Give("names run over");
    std::memcpy(&length, trace.data() + at, sizeof(length));
    at += sizeof(length);
    if (at + length > gpu::kTraceRecordsOffset) Give("names run over");
    names.push_back(trace.substr(at, length));
    at += length;
  }
  return names;
}

// The peaks of the load and of each step, from a trace's records.
class PhasePeaks {
 public:
  explicit PhasePeaks(std::vector<std::string> names)
      : names_(std::move(names)) {}

  void Add(const TraceRecord& record) {
    const auto bytes = static_cast<int64_t>(record.bytes);
    switch (record.event) {
      case TraceEvent::kPhase:
        if (!IsPart(record.name)) peaks_.push_back(now_);
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
  // Of the step before it, such as step0/forward.
  bool IsPart(uint32_t name) const {
    return names_.at(name).find('/') != std::string::npos;
  }

  const std::vector<std::string> names_;
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

// The array in the file `name` of `folder`; empty if there is no such file.
nlohmann::json RoundsIn(const std::string& folder, const std::string& name) {
  const std::optional<std::string> text = ReadIfThere(folder + "/" + name);
  auto rounds = nlohmann::json::parse(text.value_or("[]"), nullptr, false);
  if (!rounds.is_array()) Give(folder + "/" + name + " is no array");
  return rounds;
}

std::string KeyOf(const DistinctCall& call) {
  return call.operator_name + WriteCallText(call);
}

}  // namespace

RecordedRun::RecordedRun(std::string trace) : trace_(std::move(trace)) {
  if (trace_.size() < gpu::kTraceRecordsOffset) Give("a trace is cut off");
  TraceHeader header = {};
  std::memcpy(&header, trace_.data(), sizeof(header));
  if ((trace_.size() - gpu::kTraceRecordsOffset) / sizeof(TraceRecord) <
      header.record_count) {
    Give("a trace is cut off");
  }
  PhasePeaks peaks(NamesOf(trace_, header));
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

std::optional<gpu::Report> RecordedReport(const std::string& folder,
                                          int64_t batch) {
  for (const auto& round : RoundsIn(folder, "reports.json")) {
    const auto asked = Taken(gpu::DecodeDaemonMessage(round["order"].dump()));
    if (std::get<gpu::TrialRequest>(asked).batch != batch) continue;
    const auto told = Taken(gpu::DecodeWorkerMessage(round["report"].dump()));
    return std::get<gpu::Report>(told);
  }
  return std::nullopt;
}

gpu::CallsReport RecordedResults(const std::string& folder,
                                 const gpu::RunCalls& order) {
  std::map<std::string, gpu::CallResult> known;
  for (const auto& round : RoundsIn(folder, "calls.json")) {
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
