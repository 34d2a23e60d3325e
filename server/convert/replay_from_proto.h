// What a client asks of a replay or an estimate, checked. Pure.
#ifndef MEMPLAN_SERVER_CONVERT_REPLAY_FROM_PROTO_H_
#define MEMPLAN_SERVER_CONVERT_REPLAY_FROM_PROTO_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memplan/v1/plan_service.pb.h"
#include "planner/allocator/address_source.h"
#include "planner/allocator/conditions.h"
#include "planner/trace/trace.h"

namespace memplan {

// kInvalidArgument (INVALID_REPLAY) with the message and the field's path.
absl::Status RefusedReplay(const std::string& message,
                           const std::string& field);

// The allocator's settings and cap. kInvalidArgument
// (INVALID_ALLOCATOR_SETTINGS) for settings that libtorch refuses, or
// INVALID_REPLAY for a negative cap or settings above 4096 bytes; the field is
// below `header`.
absl::StatusOr<AllocatorConditions> ConditionsFromProto(
    const std::string& settings, std::optional<int64_t> cap_bytes);

// The cap of a header that may have one.
template <typename Header>
std::optional<int64_t> CapOf(const Header& header) {
  return header.has_cap_bytes() ? std::optional<int64_t>(header.cap_bytes())
                                : std::nullopt;
}

// The order that `header` names; kInvalidArgument (INVALID_REPLAY) for an
// unknown one, or a seed with another order than RANDOM. `trace` must outlive
// it.
absl::StatusOr<std::unique_ptr<AddressSource>> AddressesFromProto(
    const v1::ReplayHeader& header, const Trace& trace);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_CONVERT_REPLAY_FROM_PROTO_H_
