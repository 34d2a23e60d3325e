#include "server/convert/times.h"

#include <cmath>
#include <cstdint>

namespace memplan {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int32_t kNanosPerMicro = 1000;
constexpr int32_t kNanosPerMilli = 1'000'000;
constexpr int32_t kNanosPerSecond = 1'000'000'000;
// The longest that a Duration may hold: 10,000 years.
constexpr double kMostSeconds = 315'576'000'000.0;

google::protobuf::Duration FromMicros(int64_t micros) {
  google::protobuf::Duration duration;
  duration.set_seconds(micros / kMicrosPerSecond);
  duration.set_nanos(static_cast<int32_t>(micros % kMicrosPerSecond) *
                     kNanosPerMicro);
  return duration;
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(
    std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto rest =
      std::chrono::duration_cast<std::chrono::nanoseconds>(time - seconds);
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(seconds.time_since_epoch().count());
  timestamp.set_nanos(static_cast<int32_t>(rest.count()));
  return timestamp;
}

google::protobuf::Duration ToDuration(double seconds) {
  if (!(seconds > 0 && seconds < kMostSeconds)) return FromMicros(0);
  return FromMicros(std::llround(seconds * kMicrosPerSecond));
}

google::protobuf::Duration ToDuration(std::chrono::milliseconds length) {
  return FromMicros(std::chrono::microseconds(length).count());
}

std::optional<std::chrono::milliseconds> PositiveDuration(
    const google::protobuf::Duration& duration, std::chrono::hours longest) {
  const bool well_formed = duration.seconds() >= 0 && duration.nanos() >= 0 &&
                           duration.nanos() < kNanosPerSecond;
  const std::chrono::seconds most = longest;
  if (!well_formed || duration.seconds() > most.count()) return std::nullopt;
  const std::chrono::milliseconds rounded_up(
      duration.seconds() * 1000 +
      (duration.nanos() + kNanosPerMilli - 1) / kNanosPerMilli);
  if (rounded_up.count() <= 0 || rounded_up > longest) return std::nullopt;
  return rounded_up;
}

}  // namespace memplan
