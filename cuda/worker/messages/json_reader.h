// Takes a JSON object apart, member by member, believing nothing: every member
// must be there, of its type and in its range, and none may be left over.
//
//   JsonReader reader(json, "report");
//   const int64_t batch = reader.Integer("batch", 1, 100);
//   MEMPLAN_RETURN_IF_ERROR(reader.Finish());
//
// The first fault is kept and told by Finish; until then faulty members read as
// empty values, so that a decoder is one straight line.
#ifndef MEMPLAN_CUDA_WORKER_MESSAGES_JSON_READER_H_
#define MEMPLAN_CUDA_WORKER_MESSAGES_JSON_READER_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "planner/base/bytes.h"

namespace memplan::gpu {

// Not thread-safe. The JSON must outlive it.
class JsonReader {
 public:
  // `path` begins each fault's text.
  JsonReader(const nlohmann::json& object, std::string path);

  bool Has(const std::string& name) const {
    return object_.is_object() && object_.contains(name);
  }

  // Each takes the member `name`; an Optional one may be missing.
  std::string Text(const std::string& name, size_t max_bytes);
  bool Boolean(const std::string& name);
  int64_t Integer(const std::string& name, int64_t lowest, int64_t highest);
  double Seconds(const std::string& name);
  // From 0 to `highest`; `what` is what it is called in a fault.
  double Number(const std::string& name, double highest,
                std::string_view what = "number in its range");
  Bytes Size(const std::string& name);
  std::optional<int64_t> OptionalInteger(const std::string& name,
                                         int64_t lowest, int64_t highest);
  std::optional<Bytes> OptionalSize(const std::string& name);
  // An array of at most `max_items`, or an object of at most that many members;
  // never null: an empty one stands for a faulty member.
  const nlohmann::json& Array(const std::string& name, size_t max_items);
  const nlohmann::json& Object(const std::string& name, size_t max_items);

  // The member's text looked up in `names` (a range of values and their words).
  template <typename Value, typename Names>
  Value OneOf(const std::string& name, const Names& names) {
    const std::string text = Text(name, kMaxWordBytes);
    for (const auto& [value, word] : names) {
      if (word == text) return value;
    }
    Fault(name, "is no known word");
    return Value{};
  }

  // Notes a fault of member `name` found by the caller.
  void Fault(std::string_view name, std::string_view what);
  // Notes the fault of something nested.
  void Absorb(const absl::Status& status);

  const std::string& path() const { return path_; }
  // The first fault so far.
  const absl::Status& status() const { return status_; }

  // kInvalidArgument for the first fault or, without one, for a member that
  // nobody took.
  absl::Status Finish() const;

 private:
  static constexpr size_t kMaxWordBytes = 32;

  const nlohmann::json* Take(const std::string& name);
  const nlohmann::json* TakeRequired(const std::string& name);
  int64_t IntegerOf(const nlohmann::json& value, std::string_view name,
                    int64_t lowest, int64_t highest);

  const nlohmann::json& object_;
  std::string path_;
  std::set<std::string> taken_;
  absl::Status status_;
};

}  // namespace memplan::gpu

#endif  // MEMPLAN_CUDA_WORKER_MESSAGES_JSON_READER_H_
