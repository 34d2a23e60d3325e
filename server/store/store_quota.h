// Whether the store has room for one more upload, and what must go for it. Pure:
// a snapshot of the store in, the names to remove or a refusal out.
//
// An upload that runs counts with all that it announced, one that broke off with
// what is kept of it.
#ifndef MEMPLAN_SERVER_STORE_STORE_QUOTA_H_
#define MEMPLAN_SERVER_STORE_STORE_QUOTA_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

// 0 is no bound.
struct StoreRules {
  int64_t max_bytes = 0;       // of all models and parts
  int64_t max_models = 10000;  // and parts
  int64_t upload_max_bytes = 0;
  // Whether those used least recently make room for an upload.
  bool evict_models = false;
  std::chrono::milliseconds part_ttl = std::chrono::hours(24);
};

// A model or part as the quota sees it.
struct HeldFile {
  std::string sha256;
  int64_t bytes = 0;            // that count
  int64_t unwritten_bytes = 0;  // of those, not on the disk yet
  std::chrono::system_clock::time_point last_use_time;
  bool in_use = false;  // pinned, or being uploaded
};

// What an upload needs.
struct StoreDemand {
  int64_t bytes = 0;            // all that it announced
  int64_t unwritten_bytes = 0;  // of those, not on the disk yet
  int64_t disk_free_bytes = 0;
};

// The names of what must be removed first, the least recently used one first.
// kResourceExhausted: UPLOAD_TOO_LARGE, STORE_QUOTA_EXCEEDED, or STORE_FULL if
// the disk is what is short.
absl::StatusOr<std::vector<std::string>> MakeRoom(std::vector<HeldFile> held,
                                                  const StoreDemand& demand,
                                                  const StoreRules& rules);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_STORE_QUOTA_H_
