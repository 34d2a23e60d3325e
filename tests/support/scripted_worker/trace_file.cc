#include "tests/support/scripted_worker/trace_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
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

TraceRecord Record(TraceEvent event, uint32_t name, uint64_t bytes) {
  return {.event = event,
          .reserved = 0,
          .depth = static_cast<uint16_t>(event == TraceEvent::kPhase ? 0 : 1),
          .name = name,
          .bytes = bytes,
          .address = bytes == 0 ? 0 : uint64_t{0x7f00'0000'0000},
          .stream = 0};
}

// `names` as the names area has them.
std::string NamesArea(std::initializer_list<std::string_view> names) {
  std::string area;
  for (std::string_view name : names) {
    const auto length = static_cast<uint16_t>(name.size());
    area.append(reinterpret_cast<const char*>(&length), sizeof(length));
    area.append(name);
  }
  return area;
}

size_t FileSize(int descriptor) {
  struct stat file = {};
  if (fstat(descriptor, &file) != 0) {
    std::perror("scripted worker: the trace");
    std::abort();
  }
  return static_cast<size_t>(file.st_size);
}

}  // namespace

void WriteTrace(int descriptor, uint64_t bytes) {
  const std::array<TraceRecord, kScriptedTraceRecords> records = {
      Record(TraceEvent::kPhase, 0, 0),
      Record(TraceEvent::kOperator, 1, 0),
      Record(TraceEvent::kAlloc, 1, bytes),
      Record(TraceEvent::kFree, 1, bytes),
  };
  const std::string names = NamesArea({"load", "aten::conv2d"});
  TraceHeader header = EmptyHeader();
  header.name_count = 2;
  header.name_bytes = names.size();
  header.record_count = records.size();
  WriteAt(descriptor, names.data(), names.size(), gpu::kTraceNamesOffset);
  WriteAt(descriptor, records.data(), sizeof(records),
          gpu::kTraceRecordsOffset);
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
  const std::string names = NamesArea({"load", "aten::conv2d"});
  TraceHeader header = EmptyHeader();
  header.name_count = 2;
  header.name_bytes = names.size();
  header.record_count =
      (FileSize(descriptor) - gpu::kTraceRecordsOffset) / sizeof(TraceRecord);
  header.records_lost = 7;
  const std::vector<TraceRecord> records(header.record_count,
                                         Record(TraceEvent::kOperator, 1, 0));
  WriteAt(descriptor, names.data(), names.size(), gpu::kTraceNamesOffset);
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
