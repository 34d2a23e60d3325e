#include "server/base/reason.h"

#include <optional>

#include "absl/strings/cord.h"

namespace memplan {
namespace {

constexpr std::string_view kReasonPayload = "memplan/reason";
constexpr std::string_view kFieldPayload = "memplan/field";

absl::string_view Key(std::string_view text) {
  return {text.data(), text.size()};
}

std::string PayloadText(const absl::Status& status, std::string_view key) {
  const auto payload = status.GetPayload(Key(key));
  return payload ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status WithReason(absl::Status status, std::string_view reason,
                        std::string_view field) {
  status.SetPayload(Key(kReasonPayload), absl::Cord(Key(reason)));
  if (!field.empty()) {
    status.SetPayload(Key(kFieldPayload), absl::Cord(Key(field)));
  }
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  return PayloadText(status, kReasonPayload);
}

std::string FieldOf(const absl::Status& status) {
  return PayloadText(status, kFieldPayload);
}

}  // namespace memplan
