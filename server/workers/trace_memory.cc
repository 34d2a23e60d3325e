#include "server/workers/trace_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/workers/live_blocks.h"

namespace memplan {
namespace {

using gpu::kTraceNamesBytes;
using gpu::kTraceNamesOffset;
using gpu::kTraceRecordsOffset;
using gpu::TraceEvent;
using gpu::TraceHeader;
using gpu::TraceRecord;

constexpr size_t kRecordsAtOnce = 32768;  // 1 MiB

absl::Status NoMemory(std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot ", std::string(what),
      " the memory of a trace: ", std::generic_category().message(errno)));
}

absl::Status Damaged(std::string_view why) {
  return absl::DataLossError(
      absl::StrCat("the trace is damaged: ", std::string(why)));
}

absl::Status ReadAt(int file, uint64_t offset, void* bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(file, static_cast<char*>(bytes) + done,
                                size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Damaged("it cannot be read");
    done += static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status CheckHeader(const TraceHeader& header, uint64_t file_size) {
  if (header.magic != gpu::kTraceMagic) {
    return Damaged("it does not begin with the magic number");
  }
  if (header.version != gpu::kTraceVersion) {
    return Damaged(absl::StrCat("it has version ", header.version, ", not ",
                                gpu::kTraceVersion));
  }
  if (header.name_bytes > kTraceNamesBytes) {
    return Damaged("its names pass their place");
  }
  const uint64_t room = (file_size - kTraceRecordsOffset) / sizeof(TraceRecord);
  if (header.record_count > room) {
    return Damaged(absl::StrCat("it counts ", header.record_count,
                                " records, but has room for ", room));
  }
  return absl::OkStatus();
}

// The names, which must fill their bytes exactly.
absl::StatusOr<std::vector<std::string>> ReadNames(int file,
                                                   const TraceHeader& header) {
  std::vector<char> names(header.name_bytes);
  MEMPLAN_RETURN_IF_ERROR(
      ReadAt(file, kTraceNamesOffset, names.data(), names.size()));
  std::vector<std::string> read;
  size_t at = 0;
  for (uint32_t i = 0; i < header.name_count; ++i) {
    uint16_t length = 0;
    if (names.size() - at < sizeof(length)) {
      return Damaged(absl::StrCat("name ", i, " passes the others' end"));
    }
    std::memcpy(&length, names.data() + at, sizeof(length));
    at += sizeof(length);
    if (names.size() - at < length) {
      return Damaged(absl::StrCat("name ", i, " passes the others' end"));
    }
    read.emplace_back(names.data() + at, length);
    at += length;
  }
  if (at != names.size()) return Damaged("bytes are left after its names");
  return read;
}

absl::Status CheckRecord(const TraceRecord& record, uint32_t name_count) {
  const auto event = static_cast<int>(record.event);
  if (event < static_cast<int>(TraceEvent::kPhase) ||
      event > static_cast<int>(TraceEvent::kFreeRequested)) {
    return absl::InvalidArgumentError(absl::StrCat("has event ", event));
  }
  if (record.name != gpu::kNoName && record.name >= name_count) {
    return absl::InvalidArgumentError(absl::StrCat("has name ", record.name));
  }
  return absl::OkStatus();
}

// Checks every record and takes into `summary` what they show.
absl::Status ReadRecords(int file, const std::vector<std::string>& names,
                         TraceSummary& summary) {
  const TraceHeader& header = summary.header;
  LiveBlocks live(kMaxLiveBlocks);
  TraceAttribution attribution(names);
  std::vector<TraceRecord> records;
  for (uint64_t first = 0; first < header.record_count;
       first += records.size()) {
    records.resize(
        std::min<uint64_t>(kRecordsAtOnce, header.record_count - first));
    MEMPLAN_RETURN_IF_ERROR(
        ReadAt(file, kTraceRecordsOffset + first * sizeof(TraceRecord),
               records.data(), records.size() * sizeof(TraceRecord)));
    for (size_t i = 0; i < records.size(); ++i) {
      absl::Status status = CheckRecord(records[i], header.name_count);
      if (status.ok()) {
        attribution.Apply(records[i]);
        status = live.Apply(records[i], attribution.IsOfContents());
      }
      if (!status.ok()) {
        return Damaged(absl::StrCat("record ", first + i, " ",
                                    std::string(status.message())));
      }
      if (live.peak() == summary.peak_requested) continue;
      summary.peak_requested = live.peak();
      attribution.TakePeak(records[i], live.of_contents());
    }
  }
  summary.attribution = attribution.Take();
  return absl::OkStatus();
}

// Copies `size` bytes at `offset` to the same place in `to`.
absl::Status CopyRange(int from, int to, uint64_t offset, uint64_t size) {
  std::vector<char> piece;
  while (size > 0) {
    piece.resize(
        std::min<uint64_t>(size, kRecordsAtOnce * sizeof(TraceRecord)));
    MEMPLAN_RETURN_IF_ERROR(ReadAt(from, offset, piece.data(), piece.size()));
    size_t done = 0;
    while (done < piece.size()) {
      const ssize_t count = pwrite(to, piece.data() + done, piece.size() - done,
                                   static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("cannot write the trace: ",
                         std::generic_category().message(errno)));
      }
      done += static_cast<size_t>(count);
    }
    offset += piece.size();
    size -= piece.size();
  }
  return absl::OkStatus();
}

}  // namespace

TraceMemory::TraceMemory(Descriptor file, uint64_t size)
    : file_(std::move(file)), size_(size) {}

absl::StatusOr<TraceMemory> TraceMemory::Create(Bytes size) {
  const uint64_t bytes =
      std::max<uint64_t>(static_cast<uint64_t>(size.count()),
                         kTraceRecordsOffset + sizeof(TraceRecord));
  Descriptor file(
      memfd_create("memplan-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return NoMemory("make");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    return NoMemory("size");
  }
  if (fcntl(file.get(), F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return NoMemory("seal");
  }
  return TraceMemory(std::move(file), bytes);
}

absl::StatusOr<TraceSummary> TraceMemory::Read() const {
  TraceSummary summary;
  MEMPLAN_RETURN_IF_ERROR(
      ReadAt(file_.get(), 0, &summary.header, sizeof(summary.header)));
  MEMPLAN_RETURN_IF_ERROR(CheckHeader(summary.header, size_));
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           ReadNames(file_.get(), summary.header));
  MEMPLAN_RETURN_IF_ERROR(ReadRecords(file_.get(), names, summary));
  return summary;
}

absl::Status TraceMemory::WriteTo(const std::string& path,
                                  const TraceSummary& summary) const {
  const Descriptor to(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!to.is_open()) {
    return absl::InternalError(absl::StrCat(
        "cannot write ", path, ": ", std::generic_category().message(errno)));
  }
  const TraceHeader& header = summary.header;
  absl::Status status =
      CopyRange(file_.get(), to.get(), kTraceNamesOffset, header.name_bytes);
  if (status.ok()) {
    status = CopyRange(file_.get(), to.get(), kTraceRecordsOffset,
                       header.record_count * sizeof(TraceRecord));
  }
  if (status.ok() &&
      pwrite(to.get(), &header, sizeof(header), 0) != sizeof(header)) {
    status = absl::ResourceExhaustedError(absl::StrCat(
        "cannot write ", path, ": ", std::generic_category().message(errno)));
  }
  if (!status.ok()) (void)unlink(path.c_str());
  return status;
}

}  // namespace memplan
