// What operator calls were seen to do when each ran alone, kept for ever: a
// second model of the family, or the same one under another cap, runs almost
// none again.
#ifndef MEMPLAN_SERVER_STORE_CALL_RESULTS_H_
#define MEMPLAN_SERVER_STORE_CALL_RESULTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/trace/call_plan.h"
#include "planner/trace/irregular_calls.h"
#include "server/store/database.h"

namespace memplan {

// What decides, beside the call itself, what it asks for.
struct CallPlace {
  std::string device_name;
  std::string driver_version;
  std::string cudnn_version;
  std::string torch_version;
  std::string switches = {};  // those of cuDNN that are on; empty for none
  friend bool operator==(const CallPlace&, const CallPlace&) = default;
};

// Since the start, but for `kept`.
struct CallResultCounts {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t dropped = 0;  // to make room for others
  int64_t kept = 0;     // now
};

// Of one call, as in CallPlans::distinct; never empty.
using KeptPlans = std::vector<CallPlan>;

// Thread-safe. A store that cannot be read or written knows nothing, and says so
// in the log: a call is run once more then, that is all.
class CallResults {
 public:
  virtual ~CallResults() = default;

  // For each call what is kept of it, in their order.
  virtual std::vector<std::optional<KeptPlans>> Find(
      const CallPlace& place, const std::vector<DistinctCall>& calls) = 0;

  // Keeps `plans[i]` of `calls[i]`; an empty one is not kept. Those used the
  // longest ago go where there are more than the most.
  virtual void Keep(const CallPlace& place,
                    const std::vector<DistinctCall>& calls,
                    const std::vector<KeptPlans>& plans) = 0;

  virtual CallResultCounts Counts() const = 0;
};

// The most that are kept unless told otherwise: each takes some hundred bytes.
inline constexpr int64_t kMostCallResults = 100'000;

// `database` must outlive it. kDataLoss, kInternal.
absl::StatusOr<std::unique_ptr<CallResults>> OpenCallResults(
    Database& database, int64_t most = kMostCallResults);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_CALL_RESULTS_H_
