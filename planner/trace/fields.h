// The fields of a line, taken off it one by one.
#ifndef MEMPLAN_PLANNER_TRACE_FIELDS_H_
#define MEMPLAN_PLANNER_TRACE_FIELDS_H_

#include <cstddef>
#include <string_view>

namespace memplan {

// Keeps a view of the line, which must outlive it. Not thread-safe.
class Fields {
 public:
  Fields(std::string_view line, char separator)
      : rest_(line), separator_(separator) {}

  // A line has at least one field, which may be empty.
  bool AtEnd() const { return at_end_; }

  // Only before the end.
  std::string_view Take() {
    const size_t end = rest_.find(separator_);
    const std::string_view field = rest_.substr(0, end);
    at_end_ = end == std::string_view::npos;
    rest_ = at_end_ ? std::string_view() : rest_.substr(end + 1);
    return field;
  }

  // What has not been taken.
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  char separator_;
  bool at_end_ = false;
};

}  // namespace memplan

#endif  // MEMPLAN_PLANNER_TRACE_FIELDS_H_
