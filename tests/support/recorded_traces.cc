#include "tests/support/recorded_traces.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "client/trace_file/trace_file.h"
#include "planner/trace/text_format.h"

namespace memplan::testing {
namespace {

template <typename Value>
Value OrDie(absl::StatusOr<Value> value, const std::string& what) {
  if (!value.ok()) {
    (void)std::fprintf(stderr, "%s: %s\n", what.c_str(),
                       value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

std::string PathOf(const std::string& file) {
  return std::string(MEMPLAN_RECORDED_TRACES) + "/" + file;
}

// The fields of one line, by the names in the index's first line.
class Row {
 public:
  Row(const std::vector<std::string>& header, const std::string& line) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    for (size_t i = 0; i < header.size() && i < fields.size(); ++i) {
      fields_[header[i]] = fields[i];
    }
  }

  // "-" stands for nothing.
  std::string Text(const std::string& name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() || found->second == "-" ? "" : found->second;
  }
  int64_t Number(const std::string& name, int64_t without) const {
    int64_t value = 0;
    return absl::SimpleAtoi(Text(name), &value) ? value : without;
  }

 private:
  std::map<std::string, std::string> fields_;
};

RecordedTrace FromRow(const Row& row, const std::string& folder) {
  RecordedTrace trace;
  trace.file =
      folder.empty() ? row.Text("file") : folder + "/" + row.Text("file");
  trace.model = row.Text("model");
  trace.mode = row.Text("mode");
  trace.batch = row.Number("batch", 0);
  trace.settings = row.Text("settings");
  if (!row.Text("cap_bytes").empty())
    trace.cap_bytes = row.Number("cap_bytes", 0);
  if (!row.Text("end").empty()) trace.end = row.Text("end");
  trace.failed_requests = row.Number("failed_requests", -1);
  trace.segments_freed = row.Number("segments_freed", -1);
  trace.peak_requested_bytes = row.Number("peak_requested_bytes", 0);
  trace.peak_allocated_bytes = row.Number("peak_allocated_bytes", 0);
  trace.peak_reserved_bytes = row.Number("peak_reserved_bytes", 0);
  return trace;
}

}  // namespace

std::vector<RecordedTrace> RecordedTracesIn(const std::string& folder) {
  const std::string index =
      folder.empty() ? "index.tsv" : folder + "/index.tsv";
  const std::string text = OrDie(ReadTraceFile(PathOf(index)), index);
  std::vector<std::string> header;
  std::vector<RecordedTrace> traces;
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (header.empty()) {
      header = absl::StrSplit(line, '\t');
    } else {
      traces.push_back(FromRow(Row(header, std::string(line)), folder));
    }
  }
  return traces;
}

std::vector<RecordedTrace> AllRecordedTraces() {
  std::vector<RecordedTrace> all;
  for (const char* folder : {"", "settings", "caps"}) {
    for (RecordedTrace& trace : RecordedTracesIn(folder)) {
      all.push_back(std::move(trace));
    }
  }
  return all;
}

std::string ReadRecordedText(const RecordedTrace& recorded) {
  return OrDie(ReadTraceFile(PathOf(recorded.file)), recorded.file);
}

Trace ReadRecorded(const RecordedTrace& recorded) {
  std::string text = ReadRecordedText(recorded);
  const size_t end = text.find("\nM\tend\n");
  const size_t released =
      std::min(text.find("\nU\t", end), text.find("\nQ\t", end));
  if (end != std::string::npos && released != std::string::npos) {
    text.insert(released, "\nE");
  }
  return OrDie(ReadTraceText(text), recorded.file);
}

}  // namespace memplan::testing
