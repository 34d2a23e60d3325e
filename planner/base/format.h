// Amounts of memory as people read and write them. Binary units in text
// (`1.50 GiB`); both kinds are read (`16GiB`, `16 GB`), never guessed.
#ifndef MEMPLAN_PLANNER_BASE_FORMAT_H_
#define MEMPLAN_PLANNER_BASE_FORMAT_H_

#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/base/bytes.h"

namespace memplan {

// `512 B`, `1.50 KiB`, `16.0 GiB`: three significant digits, the largest unit
// that leaves at least 1. Negative amounts carry a minus sign.
std::string FormatBytes(Bytes amount);

// Reads a non-negative amount: digits, optionally a fraction, then one of B,
// KiB, MiB, GiB, TiB (powers of 1024) or kB, KB, MB, GB, TB (powers of 1000);
// a space between is allowed, no unit means bytes. The result is exact or, with
// a fraction, rounded down. Returns kInvalidArgument, naming the text and what
// would be accepted, for anything else, and for amounts above 2^60.
absl::StatusOr<Bytes> ParseBytes(std::string_view text);

// For test output and logs.
std::ostream& operator<<(std::ostream& out, Bytes amount);

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_BASE_FORMAT_H_
