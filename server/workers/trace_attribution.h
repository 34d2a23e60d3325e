// Follows the operators of a trace that is read record by record, and keeps who
// made the requests that matter.
#ifndef MEMPLAN_SERVER_WORKERS_TRACE_ATTRIBUTION_H_
#define MEMPLAN_SERVER_WORKERS_TRACE_ATTRIBUTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/worker/messages/trace_layout.h"
#include "planner/base/bytes.h"
#include "planner/plan/attribution.h"

namespace memplan {

// What a trace says of requests.
struct Attribution {
  // That made the largest sum of requested bytes; none without a request.
  std::optional<AttributedRequest> peak;
  // The largest that was refused, made up for or not, and the last.
  std::optional<AttributedRequest> largest_refused;
  std::optional<AttributedRequest> last_refused;
  std::optional<ContentsDependence> contents;
};

// Not thread-safe. Names and depths may be anything that a record can hold;
// operators deeper than 1024 are passed over.
class TraceAttribution {
 public:
  // `names` by their ids; outlive it.
  explicit TraceAttribution(const std::vector<std::string>& names);

  // In the trace's order; the name of `record` is known, or is kNoName.
  void Apply(const gpu::TraceRecord& record);
  // The request just applied made a new peak, with so much live IsOfContents.
  void TakePeak(const gpu::TraceRecord& request, Bytes of_contents);

  // Whether what is handed out now may be larger with other contents.
  bool IsOfContents() const { return is_forward_ && seen_in_phase_; }

  Attribution Take() const;

 private:
  struct Request {
    Bytes bytes;
    uint32_t phase = gpu::kNoName;
    uint32_t outer = gpu::kNoName;
    uint32_t inner = gpu::kNoName;
  };

  void BeginPhase(uint32_t name);
  void BeginOperator(const gpu::TraceRecord& record);
  Request Describe(const gpu::TraceRecord& record) const;
  const std::string& Name(uint32_t id) const;
  // Short and fit to be shown.
  std::string ShownName(uint32_t id) const;
  AttributedRequest Named(const Request& request) const;

  const std::vector<std::string>& names_;
  std::vector<uint32_t> running_;  // names by depth − 1
  uint32_t phase_ = gpu::kNoName;
  bool is_forward_ = false;
  bool seen_in_phase_ = false;  // an operator of contents
  std::optional<Request> peak_;
  std::optional<Request> largest_refused_;
  std::optional<Request> last_refused_;
  std::vector<uint32_t> of_contents_;  // names, in the order seen
  Bytes contents_at_peak_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_WORKERS_TRACE_ATTRIBUTION_H_
