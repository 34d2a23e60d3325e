#include "server/convert/replay_from_proto.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "planner/allocator/recorded_addresses.h"
#include "planner/allocator/settings.h"
#include "planner/base/bytes.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

constexpr size_t kMaxSettingsBytes = 4096;

}  // namespace

absl::Status RefusedReplay(const std::string& message,
                           const std::string& field) {
  return WithReason(absl::InvalidArgumentError(message), "INVALID_REPLAY",
                    field);
}

absl::StatusOr<AllocatorConditions> ConditionsFromProto(
    const std::string& settings, std::optional<int64_t> cap_bytes) {
  if (settings.size() > kMaxSettingsBytes) {
    return RefusedReplay(absl::StrCat("settings of ", settings.size(),
                                      " bytes; they are at most 4096"),
                         "header.settings");
  }
  if (cap_bytes.has_value() && *cap_bytes < 0) {
    return RefusedReplay(absl::StrCat("a cap of ", *cap_bytes,
                                      " bytes; it is 0 or more, or unset"),
                         "header.cap_bytes");
  }
  const auto parsed = ParseAllocatorSettings(settings);
  if (!parsed.ok()) {
    return WithReason(parsed.status(), "INVALID_ALLOCATOR_SETTINGS",
                      "header.settings");
  }
  AllocatorConditions conditions;
  conditions.settings = *parsed;
  if (cap_bytes) conditions.cap = Bytes(*cap_bytes);
  return conditions;
}

absl::StatusOr<std::unique_ptr<AddressSource>> AddressesFromProto(
    const v1::ReplayHeader& header, const Trace& trace) {
  if (header.address_seed() != 0 &&
      header.addresses() != v1::ADDRESS_ORDER_RANDOM) {
    return RefusedReplay("a seed goes with ADDRESS_ORDER_RANDOM alone",
                         "header.address_seed");
  }
  switch (header.addresses()) {
    case v1::ADDRESS_ORDER_UNSPECIFIED:
    case v1::ADDRESS_ORDER_RECORDED:
      return std::make_unique<RecordedAddresses>(trace);
    case v1::ADDRESS_ORDER_DESCENDING:
      return std::make_unique<DescendingAddresses>();
    case v1::ADDRESS_ORDER_ASCENDING:
      return std::make_unique<AscendingAddresses>();
    case v1::ADDRESS_ORDER_CHUNKS:
      return std::make_unique<ChunkAddresses>();
    case v1::ADDRESS_ORDER_RANDOM:
      return std::make_unique<RandomAddresses>(header.address_seed());
    default:
      return RefusedReplay(
          absl::StrCat("address order ", static_cast<int>(header.addresses()),
                       " is unknown to this daemon"),
          "header.addresses");
  }
}

}  // namespace memplan
