// The host's processes, as far as reservations need them: whether one lives, when
// it started, whose child it is, and what host memory it holds.
#ifndef MEMPLAN_SERVER_ADMISSION_PROCESS_TABLE_H_
#define MEMPLAN_SERVER_ADMISSION_PROCESS_TABLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "planner/base/bytes.h"

namespace memplan {

struct ProcessEntry {
  int64_t parent = 0;
  int64_t start_ticks = 0;  // since the host's boot
  Bytes resident;
};

// Thread-safe. Reads take microseconds a process.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  // Unset if there is none, or only its remains (a zombie holds no memory).
  virtual std::optional<ProcessEntry> Find(int64_t pid) const = 0;
  // All processes by pid.
  virtual std::map<int64_t, ProcessEntry> All() const = 0;
};

// /proc below `root`.
class SystemProcessTable final : public ProcessTable {
 public:
  explicit SystemProcessTable(std::string root = "");

  std::optional<ProcessEntry> Find(int64_t pid) const override;
  std::map<int64_t, ProcessEntry> All() const override;

 private:
  const std::string folder_;
};

// What a line of /proc/PID/stat says; unset if it is none, or a zombie's.
std::optional<ProcessEntry> ParseProcessStat(std::string_view line);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_ADMISSION_PROCESS_TABLE_H_
