#include "planner/allocator/counters.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

using Named = std::vector<std::pair<std::string, int64_t>>;

void Append(const std::string& name, const Counter& counter, Named& named) {
  named.emplace_back(absl::StrCat(name, ".current"), counter.current);
  named.emplace_back(absl::StrCat(name, ".peak"), counter.peak);
  named.emplace_back(absl::StrCat(name, ".allocated"), counter.allocated);
  named.emplace_back(absl::StrCat(name, ".freed"), counter.freed);
}

void Append(const std::string& name, const AllocatorCounters::ByPool& counters,
            Named& named) {
  Append(absl::StrCat(name, ".all"), counters.all, named);
  Append(absl::StrCat(name, ".small_pool"), counters.small, named);
  Append(absl::StrCat(name, ".large_pool"), counters.large, named);
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> AllocatorCounters::Named() const {
  std::vector<std::pair<std::string, int64_t>> named;
  Append("allocation", allocation, named);
  Append("allocated_bytes", allocated_bytes, named);
  Append("active", active, named);
  Append("active_bytes", active_bytes, named);
  Append("requested_bytes", requested_bytes, named);
  Append("segment", segment, named);
  Append("reserved_bytes", reserved_bytes, named);
  Append("inactive_split", inactive_split, named);
  Append("inactive_split_bytes", inactive_split_bytes, named);
  Append("oversize_allocations", oversize_allocations, named);
  Append("oversize_segments", oversize_segments, named);
  named.emplace_back("num_alloc_retries", num_alloc_retries);
  named.emplace_back("num_ooms", num_ooms);
  named.emplace_back("num_sync_all_streams", num_sync_all_streams);
  named.emplace_back("num_device_alloc", num_device_alloc);
  named.emplace_back("num_device_free", num_device_free);
  return named;
}

}  // namespace memplan
