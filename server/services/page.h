// Pages of lists that are sorted newest first. A page's token names its last
// item, so that the next page is right also if items came or went in between.
// Pure.
#ifndef MEMPLAN_SERVER_SERVICES_PAGE_H_
#define MEMPLAN_SERVER_SERVICES_PAGE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memplan {

// A page grows no larger than this, so that it stays below the 4 MiB that a
// gRPC client takes by default.
inline constexpr size_t kMaxPageBytes = size_t{2} << 20;

// Where an item stands in its list.
struct PageKey {
  std::string id;
  std::chrono::system_clock::time_point create_time;
};

// Which items to show: `size` at most, from index `begin` on.
struct Page {
  size_t begin = 0;
  size_t size = 0;
};

// The page that a request asks for of the list with `keys`. Returns
// kInvalidArgument (INVALID_REQUEST) if page_size is not 0 … 1000 or page_token
// is none that PageToken made.
absl::StatusOr<Page> FindPage(int32_t page_size, const std::string& page_token,
                              const std::vector<PageKey>& keys);

// The token of the page whose last item is `last`.
std::string PageToken(const PageKey& last);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_PAGE_H_
