// The values of settings as text: quantities only with their unit, and read back
// as they are written. Errors say what would be accepted. Pure.
#ifndef MEMPLAN_SERVER_CONFIG_SETTING_TEXT_H_
#define MEMPLAN_SERVER_CONFIG_SETTING_TEXT_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"

namespace memplan {

// `10GiB`, `64 MB`; a bare number is refused, but for 0.
absl::StatusOr<Bytes> ReadBytesWithUnit(const std::string& text);
// With the largest binary unit that leaves no fraction: `10GiB`, `1000B`.
std::string WriteBytes(Bytes amount);

// `30s`, `250ms`, `1h30m`, `14d`; a bare number is refused, but for 0.
absl::StatusOr<std::chrono::milliseconds> ReadDuration(const std::string& text);
// `1h30m`; whole days as `14d`.
std::string WriteDuration(std::chrono::milliseconds duration);

// A whole number without unit.
absl::StatusOr<int64_t> ReadCount(const std::string& text);

// A plain number, such as 0.9.
absl::StatusOr<double> ReadRatio(const std::string& text);
// As short as reads back the same; with a point.
std::string WriteRatio(double ratio);

// `true` or `yes`, `false` or `no`.
absl::StatusOr<bool> ReadYesNo(const std::string& text);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONFIG_SETTING_TEXT_H_
