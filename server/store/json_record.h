// Small tools of the record codecs: optional members and enumerations by name.
// Reading throws (nlohmann's exceptions or UnreadableRecord); DecodeProbe alone
// catches.
#ifndef MEMPLAN_SERVER_STORE_JSON_RECORD_H_
#define MEMPLAN_SERVER_STORE_JSON_RECORD_H_

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "planner/base/bytes.h"

namespace memplan {

class UnreadableRecord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The values of an enumeration and the names they have in records. Names are
// kept for ever: the order of the values may change, these may not.
template <typename Enum, size_t n>
using EnumNames = std::array<std::pair<Enum, std::string_view>, n>;

template <typename Enum, size_t n>
std::string NameIn(const EnumNames<Enum, n>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return std::string(name);
  }
  throw UnreadableRecord("an enumeration has a value without a name");
}

template <typename Enum, size_t n>
Enum ValueIn(const EnumNames<Enum, n>& names, const nlohmann::json& json) {
  const auto text = json.get<std::string>();
  for (const auto& [value, name] : names) {
    if (name == text) return value;
  }
  throw UnreadableRecord("unknown name `" + text + "`");
}

// Adds `key` unless the value is unset.
template <typename T, typename ToJson>
void PutOptional(nlohmann::json& object, const char* key,
                 const std::optional<T>& value, ToJson to_json) {
  if (value) object[key] = to_json(*value);
}

// The value of `key`, or nothing if there is no such member.
template <typename FromJson>
auto GetOptional(const nlohmann::json& object, const char* key,
                 FromJson from_json)
    -> std::optional<decltype(from_json(object))> {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  return from_json(*found);
}

inline nlohmann::json BytesToJson(Bytes bytes) { return bytes.count(); }
inline Bytes BytesFromJson(const nlohmann::json& json) {
  return Bytes(json.get<int64_t>());
}

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_JSON_RECORD_H_
