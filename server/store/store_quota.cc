#include "server/store/store_quota.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "planner/base/format.h"
#include "server/base/reason.h"

namespace memplan {
namespace {

// How far the store is beyond each bound; not above 0 where it is within.
struct Excess {
  int64_t bytes = 0;
  int64_t models = 0;
  int64_t disk_bytes = 0;

  bool any() const { return bytes > 0 || models > 0 || disk_bytes > 0; }
};

std::string Words(int64_t bytes) { return FormatBytes(Bytes(bytes)); }

absl::Status Refusal(const std::string& message, std::string_view reason) {
  return WithReason(absl::ResourceExhaustedError(message), reason);
}

int64_t HeldBytes(const std::vector<HeldFile>& held) {
  int64_t bytes = 0;
  for (const HeldFile& file : held) bytes += file.bytes;
  return bytes;
}

Excess ExcessOf(const std::vector<HeldFile>& held, const StoreDemand& demand,
                const StoreRules& rules) {
  Excess excess;
  if (rules.max_bytes > 0) {
    excess.bytes = HeldBytes(held) - rules.max_bytes + demand.bytes;
  }
  if (rules.max_models > 0) {
    excess.models = static_cast<int64_t>(held.size()) + 1 - rules.max_models;
  }
  excess.disk_bytes = demand.unwritten_bytes - demand.disk_free_bytes;
  for (const HeldFile& file : held) excess.disk_bytes += file.unwritten_bytes;
  return excess;
}

absl::Status Refuse(const std::vector<HeldFile>& held,
                    const StoreDemand& demand, const StoreRules& rules,
                    const Excess& excess) {
  const std::string next =
      rules.evict_models
          ? "; what could be evicted is not enough: wait for probes and "
            "uploads "
            "to end, or raise the bound"
          : "; delete models or parts (`memplan models list`), or let the "
            "daemon evict (evict_models)";
  if (excess.bytes > 0) {
    return Refusal(
        absl::StrCat("the model has ", Words(demand.bytes),
                     ", but models and parts take ", Words(HeldBytes(held)),
                     " of the store's ", Words(rules.max_bytes),
                     " (store_max_bytes)", next),
        "STORE_QUOTA_EXCEEDED");
  }
  if (excess.models > 0) {
    return Refusal(absl::StrCat("the store has ", held.size(),
                                " models and parts, and may have ",
                                rules.max_models, " (store_max_models)", next),
                   "STORE_QUOTA_EXCEEDED");
  }
  return Refusal(
      absl::StrCat("the model has ", Words(demand.unwritten_bytes),
                   " to write, but the store's disk has only ",
                   Words(demand.disk_free_bytes),
                   " free, other running uploads not counted; free space "
                   "there, or delete models"),
      "STORE_FULL");
}

}  // namespace

absl::StatusOr<std::vector<std::string>> MakeRoom(std::vector<HeldFile> held,
                                                  const StoreDemand& demand,
                                                  const StoreRules& rules) {
  if (rules.upload_max_bytes > 0 && demand.bytes > rules.upload_max_bytes) {
    return Refusal(
        absl::StrCat("the model has ", Words(demand.bytes),
                     ", and one upload may have ",
                     Words(rules.upload_max_bytes),
                     "; raise the daemon's upload_max_bytes for larger ones"),
        "UPLOAD_TOO_LARGE");
  }
  Excess excess = ExcessOf(held, demand, rules);
  if (!excess.any()) return std::vector<std::string>();
  const absl::Status refusal = Refuse(held, demand, rules, excess);
  if (!rules.evict_models) return refusal;
  std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) {
    return std::tie(a.last_use_time, a.sha256) <
           std::tie(b.last_use_time, b.sha256);
  });
  std::vector<std::string> victims;
  for (const HeldFile& file : held) {
    if (file.in_use) continue;
    victims.push_back(file.sha256);
    excess.bytes -= file.bytes;
    excess.models -= 1;
    excess.disk_bytes -= file.bytes;
    if (!excess.any()) return victims;
  }
  return refusal;
}

}  // namespace memplan
