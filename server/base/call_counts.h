// Counts the daemon's calls by method: how many are in progress, how they ended
// and how long they took.
#ifndef MEMPLAN_SERVER_BASE_CALL_COUNTS_H_
#define MEMPLAN_SERVER_BASE_CALL_COUNTS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace memplan {

// Upper bounds of the histogram's buckets, in seconds; one more is above all.
inline constexpr std::array<double, 10> kCallBucketSeconds = {
    50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 100e-3, 1.0};
// gRPC's status codes go from 0 to 16.
inline constexpr int kCallCodes = 17;
// Their names, in order.
inline constexpr std::array<std::string_view, kCallCodes> kCallCodeWords = {
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED"};

struct CallMethod {
  std::string service;  // `memplan.v1.ProbeService`
  std::string method;   // `GetProbe`
  bool is_unary = true;
};

// The calls of one method, since the start.
struct MethodCalls {
  CallMethod method;
  int64_t in_progress = 0;
  std::array<int64_t, kCallCodes> ended_by_code{};
  // How long those that ended took, by bucket, and all together. Of streams,
  // which last as long as their client wants, nothing is counted here.
  std::array<int64_t, kCallBucketSeconds.size() + 1> by_bucket{};
  double seconds = 0;
};

// Thread-safe; counting takes no lock.
class CallCounts {
 public:
  explicit CallCounts(std::vector<CallMethod> methods);
  ~CallCounts();
  CallCounts(const CallCounts&) = delete;
  CallCounts& operator=(const CallCounts&) = delete;

  // The place of the method with this path, `/memplan.v1.ProbeService/GetProbe`;
  // that of all others together if it was not named when this was made.
  size_t Find(std::string_view path) const;
  const CallMethod& method(size_t place) const;

  void Begin(size_t place);
  // `code` is gRPC's.
  void End(size_t place, int code, std::chrono::nanoseconds took);

  // Calls that have begun and not ended, of all methods.
  int64_t InProgress() const;
  // Every method, the others together last.
  std::vector<MethodCalls> Read() const;

 private:
  struct Counts;
  std::vector<std::unique_ptr<Counts>> counts_;
  std::map<std::string, size_t, std::less<>> places_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_BASE_CALL_COUNTS_H_
