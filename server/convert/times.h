// Points in time and lengths of time between our structs and protos. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_TIMES_H_
#define MEMPLAN_SERVER_CONVERT_TIMES_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <chrono>
#include <optional>

namespace memplan {

google::protobuf::Timestamp ToTimestamp(
    std::chrono::system_clock::time_point time);

// Rounded to microseconds; negative and absurd lengths become 0.
google::protobuf::Duration ToDuration(double seconds);
google::protobuf::Duration ToDuration(std::chrono::milliseconds length);

// Rounded up to milliseconds. Unset unless it is more than 0 and at most
// `longest`, or if its parts contradict each other.
std::optional<std::chrono::milliseconds> PositiveDuration(
    const google::protobuf::Duration& duration, std::chrono::hours longest);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_TIMES_H_
