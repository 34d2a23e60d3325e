#include "tests/support/recorded_probe.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "client/trace_file/trace_file.h"
#include "cuda/worker/messages/messages.h"
#include "server/convert/recorded_trace.h"

namespace memplan::testing {
namespace {

constexpr char kFolder[] = MEMPLAN_RECORDED_TRACES;
constexpr char kTraceEnding[] = ".trace.xz";

[[noreturn]] void Give(const std::string& path, const std::string& why) {
  std::cerr << path << ": " << why << std::endl;
  std::abort();
}

template <typename Value>
Value Taken(const std::string& path, absl::StatusOr<Value> value) {
  if (!value.ok()) Give(path, std::string(value.status().message()));
  return *std::move(value);
}

Trace ReadTrace(const std::string& path) {
  return Taken(path, ReadRecordedTrace(Taken(path, ReadTraceFile(path))));
}

void AddCalls(const std::string& path, RecordedProbe& probe) {
  const auto rounds = nlohmann::json::parse(Taken(path, ReadTraceFile(path)));
  for (const auto& round : rounds) {
    const auto asked =
        Taken(path, gpu::DecodeDaemonMessage(round["order"].dump()));
    const auto told =
        Taken(path, gpu::DecodeWorkerMessage(round["report"].dump()));
    const auto& calls = std::get<gpu::RunCalls>(asked).calls;
    const auto& results = std::get<gpu::CallsReport>(told).results;
    if (calls.size() != results.size()) Give(path, "it does not match itself");
    for (size_t i = 0; i < calls.size(); ++i) {
      probe.calls[CallKey(calls[i])] = results[i].plans;
    }
  }
}

}  // namespace

RecordedProbe ReadRecordedProbe(const std::string& name) {
  RecordedProbe probe;
  const std::filesystem::path folder =
      std::filesystem::path(kFolder) / "fast" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kTraceEnding)) continue;
    probe.traces[std::stoll(file)] = ReadTrace(entry.path().string());
  }
  AddCalls((folder / "calls.json.xz").string(), probe);
  return probe;
}

}  // namespace memplan::testing
