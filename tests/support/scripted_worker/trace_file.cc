#include "tests/support/scripted_worker/trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"

namespace memplan::testing {
namespace {

using gpu::TraceEvent;
using gpu::TraceHeader;
using gpu::TraceRecord;

void WriteAt(int descriptor, const void* bytes, size_t size, size_t offset) {
  if (pwrite(descriptor, bytes, size, static_cast<off_t>(offset)) !=
      static_cast<ssize_t>(size)) {
    std::perror("scripted worker: writing the trace");
    std::abort();
  }
}

TraceHeader EmptyHeader() {
  TraceHeader header = {};
  header.magic = gpu::kTraceMagic;
  header.version = gpu::kTraceVersion;
  return header;
}

// Collects names and records.
class TraceText {
 public:
  void Phase(const std::string& name) {
    Add(TraceEvent::kPhase, 0, Name(name), 0, 0);
  }
  // `signature` may be empty.
  void Operator(const std::string& name, const std::string& signature) {
    operator_ = Name(name);
    Add(TraceEvent::kOperator, 1, operator_, 0,
        signature.empty() ? 0 : uint64_t{Name(signature)} + 1);
  }
  void Alloc(int64_t bytes, uint64_t address) {
    Block(TraceEvent::kAlloc, bytes, address);
  }
  void Free(int64_t bytes, uint64_t address) {
    Block(TraceEvent::kFree, bytes, address);
  }
  void WriteTo(int descriptor) const {
    TraceHeader header = EmptyHeader();
    header.name_count = static_cast<uint32_t>(ids_.size());
    header.name_bytes = names_.size();
    header.record_count = records_.size();
    WriteAt(descriptor, names_.data(), names_.size(), gpu::kTraceNamesOffset);
    WriteAt(descriptor, records_.data(), records_.size() * sizeof(TraceRecord),
            gpu::kTraceRecordsOffset);
    WriteAt(descriptor, &header, sizeof(header), 0);
  }

 private:
  uint32_t Name(const std::string& name) {
    const auto [known, is_new] =
        ids_.emplace(name, static_cast<uint32_t>(ids_.size()));
    if (is_new) {
      const auto length = static_cast<uint16_t>(name.size());
      names_.append(reinterpret_cast<const char*>(&length), sizeof(length));
      names_.append(name);
    }
    return known->second;
  }
  void Block(TraceEvent event, int64_t bytes, uint64_t address) {
    Add(event, 1, operator_, static_cast<uint64_t>(bytes), address);
  }
  void Add(TraceEvent event, uint16_t depth, uint32_t name, uint64_t bytes,
           uint64_t address) {
    records_.push_back({event, 0, depth, name, bytes, address, 0});
  }

  std::map<std::string, uint32_t> ids_;
  std::string names_;
  std::vector<TraceRecord> records_;
  uint32_t operator_ = gpu::kNoName;
};

size_t FileSize(int descriptor) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) {
    std::perror("scripted worker: the trace");
    std::abort();
  }
  return static_cast<size_t>(file.st_size);
}

}  // namespace

void WriteTrace(int descriptor, const ScriptedTrace& trace) {
  constexpr uint64_t kBlock = 0x7f00'0000'0000;
  constexpr uint64_t kScratch = 0x7e00'0000'0000;
  TraceText text;
  text.Phase("load");
  text.Operator("aten::empty", "");
  text.Alloc(trace.base_bytes, kBlock);
  text.Free(trace.base_bytes, kBlock);
  for (size_t step = 0; step < trace.step_bytes.size(); ++step) {
    text.Phase("step" + std::to_string(step));
    text.Operator("aten::linear", "");
    text.Alloc(trace.step_bytes[step], kBlock);
    if (trace.scratch_bytes > 0) {
      text.Operator("aten::convolution",
                    "\tfloat32[" + std::to_string(trace.batch) + ",1]{1,1}");
      text.Alloc(trace.scratch_bytes, kScratch);
      text.Free(trace.scratch_bytes, kScratch);
    }
    text.Free(trace.step_bytes[step], kBlock);
  }
  text.WriteTo(descriptor);
}

void WriteNoTrace(int descriptor) {
  const TraceHeader header = {};
  WriteAt(descriptor, &header, sizeof(header), 0);
}

void WriteWildTraceHeader(int descriptor) {
  TraceHeader header = EmptyHeader();
  header.name_count = UINT32_MAX;
  header.name_bytes = UINT64_MAX;
  header.record_count = UINT64_MAX / sizeof(TraceRecord) + 2;
  header.records_lost = UINT64_MAX;
  header.names_lost = UINT64_MAX;
  WriteAt(descriptor, &header, sizeof(header), 0);
}

void WriteOverflowingTrace(int descriptor) {
  TraceHeader header = EmptyHeader();
  header.record_count =
      (FileSize(descriptor) - gpu::kTraceRecordsOffset) / sizeof(TraceRecord);
  header.records_lost = 7;
  const std::vector<TraceRecord> records(
      header.record_count,
      TraceRecord{TraceEvent::kOperator, 0, 1, gpu::kNoName, 0, 0, 0});
  WriteAt(descriptor, records.data(), records.size() * sizeof(TraceRecord),
          gpu::kTraceRecordsOffset);
  WriteAt(descriptor, &header, sizeof(header), 0);
}

int ResizeTrace(int descriptor) {
  const auto size = static_cast<off_t>(FileSize(descriptor));
  int allowed = 0;
  if (ftruncate(descriptor, 0) == 0) ++allowed;
  if (ftruncate(descriptor, 2 * size) == 0) ++allowed;
  return allowed;
}

}  // namespace memplan::testing
