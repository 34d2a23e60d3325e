// A trace file in memory, as the daemon makes one, and its contents read back
// plainly: a second reader for the tests, apart from the daemon's.
#ifndef MEMPLAN_TESTS_CUDA_WORKER_TRIAL_MEMORY_FILE_H_
#define MEMPLAN_TESTS_CUDA_WORKER_TRIAL_MEMORY_FILE_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"

namespace memplan::gpu {

class MemoryFile {
 public:
  // A file with room for `records` records.
  explicit MemoryFile(size_t records)
      : size_(kTraceRecordsOffset + records * sizeof(TraceRecord)),
        descriptor_(memfd_create("trace", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(descriptor_, static_cast<off_t>(size_)), 0);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }

  TraceHeader Header() const {
    TraceHeader header = {};
    Read(0, &header, sizeof(header));
    return header;
  }

  std::vector<std::string> Names() const {
    const TraceHeader header = Header();
    std::vector<std::string> names;
    size_t at = kTraceNamesOffset;
    for (uint32_t i = 0; i < header.name_count; ++i) {
      uint16_t length = 0;
      Read(at, &length, sizeof(length));
      names.emplace_back(length, '\0');
      Read(at + sizeof(length), names.back().data(), length);
      at += sizeof(length) + length;
    }
    return names;
  }

  std::vector<TraceRecord> Records() const {
    std::vector<TraceRecord> records(Header().record_count);
    Read(kTraceRecordsOffset, records.data(),
         records.size() * sizeof(TraceRecord));
    return records;
  }

  // The name that `record` refers to; empty if none.
  std::string NameOf(const TraceRecord& record) const {
    return record.name == kNoName ? "" : Names().at(record.name);
  }

 private:
  void Read(size_t at, void* to, size_t bytes) const {
    EXPECT_EQ(pread(descriptor_, to, bytes, static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes));
  }

  size_t size_;
  int descriptor_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_TESTS_CUDA_WORKER_TRIAL_MEMORY_FILE_H_
