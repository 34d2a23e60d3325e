#include "cuda/worker/messages/json_reader.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {
namespace {

using nlohmann::json;

constexpr int64_t kMaxSizeBytes = int64_t{1} << 60;
constexpr double kMaxSeconds = 1e9;

const json& EmptyArray() {
  static const json empty = json::array();
  return empty;
}

const json& EmptyObject() {
  static const json empty = json::object();
  return empty;
}

}  // namespace

JsonReader::JsonReader(const json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    status_ =
        absl::InvalidArgumentError(absl::StrCat(path_, " is no JSON object"));
  }
}

void JsonReader::Fault(std::string_view name, std::string_view what) {
  Absorb(absl::InvalidArgumentError(
      absl::StrCat(path_, ".", std::string(name), " ", std::string(what))));
}

void JsonReader::Absorb(const absl::Status& status) { status_.Update(status); }

const json* JsonReader::Take(const std::string& name) {
  if (!object_.is_object()) return nullptr;
  taken_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

const json* JsonReader::TakeRequired(const std::string& name) {
  const json* value = Take(name);
  if (value == nullptr) Fault(name, "is missing");
  return value;
}

std::string JsonReader::Text(const std::string& name, size_t max_bytes) {
  const json* value = TakeRequired(name);
  if (value == nullptr) return "";
  const auto* text = value->get_ptr<const std::string*>();
  if (text == nullptr) {
    Fault(name, "is no text");
    return "";
  }
  if (text->size() > max_bytes) {
    Fault(name, absl::StrCat("is longer than ", max_bytes, " bytes"));
    return "";
  }
  return *text;
}

bool JsonReader::Boolean(const std::string& name) {
  const json* value = TakeRequired(name);
  if (value == nullptr) return false;
  const auto* boolean = value->get_ptr<const bool*>();
  if (boolean == nullptr) Fault(name, "is neither true nor false");
  return boolean != nullptr && *boolean;
}

int64_t JsonReader::IntegerOf(const json& value, std::string_view name,
                              int64_t lowest, int64_t highest) {
  const auto* positive = value.get_ptr<const uint64_t*>();
  const auto* number = value.get_ptr<const int64_t*>();
  if (number == nullptr) {
    Fault(name, "is no whole number");
    return lowest;
  }
  const bool too_large =
      positive != nullptr && *positive > static_cast<uint64_t>(INT64_MAX);
  if (too_large || *number < lowest || *number > highest) {
    Fault(name, absl::StrCat("is not in ", lowest, " to ", highest));
    return lowest;
  }
  return *number;
}

int64_t JsonReader::Integer(const std::string& name, int64_t lowest,
                            int64_t highest) {
  const json* value = TakeRequired(name);
  return value == nullptr ? lowest : IntegerOf(*value, name, lowest, highest);
}

std::optional<int64_t> JsonReader::OptionalInteger(const std::string& name,
                                                   int64_t lowest,
                                                   int64_t highest) {
  const json* value = Take(name);
  if (value == nullptr) return std::nullopt;
  return IntegerOf(*value, name, lowest, highest);
}

double JsonReader::Seconds(const std::string& name) {
  return Number(name, kMaxSeconds, "time in 0 to 1e9 seconds");
}

double JsonReader::Number(const std::string& name, double highest,
                          std::string_view what) {
  const json* value = TakeRequired(name);
  if (value == nullptr) return 0;
  if (!value->is_number()) {
    Fault(name, "is no number");
    return 0;
  }
  const double number =
      value->is_number_float()
          ? *value->get_ptr<const double*>()
          : static_cast<double>(IntegerOf(*value, name, 0, kMaxSizeBytes));
  if (!(number >= 0 && number <= highest)) {
    Fault(name, absl::StrCat("is no ", std::string(what)));
    return 0;
  }
  return number;
}

Bytes JsonReader::Size(const std::string& name) {
  return Bytes(Integer(name, 0, kMaxSizeBytes));
}

std::optional<Bytes> JsonReader::OptionalSize(const std::string& name) {
  const std::optional<int64_t> count = OptionalInteger(name, 0, kMaxSizeBytes);
  if (!count.has_value()) return std::nullopt;
  return Bytes(*count);
}

const json& JsonReader::Array(const std::string& name, size_t max_items) {
  const json* value = TakeRequired(name);
  if (value == nullptr) return EmptyArray();
  if (value->is_array() && value->size() <= max_items) return *value;
  Fault(name, absl::StrCat("is no list of at most ", max_items));
  return EmptyArray();
}

const json& JsonReader::Object(const std::string& name, size_t max_items) {
  const json* value = TakeRequired(name);
  if (value == nullptr) return EmptyObject();
  if (value->is_object() && value->size() <= max_items) return *value;
  Fault(name, absl::StrCat("is no object of at most ", max_items, " members"));
  return EmptyObject();
}

absl::Status JsonReader::Finish() const {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : object_.items()) {
    if (taken_.count(name) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ".", name.substr(0, kMaxWordBytes),
                     " is no member of this message"));
  }
  return absl::OkStatus();
}

}  // namespace memplan::gpu
