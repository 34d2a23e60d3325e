// Moments as whole nanoseconds since 1970, which is how the store keeps them.
#ifndef MEMPLAN_SERVER_STORE_TIME_STAMP_H_
#define MEMPLAN_SERVER_STORE_TIME_STAMP_H_

#include <chrono>
#include <cstdint>

namespace memplan {

inline int64_t NanosecondsOf(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             time.time_since_epoch())
      .count();
}

inline std::chrono::system_clock::time_point TimeFromNanoseconds(
    int64_t nanoseconds) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::nanoseconds(nanoseconds)));
}

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_TIME_STAMP_H_
