// Checks at a steady rate whatever becomes of them, as many clients together ask:
// an open loop. Accepted and refused calls are told apart. A call's time runs from
// the moment it was sent: where the machine wakes a sender late, the calls that
// were due meanwhile go out at once, and how late is told as well.
#ifndef MEMPLAN_TESTS_BENCH_OVERLOAD_H_
#define MEMPLAN_TESTS_BENCH_OVERLOAD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memplan/v1/admission_service.grpc.pb.h"
#include "tests/bench/closed_loop.h"

namespace memplan::testing {

struct OfferedLoad {
  Figures accepted;
  Figures refused;  // RESOURCE_EXHAUSTED
  Figures late;     // how long after they were due the calls were sent
  int64_t without_delay =
      0;               // refused, and no RetryInfo said when to come back
  int64_t failed = 0;  // in any other way
};

// Four clients, each with a connection and a thread of its own.
class OverloadClients {
 public:
  explicit OverloadClients(const std::string& address);

  // Offers `per_second` for `length` and waits for all answers.
  OfferedLoad Offer(double per_second, BenchClock::duration length);

 private:
  std::vector<std::unique_ptr<v1::AdmissionService::Stub>> stubs_;
};

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_BENCH_OVERLOAD_H_
