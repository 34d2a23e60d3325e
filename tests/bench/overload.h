// Checks at a steady rate whatever becomes of them, as many clients together ask:
// an open loop. Accepted and refused calls are told apart.
#ifndef MEMPLAN_TESTS_BENCH_OVERLOAD_H_
#define MEMPLAN_TESTS_BENCH_OVERLOAD_H_

#include <cstdint>

#include "memplan/v1/admission_service.grpc.pb.h"
#include "tests/bench/closed_loop.h"

namespace memplan::testing {

struct OfferedLoad {
  Figures accepted;
  Figures refused;  // RESOURCE_EXHAUSTED
  int64_t without_delay =
      0;               // refused, and no RetryInfo said when to come back
  int64_t failed = 0;  // in any other way
};

// Offers `per_second` for `length` and waits for all answers.
OfferedLoad OfferChecks(v1::AdmissionService::Stub& stub, double per_second,
                        BenchClock::duration length);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_BENCH_OVERLOAD_H_
