#include "planner/admission/device_numbering.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr size_t kShownBytes = 64;

std::optional<int32_t> NumberIn(const std::string& text) {
  int32_t number = 0;
  const bool is_number = absl::SimpleAtoi(text, &number) && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

// `00000000:17:00.0`, `0000:17:00.0` and `17:00.0` are one address.
std::string PlainAddress(const std::string& address) {
  std::string plain = absl::AsciiStrToLower(address);
  if (std::count(plain.begin(), plain.end(), ':') < 2) {
    plain = "0000:" + plain;
  }
  const size_t domain_end = plain.find(':');
  const size_t domain = plain.find_first_not_of('0');
  return plain.substr(std::min(domain, domain_end));
}

absl::Status NoSuchNumbering(const std::string& name) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name.substr(0, kShownBytes),
      "\" names no device; write its UUID (GPU-…, MIG-…), `cpu`, or a number "
      "with its numbering: nvml:0, cuda:0, minor:0, pci:0000:17:00.0"));
}

absl::Status NotThere(std::span<const Device> devices,
                      const std::string& name) {
  std::string known;
  for (const Device& device : devices) {
    absl::StrAppend(&known, known.empty() ? "" : ", ", device.id);
  }
  return absl::NotFoundError(
      absl::StrCat("no device is called \"", name.substr(0, kShownBytes),
                   "\"; there are: ", known.empty() ? "none" : known));
}

using Matches = std::function<bool(const Device&)>;

// What tells the device called `name`; unset if the name is of no kind.
std::optional<Matches> MatcherOf(const std::string& name) {
  const size_t colon = name.find(':');
  if (colon == std::string::npos) {
    if (name.empty() || NumberIn(name)) return std::nullopt;
    return [name](const Device& device) { return device.id == name; };
  }
  const std::string kind = name.substr(0, colon);
  const std::string rest = name.substr(colon + 1);
  if (kind == "pci") {
    return [address = PlainAddress(rest)](const Device& device) {
      return !device.pci_bus_id.empty() && device.parent_id.empty() &&
             PlainAddress(device.pci_bus_id) == address;
    };
  }
  std::optional<int32_t> Device::*number = nullptr;
  if (kind == "nvml") number = &Device::nvml_index;
  if (kind == "cuda") number = &Device::cuda_index;
  if (kind == "minor") number = &Device::minor_number;
  const std::optional<int32_t> wanted = NumberIn(rest);
  if (number == nullptr || !wanted) return std::nullopt;
  return [number, wanted](const Device& device) {
    return device.parent_id.empty() && device.*number == wanted;
  };
}

}  // namespace

absl::StatusOr<const Device*> ResolveDevice(std::span<const Device> devices,
                                            std::string_view name) {
  const std::string text(name);
  const std::optional<Matches> matches = MatcherOf(text);
  if (!matches) return NoSuchNumbering(text);
  const Device* found = nullptr;
  for (const Device& device : devices) {
    if (!(*matches)(device)) continue;
    // Two devices with one number: the number means neither.
    if (found != nullptr) return NotThere(devices, text);
    found = &device;
  }
  if (found == nullptr) return NotThere(devices, text);
  return found;
}

}  // namespace memplan
